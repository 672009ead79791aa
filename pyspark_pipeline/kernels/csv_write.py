"""Write the fields of CSV records, in compiled passes, as Spark's writer (univocity) does.

A field is in quotes if its text has a mark; then each quote has the escape before it, and each escape the escape of the
escape. Texts are read as (offsets, bytes), see ``text_parse.py``.
"""

from __future__ import annotations

from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel

_SPACE = 32
_NEW_LINE = 10
_RETURN = 13


@kernel
def write_fields(
    offsets: Int32Array,
    data: UInt8Array,
    valid: UInt8Array,
    null: UInt8Array,
    empty: UInt8Array,
    marks: tuple[int, int, int, int, int],
    quotes: tuple[bool, bool],
    trims: bool,
    ends: Int32Array,
    out: UInt8Array,
) -> None:
    """Write the fields of a column one after another; ``ends`` (one more than rows) begins with 0.

    ``null`` is the text of rows that are not ``valid`` (empty: all are), ``empty`` that of empty strings. ``marks`` are
    the separator, the quote, its escape, the escape of the escape (0: none) and the character that is quoted at the
    start of the field (-1: none). ``quotes`` are whether all fields are in quotes, and those that have a quote.
    ``trims`` is whether white space around texts is dropped. A field has at most twice the bytes of its text and two.
    """
    to = 0
    ends[0] = 0
    for row in range(ends.shape[0] - 1):
        start, end = offsets[row], offsets[row + 1]
        if valid.shape[0] > 0 and valid[row] == 0:
            to = _write_field(null, 0, null.shape[0], True, marks, quotes, trims, out, to)
        else:
            first = start
            if trims:
                while first < end and data[first] <= _SPACE:
                    first += 1
            if first == end:
                to = _write_field(empty, 0, empty.shape[0], True, marks, quotes, trims, out, to)
            else:
                to = _write_field(data, start, end, False, marks, quotes, trims, out, to)
        ends[row + 1] = to


@kernel
def _write_field(
    data: UInt8Array,
    start: int,
    end: int,
    is_given: bool,
    marks: tuple[int, int, int, int, int],
    quotes: tuple[bool, bool],
    trims: bool,
    out: UInt8Array,
    to: int,
) -> int:
    """Write a field; ``is_given``: the text of NULL or of the empty string. Return the offset after it."""
    separator, quote, escape, second, leading = marks
    is_quoted, quotes_quote = quotes
    first = start
    if trims:
        while first < end and data[first] <= _SPACE:
            first += 1
    if first < end and (data[first] == quote or data[start] == leading):
        is_quoted = True
    if is_quoted and is_given and end - start >= 2 and data[start] == quote and data[end - 1] == quote:
        for place in range(start, end):
            out[to] = data[place]
            to += 1
        return to
    place = first
    while place < end and not is_quoted:
        byte = data[place]
        is_quoted = (
            byte == separator or byte == _NEW_LINE or byte == _RETURN or (quotes_quote and byte == quote)
        )
        place += 1
    if is_quoted:
        out[to] = quote
        to += 1
    content = to
    for place in range(first, end):
        byte = data[place]
        if is_quoted:
            if byte == quote:
                out[to] = escape
                to += 1
            elif byte == escape and second != 0:
                out[to] = second
                to += 1
        out[to] = byte
        to += 1
    if trims:
        while to > content and out[to - 1] <= _SPACE:
            to -= 1
    if is_quoted:
        out[to] = quote
        to += 1
    return to
