"""Kernels of frames whose bounds are values: pairs of int64 (high, low) that sort like the rows."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel

#: The words of a side without a bound.
ENDLESS = np.empty(0, dtype=np.int64)


@kernel(inline="always")
def _is_less(high: int, low: int, other_high: int, other_low: int) -> bool:
    return high < other_high or (high == other_high and low < other_low)


@kernel
def value_frames(
    starts: BoolArray, high: Int64Array, low: Int64Array, from_high: Int64Array, from_low: Int64Array,
    from_failed: UInt8Array, to_high: Int64Array, to_low: Int64Array, to_failed: UInt8Array, first: int, begun: int,
    ended: int, begin: Int64Array, end: Int64Array,
) -> int:  # fmt: skip
    """Write the frames of the rows from ``first``: those of the partition with ``from`` ≤ value ≤ ``to``.

    As in Spark, neither end of a frame moves back, and the begin stops at the end. ``begun`` and ``ended`` are
    those of the frame before row ``first``: bounds that wrap around are not in the order of the rows.

    Return −1, or the number of a bound that is compared and failed: 2 · frame, + 1 of ``to``.
    """
    opened, closed, past = begun, ended, 0
    for frame in range(begin.size):
        row = first + frame
        if starts[row]:
            opened = closed = row
        if frame == 0 or starts[row]:
            past = row + 1
            while past < starts.size and not starts[past]:
                past += 1
        if to_high.size == 0:
            closed = past
        if from_high.size and opened < closed and from_failed.size and from_failed[frame]:
            return 2 * frame
        while (
            from_high.size
            and opened < closed
            and _is_less(high[opened], low[opened], from_high[frame], from_low[frame])
        ):
            opened += 1
        if to_high.size and closed < past and to_failed.size and to_failed[frame]:
            return 2 * frame + 1
        while to_high.size and closed < past and not _is_less(to_high[frame], to_low[frame], high[closed], low[closed]):
            if from_high.size and from_failed.size and from_failed[frame]:
                return 2 * frame
            if from_high.size and _is_less(high[closed], low[closed], from_high[frame], from_low[frame]):
                opened += 1
            closed += 1
        begin[frame] = opened
        end[frame] = closed
    return -1
