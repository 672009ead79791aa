"""Rebase of dates of the hybrid calendar (Julian before 1582-10-15) to the proleptic Gregorian calendar.

A date keeps its year, month and day, so its day number changes. A leap day that only the Julian calendar
has becomes 1 March. Spark: ``RebaseDateTime``, which computes the same for each 32-bit number of days.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int64Array

FIRST_DAY = -141427
"""The day number of 1582-10-15, from which on both calendars agree."""

_EPOCH_SINCE_YEAR_0 = 719470


def rebase_differences(days: Int64Array) -> Int64Array:
    """Return the difference to add to each of ``days`` (days since 1970-01-01): shape (rows,).

    Years start in March here, so that a leap day is the last of its year. The Julian calendar has a leap day every
    fourth year, the Gregorian not in centuries except every fourth.
    """
    year = (4 * (days + _EPOCH_SINCE_YEAR_0) + 3) // 1461
    return np.where(days < FIRST_DAY, year // 400 - year // 100 + 2, 0)
