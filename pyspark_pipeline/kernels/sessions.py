"""The kernel of session windows: sorted intervals that overlap or meet become one."""

from __future__ import annotations

from pyspark_pipeline.kernels.arrays import Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel


@kernel
def merge_sessions(
    partition_starts: UInt8Array, starts: Int64Array, ends: Int64Array, start: int, end: int, begins: UInt8Array
) -> None:
    """Replace the interval of each row by that of its session up to the row, and flag the first rows of sessions.

    Rows are sorted by their starts within partitions, whose first rows ``partition_starts`` flags. ``start`` and
    ``end`` are the session of the row before the first one. A row begins a session unless it starts at or before the
    end of the session so far; ends never shrink. All arrays have the shape (rows,).
    """
    for row in range(starts.size):
        if partition_starts[row] != 0 or starts[row] > end:
            begins[row] = 1
            start = starts[row]
            end = ends[row]
        else:
            begins[row] = 0
            end = max(end, ends[row])
        starts[row] = start
        ends[row] = end
