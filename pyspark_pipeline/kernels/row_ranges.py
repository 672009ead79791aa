"""Kernels that compute a selection mask from ranges and dictionary tests, and that widen unscaled decimals.

A selection mask has one byte per row, 1 if the row is selected. Each kernel tests one column in one pass, which LLVM
vectorises, and only clears bytes. Columns are views as in :mod:`~.buffers`.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Array, Int32Array, Int64Array, UInt8Array, UInt32Array, UInt64Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.words import load_word, store_word


def _keep_between(values: Array, low: int, high: int, mask: UInt8Array) -> None:
    """Clear the mask of the rows whose value is not in [``low``, ``high``], which have the values' type."""
    for i in range(mask.shape[0]):
        value = values[i]
        mask[i] &= np.uint8((value >= low) & (value <= high))


keep_ints_between = kernel(_keep_between)
keep_longs_between = kernel(_keep_between)


@kernel
def keep_decimals_between(words: Int64Array, low: int, high: int, mask: UInt8Array) -> bool:
    """Clear the mask of the decimals outside [``low``, ``high``]; ``words``: shape (2 · rows,).

    Return False if a value has more than 64 bits; the mask is then undefined.
    """
    wide = 0
    for i in range(mask.shape[0]):
        value = words[2 * i]
        wide |= words[2 * i + 1] ^ (value >> 63)
        mask[i] &= np.uint8((value >= low) & (value <= high))
    return wide == 0


@kernel
def _bit(bits: UInt8Array, number: int) -> int:
    """Return the bit of a number, uint64, in a bitmap: 1 or 0, uint8."""
    return (bits[number >> np.uint64(3)] >> np.uint8(number & np.uint64(7))) & np.uint8(1)


@kernel
def keep_valid(bits: UInt8Array, skip: int, mask: UInt8Array) -> None:
    """Clear the mask of the rows whose bit in the bitmap (from bit ``skip`` on) is 0."""
    for i in range(mask.shape[0]):
        mask[i] &= _bit(bits, np.uint64(skip + i))


@kernel
def keep_codes(indices: Int32Array | UInt32Array, accepted: UInt8Array, mask: UInt8Array) -> None:
    """Clear the mask of the rows whose dictionary value is not accepted: ``accepted[indices[row]]`` is 0.

    Eight rows are written at once: on some processors (AMD's Zen 5) single bytes take 8 ns a row, these 0.4.
    """
    start = np.uint64(mask.ctypes.data)
    whole = mask.shape[0] & ~7
    for i in range(0, whole, 8):
        at, passed = start + np.uint64(i), np.uint64(0)
        for place in range(8):
            passed |= np.uint64(accepted[np.uint64(indices[i + place])]) << np.uint64(8 * place)
        store_word(at, load_word(at) & passed)
    for i in range(whole, mask.shape[0]):
        mask[i] &= accepted[np.uint64(indices[i])]


@kernel
def keep_codes_or_null(
    indices: Int32Array, bits: UInt8Array, skip: int, accepted: UInt8Array, mask: UInt8Array
) -> None:
    """Like :func:`keep_codes`, of rows that may be NULL; the last item of ``accepted`` is for NULL."""
    start, null = np.uint64(mask.ctypes.data), accepted.shape[0] - 1
    whole = mask.shape[0] & ~7
    for i in range(0, whole, 8):
        at, passed = start + np.uint64(i), np.uint64(0)
        for place in range(8):
            code = indices[i + place] if _bit(bits, np.uint64(skip + i + place)) else null
            passed |= np.uint64(accepted[np.uint64(code)]) << np.uint64(8 * place)
        store_word(at, load_word(at) & passed)
    for i in range(whole, mask.shape[0]):
        mask[i] &= accepted[np.uint64(indices[i] if _bit(bits, np.uint64(skip + i)) else null)]


def row_numbers(mask: UInt8Array) -> Int32Array:
    """Return the numbers of the rows that the mask, 1 or 0 for each, selects, ascending, shape (rows,)."""
    if mask.ctypes.data & 7:
        mask = mask.copy()  # kernels take aligned words
    found = allocate(mask.size, np.int32)
    return found[: selected_rows(mask, mask[: mask.size & ~7].view(np.uint64), found)]


@kernel
def selected_rows(mask: UInt8Array, blocks: UInt64Array, out: Int32Array) -> int:
    """Write the numbers of the selected rows to ``out`` (int32, as long as ``mask``); return their count.

    ``blocks`` views ``mask`` as uint64, eight rows each, without an incomplete last block: a selective filter
    selects no row of most blocks.
    """
    count = 0
    for block in range(blocks.shape[0]):
        if blocks[block] != 0:
            for i in range(8 * block, 8 * block + 8):
                out[count] = i
                count += mask[i]
    for i in range(8 * blocks.shape[0], mask.shape[0]):
        out[count] = i
        count += mask[i]
    return count


def _widen_rows(values: Array, rows: Int32Array, out: Int64Array) -> None:
    """Write ``values[rows]`` as decimal words to ``out``, shape (2 · rows,)."""
    for i in range(rows.shape[0]):
        value = np.int64(values[np.uint64(rows[i])])
        out[2 * i] = value
        out[2 * i + 1] = value >> 63


def _widen(values: Array, out: Int64Array) -> None:
    """Write all ``values`` as decimal words to ``out``, shape (2 · rows,)."""
    for i in range(values.shape[0]):
        value = np.int64(values[i])
        out[2 * i] = value
        out[2 * i + 1] = value >> 63


widen_rows_of_ints = kernel(_widen_rows)
widen_rows_of_longs = kernel(_widen_rows)
widen_ints = kernel(_widen)
widen_longs = kernel(_widen)
