"""Casts between timestamps and numbers of seconds, and of dates to local timestamps (Spark: Cast.scala)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cast_numeric import BITS, saturate
from pyspark_pipeline.expressions.intervals import shown_timestamp
from pyspark_pipeline.expressions.per_value import map_distinct
from pyspark_pipeline.expressions.registry import FLOATING, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.values import from_numbers, number_kernel, numbers_or_zero, to_array
from pyspark_pipeline.kernels.decimal_words import pack_flags, valid_flags, validity_of
from pyspark_pipeline.plan.eval_mode import EvalMode
from pyspark_pipeline.plan.expr import Call

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_EXACT = Context(prec=60)
_LONG = np.iinfo(np.int64)
_DOUBLE, _BIGINT = DataType("double"), DataType("bigint")


@function("Cast", [case(["timestamp"], result=["tinyint", "smallint", "int"])])
def _to_integer(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return whole seconds since 1970, rounded down; beyond the type an error in ANSI mode, else NULL."""
    info = np.iinfo(np.dtype(f"int{BITS[call.type.kind]}"))
    mode = call.eval_mode
    zone = TimeZone(call.fields["timeZoneId"])

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        micros = numbers_or_zero(array)
        seconds: Any = micros // _SECOND
        validity = validity_of([array])
        beyond = (seconds < info.min) | (seconds > info.max)
        if beyond.any():
            if mode.raises:
                days, time = zone.local_times(micros[np.flatnonzero(beyond)[:1]])
                shown = f"TIMESTAMP '{shown_timestamp(int(days[0]), int(time[0]))}'"
                raise conditions.cast_overflow_of(shown, call.args[0].type, call.type)
            validity = pack_flags(valid_flags(validity, rows) & ~beyond)
        return from_numbers(seconds.astype(info.dtype), call.type.arrow, validity)

    return Kernel(run=run, can_raise=mode.raises)


@function("Cast", [case(["timestamp"], result=["float"])])
def _to_float(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda micros: (micros / float(_SECOND)).astype(np.float32), pa.float32())


@function("Cast", [case(FLOATING, result=["timestamp"])])
def _from_fractions(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the instant of seconds since 1970, cut off below a microsecond.

    In ANSI mode an instant beyond the timestamps raises, and NaN and infinities; without it such an instant is the
    first or the last timestamp. Errors call a float a double, as Spark's do.
    """
    mode = call.eval_mode

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        seconds: Any = numbers_or_zero(array).astype(np.float64)
        valid = valid_flags(validity_of([array]), rows)
        known = np.isfinite(seconds)
        with np.errstate(all="ignore"):
            micros = seconds * float(_SECOND)
        beyond = known & ((np.floor(micros) > float(_LONG.max)) | (np.ceil(micros) < float(_LONG.min)))
        if mode is not EvalMode.LEGACY:
            if mode.raises and (valid & (beyond | ~known)).any():
                row = int(np.argmax(valid & (beyond | ~known)))
                if known[row]:
                    raise conditions.cast_overflow(float(micros[row]), _DOUBLE, _BIGINT)
                raise conditions.cast_number_invalid(float(seconds[row]), _DOUBLE, call.type, call.context)
            known &= ~beyond
        found = saturate(np.where(known, micros, 0.0), np.int64)
        return from_numbers(found, call.type.arrow, pack_flags(valid & known))

    return Kernel(run=run, can_raise=mode.raises)


@function("Cast", [case(["decimal"], result=["timestamp"])])
def _from_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the instant of seconds since 1970, cut off below a microsecond; the lowest bits beyond the timestamps."""

    def convert(seconds: Decimal) -> int:
        return (int(seconds.scaleb(6, _EXACT)) + 2**63) % 2**64 - 2**63

    def run(values: Sequence[Value], rows: int) -> Value:
        return map_distinct(to_array(values[0], rows), convert, pa.int64()).view(call.type.arrow)

    return Kernel(run=run)


@function("Cast", [case(["boolean"], result=["timestamp"])])
def _from_boolean(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the first microsecond after 1970 for true (only without ANSI mode)."""
    return Kernel(run=lambda values, rows: to_array(values[0], rows).cast(pa.int64()).view(call.type.arrow))


@function("Cast", [case(["timestamp"], result=["boolean"])])
def _to_boolean(call: Call, settings: ExpressionSettings) -> Kernel:
    zero = pa.scalar(0, pa.int64())
    return Kernel(run=lambda values, rows: pc.not_equal(to_array(values[0], rows).view(pa.int64()), zero))


@function("Cast", [case(["date"], result=["timestamp_ntz"])])
def _from_date(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the midnight at which a date starts."""

    def convert(days: Any) -> Any:
        if (np.abs(days.astype(np.int64)) > _LONG.max // _DAY).any():
            raise conditions.timestamp_overflow()
        return days * np.int64(_DAY)

    return number_kernel(convert, call.type.arrow, 0, numbers_or_zero, can_raise=True)
