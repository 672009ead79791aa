"""Dates on the proleptic Gregorian calendar: fields, months, days since 1970-01-01 (Hinnant), each in one pass."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Array, BoolArray, Int32Array, Int64Array
from pyspark_pipeline.kernels.jit import kernel

YEAR, MONTH, DAY, QUARTER = range(4)


@kernel
def split_days(days: int) -> tuple[int, int, int]:
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
def date_fields(days: Int32Array, field: int, out: Int32Array) -> None:
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
def split_all(days: Array, year: Int64Array, month: Int64Array, day: Int64Array) -> None:
    """Write the year, month and day of every date, int64."""
    for row in range(days.shape[0]):
        year[row], month[row], day[row] = split_days(np.int64(days[row]))


@kernel
def days_of(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a valid date (Hinnant, days_from_civil)."""
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    shifted = month - 3 if month > 2 else month + 9
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + (153 * shifted + 2) // 5 + day - 1 - 719468


@kernel
def make_dates(years: Array, months: Array, days: Array, out: Int64Array, fits: BoolArray) -> None:
    """Write the days since 1970-01-01 of every year, month and day, int64, and whether the date exists."""
    for row in range(out.shape[0]):
        year, month, day = np.int64(years[row]), np.int64(months[row]), np.int64(days[row])
        out[row] = 0
        fits[row] = False
        if 1 <= month <= 12 and 1 <= day <= days_in(year, month) and -999999999 <= year <= 999999999:
            out[row] = days_of(year, month, day)
            fits[row] = True


@kernel
def days_in(year: int, month: int) -> int:
    """Return the number of days of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


@kernel
def first_days(days: Array, months: int, out: Int64Array) -> None:
    """Write the first day of the ``months`` (1, 3 or 12) that each date is in, int64."""
    for row in range(days.shape[0]):
        year, month, _ = split_days(np.int64(days[row]))
        out[row] = days_of(year, (month - 1) // months * months + 1, 1)


@kernel
def last_days(days: Array, out: Int64Array) -> None:
    """Write the last day of the month of each date, int64."""
    for row in range(days.shape[0]):
        year, month, day = split_days(np.int64(days[row]))
        out[row] = np.int64(days[row]) + days_in(year, month) - day


@kernel
def plus_months(days: Array, months: Array, out: Int64Array) -> None:
    """Write each date plus its number of months, int64; a day past the end of its month becomes the last one."""
    for row in range(days.shape[0]):
        year, month, day = split_days(np.int64(days[row]))
        total = year * 12 + month - 1 + np.int64(months[row])
        year = total // 12
        month = total - year * 12 + 1
        out[row] = days_of(year, month, min(day, days_in(year, month)))
