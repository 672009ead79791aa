"""Which rows of a chunk lie in ranges, and those rows of 64-bit decimals as decimal128.

Rows are marked with one byte each, a pass a column, which LLVM vectorises; what was unmarked stays so. Columns
are views as :mod:`~.buffers` makes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyspark_pipeline.kernels.jit import kernel


def _keep_between(values: Any, low: Any, high: Any, marks: Any) -> None:
    """Unmark the rows whose value is not between ``low`` and ``high`` (both inclusive, of the values' type)."""
    for i in range(marks.shape[0]):
        value = values[i]
        marks[i] &= np.uint8((value >= low) & (value <= high))


keep_ints_between = kernel(_keep_between)
keep_longs_between = kernel(_keep_between)


@kernel
def keep_decimals_between(words: Any, low: int, high: int, marks: Any) -> bool:
    """Unmark the decimals outside [``low``, ``high``], shape of ``words`` (2 · rows,).

    False where a value has more than 64 bits; then the marks mean nothing.
    """
    wide = 0
    for i in range(marks.shape[0]):
        value = words[2 * i]
        wide |= words[2 * i + 1] ^ (value >> 63)
        marks[i] &= np.uint8((value >= low) & (value <= high))
    return wide == 0


@kernel
def keep_valid(bits: Any, skip: int, marks: Any) -> None:
    """Unmark the rows whose bit in the bitmap (from bit ``skip`` on) is 0."""
    for i in range(marks.shape[0]):
        place = np.uint64(skip + i)
        marks[i] &= (bits[place >> np.uint64(3)] >> np.uint8(place & np.uint64(7))) & np.uint8(1)


@kernel
def keep_listed(indices: Any, verdicts: Any, marks: Any) -> None:
    """Unmark the rows whose value, ``verdicts[indices[row]]``, is 0."""
    for i in range(marks.shape[0]):
        marks[i] &= verdicts[np.uint64(indices[i])]


@kernel
def keep_listed_or_null(indices: Any, bits: Any, skip: int, verdicts: Any, marks: Any) -> None:
    """Unmark the rows whose verdict is 0; the last one is that of rows whose bit in the bitmap is 0."""
    null = verdicts.shape[0] - 1
    for i in range(marks.shape[0]):
        place = np.uint64(skip + i)
        valid = (bits[place >> np.uint64(3)] >> np.uint8(place & np.uint64(7))) & np.uint8(1)
        marks[i] &= verdicts[np.uint64(indices[i] if valid else null)]


@kernel
def marked_rows(marks: Any, blocks: Any, out: Any) -> int:
    """Write the numbers of the marked rows to ``out`` (int32, as long as ``marks``); give their count.

    ``blocks`` is ``marks`` again, eight at a time as uint64, the rest left out: most eights of a selective filter
    hold no row.
    """
    count = 0
    for block in range(blocks.shape[0]):
        if blocks[block] != 0:
            for i in range(8 * block, 8 * block + 8):
                out[count] = i
                count += marks[i]
    for i in range(8 * blocks.shape[0], marks.shape[0]):
        out[count] = i
        count += marks[i]
    return count


def _widen_rows(values: Any, rows: Any, out: Any) -> None:
    """Write ``values[rows]`` as decimal words, shape of ``out`` (2 · rows,)."""
    for i in range(rows.shape[0]):
        value = np.int64(values[np.uint64(rows[i])])
        out[2 * i] = value
        out[2 * i + 1] = value >> 63


def _widen(values: Any, out: Any) -> None:
    """Write all of ``values`` as decimal words, shape of ``out`` (2 · rows,)."""
    for i in range(values.shape[0]):
        value = np.int64(values[i])
        out[2 * i] = value
        out[2 * i + 1] = value >> 63


widen_rows_of_ints = kernel(_widen_rows)
widen_rows_of_longs = kernel(_widen_rows)
widen_ints = kernel(_widen)
widen_longs = kernel(_widen)
