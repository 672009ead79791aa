"""Reports that are displayed once: as the value of an expression in a REPL or a notebook, else when dropped."""

from __future__ import annotations

import dis
import html
from collections.abc import Iterable
from types import FrameType
from typing import TypeVar


class ShownReport:
    """A human-readable report: text in a terminal, HTML in a notebook. Subclasses have ``text``."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


Shown = TypeVar("Shown", bound=ShownReport)


def shown(report: Shown, caller: FrameType) -> Shown:
    """Print ``report`` if ``caller`` drops the value of its current call; return it."""
    if is_dropped(caller):
        print(report)
    return report


def is_dropped(caller: FrameType) -> bool:
    """Return whether the current call of ``caller`` is a statement, whose value the next instruction drops.

    The last expression of a notebook's cell and an expression in a REPL are not: their values are displayed.
    """
    following = (i for i in dis.get_instructions(caller.f_code) if i.offset > caller.f_lasti and i.opname != "CACHE")
    instruction = next(following, None)
    return instruction is not None and instruction.opname == "POP_TOP"


def html_list(title: str, items: Iterable[str], preformatted: bool = False) -> str:
    """Return a collapsible HTML section: ``title``, and ``items`` as a list, or as lines of text."""
    escaped = [html.escape(item) for item in items]
    if preformatted:
        body = "<pre>" + "\n".join(escaped) + "</pre>"
    else:
        body = "<ul>" + "".join(f"<li>{item}</li>" for item in escaped) + "</ul>"
    return f"<details open><summary>{html.escape(title)}</summary>{body}</details>"
