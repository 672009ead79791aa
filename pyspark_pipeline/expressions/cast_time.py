"""Casts between date and timestamp, in the session time zone (Spark: DateTimeUtils.daysToMicros, microsToDays).

Exact for UTC, fixed offsets and the regions below, whose rules a test compares with the JVM's. Other
regions have rules in two databases, the JVM's and Python's, that are known to differ in places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.registry import Case, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.values import from_numbers, numbers, to_array
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.plan.expr import Call

UTC_NAMES = ("UTC", "Z", "GMT", "Etc/UTC", "Etc/GMT", "UCT", "Zulu")
REGIONS = (
    "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi", "America/Anchorage",
    "America/Argentina/Buenos_Aires", "America/Bogota", "America/Chicago", "America/Denver", "America/Halifax",
    "America/Los_Angeles", "America/Mexico_City", "America/New_York", "America/Phoenix", "America/Sao_Paulo",
    "America/St_Johns", "America/Toronto", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Kathmandu",
    "Asia/Kolkata", "Asia/Manila", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo",
    "Australia/Adelaide", "Australia/Melbourne", "Australia/Sydney", "Europe/Berlin", "Europe/Dublin",
    "Europe/Istanbul", "Europe/London", "Europe/Madrid", "Europe/Moscow", "Europe/Paris", "Europe/Rome",
    "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland", "Pacific/Honolulu",
)  # fmt: skip
OFFSETS = tuple(f"{sign}{quarter // 4:02d}:{quarter % 4 * 15:02d}" for sign in "+-" for quarter in range(73))
_EXACT = [*UTC_NAMES, *REGIONS, *OFFSETS]


def _cases(source: str, target: str) -> list[Case]:
    return [case([source], result=[target], fields={"timeZoneId": _EXACT})]


def _shifted(call: Call, convert: Callable[[TimeZone, Any], Any], dtype: Any) -> Kernel:
    zone = TimeZone(call.fields["timeZoneId"])

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data: Any = numbers(array)
        if array.null_count:
            # Slots of NULLs may hold anything; do not look up rules for them.
            data = np.where(array.is_valid().to_numpy(zero_copy_only=False), data, 0)
        return from_numbers(convert(zone, data).astype(dtype), call.type.arrow, validity_of([array]))

    return Kernel(run=run)


@function("Cast", _cases("timestamp", "date"))
def _to_date(call: Call, settings: ExpressionSettings) -> Kernel:
    return _shifted(call, lambda zone, micros: zone.local_days(micros), np.int32)


@function("Cast", _cases("date", "timestamp"))
def _to_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    return _shifted(call, lambda zone, days: zone.start_of_days(days), np.int64)


@function("Cast", [case(["timestamp_ntz"], result=["date"])])
def _ntz_to_date(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        micros: Any = numbers(array)
        return from_numbers((micros // 86_400_000_000).astype(np.int32), pa.date32(), validity_of([array]))

    return Kernel(run=run)
