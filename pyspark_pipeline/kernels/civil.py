"""Fields of dates on the proleptic Gregorian calendar (Hinnant, civil_from_days), one compiled pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyspark_pipeline.kernels.jit import kernel

YEAR, MONTH, DAY, QUARTER = range(4)


@kernel
def split_days(days: int) -> Any:
    """Split days since 1970-01-01 into (year, month 1-12, day 1-31)."""
    shifted = days + 719468
    era = shifted // 146097
    of_era = np.uint32(shifted - era * 146097)
    year_of_era = (of_era - of_era // np.uint32(1460) + of_era // np.uint32(36524) - of_era // np.uint32(146096)) // (
        np.uint32(365)
    )
    of_year = of_era - (
        np.uint32(365) * year_of_era + year_of_era // np.uint32(4) - year_of_era // np.uint32(100)
    )
    rotated = (np.uint32(5) * of_year + np.uint32(2)) // np.uint32(153)
    day = np.int64(of_year - (np.uint32(153) * rotated + np.uint32(2)) // np.uint32(5)) + 1
    month = np.int64(rotated) + 3
    year = np.int64(year_of_era) + era * 400
    if month > 12:
        month -= 12
        year += 1
    return year, month, day


@kernel
def date_fields(days: Any, field: int, out: Any) -> None:
    """Write one field (YEAR, MONTH, DAY, QUARTER) of every date, int32."""
    for row in range(out.shape[0]):
        year, month, day = split_days(np.int64(days[row]))
        if field == YEAR:
            out[row] = year
        elif field == MONTH:
            out[row] = month
        elif field == DAY:
            out[row] = day
        else:
            out[row] = (month + 2) // 3


@kernel
def split_all(days: Any, year: Any, month: Any, day: Any) -> None:
    """Write the year, month and day of every date, int64."""
    for row in range(days.shape[0]):
        year[row], month[row], day[row] = split_days(np.int64(days[row]))
