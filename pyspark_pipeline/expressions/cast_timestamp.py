"""Casts from string to timestamp (Spark: SparkDateTimeUtils.stringToTimestamp, parseTimestampString).

A compiled kernel parses date, time, ``Z`` and offsets as ``+02:00``. Other time zones in a text are looked up once per
zone. A time without a date is one of today in its time zone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.cast_text import parsed_validity
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import TimeZone, zone_of
from pyspark_pipeline.expressions.values import from_numbers, to_array
from pyspark_pipeline.kernels import text_parse
from pyspark_pipeline.kernels.decimal_words import valid_flags, validity_of
from pyspark_pipeline.plan.expr import Call

_DAY = 86400
_MILLION = 1_000_000
#: The first and the last microsecond of the timestamps, as seconds and microseconds of the second.
_FIRST, _LAST = divmod(-(2**63), _MILLION), divmod(2**63 - 1, _MILLION)

_CONTROL = "".join(map(chr, range(33)))


class _Texts:
    """The parsed texts of an array; ``fits`` is whether each is valid so far."""

    def __init__(self, array: pa.Array) -> None:
        rows = len(array)
        self.seconds = np.empty(rows, dtype=np.int64)
        self.micros = np.empty(rows, dtype=np.int32)
        self.has_date = np.empty(rows, dtype=np.bool_)
        self._zones = np.empty((rows, 3), dtype=np.int32)
        status = np.empty(rows, dtype=np.uint8)
        offsets, self._data = text_parse.text_of(array)
        text_parse.parse_timestamps(offsets, self._data, self.seconds, self.micros, self.has_date, self._zones, status)
        self.validity = validity_of([array])
        self.fits = (status == text_parse.PARSED) & valid_flags(self.validity, rows)

    def move_to_utc(self, session: TimeZone) -> None:
        """Make ``seconds`` instants; texts without a zone are local to ``session``."""
        kinds = np.where(self.fits, self._zones[:, 0], text_parse.NO_ZONE)
        self._move(slice(None) if not kinds.any() else np.flatnonzero(kinds == text_parse.NO_ZONE), session)
        fixed = np.flatnonzero(kinds == text_parse.WITH_OFFSET)
        east = self._zones[fixed, 1]
        today = np.where(self.has_date[fixed], 0, (int(time.time()) + east) // _DAY)
        self.seconds[fixed] += today * _DAY - east
        for zone, rows in self._by_zone():
            self._move(rows, zone)

    def drop_zones(self) -> None:
        """Check the time zones of texts without use of them; a text without a date has no value."""
        self.fits &= self.has_date
        for _ in self._by_zone():
            pass

    def _by_zone(self) -> list[tuple[TimeZone, Any]]:
        """Return the named time zones and their rows; a row with an unknown one does not fit."""
        rows = np.flatnonzero(self.fits & (self._zones[:, 0] == text_parse.WITH_ZONE))
        by_text: dict[bytes, list[int]] = {}
        for row in rows.tolist():
            by_text.setdefault(self._data[self._zones[row, 1] : self._zones[row, 2]].tobytes(), []).append(row)
        found = []
        for text, each in by_text.items():
            zone = zone_of(text.decode("utf-8", "replace").strip(_CONTROL))
            if zone is None:
                self.fits[each] = False
            else:
                found.append((zone, np.array(each)))
        return found

    def _move(self, rows: Any, zone: TimeZone) -> None:
        local = self.seconds[rows]
        if not self.has_date[rows].all():
            today = zone.local_days(np.array([time.time_ns() // 1000]))[0]
            local = np.where(self.has_date[rows], local, local + today * _DAY)
        self.seconds[rows] = zone.instant_seconds(local)

    def values(self) -> Any:
        """Return microseconds, int64; rows outside the range of timestamps do not fit."""
        (first, first_micros), (last, last_micros) = _FIRST, _LAST
        seconds, micros = self.seconds, self.micros
        if len(seconds) and (seconds.min() <= first or seconds.max() >= last):
            self.fits &= (seconds > first) | ((seconds == first) & (micros >= first_micros))
            self.fits &= (seconds < last) | ((seconds == last) & (micros <= last_micros))
            seconds = np.where(self.fits, seconds, 0)
        return (seconds + 1) * _MILLION + (micros - _MILLION)


def _kernel(call: Call, zone: TimeZone | None) -> Kernel:
    """Build the kernel of a cast to instants, or to local timestamps without ``zone``."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        texts = _Texts(array)
        if zone is None:
            texts.drop_zones()
        else:
            texts.move_to_utc(zone)
        micros = texts.values()
        return from_numbers(micros, call.type.arrow, parsed_validity(call, array, texts.fits, "SparkDateTimeException"))

    return Kernel(run=run, can_raise=call.eval_mode.raises, by_dictionary=True)


@function("Cast", [case(["string"], result=["timestamp"])])
def _to_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    return _kernel(call, TimeZone(call.fields["timeZoneId"]))


@function("Cast", [case(["string"], result=["timestamp_ntz"])])
def _to_local_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    return _kernel(call, None)
