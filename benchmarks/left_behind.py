"""What a query left behind: spill files that a worker still has open, and files in Spark's local directories.

A spill file has no name, so only the process that has it open knows of it. Of the files with a name those of Spark's
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
    """List what the open file descriptors of a process are; nothing of one that is gone."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(entry.path))
    return found


def nameless_files(pid: int, folder: Path) -> int:
    """Count the files in ``folder`` that process ``pid`` has open and that have no name."""
    return sum(name.startswith(f"{folder}/") and name.endswith(" (deleted)") for name in descriptors(pid))


def named_files(folder: Path) -> list[str]:
    """List the files below ``folder``, relative to it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def foreign(names: Iterable[str]) -> list[str]:
    """Choose the files that are not blocks of Spark's block manager."""
    return [name for name in names if not ("blockmgr-" in name and _BLOCK.fullmatch(name.rsplit("/", 1)[-1]))]
