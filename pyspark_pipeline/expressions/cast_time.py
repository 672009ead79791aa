"""Casts between date and timestamp, in the session time zone (Spark: DateTimeUtils.daysToMicros, microsToDays)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.registry import INTEGRAL, Case, ExpressionSettings, Kernel, case, function
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.values import number_kernel, numbers_or_zero
from pyspark_pipeline.plan.expr import Call


def _cases(source: str, target: str) -> list[Case]:
    return [case([source], result=[target])]


def zone_kernel(call: Call, convert: Callable[[TimeZone, Any], Any], can_raise: bool = False) -> Kernel:
    """Build a kernel of the last argument in the time zone of the call; NULL rows are 0, to look up few rules."""
    zone = TimeZone(call.fields["timeZoneId"])
    return number_kernel(lambda data: convert(zone, data), call.type.arrow, -1, numbers_or_zero, can_raise)


@function("Cast", _cases("timestamp", "date"))
def _to_date(call: Call, settings: ExpressionSettings) -> Kernel:
    return zone_kernel(call, lambda zone, micros: zone.local_days(micros))


@function("Cast", _cases("date", "timestamp"))
def _to_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    return zone_kernel(call, lambda zone, days: zone.start_of_days(days), can_raise=True)


@function("Cast", _cases("timestamp", "timestamp_ntz"))
def _to_local(call: Call, settings: ExpressionSettings) -> Kernel:
    return zone_kernel(call, lambda zone, micros: zone.local_micros(micros), can_raise=True)


@function("Cast", _cases("timestamp_ntz", "timestamp"))
def _from_local(call: Call, settings: ExpressionSettings) -> Kernel:
    return zone_kernel(call, lambda zone, local: zone.instants(local), can_raise=True)


@function("Cast", [case(["timestamp"], result=["bigint"])])
def _to_seconds(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return whole seconds since 1970, rounded down."""
    return number_kernel(lambda micros: micros // 1_000_000, pa.int64())


@function("Cast", [case(["timestamp"], result=["double"])])
def _to_fractional_seconds(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda micros: micros / 1_000_000.0, pa.float64())


@function("Cast", [case(INTEGRAL, result=["timestamp"])])
def _from_seconds(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the instant of seconds since 1970; outside the range of timestamps, its end."""
    limits = np.iinfo(np.int64)
    last = limits.max // 1_000_000

    def compute(seconds: Any) -> Any:
        wide = seconds.astype(np.int64)
        inside = np.clip(wide, -last, last)
        return np.where(wide == inside, inside * 1_000_000, np.where(wide > 0, limits.max, limits.min))

    return number_kernel(compute, call.type.arrow)


@function("Cast", [case(["timestamp_ntz"], result=["date"])])
def _ntz_to_date(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda micros: micros // 86_400_000_000, pa.date32())
