"""The row groups of a file of lines: parts of a split, or a compressed file as a whole; the base of its readers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyspark_pipeline.operators.scan.lines import LineCutter
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ScanSplit

#: The kinds of types whose values are texts in a line.
FLAT_KINDS = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal",
    "string",
    "date",
    "timestamp",
    "timestamp_ntz",
)

#: The bytes of a row group: thousands of lines for a chunk, in buffers that allocators reuse (larger ones they return).
GROUP_BYTES = 512 << 10
_COMPRESSED = ".gz"


class LineParts:
    """Cuts the file at a local path into row groups of about ``group_bytes``; raise OSError if there is none.

    A file whose name ends with ``.gz`` is one row group; the row groups of others are parts of a split. A file is open
    only while a row group is read.
    """

    def __init__(self, path: str, cutter: LineCutter, group_bytes: int) -> None:
        os.stat(path)
        self._path = path
        self._cutter = cutter
        self._group_bytes = group_bytes
        self._parts: list[tuple[int, int]] = []

    def row_groups(self, split: ScanSplit) -> range:
        """Return the numbers of the parts of the split; a compressed file has one split."""
        start, stop = split.start, split.start + split.length
        step = split.length if self._is_compressed else self._group_bytes
        self._parts = [(at, min(at + step, stop)) for at in range(start, stop, max(step, 1))]
        return range(len(self._parts))

    def num_bytes(self, group: int) -> int:
        """Return the bytes of the part."""
        start, stop = self._parts[group]
        return stop - start

    def texts(self, group: int) -> Iterator[bytes]:
        """Yield the lines that belong to the part, some at a time."""
        if self._is_compressed:
            with pa.input_stream(self._path, compression="gzip") as stream:
                yield from self._cutter.pieces(stream, self._group_bytes)
        else:
            with open(self._path, "rb") as file:
                yield self._cutter.part(file, *self._parts[group])

    @property
    def _is_compressed(self) -> bool:
        return self._path.endswith(_COMPRESSED)


class LineFileReader:
    """The base of readers of files of lines; a subclass has ``chunks`` (:class:`~.reader.FileReader`).

    Lines of the file at a local path end with ``separator``; with LF, CR or CRLF if it is None.
    """

    def __init__(self, path: str, separator: bytes | None, group_bytes: int) -> None:
        self._cutter = LineCutter(separator)
        self._parts = LineParts(path, self._cutter, group_bytes)

    def row_groups(self, split: ScanSplit) -> Sequence[int]:
        """Return numbers of parts of the split."""
        return self._parts.row_groups(split)

    def may_match(self, groups: Sequence[int], conjuncts: Sequence[Expr]) -> Sequence[int]:
        """Return all ``groups``: there are no statistics."""
        return groups

    def num_rows(self, group: int) -> int | None:
        """Return None: rows are counted when lines are read."""
        return None

    def num_bytes(self, group: int) -> int:
        """Return the bytes of the part."""
        return self._parts.num_bytes(group)

    def close(self) -> None:
        """Do nothing: a file is open only while a row group is read."""
