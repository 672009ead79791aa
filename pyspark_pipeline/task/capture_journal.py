"""The journal of a capture: checkpoints of its files, and the ending of the task.

``journal.txt`` has one line per entry: its CRC-32 in hexadecimal, a blank, the entry in JSON. A line is appended after
the bytes that it describes, so the files of a killed task are readable up to their last entry. Entries:

- ``{"version": 1}``, the first
- ``{"file": NAME, "bytes": N, "crc32": SUM}``: checksum of the first N bytes of the file; its last such entry is valid
- ``{"operators": [WORD, …], "missing": [WORD, …]}``: the words of ``capture.operator``, and those without an operator
- ``{"cut": BYTES}``: the capture was truncated at this limit
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
from pyspark_pipeline.task.capture_folder import open_private

_NAME = "journal.txt"
_VERSION = 1
_PIECE = 1 << 20


class Ending(Enum):
    """The ending of a captured task; an error that Spark raises as its own is a failure."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Checkpoint(NamedTuple):
    """The first ``nbytes`` bytes of a file have the checksum ``crc``."""

    nbytes: int
    crc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A journal's contents: last checkpoint of each file, requested and missing operators, truncation limit, ending."""

    checkpoints: Mapping[str, Checkpoint]
    operators: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    cut: int | None = None
    ending: Ending | None = None

    def notes(self) -> list[str]:
        """Return the reasons why the capture is incomplete, and the missing operators."""
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
        """Return a message with the requested operators that the fragment lacks; empty if there are none."""
        names = ", ".join(self.missing)
        return f"{PREFIX}capture.operator asked for {names}, not in this fragment" if names else ""


_WHY: Mapping[Ending | None, str] = {
    None: "it has no end, so the task was killed or still runs",
    Ending.FAILED: "the task failed, and read no more than this",
    Ending.CANCELLED: "the task was cancelled",
}


class JournalWriter:
    """Writes the journal of a capture in ``folder``, replacing an older one. Raises OSError."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        open_private(self._path).close()
        self.append({"version": _VERSION})

    def append(self, entry: Mapping[str, Any]) -> None:
        """Add an entry. Raises OSError."""
        text = json.dumps(entry).encode()
        with self._path.open("ab") as file:
            file.write(b"%08x %s\n" % (crc32(text), text))


def read_journal(folder: Path) -> Journal:
    """Return the journal of a capture. Raises :class:`CaptureError` if there is none, or it is damaged."""
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
        elif number + 1 < len(lines):  # the last line is empty, or was cut by a kill
            raise CaptureError(f"{path} is damaged: line {number + 1} is not as it was written")
    if not entries or entries[0].get("version") != _VERSION:
        raise CaptureError(f"{path} does not begin with version {_VERSION}: it is damaged, or of another release")
    return _journal(entries)


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return the entry of a line; None if its checksum does not match."""
    total, _, text = line.partition(b" ")
    if total != b"%08x" % crc32(text):
        return None
    entry: dict[str, Any] = json.loads(text)
    return entry


def _journal(entries: list[dict[str, Any]]) -> Journal:
    checkpoints = {e["file"]: Checkpoint(e["bytes"], e["crc32"]) for e in entries if "file" in e}
    last = {key: value for entry in entries for key, value in entry.items()}
    return Journal(
        checkpoints=checkpoints,
        operators=tuple(last.get("operators", ())),
        missing=tuple(last.get("missing", ())),
        cut=last.get("cut"),
        ending=Ending(last["end"]) if "end" in last else None,
    )


def check_files(folder: Path, journal: Journal) -> None:
    """Verify every file of a capture by its checkpoint. Raises :class:`CaptureError`, which names a damaged file.

    If the capture has an end, the lengths must be equal; otherwise a file may be longer by a partial message.
    """
    for name, checkpoint in journal.checkpoints.items():
        path = folder / name
        try:
            size = path.stat().st_size
            if size < checkpoint.nbytes or (size > checkpoint.nbytes and journal.ending is not None):
                raise CaptureError(f"{path} is damaged: it has {size} bytes, {checkpoint.nbytes} were written")
            found = _sum(path, checkpoint.nbytes)
        except OSError as error:
            raise CaptureError(f"{path} cannot be read: {error}") from error
        if found != checkpoint.crc:
            written = f"{checkpoint.crc:08x}"
            raise CaptureError(f"{path} is damaged: its checksum is {found:08x}, what was written has {written}")


def _sum(path: Path, nbytes: int) -> int:
    """Return the checksum of the first ``nbytes`` bytes of a file."""
    total, left = 0, nbytes
    with path.open("rb") as file:
        while left and (piece := file.read(min(left, _PIECE))):
            total = crc32(piece, total)
            left -= len(piece)
    return total
