"""The row groups of a file of lines: parts of a split, or a compressed file as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.operators.scan.lines import LineCutter
from pyspark_pipeline.plan.nodes import ScanSplit

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
