"""Aggregation kernels: add, count and compare values in per-group accumulators.

``groups``: int64, shape (rows,). ``seen``: uint8 per group: 0 no value yet, 1 has a value, 3 overflowed (for
good). 128-bit sums are pairs of int64 words (low, high). Bitmaps as in :mod:`~.buffers`.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.words import load_word, store_word, swap_bytes
from pyspark_pipeline.kernels.wrapping import wrapping_add, wrapping_subtract

# 10 ** 38 as two words
_LIMIT_LOW = np.uint64(0x098A224000000000)
_LIMIT_HIGH = np.int64(0x4B3B4CA85A86C47A)

_AND, _OR = ord("&"), ord("|")

_ROWS_AT_ONCE = 1 << 14
_SMALL = np.int64(1 << 47)  # values from -_SMALL to _SMALL - 1 are small
_LARGE = np.int64(1 << 62)  # a sum within it and _ROWS_AT_ONCE small values do not overflow


@kernel
def count_rows(groups: Int64Array, counts: Int64Array) -> None:
    """Count rows per group."""
    for row in range(groups.size):
        counts[groups[row]] += 1


@kernel
def count_valid(groups: Int64Array, bitmap: UInt8Array, skip: int, counts: Int64Array) -> None:
    """Count rows per group that are not NULL."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            counts[groups[row]] += 1


@kernel
def add_longs(
    groups: Int64Array, values: Int64Array, bitmap: UInt8Array, skip: int, sums: Int64Array, seen: UInt8Array
) -> bool:
    """Add 64-bit integers, wrapping; return whether a sum overflowed."""
    overflow = np.int64(0)
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            old = sums[group]
            value = np.int64(values[row])
            new = wrapping_add(old, value)
            overflow |= (old ^ new) & (value ^ new)
            sums[group] = new
            seen[group] = 1
    return overflow < 0


@kernel
def mark_failed(groups: Int64Array, passed: UInt8Array, seen: UInt8Array) -> None:
    """Set the lowest bit of the groups of the rows that did not pass, 0, a filter."""
    for row in range(groups.size):
        seen[groups[row]] |= np.uint8(1) - passed[row]


@kernel
def _small_sum(values: Int64Array) -> tuple[int, bool]:
    """Return the sum, and whether each of at most :data:`_ROWS_AT_ONCE` values is small, so that no sum overflows."""
    total, bits = np.int64(0), np.int64(0)
    for row in range(values.shape[0]):
        total = wrapping_add(total, values[row])
        bits |= wrapping_add(values[row], _SMALL)
    return total, bits & -(2 * _SMALL) == 0


@kernel
def sum_longs(values: Int64Array, bitmap: UInt8Array, skip: int, sums: Int64Array, seen: UInt8Array) -> bool:
    """Like :func:`add_longs`, to the first group: its sum does not pass through memory."""
    total, overflow, found = sums[0], np.int64(0), np.uint8(0)
    rows = values.shape[0]
    for start in range(0, rows, _ROWS_AT_ONCE):
        stop = min(rows, start + _ROWS_AT_ONCE)
        if bitmap.shape[0] == 0 and -_LARGE <= total <= _LARGE:
            part, is_small = _small_sum(values[start:stop])
            if is_small:
                total += part
                found = np.uint8(1)
                continue
        for row in range(start, stop):
            if is_valid(bitmap, skip, row):
                value = np.int64(values[row])
                new = wrapping_add(total, value)
                overflow |= (total ^ new) & (value ^ new)
                total = new
                found = np.uint8(1)
    sums[0] = total
    seen[0] |= found
    return overflow < 0


@kernel(forceinline=True)
def try_add(value: int, group: int, sums: Int64Array, seen: UInt8Array) -> None:
    """Add a 64-bit integer; a sum that overflows sets the group to overflowed."""
    if seen[group] != 3:
        old = sums[group]
        new = wrapping_add(old, value)
        seen[group] = 3 if (old ^ new) & (value ^ new) < 0 else 1
        sums[group] = new


@kernel
def try_add_longs(
    groups: Int64Array, values: Int64Array, bitmap: UInt8Array, skip: int, sums: Int64Array, seen: UInt8Array
) -> None:
    """Add 64-bit integers; a sum that overflows sets the group to overflowed."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            try_add(values[row], groups[row], sums, seen)


@kernel
def merge_longs(
    groups: Int64Array, values: Int64Array, bitmap: UInt8Array, skip: int, empty: UInt8Array, empty_skip: int,
    sums: Int64Array, seen: UInt8Array,
) -> None:  # fmt: skip
    """Add partial sums of integers; ``empty`` and NULL as in :func:`merge_decimals`."""
    for row in range(groups.size):
        if is_valid(empty, empty_skip, row):
            continue
        if is_valid(bitmap, skip, row):
            try_add(values[row], groups[row], sums, seen)
        else:
            seen[groups[row]] = 3


@kernel
def add_doubles(
    groups: Int64Array, values: Float64Array, bitmap: UInt8Array, skip: int, sums: Float64Array, seen: UInt8Array
) -> None:
    """Add floating-point numbers in row order."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            sums[group] += values[row]
            seen[group] = 1


@kernel
def sum_doubles(values: Float64Array, bitmap: UInt8Array, skip: int, sums: Float64Array, seen: UInt8Array) -> None:
    """Like :func:`add_doubles`, to the first group: its sum does not pass through memory."""
    total, found = sums[0], np.uint8(0)
    for row in range(values.shape[0]):
        if is_valid(bitmap, skip, row):
            total += values[row]
            found = np.uint8(1)
    sums[0] = total
    seen[0] |= found


@kernel
def exceeds(low: int, high: int, limit_low: np.uint64, limit_high: int) -> bool:
    """Return whether the magnitude of a 128-bit number is at least a limit (low word unsigned, high word)."""
    size_low = np.uint64(low)
    size_high = np.uint64(high)
    if high < 0:
        size_low = ~size_low + np.uint64(1)
        size_high = ~size_high + np.uint64(size_low == 0)
    most = np.uint64(limit_high)
    return size_high > most or (size_high == most and size_low >= limit_low)


@kernel
def add_decimals(
    groups: Int64Array, words: Int64Array, bitmap: UInt8Array, skip: int, sums: Int64Array, seen: UInt8Array
) -> None:
    """Add 128-bit integers of at most 38 digits; a sum of more digits sets the group to overflowed."""
    for row in range(groups.size):
        if not is_valid(bitmap, skip, row):
            continue
        group = groups[row]
        at = 2 * group
        old = np.uint64(sums[at])
        low = old + np.uint64(words[2 * row])
        high = wrapping_add(wrapping_add(sums[at + 1], words[2 * row + 1]), np.int64(low < old))
        sums[at] = np.int64(low)
        sums[at + 1] = high
        seen[group] |= 1
        if (high >= _LIMIT_HIGH or high < -_LIMIT_HIGH) and exceeds(np.int64(low), high, _LIMIT_LOW, _LIMIT_HIGH):
            seen[group] = 3
            sums[at] = 0
            sums[at + 1] = 0


@kernel(forceinline=True)
def add_wide(low: int, high: int, at: int, sums: Int64Array) -> None:
    """Add a 128-bit integer exactly to the 192 bits (three words, low to high) from index ``at``."""
    old_low, old_middle = np.uint64(sums[at]), np.uint64(sums[at + 1])
    new_low = old_low + np.uint64(low)
    part = old_middle + np.uint64(high)
    middle = part + np.uint64(new_low < old_low)
    carry = np.int64(part < old_middle) + np.int64(middle < part)
    sums[at] = np.int64(new_low)
    sums[at + 1] = np.int64(middle)
    sums[at + 2] = wrapping_add(sums[at + 2], wrapping_add(high >> 63, carry))


@kernel
def add_wide_decimals(
    groups: Int64Array, words: Int64Array, bitmap: UInt8Array, skip: int, sums: Int64Array, seen: UInt8Array
) -> None:
    """Add 128-bit integers exactly to sums of 192 bits."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            add_wide(words[2 * row], words[2 * row + 1], 3 * groups[row], sums)
            seen[groups[row]] = 1


@kernel
def merge_decimals(
    groups: Int64Array, words: Int64Array, bitmap: UInt8Array, skip: int, empty: UInt8Array, empty_skip: int,
    sums: Int64Array, seen: UInt8Array,
) -> None:  # fmt: skip
    """Add partial sums. ``empty`` is the bitmap of Spark's isEmpty: such rows are skipped; any other NULL sum is an
    overflow."""
    for row in range(groups.size):
        if is_valid(empty, empty_skip, row):
            continue
        group = groups[row]
        if not is_valid(bitmap, skip, row):
            seen[group] = 3
            continue
        at = 2 * group
        old = np.uint64(sums[at])
        low = old + np.uint64(words[2 * row])
        high = wrapping_add(wrapping_add(sums[at + 1], words[2 * row + 1]), np.int64(low < old))
        sums[at] = np.int64(low)
        sums[at + 1] = high
        seen[group] |= 1
        if (high >= _LIMIT_HIGH or high < -_LIMIT_HIGH) and exceeds(np.int64(low), high, _LIMIT_LOW, _LIMIT_HIGH):
            seen[group] = 3
            sums[at] = 0
            sums[at + 1] = 0


@kernel
def add_limbs(words: Int64Array, bitmap: UInt8Array, skip: int, limbs: Int64Array) -> int:
    """Add 128-bit integers to one sum of four 32-bit limbs, each stored in 64 bits; return the number of valid rows.

    The limbs, the highest signed, hold the exact sum of up to 2**31 numbers.
    """
    mask = np.int64(0xFFFFFFFF)
    a, b, c, d = limbs[0], limbs[1], limbs[2], limbs[3]
    count = 0
    for row in range(words.size >> 1):
        if is_valid(bitmap, skip, row):
            low = words[2 * row]
            high = words[2 * row + 1]
            a += low & mask
            b += (low >> 32) & mask
            c += high & mask
            d += high >> 32
            count += 1
    limbs[0], limbs[1], limbs[2], limbs[3] = a, b, c, d
    return count


@kernel
def mark_exceeding(sums: Int64Array, limit_low: np.uint64, limit_high: int, seen: UInt8Array) -> None:
    """Set to overflowed the sums whose magnitude is at least a limit (two words)."""
    for group in range(seen.size):
        if seen[group] == 1 and exceeds(sums[2 * group], sums[2 * group + 1], limit_low, limit_high):
            seen[group] = 3


@kernel(forceinline=True)
def combined(left: int, right: int, operator: int) -> int:
    """Combine the bits of two integers by an operator: the code of ``&``, ``|`` or ``^``."""
    if operator == _AND:
        return left & right
    return left | right if operator == _OR else left ^ right


@kernel
def combine_bits(
    groups: Int64Array, values: Int64Array, bitmap: UInt8Array, skip: int, operator: int, bits: Int64Array,
    seen: UInt8Array,
) -> None:  # fmt: skip
    """Combine 64-bit integers bit by bit."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            bits[group] = combined(bits[group], values[row], operator) if seen[group] else values[row]
            seen[group] = 1


@kernel
def least_longs(
    groups: Int64Array, values: Int64Array, bitmap: UInt8Array, skip: int, sign: int, best: Int64Array,
    seen: UInt8Array,
) -> None:  # fmt: skip
    """Keep the smallest (``sign`` 1) or largest (−1) integer."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            value = np.int64(values[row])
            if seen[group] == 0 or (value < best[group] if sign > 0 else value > best[group]):
                best[group] = value
                seen[group] = 1


@kernel(forceinline=True)
def less_double(left: float, right: float) -> bool:
    """Order floats as Spark: NaN is the largest and equal to itself, −0.0 equals 0.0."""
    if np.isnan(left):
        return False
    return np.isnan(right) or left < right


@kernel
def least_doubles(
    groups: Int64Array, values: Float64Array, bitmap: UInt8Array, skip: int, sign: int, best: Float64Array,
    seen: UInt8Array,
) -> None:  # fmt: skip
    """Keep the smallest (``sign`` 1) or largest (−1) floating-point number; of equal ones the first."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            value = np.float64(values[row])
            if seen[group] == 0 or (less_double(value, best[group]) if sign > 0 else less_double(best[group], value)):
                best[group] = value
                seen[group] = 1


@kernel
def least_decimals(
    groups: Int64Array, words: Int64Array, bitmap: UInt8Array, skip: int, sign: int, best: Int64Array, seen: UInt8Array
) -> None:
    """Keep the smallest (``sign`` 1) or largest (−1) 128-bit integer."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            low = np.uint64(words[2 * row])
            high = words[2 * row + 1]
            other_low = np.uint64(best[2 * group])
            other_high = best[2 * group + 1]
            less = high < other_high or (high == other_high and low < other_low)
            more = high > other_high or (high == other_high and low > other_low)
            if seen[group] == 0 or (less if sign > 0 else more):
                best[2 * group] = np.int64(low)
                best[2 * group + 1] = high
                seen[group] = 1


@kernel(forceinline=True)
def compare_bytes(
    left: UInt8Array, left_start: int, left_end: int, right: UInt8Array, right_start: int, right_end: int
) -> int:
    """Compare byte strings; return a number below, equal to or above 0, as the left one is less, equal or greater."""
    length = min(left_end - left_start, right_end - right_start)
    left_at = np.uint64(left.ctypes.data) + np.uint64(left_start)
    right_at = np.uint64(right.ctypes.data) + np.uint64(right_start)
    done = 0
    while done + 8 <= length:
        a, b = load_word(left_at + np.uint64(done)), load_word(right_at + np.uint64(done))
        if a != b:
            return -1 if swap_bytes(a) < swap_bytes(b) else 1
        done += 8
    for i in range(done, length):
        if left[left_start + i] != right[right_start + i]:
            return -1 if left[left_start + i] < right[right_start + i] else 1
    return (left_end - left_start) - (right_end - right_start)


@kernel(forceinline=True)
def copy_bytes(data: UInt8Array, start: int, end: int, out: UInt8Array, at: int) -> int:
    """Copy bytes of ``data`` to ``out`` from ``at`` on; return their end there."""
    source, target = np.uint64(data.ctypes.data), np.uint64(out.ctypes.data)
    while start + 8 <= end:
        store_word(target + np.uint64(at), load_word(source + np.uint64(start)))
        start += 8
        at += 8
    for place in range(start, end):
        out[at] = data[place]
        at += 1
    return at


@kernel
def least_strings(
    groups: Int64Array, offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, sign: int,
    arena: UInt8Array, used: int, starts: Int64Array, ends: Int64Array, seen: UInt8Array,
) -> int:  # fmt: skip
    """Keep the smallest (``sign`` 1) or largest (−1) byte string in ``arena``, which has space for all of ``data``.

    Return the used bytes of the arena; replaced strings remain in it as garbage.
    """
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            start = np.int64(offsets[row])
            end = np.int64(offsets[row + 1])
            if seen[group] != 0:
                order = compare_bytes(data, start, end, arena, starts[group], ends[group])
                if order * sign >= 0:
                    continue
            starts[group] = used
            used = copy_bytes(data, start, end, arena, used)
            ends[group] = used
            seen[group] = 1
    return used


@kernel
def copy_live(arena: UInt8Array, starts: Int64Array, ends: Int64Array, seen: UInt8Array, out: UInt8Array) -> int:
    """Copy the strings of all groups to ``out`` contiguously and update their bounds; return the bytes used."""
    used = np.int64(0)
    for group in range(starts.size):
        start = used
        if seen[group] != 0:
            used = copy_bytes(arena, starts[group], ends[group], out, used)
        starts[group] = start
        ends[group] = used
    return used


@kernel
def divide_sums(
    sums: Int64Array, counts: Int64Array, factor: int, limit: int, quotients: Int64Array, valid: BoolArray
) -> int:
    """Divide 128-bit sums · ``factor`` by counts, half away from zero, into 64-bit quotients smaller than ``limit``.

    A row is valid if its count is positive and its numbers fit 64 bits and the limit. Return the number of other rows.
    """
    left = 0
    for row in range(counts.size):
        low = sums[2 * row]
        count = counts[row]
        small = sums[2 * row + 1] == (low >> 63) and 0 < count < (1 << 40)
        whole = low // count if small else 0
        if not small or not (-(1 << 48) < whole < (1 << 48)):
            valid[row] = False
            left += 1
            continue
        negative = low < 0
        size = wrapping_subtract(0, low) if negative else low
        if size < 0:
            valid[row] = False
            left += 1
            continue
        whole = size // count
        remainder = (size % count) * factor
        part = remainder // count
        if 2 * (remainder % count) >= count:
            part += 1
        quotient = whole * factor + part
        if quotient >= limit:
            valid[row] = False
            left += 1
            continue
        quotients[row] = -quotient if negative else quotient
        valid[row] = True
    return left
