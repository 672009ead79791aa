"""The fields of lines of CSV, as the parser of Spark (univocity) finds them in lines that end with one byte.

A field that begins with the quote ends with the next quote before a separator or the end of the line. The parser has
rules for everything else: escapes, quotes within a quoted field, white space after it, lines that end within it.
:func:`_read_quoted` follows its states, so that the text of a field is the same whatever the line.

The bytes of lines are followed by those of the value of empty fields, and by room for texts that are no part of a
line (twice the bytes of lines and 16 more are enough). A field is a slice of these bytes; NULL has a negative length.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel

NULL = -1
_SPACE = 32


@kernel
def scan_lines(
    data: UInt8Array,
    size: int,
    free: int,
    empty: tuple[int, int],
    marks: tuple[int, int, int, int, int, int],
    trims: tuple[bool, bool],
    skips: bool,
    slots: Int32Array,
    needed: int,
    most: int,
    starts: Int32Array,
    lengths: Int32Array,
    counts: Int32Array,
    lines: Int32Array,
) -> int:
    """Write the fields of the lines in the first ``size`` bytes, which end with a line; return the number of lines.

    ``skips``: blank lines and those that start with the comment are skipped; else empty ones and those have no field,
    and blank ones are lines like others. Room for texts is from ``free`` on, ``empty`` the slice of the value of empty
    fields. ``marks`` are the separator, the quote, its escape, the escape of the escape, the comment and the end of
    lines; ``trims`` whether leading and trailing white space is dropped. The field of column c is written to row
    ``slots[c]`` of ``starts`` and ``lengths`` (shape (columns, lines)), not if that is negative. If ``needed`` is not
    negative, fields after the first ``needed`` ones are not counted. ``counts`` are the numbers of fields, ``lines``
    (shape (2, lines)) the starts and ends of lines. A line with more than ``most`` fields ends the scan; its number,
    negative and minus one, is returned.
    """
    separator, quote, _, _, comment, line_end = marks
    leads, trails = trims
    row = 0
    at = 0
    while at < size:
        first = at
        while skips and data[first] <= _SPACE and data[first] != line_end:
            first += 1
        is_record = data[first] != line_end and data[at] != comment
        line = at
        if not is_record:
            at = first
            while data[at] != line_end:
                at += 1
            at += 1
            if skips:
                continue
        column = 0
        while is_record:
            if column == needed:
                stop = at
                while data[stop] != line_end:
                    stop += 1
                if stop - line < most:
                    at = stop + 1
                    break
            if column == most:
                return -row - 1
            if leads:
                while data[at] <= _SPACE and data[at] != line_end and data[at] != separator and data[at] != quote:
                    at += 1
            byte = data[at]
            slot = slots[column] if column < slots.shape[0] else -1
            column += 1
            if byte == separator or byte == line_end:
                if slot >= 0:
                    starts[slot, row] = at
                    lengths[slot, row] = NULL
                at += 1
            elif byte != quote:
                start = at
                at += 1
                place = np.uint64(at)  # an unsigned index is not compared with zero
                byte = data[place]
                while byte != separator and byte != line_end:
                    place += np.uint64(1)
                    byte = data[place]
                at = np.int64(place)
                if slot >= 0:
                    end = at
                    if trails:
                        while end > start and data[end - 1] <= _SPACE:
                            end -= 1
                    starts[slot, row] = start
                    lengths[slot, row] = end - start
                at += 1
            else:
                start, end, stop = _plain_quoted(data, at, marks)
                if stop < 0:
                    start, end, stop = _read_quoted(data, at, marks, trails, free)
                    free = max(end, start)
                if slot >= 0:
                    if end == start:
                        starts[slot, row] = empty[0]
                        lengths[slot, row] = empty[1]
                    else:
                        starts[slot, row] = start
                        lengths[slot, row] = end - start if end > start else NULL
                byte = data[stop]
                at = stop + 1
            if byte == line_end:
                break
        counts[row] = column
        lines[0, row] = line
        lines[1, row] = at - 1
        row += 1
    return row


@kernel
def _plain_quoted(data: UInt8Array, at: int, marks: tuple[int, int, int, int, int, int]) -> tuple[int, int, int]:
    """Return the start and end of the text between quotes, and where the field ends; that is -1 for an odd field."""
    separator, quote, escape, second, _, line_end = marks
    stop = at + 1
    while True:
        place = np.uint64(stop)  # an unsigned index is not compared with zero
        byte = data[place]
        while byte != line_end and byte != quote and byte != escape:
            place += np.uint64(1)
            byte = data[place]
        stop = np.int64(place)
        if byte == line_end:
            break
        if byte == quote:
            if data[stop - 1] == escape:
                break
            if data[stop + 1] == separator or (data[stop + 1] == line_end and second != 0 and quote != 0):
                return at + 1, stop, stop + 1
            break
        if byte == escape and (data[stop + 1] == quote or data[stop + 1] == second):
            break
        stop += 1
    return at, at, -1


@kernel
def _read_quoted(
    data: UInt8Array, at: int, marks: tuple[int, int, int, int, int, int], trails: bool, free: int
) -> tuple[int, int, int]:
    """Write the text of the field whose quote is at ``at`` from ``free`` on; return its bounds and the field's end.

    The end of the text is before its start for NULL. The states are those of univocity's parser: the current character
    ``byte``, the one before ``previous`` (0 where the parser forgets it), and whether a quote was not escaped.
    """
    separator, quote, escape, second, _, line_end = marks
    start = free + 1
    out = start
    byte = quote
    previous = 0
    is_unescaped = False
    is_tail = False
    at += 1
    held = byte
    is_ended = data[at] == line_end
    if not is_ended:
        byte = data[at]
        at += 1
        while True:
            if previous == quote and (byte <= _SPACE or byte == separator):
                break
            if byte != quote and byte != escape:
                if previous == quote:
                    is_unescaped = True
                    data[out] = quote
                    data[out + 1] = byte
                    out += 2
                    previous = byte
                    is_tail = True
                    break
                if previous == escape and escape != 0:
                    data[out] = escape
                    out += 1
                held = byte
                while byte != quote and byte != escape and byte != second:
                    data[out] = byte
                    out += 1
                    if data[at] == line_end:
                        is_ended = True
                        byte = held
                        break
                    byte = data[at]
                    at += 1
                if is_ended:
                    break
                previous = byte
            else:
                if byte == escape and previous == second and second != 0:
                    data[out] = escape
                    out += 1
                    byte = 0
                elif previous == escape:
                    data[out] = quote if byte == quote else previous
                    out += 1
                    if byte == quote:
                        byte = 0
                elif byte == quote and previous == quote:
                    data[out] = quote
                    out += 1
                elif previous == quote:
                    byte, previous, at, out, is_ended = _read_escaped(data, byte, at, out, marks)
                    if is_ended:
                        break
                previous = byte
            if data[at] == line_end:
                is_ended = True
                break
            byte = data[at]
            at += 1
    if not is_ended and not is_tail and byte != separator:
        # White space after the closing quote: it ends the field, or belongs to it with what follows.
        spaces = at - 1
        while byte <= _SPACE and byte != separator:
            if data[at] == line_end:
                is_ended = True
                break
            byte = data[at]
            at += 1
        if not is_ended and byte != separator:
            data[out] = quote
            out += 1
            for place in range(spaces, at):
                data[out] = data[place]
                out += 1
            previous = byte
            is_tail = True
    is_trimmed = False
    if is_tail:
        start = free
        data[start] = quote
        while data[at] & 0xC0 == 0x80:
            data[out] = data[at]
            out += 1
            at += 1
        is_ended = data[at] == line_end
        if not is_ended:
            byte = data[at]
            at += 1
            is_trimmed = trails
            held = byte
            while byte != separator:
                data[out] = byte
                out += 1
                if data[at] == line_end:
                    is_ended = True
                    byte = held
                    break
                byte = data[at]
                at += 1
    if is_ended:
        is_value = byte == quote and previous == quote
        if not is_value:
            if byte == quote and not is_unescaped:
                data[out] = quote
                out += 1
            is_value = previous != 0 and byte != separator
        if out == start and not is_value:
            return start, start - 1, at
    if is_trimmed:
        while out > start and data[out - 1] <= _SPACE:
            out -= 1
    return start, out, at if is_ended else at - 1


@kernel
def _read_escaped(
    data: UInt8Array, byte: int, at: int, out: int, marks: tuple[int, int, int, int, int, int]
) -> tuple[int, int, int, int, bool]:
    """Read on after a closing quote and an escape, which the parser takes for a field without quotes, to a separator.

    Return the current and the previous character, the next offsets of the line and the text, and whether the line
    ended. Another closing quote and escape begin the same state anew, which then ends with one more separator.
    """
    separator, quote, escape, second, _, line_end = marks
    data[out] = quote
    out += 1
    previous = byte
    depth = 0
    while True:
        if byte == separator:
            if depth == 0:
                return byte, previous, at, out, False
            depth -= 1
        elif byte != quote and byte != escape:
            if previous == quote:
                data[out] = quote
                out += 1
                previous = byte
                continue
            data[out] = byte
            out += 1
        elif byte == escape and previous == second and second != 0:
            data[out] = escape
            out += 1
            byte = 0
        elif previous == escape:
            data[out] = quote if byte == quote else previous
            out += 1
            if byte == quote:
                byte = 0
        elif byte == quote and previous == quote:
            data[out] = quote
            out += 1
        elif previous == quote:
            data[out] = quote
            out += 1
            previous = byte
            depth += 1
            continue
        previous = byte
        if data[at] == line_end:
            return byte, previous, at, out, True
        byte = data[at]
        at += 1


@kernel
def null_equal(data: UInt8Array, starts: Int32Array, lengths: Int32Array, text: UInt8Array) -> None:
    """Make the slices NULL that equal ``text``."""
    size = text.shape[0]
    for row in range(lengths.shape[0]):
        if lengths[row] != size:
            continue
        place = 0
        while place < size and data[starts[row] + place] == text[place]:
            place += 1
        if place == size:
            lengths[row] = NULL


@kernel
def gather(data: UInt8Array, starts: Int32Array, lengths: Int32Array, ends: Int32Array, out: UInt8Array) -> None:
    """Copy the slices to ``out`` one after another; ``ends`` (one more than slices) begins with 0."""
    at = 0
    ends[0] = 0
    for row in range(lengths.shape[0]):
        start = starts[row]
        for place in range(lengths[row]):
            out[np.uint64(at + place)] = data[np.uint64(start + place)]
        at += max(lengths[row], 0)
        ends[row + 1] = at
