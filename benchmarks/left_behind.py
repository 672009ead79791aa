"""Leftovers of a query: spill files that a worker still has open, and files in Spark's local directories.

A spill file has no name, so only the process that has it open can see it. Of the named files, those of Spark's
block manager (shuffles, broadcasts) are Spark's own, to delete when the session stops.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

_BLOCK = re.compile(r"(temp_)?(shuffle|broadcast|rdd|local)_[-\w.]+")


def descriptors(pid: int) -> list[str]:
    """Return the targets of a process's open file descriptors; empty if it has ended."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(entry.path))
    return found


def nameless_files(pid: int, folder: Path) -> int:
    """Return the number of nameless files in ``folder`` that process ``pid`` has open."""
    return sum(name.startswith(f"{folder}/") and name.endswith(" (deleted)") for name in descriptors(pid))


def named_files(folder: Path) -> list[str]:
    """Return the files below ``folder``, relative to it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def foreign(names: Iterable[str]) -> list[str]:
    """Return the files that are not blocks of Spark's block manager."""
    return [name for name in names if not ("blockmgr-" in name and _BLOCK.fullmatch(name.rsplit("/", 1)[-1]))]
