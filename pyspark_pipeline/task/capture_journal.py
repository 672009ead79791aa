"""The journal of a capture: how far each of its files is whole, and how the capture ended.

``journal.txt`` has a line an entry: the entry's CRC-32 in hexadecimal, a blank, the entry in JSON. A line is appended
after the bytes that it vouches for, so what a killed task left behind can be read as far as the journal goes. Entries:

- ``{"version": 1}``, the first
- ``{"file": NAME, "bytes": N, "crc32": SUM}``: the first N bytes of the file have that sum; the last such entry counts
- ``{"operators": [WORD, …], "missing": [WORD, …]}``: what ``capture.operator`` asked for, and what of it is not there
- ``{"cut": BYTES}``: no more was kept, because that is the most that may be
- ``{"end": "finished"}``, ``"failed"`` or ``"cancelled"``, the last; without it the task was killed, or still runs
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.options import PREFIX

_NAME = "journal.txt"
_VERSION = 1
_PIECE = 1 << 20


class Ending(Enum):
    """How a captured task ended; an error that Spark raises as its own is a failure."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Mark(NamedTuple):
    """The first ``nbytes`` bytes of a file have the checksum ``crc``."""

    nbytes: int
    crc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """What a journal says: the last mark of each file, operators asked for and not there, the cut, the ending."""

    marks: Mapping[str, Mark]
    operators: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    cut: int | None = None
    ending: Ending | None = None

    def notes(self) -> list[str]:
        """Say why the capture has less than the task would have got, and which operators it lacks."""
        found = []
        if self.cut is not None:
            option = f"{PREFIX}capture.maxBytes={self.cut}"
            found.append(f"the capture is cut where it reached {option}")
        if self.ending is not Ending.FINISHED:
            found.append(f"the capture is incomplete: {_WHY[self.ending]}")
        if self.missing:
            found.append(self.missing_operators())
        return found

    def missing_operators(self) -> str:
        """Say which operators were asked for and are not in the fragment; nothing where none is."""
        names = ", ".join(self.missing)
        return f"{PREFIX}capture.operator asked for {names}, not in this fragment" if names else ""


_WHY: Mapping[Ending | None, str] = {
    None: "it has no end, so the task was killed or still runs",
    Ending.FAILED: "the task failed, and read no more than this",
    Ending.CANCELLED: "the task was cancelled",
}


class JournalWriter:
    """Begins the journal of a capture in ``folder``, in the place of an older one. Raises OSError."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._path.write_bytes(b"")
        self.append({"version": _VERSION})

    def append(self, entry: Mapping[str, Any]) -> None:
        """Add an entry. Raises OSError."""
        text = json.dumps(entry).encode()
        with self._path.open("ab") as file:
            file.write(b"%08x %s\n" % (crc32(text), text))


def read_journal(folder: Path) -> Journal:
    """Read the journal of a capture. Raises :class:`CaptureError` where there is none, or it is damaged."""
    path = folder / _NAME
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise CaptureError(f"{folder} holds no captured task: {error}") from error
    entries = []
    for number, line in enumerate(lines):
        entry = _entry(line)
        if entry is not None:
            entries.append(entry)
        elif number + 1 < len(lines):  # the last line is empty, or a killed task was writing it
            raise CaptureError(f"{path} is damaged: line {number + 1} is not as it was written")
    if not entries or entries[0].get("version") != _VERSION:
        raise CaptureError(f"{path} does not begin with version {_VERSION}: it is damaged, or of another release")
    return _journal(entries)


def _entry(line: bytes) -> dict[str, Any] | None:
    """Decode a line; None where its sum is not that of its entry."""
    total, _, text = line.partition(b" ")
    if total != b"%08x" % crc32(text):
        return None
    entry: dict[str, Any] = json.loads(text)
    return entry


def _journal(entries: list[dict[str, Any]]) -> Journal:
    marks = {e["file"]: Mark(e["bytes"], e["crc32"]) for e in entries if "file" in e}
    last = {key: value for entry in entries for key, value in entry.items()}
    return Journal(
        marks=marks,
        operators=tuple(last.get("operators", ())),
        missing=tuple(last.get("missing", ())),
        cut=last.get("cut"),
        ending=Ending(last["end"]) if "end" in last else None,
    )


def check_files(folder: Path, journal: Journal) -> None:
    """Compare every file of a capture with its mark. Raises :class:`CaptureError`, which names one that differs.

    Where the capture has an end the lengths must be the same; else a file may be longer by what was being written.
    """
    for name, mark in journal.marks.items():
        path = folder / name
        try:
            size = path.stat().st_size
            if size < mark.nbytes or (size > mark.nbytes and journal.ending is not None):
                raise CaptureError(f"{path} is damaged: it has {size} bytes, {mark.nbytes} were written")
            found = _sum(path, mark.nbytes)
        except OSError as error:
            raise CaptureError(f"{path} cannot be read: {error}") from error
        if found != mark.crc:
            raise CaptureError(f"{path} is damaged: its checksum is {found:08x}, what was written has {mark.crc:08x}")


def _sum(path: Path, nbytes: int) -> int:
    """Give the checksum of the first bytes of a file."""
    total, left = 0, nbytes
    with path.open("rb") as file:
        while left and (piece := file.read(min(left, _PIECE))):
            total = crc32(piece, total)
            left -= len(piece)
    return total
