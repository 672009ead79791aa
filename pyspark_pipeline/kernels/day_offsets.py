"""Offsets of a time zone, looked up in a table of days: most days have one offset."""

from __future__ import annotations

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array
from pyspark_pipeline.kernels.jit import kernel

#: Entries of a table, and results, that are no offsets: a day not looked up before, and one of several offsets.
UNKNOWN, MIXED = 2**30, 2**30 + 1
_DAY = 86400


@kernel
def offsets_of(seconds: Int64Array, table: Int32Array, first_day: int, out: Int64Array) -> tuple[bool, bool]:
    """Write the offsets of the days of ``seconds`` since 1970-01-01; return whether some are UNKNOWN, or MIXED.

    ``table`` has an entry for each day from ``first_day`` on; a day beyond it is MIXED.
    """
    is_unknown = False
    is_mixed = False
    size = table.shape[0]
    for row in range(seconds.shape[0]):
        place = seconds[row] // _DAY - first_day
        found = MIXED
        if 0 <= place < size:
            found = table[place]
        is_unknown |= found == UNKNOWN
        is_mixed |= found == MIXED
        out[row] = found
    return is_unknown, is_mixed
