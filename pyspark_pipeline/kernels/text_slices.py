"""Slices of strings, found by characters or delimiters, and strings made of other bytes, in compiled passes.

Strings are read as (offsets, bytes), see :func:`~.text_parse.text_of`. A character is one code point of UTF-8; a slice
always begins and ends between characters.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Int16Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.text_match import find_part


@kernel
def skip_characters(data: UInt8Array, at: int, stop: int, count: int) -> tuple[int, int]:
    """Return the offset ``count`` characters after ``at``, at most ``stop``, and how many are missing."""
    while count > 0 and at < stop:
        at += 1
        while at < stop and (data[at] & 0xC0) == 0x80:
            at += 1
        count -= 1
    return at, count


@kernel
def step_back(data: UInt8Array, start: int, at: int, count: int) -> tuple[int, int]:
    """Return the offset ``count`` characters before ``at``, at least ``start``, and how many are missing."""
    while count > 0 and at > start:
        at -= 1
        while at > start and (data[at] & 0xC0) == 0x80:
            at -= 1
        count -= 1
    return at, count


@kernel
def positions_of(
    offsets: Int32Array, data: UInt8Array, part_offsets: Int32Array, parts: UInt8Array, step: np.uint64,
    characters_before: int, out: Int32Array,
) -> None:  # fmt: skip
    """Write the position (from 1) of a part in each string after its first ``characters_before``; 0 if there is none.

    ``step`` is 1 for a part for each string, 0 for one part (uint64). An empty part is at position 1.
    """
    for row in range(out.shape[0]):
        part = np.uint64(row) * step
        first = np.int64(part_offsets[part])
        size = np.int64(part_offsets[part + np.uint64(1)]) - first
        start, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        if size == 0:
            out[row] = 1
            continue
        at, _ = skip_characters(data, start, stop, characters_before)
        found = find_part(data, at, stop, parts, first, size)
        position = 0
        if found >= 0:
            position = characters_before + 1
            while at < found:
                at += 1
                if (data[at] & 0xC0) != 0x80:
                    position += 1
        out[row] = position


@kernel
def substrings(
    offsets: Int32Array, data: UInt8Array, positions: Int32Array, lengths: Int32Array, starts: Int32Array,
    ends: Int32Array,
) -> None:  # fmt: skip
    """Write the start of each SQL substring, and its end in the result: int32, shape (rows + 1,), beginning with 0.

    Positions are counted from 1; 0 is the first character too, and a negative one counts from the end.
    """
    ends[0] = 0
    for row in range(starts.shape[0]):
        position = np.int64(positions[row])
        length = np.int64(lengths[row])
        start, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        if position > 0:
            start, _ = skip_characters(data, start, stop, position - 1)
        elif position < 0:
            start, missing = step_back(data, start, stop, -position)
            length -= missing
        stop, _ = skip_characters(data, start, stop, length)
        starts[row] = start
        ends[row + 1] = ends[row] + stop - start


@kernel
def parts_around(
    offsets: Int32Array, data: UInt8Array, delimiter: UInt8Array, count: int, starts: Int32Array, ends: Int32Array
) -> None:
    """Write the slice of each string before its ``count``-th delimiter, which is not empty.

    If ``count`` is negative: after the ``-count``-th from the right. Occurrences may overlap; the slice is the whole
    string if it has fewer. ``starts`` and ``ends`` as in :func:`substrings`.
    """
    size = delimiter.shape[0]
    ends[0] = 0
    for row in range(starts.shape[0]):
        start, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        if count > 0:
            found = start - 1
            for _ in range(count):
                found = find_part(data, found + 1, stop, delimiter, 0, size)
                if found < 0:
                    break
            if found >= 0:
                stop = found
        else:
            at = stop - size + 1
            missing = -count
            while missing > 0 and at > start:
                at -= 1
                if find_part(data, at, at + size, delimiter, 0, size) == at:
                    missing -= 1
            if missing == 0:
                start = at + size
        starts[row] = start
        ends[row + 1] = ends[row] + stop - start


@kernel
def copy_slices(data: UInt8Array, starts: Int32Array, ends: Int32Array, out: UInt8Array) -> None:
    """Copy slices of ``data`` to ``out``: from ``starts`` on, to the ranges between ``ends``."""
    for row in range(starts.shape[0]):
        shift = starts[row] - ends[row]
        for at in range(ends[row], ends[row + 1]):
            out[at] = data[at + shift]


@kernel
def padded_ends(
    offsets: Int32Array, data: UInt8Array, length: int, cuts: bool, fill_ends: Int64Array, kept: Int32Array,
    ends: Int32Array,
) -> None:  # fmt: skip
    """Write the bytes each string keeps, and its end in the result with the filling to ``length`` characters.

    If it ``cuts``, a longer string keeps as many. ``fill_ends[n]`` is the size of a filling of ``n`` characters, int64.
    """
    ends[0] = 0
    for row in range(kept.shape[0]):
        start = np.int64(offsets[row])
        stop, missing = skip_characters(data, start, np.int64(offsets[row + 1]), length)
        if not cuts:
            stop = np.int64(offsets[row + 1])
        kept[row] = stop - start
        ends[row + 1] = ends[row] + stop - start + fill_ends[missing]


@kernel
def copy_padded(
    offsets: Int32Array, data: UInt8Array, fill: UInt8Array, is_left: bool, kept: Int32Array, ends: Int32Array,
    out: UInt8Array,
) -> None:  # fmt: skip
    """Copy what each string keeps, and the filling before (``is_left``) or after it, to the ranges between ``ends``."""
    for row in range(kept.shape[0]):
        size = np.int64(kept[row])
        filled = ends[row + 1] - ends[row] - size
        text = np.int64(ends[row])
        padding = text + size
        if is_left:
            padding = text
            text += filled
        start = np.int64(offsets[row])
        for k in range(size):
            out[text + k] = data[start + k]
        for k in range(filled):
            out[padding + k] = fill[k]


@kernel
def map_bytes(offsets: Int32Array, data: UInt8Array, table: Int16Array, ends: Int32Array, out: UInt8Array) -> None:
    """Write each byte's entry of ``table`` (int16, shape (256,)), none for a negative entry."""
    end = 0
    ends[0] = 0
    for row in range(ends.shape[0] - 1):
        for at in range(offsets[row], offsets[row + 1]):
            entry = table[data[at]]
            if entry >= 0:
                out[end] = entry
                end += 1
        ends[row + 1] = end


@kernel
def capitalize_ascii(offsets: Int32Array, data: UInt8Array, ends: Int32Array, out: UInt8Array) -> None:
    """Write ASCII strings in lower case, with the first character and those after a space in upper case."""
    first = np.int64(offsets[0])
    ends[0] = 0
    for row in range(ends.shape[0] - 1):
        after_space = True
        for at in range(offsets[row], offsets[row + 1]):
            byte = data[at]
            if after_space:
                if 97 <= byte <= 122:
                    byte -= 32
            elif 65 <= byte <= 90:
                byte += 32
            out[at - first] = byte
            after_space = byte == 32
        ends[row + 1] = offsets[row + 1] - first


@kernel
def split_at_byte(
    offsets: Int32Array, data: UInt8Array, byte: int, valid: BoolArray, counts: Int64Array, ends: Int32Array,
    out: UInt8Array,
) -> int:  # fmt: skip
    """Copy the parts of strings between the places of a byte, one after another; return their number.

    ``counts`` are the numbers of parts of each string, 0 if it is not ``valid``. ``ends`` (one more than parts) begins
    with 0. ``ends`` and ``out`` have room for one more.
    """
    part = np.uint64(1)
    to = np.uint64(0)
    ends[0] = 0
    for row in range(counts.shape[0]):
        counts[row] = 0
        if not valid[row]:
            continue
        first = part
        for at in range(np.uint64(offsets[row]), np.uint64(offsets[row + 1])):
            out[to] = data[at]
            ends[part] = to
            is_mark = np.uint64(data[at] == byte)
            to += np.uint64(1) - is_mark
            part += is_mark
        ends[part] = to
        part += np.uint64(1)
        counts[row] = np.int64(part - first)
    return np.int64(part) - 1
