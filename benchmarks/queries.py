"""A query of a benchmark, and the choice of queries by number, range and name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query: its name, its text, and its sink when timed (collect, noop)."""

    name: str
    sql: str
    sink: str


def choose(text: str, names: Sequence[str]) -> list[str]:
    """Return those of ``names`` that ``text`` selects: names separated by commas, ranges of numbers as ``1-5``.

    The number of a query of several statements, ``14``, selects all of them, ``14a`` and ``14b``. Raises
    :class:`KeyError` for a name or number that selects none.
    """
    chosen: list[str] = []
    for item in text.split(","):
        first, dash, last = item.strip().partition("-")
        is_range = dash and first.isdigit()
        for each in map(str, range(int(first), int(last) + 1)) if is_range else [item.strip()]:
            found = [name for name in names if name == each or (name[:-1] == each and name[-1].isalpha())]
            if not found:
                raise KeyError(f"no query {each!r}; there are: {', '.join(names)}")
            chosen += found
    return chosen


def choose_from(queries: Mapping[str, str], text: str | None) -> list[Query]:
    """Return those of the ``queries``, texts by name, that ``text`` selects, all if it is None, to be collected.

    Raises the errors of :func:`choose`.
    """
    names = list(queries) if text is None else choose(text, list(queries))
    return [Query(name=name, sql=queries[name], sink="collect") for name in names]
