"""Kernels of aggregate functions that count the values of each group: PERCENTILE, MEDIAN, MODE.

An entry has ``stride`` int64 words: the group, the code of a value (signed, the most significant word first; further
words are unsigned), and its count. ``entries`` has the words of ``size`` entries, one entry after the other. The
entries are unordered until :func:`sort_entries` and :func:`combine_entries` have run.

A buffer is the serialized hash map of Spark: for each value the size of a row (int32, big-endian), and an UnsafeRow of
value and count; then −1. ``fields`` has the value of each row as the row holds it.
"""

from __future__ import annotations

import math

import numpy as np

from pyspark_pipeline.kernels.arrays import Float64Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid

_DIGITS = 8
_BUCKETS = 256
#: Bytes of a row whose value has up to 8 bytes, and of one with a decimal of more than 18 digits.
NARROW_ROW = 24
WIDE_ROW = 40


@kernel
def append_rows(
    groups: Int64Array, codes: Int64Array, bitmap: UInt8Array, skip: int, count: int, stride: int, entries: Int64Array,
    size: int,
) -> int:  # fmt: skip
    """Append an entry with ``count`` for each row that is not NULL; return the number of entries."""
    words = stride - 2
    at = size * stride
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            entries[at] = groups[row]
            for word in range(words):
                entries[at + 1 + word] = codes[row * words + word]
            entries[at + 1 + words] = count
            at += stride
    return at // stride


@kernel
def append_counts(
    groups: Int64Array, codes: Int64Array, counts: Int64Array, stride: int, entries: Int64Array, size: int
) -> int:
    """Append an entry for each of ``counts``; return the number of entries."""
    words = stride - 2
    at = size * stride
    for row in range(counts.size):
        entries[at] = groups[row]
        for word in range(words):
            entries[at + 1 + word] = codes[row * words + word]
        entries[at + 1 + words] = counts[row]
        at += stride
    return at // stride


@kernel
def _is_sorted(entries: Int64Array, stride: int, size: int) -> bool:
    for at in range(stride, size * stride, stride):
        for word in range(stride - 1):
            left = entries[at - stride + word]
            right = entries[at + word]
            if left != right:
                less = left < right if word < 2 else np.uint64(left) < np.uint64(right)
                if not less:
                    return False
                break
    return True


@kernel
def sort_entries(entries: Int64Array, spare: Int64Array, stride: int, size: int) -> bool:
    """Sort by group and value, digit by digit; return whether the result is in ``spare``, which is as large."""
    if _is_sorted(entries, stride, size):
        return False
    source = entries
    target = spare
    is_spare = False
    counts = np.zeros(_DIGITS * _BUCKETS, dtype=np.int64)
    for column in range(stride - 2, -1, -1):
        counts[:] = 0
        for at in range(column, size * stride, stride):
            word = source[at]
            for digit in range(_DIGITS):
                counts[digit * _BUCKETS + ((word >> (8 * digit)) & 255)] += 1
        for digit in range(_DIGITS):
            shift = 8 * digit
            base = digit * _BUCKETS
            if counts[base + ((source[column] >> shift) & 255)] == size:
                continue
            sign = 128 if column < 2 and digit == _DIGITS - 1 else 0
            place = 0
            for bucket in range(_BUCKETS):
                rows = counts[base + (bucket ^ sign)]
                counts[base + (bucket ^ sign)] = place
                place += rows * stride
            for at in range(0, size * stride, stride):
                bucket = base + ((source[at + column] >> shift) & 255)
                to = counts[bucket]
                counts[bucket] = to + stride
                for word in range(stride):
                    target[to + word] = source[at + word]
            source, target = target, source
            is_spare = not is_spare
    return is_spare


@kernel
def combine_entries(entries: Int64Array, stride: int, size: int) -> int:
    """Add the counts of equal values of a group in sorted entries; return the number of the remaining entries."""
    last = -stride
    for at in range(0, size * stride, stride):
        is_same = last >= 0
        if is_same:
            for word in range(stride - 1):
                if entries[last + word] != entries[at + word]:
                    is_same = False
                    break
        if is_same:
            entries[last + stride - 1] += entries[at + stride - 1]
        else:
            last += stride
            if last != at:
                for word in range(stride):
                    entries[last + word] = entries[at + word]
    return last // stride + 1


@kernel
def find_bounds(entries: Int64Array, stride: int, size: int, start: int, bounds: Int64Array) -> None:
    """Write the first sorted entry of each of the groups from ``start`` on."""
    low = 0
    high = size
    while low < high:
        middle = (low + high) >> 1
        if entries[middle * stride] < start:
            low = middle + 1
        else:
            high = middle
    for i in range(bounds.size):
        while low < size and entries[low * stride] < start + i:
            low += 1
        bounds[i] = low


@kernel
def find_percentiles(
    entries: Int64Array, stride: int, bounds: Int64Array, percentage: float, is_descending: bool, by_share: bool,
    lower: Int64Array, higher: Int64Array, positions: Float64Array,
) -> None:  # fmt: skip
    """Write the entries at the two ranks next to the position of the percentile in each group; −1 for no value.

    The position is ``percentage`` · (rows − 1), counted from 0. ``by_share``: both entries are instead the first
    one at which the share of the rows up to it is at least the percentage.
    """
    for i in range(bounds.size - 1):
        first = bounds[i]
        end = bounds[i + 1]
        lower[i] = -1
        higher[i] = -1
        positions[i] = 0.0
        if first == end:
            continue
        total = np.int64(0)
        for entry in range(first, end):
            total += entries[entry * stride + stride - 1]
        if by_share:
            low_rank = high_rank = np.int64(math.ceil(np.float64(total) * percentage))
        else:
            position = np.float64(total - 1) * percentage
            positions[i] = position
            low_rank = np.int64(math.floor(position)) + 1
            high_rank = np.int64(math.ceil(position)) + 1
        seen = np.int64(0)
        for step in range(end - first):
            entry = end - 1 - step if is_descending else first + step
            seen += entries[entry * stride + stride - 1]
            if lower[i] < 0 and seen >= low_rank:
                lower[i] = entry
            if seen >= high_rank:
                higher[i] = entry
                break


@kernel
def read_rows(
    groups: Int64Array, offsets: Int32Array, data: UInt8Array, out_groups: Int64Array, fields: Int64Array,
    counts: Int64Array,
) -> int:  # fmt: skip
    """Read buffers whose values have up to 8 bytes; return the number of their values."""
    size = 0
    for row in range(groups.size):
        at = np.int64(offsets[row])
        end = np.int64(offsets[row + 1])
        while at + 4 + NARROW_ROW <= end:
            out_groups[size] = groups[row]
            fields[size] = _long_at(data, at + 12)
            counts[size] = _long_at(data, at + 20)
            at += 4 + NARROW_ROW
            size += 1
    return size


@kernel
def read_wide_rows(
    groups: Int64Array, offsets: Int32Array, data: UInt8Array, out_groups: Int64Array, fields: Int64Array,
    counts: Int64Array,
) -> int:  # fmt: skip
    """Read buffers of decimals of more than 18 digits (``fields``: high and low word); return the number of values."""
    size = 0
    for row in range(groups.size):
        at = np.int64(offsets[row])
        end = np.int64(offsets[row + 1])
        while at + 4 + WIDE_ROW <= end:
            place = _long_at(data, at + 12)
            first = at + 4 + (place >> 32)
            high = np.int64(-1) if data[first] >= 128 else np.int64(0)
            low = np.uint64(high)
            for i in range(first, first + (place & 0x7FFFFFFF)):
                high = (high << 8) | np.int64(low >> np.uint64(56))
                low = (low << np.uint64(8)) | np.uint64(data[i])
            out_groups[size] = groups[row]
            fields[2 * size] = high
            fields[2 * size + 1] = np.int64(low)
            counts[size] = _long_at(data, at + 20)
            at += 4 + WIDE_ROW
            size += 1
    return size


@kernel
def write_rows(
    fields: Int64Array, counts: Int64Array, bounds: Int64Array, offsets: Int32Array, data: UInt8Array
) -> None:
    """Write the buffers of groups whose values have up to 8 bytes; ``fields`` and ``counts`` begin with the first."""
    for i in range(bounds.size - 1):
        at = np.int64(offsets[i])
        for entry in range(bounds[i] - bounds[0], bounds[i + 1] - bounds[0]):
            _put_int(data, at, NARROW_ROW)
            _put_long(data, at + 4, 0)
            _put_long(data, at + 12, fields[entry])
            _put_long(data, at + 20, counts[entry])
            at += 4 + NARROW_ROW
        _put_int(data, at, -1)


@kernel
def write_wide_rows(
    fields: Int64Array, counts: Int64Array, bounds: Int64Array, offsets: Int32Array, data: UInt8Array
) -> None:
    """Write the buffers of groups of decimals of more than 18 digits, each in as few bytes as Java's BigInteger."""
    for i in range(bounds.size - 1):
        at = np.int64(offsets[i])
        for entry in range(bounds[i] - bounds[0], bounds[i + 1] - bounds[0]):
            high = fields[2 * entry]
            low = fields[2 * entry + 1]
            length = 16
            while length > 1:
                first = _byte_of(high, low, length - 1)
                second = _byte_of(high, low, length - 2)
                if not ((first == 0 and second < 128) or (first == 255 and second >= 128)):
                    break
                length -= 1
            _put_int(data, at, WIDE_ROW)
            _put_long(data, at + 4, 0)
            _put_long(data, at + 12, (NARROW_ROW << 32) | length)
            _put_long(data, at + 20, counts[entry])
            _put_long(data, at + 28, 0)
            _put_long(data, at + 36, 0)
            for place in range(length):
                data[at + 28 + place] = _byte_of(high, low, length - 1 - place)
            at += 4 + WIDE_ROW
        _put_int(data, at, -1)


@kernel
def read_text_rows(
    groups: Int64Array, offsets: Int32Array, data: UInt8Array, out_groups: Int64Array, counts: Int64Array,
    text_offsets: Int32Array, text: UInt8Array,
) -> int:  # fmt: skip
    """Read buffers of strings, which follow one after the other in ``text``; return the number of values."""
    size = 0
    used = 0
    text_offsets[0] = 0
    for row in range(groups.size):
        at = np.int64(offsets[row])
        end = np.int64(offsets[row + 1])
        while at + 4 + NARROW_ROW <= end:
            place = _long_at(data, at + 12)
            first = at + 4 + (place >> 32)
            length = place & 0x7FFFFFFF
            for i in range(length):
                text[used + i] = data[first + i]
            used += length
            out_groups[size] = groups[row]
            counts[size] = _long_at(data, at + 20)
            size += 1
            text_offsets[size] = used
            at += 4 + NARROW_ROW + ((length + 7) & ~7)
    return size


@kernel
def write_text_rows(
    text_offsets: Int32Array, text: UInt8Array, counts: Int64Array, bounds: Int64Array, offsets: Int32Array,
    data: UInt8Array,
) -> None:  # fmt: skip
    """Write the buffers of groups of strings."""
    for i in range(bounds.size - 1):
        at = np.int64(offsets[i])
        for entry in range(bounds[i] - bounds[0], bounds[i + 1] - bounds[0]):
            first = np.int64(text_offsets[entry])
            length = np.int64(text_offsets[entry + 1]) - first
            padded = (length + 7) & ~7
            _put_int(data, at, NARROW_ROW + padded)
            _put_long(data, at + 4, 0)
            _put_long(data, at + 12, (NARROW_ROW << 32) | length)
            _put_long(data, at + 20, counts[entry])
            at += 4 + NARROW_ROW
            for place in range(padded):
                data[at + place] = text[first + place] if place < length else np.uint8(0)
            at += padded
        _put_int(data, at, -1)


@kernel
def find_modes(
    entries: Int64Array, stride: int, bounds: Int64Array, ranks: Int64Array, is_largest: bool, chosen: Int64Array
) -> None:
    """Write the entry with the largest count in each group, of equal ones the smallest or largest value; −1 for none.

    ``ranks`` has the rank of each code; if it is empty, the codes are in the order of the values.
    """
    for i in range(bounds.size - 1):
        best = np.int64(-1)
        most = np.int64(0)
        for entry in range(bounds[i], bounds[i + 1]):
            count = entries[entry * stride + stride - 1]
            is_better = count > most
            if count == most and best >= 0:
                is_better = is_largest
                if ranks.size:
                    code, other = entries[entry * stride + 1], entries[best * stride + 1]
                    is_better = ranks[code] > ranks[other] if is_largest else ranks[code] < ranks[other]
            if is_better:
                best = entry
                most = count
        chosen[i] = best


@kernel(forceinline=True)
def _byte_of(high: int, low: int, number: int) -> int:
    """Return a byte of a 128-bit integer, counted from the lowest one."""
    if number >= 8:
        return np.uint8((high >> (8 * (number - 8))) & 255)
    return np.uint8((low >> (8 * number)) & 255)


@kernel(forceinline=True)
def _long_at(data: UInt8Array, at: int) -> int:
    value = np.uint64(0)
    for i in range(8):
        value |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return np.int64(value)


@kernel(forceinline=True)
def _put_long(data: UInt8Array, at: int, value: int) -> None:
    for i in range(8):
        data[at + i] = np.uint8((value >> (8 * i)) & 255)


@kernel(forceinline=True)
def _put_int(data: UInt8Array, at: int, value: int) -> None:
    for i in range(4):
        data[at + i] = np.uint8((value >> (24 - 8 * i)) & 255)
