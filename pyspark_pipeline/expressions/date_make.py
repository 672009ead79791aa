"""Dates of years, months and days, timestamps of these and a time of day (Spark: MakeDate, MakeTimestamp)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.date_parse import check_date, check_fields
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import MAX_SECOND, zone_of
from pyspark_pipeline.expressions.timestamps import ANY_TEXT, SECOND
from pyspark_pipeline.expressions.values import from_numbers, numbers_or_zero, to_array
from pyspark_pipeline.kernels import civil
from pyspark_pipeline.kernels.decimal_words import pack_flags, valid_flags, validity_of, words_of
from pyspark_pipeline.plan.expr import Call, constants


@function("MakeDate", [case(["int"], ["int"], ["int"])])
def _make_date(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the date; NULL if it does not exist, or Spark's error in ANSI mode."""
    raises = bool(call.fields["failOnError"])

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        parts = [numbers_or_zero(array) for array in arrays]
        days, fits = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.bool_)
        civil.make_dates(*parts, days, fits)
        valid = valid_flags(validity_of(arrays), rows)
        refused = valid & (~fits | (days != days.astype(np.int32)))
        for row in np.flatnonzero(refused) if raises or (refused & fits).any() else ():
            year, month, day = (int(part[row]) for part in parts)
            try:
                check_date({"y": year, "M": month, "d": day})
            except ValueError as error:
                if raises:
                    raise conditions.field_out_of_bounds(str(error), settings.suggests_ansi_off) from None
            else:
                raise conditions.java_overflow(is_long=False)
        return from_numbers(days.astype(np.int32), pa.date32(), pack_flags(valid & fits))

    return Kernel(run=run, can_raise=True)


_PARTS = [["int"]] * 5 + [["decimal"]]
_LAST_DAY = int(civil.days_of.py_func(999_999_999, 12, 31))
_DAY = 86_400


@function("MakeTimestamp", [
    case(*_PARTS, result=["timestamp"]),
    case(*_PARTS, result=["timestamp_ntz"]),
    case(*_PARTS, ["string"], result=["timestamp"], matches={"6": ANY_TEXT}),
])  # fmt: skip
def _make_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the timestamp of a year, month, day, hour, minute and seconds, decimal(16,6), in a time zone.

    60 seconds are the next minute. A timestamp that does not exist is NULL, or Spark's error in ANSI mode.
    """
    raises, is_local = bool(call.fields["failOnError"]), call.type.kind == "timestamp_ntz"
    named = constants(call.args[6:])
    zone = zone_of("UTC" if is_local else str(named[0]) if named else call.fields["timeZoneId"])

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values[:6]]
        parts: list[Any] = [numbers_or_zero(array).astype(np.int64) for array in arrays[:5]]
        valid = valid_flags(validity_of(arrays), rows)
        unscaled = np.where(valid, words_of(arrays[5])[0][:, 0], 0)
        micros = unscaled % SECOND
        # Spark takes the lowest 32 bits of the seconds.
        parts.append((unscaled // SECOND).astype(np.int32).astype(np.int64))
        seconds, exists = _local_seconds(parts, micros)
        if raises and (valid & ~exists).any():
            row = int(np.argmax(valid & ~exists))
            raise _absent([int(part[row]) for part in parts], int(unscaled[row]), settings)
        valid &= exists
        if zone is None:
            if raises and valid.any():
                raise conditions.invalid_time_zone(str(named[0]))
            return pa.nulls(rows, call.type.arrow)
        seconds = zone.instant_seconds(np.where(valid, seconds, 0))
        return from_numbers(timestamps_of(seconds, np.where(valid, micros, 0)), call.type.arrow, pack_flags(valid))

    return Kernel(run=run, can_raise=True)


by_constants("MakeTimestamp", [case(*_PARTS, ["string"], result=["timestamp"])], [6], can_raise=True)


def _local_seconds(parts: Sequence[Any], micros: Any) -> tuple[Any, Any]:
    """Return the local seconds since 1970-01-01 of six parts and whether they exist: int64 and bool, shape (rows,)."""
    year, month, day, hour, minute, second = parts
    days, exists = np.empty(len(year), dtype=np.int64), np.empty(len(year), dtype=np.bool_)
    civil.make_dates(year, month, day, days, exists)
    exists &= (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60) & (second >= 0)
    exists &= (second < 60) | ((second == 60) & (micros == 0))
    found = days * _DAY + np.where(exists, hour * 3600 + minute * 60 + second, 0)
    return found, exists & (found < (_LAST_DAY + 1) * _DAY)


def _absent(parts: Sequence[int], unscaled: int, settings: ExpressionSettings) -> SparkConditionError:
    """Return the error of a timestamp that does not exist."""
    if parts[5] == 60 and unscaled % SECOND:
        return conditions.invalid_fraction_of_second(unscaled / SECOND)
    fields = dict(zip("yMdHms", parts, strict=True))
    if parts[5] == 60:
        fields["s"] = 0
    try:
        check_date(fields)
        check_fields(fields, "Hms")
    except ValueError as error:
        return conditions.field_out_of_bounds(str(error), settings.suggests_ansi_off)
    check = "Invalid value for Year (valid values -999999999 - 999999999): 1000000000"
    return conditions.field_out_of_bounds(check, settings.suggests_ansi_off)


def timestamps_of(seconds: Any, micros: Any) -> Any:
    """Return timestamps of seconds and microseconds, int64; raise Spark's error outside the range of timestamps."""
    limits = np.iinfo(np.int64)
    late = (seconds > MAX_SECOND) | ((seconds == MAX_SECOND) & (micros > limits.max % SECOND))
    early = (seconds < -MAX_SECOND - 1) | ((seconds == -MAX_SECOND - 1) & (micros < limits.min % SECOND))
    if (late | early).any():
        raise conditions.timestamp_overflow()
    return seconds * SECOND + micros
