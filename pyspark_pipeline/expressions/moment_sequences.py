"""Sequences of dates and timestamps in steps of intervals (Spark: Sequence in collectionOperations.scala).

Steps of whole days between dates, and of less than a day between timestamps, are those of integers. Others are added to
the local date and time of the start, each time as a multiple: the step of a month from January 31st leads to the last
days of the following months.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.arrays import sequence_lengths, sequence_places
from pyspark_pipeline.expressions.cases import DAY_TIME, YEAR_MONTH, case
from pyspark_pipeline.expressions.nested import list_array, plain_array
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, function
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.values import numbers
from pyspark_pipeline.plan.expr import Call

_Numbers: TypeAlias = npt.NDArray[np.int64]

_DAY = 86_400_000_000
#: The days of a month by which Spark estimates the length of a sequence.
_ESTIMATED_DAYS = 28
#: The most microseconds of a step of a month, and the most by which a local day differs from 24 hours.
_LONGEST_MONTH, _SHIFT = 31 * _DAY, 2 * _DAY


@function("Sequence", [
    *(case([kind], [kind], [step], result=["array"])
      for kind in ("date", "timestamp", "timestamp_ntz") for step in (DAY_TIME, YEAR_MONTH)),
    *(case([kind], [kind], result=["array"]) for kind in ("timestamp", "timestamp_ntz")),
])  # fmt: skip
def _sequence(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the dates or timestamps from one to another, in steps of an interval or, without it, of a day."""
    kind, is_date = call.type.arrow, call.args[0].type.kind == "date"
    has_months = len(call.args) > 2 and call.args[2].type.kind == YEAR_MONTH
    zone = TimeZone("UTC" if call.args[0].type.kind == "timestamp_ntz" else call.fields["timeZoneId"])

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        arrays = [plain_array(value, rows) for value in values]
        valid = np.all([np.asarray(array.is_valid()) for array in arrays], axis=0)
        start, stop, *steps = (np.where(valid, numbers(array), 0).astype(np.int64) for array in arrays)
        step = steps[0] if steps else np.where(start <= stop, _DAY, -_DAY)
        months, days, micros = _split(step, has_months)
        if is_date and (valid & (months == 0) & (days == 0)).any():
            raise conditions.sequence_of_dates(has_months)
        is_plain = valid & (months == 0) & ((micros if is_date else days) == 0)
        counts = np.zeros(rows, dtype=np.int64)
        width = days if is_date else micros
        counts += sequence_lengths(start, stop, width, width, is_plain)
        is_local = valid & ~is_plain
        first, last = (zone.start_of_days(start), zone.start_of_days(stop)) if is_date else (start, stop)
        steps_of = _Steps(zone, first, months, days, micros)
        if is_local.any():
            counts += steps_of.counts(last, step, is_local)
        owners, places = sequence_places(counts)
        made = start[owners] + width[owners] * places
        at = np.flatnonzero(is_local[owners])
        if at.size:
            moments = steps_of.moments(owners[at], places[at])
            made[at] = zone.local_days(moments) if is_date else moments
        elements = pa.array(made.astype(np.int32) if is_date else made)
        return list_array(kind, counts, elements.view(kind.value_type), valid)

    return Kernel(run=run, can_raise=True)


def _split(step: _Numbers, has_months: bool) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Return the months, the whole days and the microseconds of intervals; the latter have one sign."""
    none = np.zeros(step.size, dtype=np.int64)
    if has_months:
        return step, none, none
    micros = np.fmod(step, _DAY)
    return none, (step - micros) // _DAY, micros


class _Steps:
    """The moments that are multiples of an interval after ``first``; all arrays are int64, shape (rows,)."""

    def __init__(self, zone: TimeZone, first: _Numbers, months: _Numbers, days: _Numbers, micros: _Numbers) -> None:
        self._zone, self._first = zone, first
        self._months, self._days, self._micros = months, days, micros

    def moments(self, rows: _Numbers, places: _Numbers) -> _Numbers:
        """Return the moments of ``rows`` after so many steps."""
        found, months, days, micros = self._first[rows], self._months[rows], self._days[rows], self._micros[rows]
        moved: Any = found.copy()
        later = np.flatnonzero(places)
        by_months, by_days = later[months[later] != 0], later[months[later] == 0]
        if by_months.size:
            moved[by_months] = self._zone.plus_months(found[by_months], months[by_months] * places[by_months])
        if by_days.size:
            numbers = places[by_days]
            moved[by_days] = self._zone.plus(found[by_days], days[by_days] * numbers, micros[by_days] * numbers)
        return np.asarray(moved)

    def counts(self, last: _Numbers, shown: _Numbers, valid: npt.NDArray[np.bool_]) -> _Numbers:
        """Return how many moments are not beyond ``last``, 0 of rows that are not valid; raise Spark's errors."""
        estimate = self._micros + _DAY * (self._days + _ESTIMATED_DAYS * self._months)
        sequence_lengths(self._first, last, estimate, shown, valid)
        # So many steps are certainly not beyond the end; the others are tried one by one.
        longest = np.abs(self._micros) + _DAY * np.abs(self._days) + _LONGEST_MONTH * np.abs(self._months)
        certain = np.maximum(np.abs(last - self._first) - _SHIFT, 0) // np.maximum(longest, 1)
        counts = np.where(valid, certain, 0)
        rows = np.flatnonzero(valid)
        while rows.size:
            reached = self.moments(rows, counts[rows])
            # Spark takes a moment that is one microsecond beyond the end of a descending sequence.
            is_within = np.where(estimate[rows] > 0, reached <= last[rows], reached >= last[rows] - 1)
            rows = rows[is_within]
            counts[rows] += 1
        return counts
