"""Write JSON documents field by field and element by element, in compiled passes.

Texts are read as (offsets, bytes), see ``text_parse.py``. A text is either JSON or, if ``is_string``, the contents of a
string, which is written in quotes with the escapes of Jackson's WriterBasedJsonGenerator. Cursors are the offsets in
the result where the next byte of each row is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyspark_pipeline.kernels.jit import frozen, kernel


def _escapes() -> tuple[Any, Any]:
    """Return how many bytes each byte becomes in a string, and the letters of the short escapes (0: none)."""
    sizes, letters = np.ones(256, dtype=np.uint8), np.zeros(256, dtype=np.uint8)
    sizes[:32] = 6
    for byte, letter in zip(b'"\\\b\f\n\r\t', b'"\\bfnrt', strict=True):
        sizes[byte], letters[byte] = 2, letter
    return frozen(sizes), frozen(letters)


_SIZES, _LETTERS = _escapes()


@kernel
def string_sizes(offsets: Any, data: Any, sizes: Any) -> None:
    """Write the size of each string in quotes and with escapes: int64, shape (rows,)."""
    for row in range(sizes.shape[0]):
        size = 2
        for at in range(offsets[row], offsets[row + 1]):
            size += _SIZES[data[at]]
        sizes[row] = size


@kernel
def put_text(data: Any, at: int, end: int, is_string: bool, out: Any, to: int) -> int:
    """Write one text; return the offset after it."""
    if not is_string:
        for place in range(at, end):
            out[to] = data[place]
            to += 1
        return to
    out[to] = 34
    to += 1
    for place in range(at, end):
        byte = data[place]
        size = _SIZES[byte]
        if size == 1:
            out[to] = byte
        else:
            out[to] = 92
            if size == 2:
                out[to + 1] = _LETTERS[byte]
            else:
                out[to + 1] = 117
                out[to + 2] = 48
                out[to + 3] = 48
                out[to + 4] = 48 + (byte >> 4)
                digit = byte & 15
                out[to + 5] = digit + (48 if digit < 10 else 55)
        to += size
    out[to] = 34
    return to + 1


@kernel
def put_bytes(texts: Any, cursors: Any, chosen: Any, out: Any) -> None:
    """Write the same bytes in the ``chosen`` rows (uint8), and advance their cursors (int64)."""
    for row in range(cursors.shape[0]):
        if chosen[row]:
            to = cursors[row]
            for place in range(texts.shape[0]):
                out[to] = texts[place]
                to += 1
            cursors[row] = to


@kernel
def put_field(
    offsets: Any, data: Any, chosen: Any, is_string: bool, prefix: Any, has_fields: Any, cursors: Any, out: Any
) -> None:
    """Write a field of the ``chosen`` rows: ``prefix`` is its name in quotes with a colon, after a comma.

    ``has_fields`` (uint8) is whether a row has a field already: without one the comma is left out.
    """
    for row in range(cursors.shape[0]):
        if not chosen[row]:
            continue
        to = cursors[row]
        for place in range(0 if has_fields[row] else 1, prefix.shape[0]):
            out[to] = prefix[place]
            to += 1
        has_fields[row] = 1
        cursors[row] = put_text(data, np.int64(offsets[row]), np.int64(offsets[row + 1]), is_string, out, to)


@kernel
def put_elements(
    bounds: Any, key_offsets: Any, keys: Any, has_keys: bool, offsets: Any, data: Any, is_string: bool, is_null: Any,
    ends: Any, out: Any,
) -> None:  # fmt: skip
    """Write arrays, or maps if ``has_keys``, whose elements are those between ``bounds``, and their ``ends`` (int32).

    ``is_null`` (uint8) has the elements that are null; it is empty if none is. Keys are contents of strings.
    """
    to = 0
    ends[0] = 0
    opening = 123 if has_keys else 91
    for row in range(ends.shape[0] - 1):
        out[to] = opening
        to += 1
        first = np.int64(bounds[row])
        for place in range(first, np.int64(bounds[row + 1])):
            if place > first:
                out[to] = 44
                to += 1
            if has_keys:
                to = put_text(keys, np.int64(key_offsets[place]), np.int64(key_offsets[place + 1]), True, out, to)
                out[to] = 58
                to += 1
            if is_null.shape[0] > 0 and is_null[place]:
                out[to] = 110
                out[to + 1] = 117
                out[to + 2] = 108
                out[to + 3] = 108
                to += 4
            else:
                to = put_text(data, np.int64(offsets[place]), np.int64(offsets[place + 1]), is_string, out, to)
        out[to] = opening + 2
        to += 1
        ends[row + 1] = to
