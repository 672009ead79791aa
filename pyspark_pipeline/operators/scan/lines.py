"""The lines of a text file, as Hadoop's LineRecordReader finds them for Spark.

A line ends with LF, CR or CRLF, or with a given separator of one byte; the last one may end with the file. The byte
order mark of UTF-8 before the first line is skipped; otherwise bytes are kept, whether they are UTF-8 or not.

Of the parts of a file, a line belongs to the one that holds the byte before it, and the first line to the first part.
So the reader of a part skips what precedes the first end of a line in it, and reads its last line beyond its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_READ_BYTES = 1 << 16
_MOST_BYTES = 2**31 - 1


class LineCutter:
    """Cuts text into lines that end with ``separator``; if it is None, with LF, CR or CRLF."""

    def __init__(self, separator: bytes | None) -> None:
        self._is_any = separator is None
        self._separator = separator or b"\n"

    def part(self, file: BinaryIO, start: int, stop: int) -> bytes:
        """Return the lines that belong to the bytes ``start`` to ``stop`` of a file."""
        size = stop - start
        file.seek(start)
        text = file.read(size + 1)
        first = 0
        if start:
            skipped = self._stop(text, 0)
            if skipped is None or skipped > size:
                return b""
            first = skipped
        last = self._stop(text, size)
        pieces = [text[first:last]]
        while last is None and (piece := file.read(_READ_BYTES)):
            last = self._stop(piece, 0)
            pieces.append(piece[:last])
        return _without_mark(b"".join(pieces), is_first=not start)

    def pieces(self, file: pa.NativeFile, size: int) -> Iterator[bytes]:
        """Yield the whole lines of a stream, at least those in its next ``size`` bytes at a time."""
        rest: list[bytes] = []
        is_first = True
        while piece := file.read(size):
            stop = self._last_end(piece)
            if not stop:
                rest.append(piece)
                continue
            yield _without_mark(b"".join([*rest, piece[:stop]]), is_first)
            rest, is_first = [piece[stop:]], False
        yield _without_mark(b"".join(rest), is_first)

    def _stop(self, text: bytes, at: int) -> int | None:
        """Return the offset after the first end of a line from ``at`` on; None if there is none."""
        last = text.find(self._separator, at)
        if self._is_any:
            first = text.find(b"\r", at, len(text) if last < 0 else last)
            if first >= 0:
                return first + (2 if text.startswith(b"\n", first + 1) else 1)
        return last + 1 if last >= 0 else None

    def _last_end(self, piece: bytes) -> int:
        """Return the offset after the last line that certainly ends in ``piece``; 0 if none does.

        After a CR at the end of the piece LF may follow.
        """
        last = piece.rfind(self._separator)
        return 1 + (max(last, piece.rfind(b"\r", 0, len(piece) - 1)) if self._is_any else last)

    def count(self, text: bytes) -> int:
        """Return the number of lines of ``text``, which begins with a line."""
        data = np.frombuffer(text, dtype=np.uint8)
        ends = int(np.count_nonzero(data == ord(self._separator)))
        if self._is_any and b"\r" in text:
            ends += text.count(b"\r") - text.count(b"\r\n")
        return ends + (len(text) > 0 and not self._is_ended(text))

    def lines(self, text: bytes) -> pa.Array:
        """Return the lines of ``text``, which begins with a line, as strings; raise OSError for 2 GiB and more."""
        if len(text) > _MOST_BYTES:
            raise OSError("a line has 2 GiB or more")
        if not text:
            return pa.array([], pa.string())
        text = self.with_one_end(text)
        offsets = pa.py_buffer(np.array([0, len(text)], dtype=np.int32))
        whole = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(text)])
        found = pc.split_pattern(whole, self._separator.decode()).values
        return found[:-1] if text.endswith(self._separator) else found

    def with_one_end(self, text: bytes) -> bytes:
        """Return lines that all end with the separator, LF for any, but the last one possibly with ``text``."""
        if self._is_any and b"\r" in text:
            return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return text

    def _is_ended(self, text: bytes) -> bool:
        return text.endswith(self._separator) or (self._is_any and text.endswith(b"\r"))


def _without_mark(text: bytes, is_first: bool) -> bytes:
    return text.removeprefix(_BYTE_ORDER_MARK) if is_first else text
