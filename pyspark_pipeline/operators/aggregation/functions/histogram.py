"""HISTOGRAM_NUMERIC, with Spark's histograms: equal to Spark's values if its rows come as to Spark.

A histogram of at most as many distinct values as bins counts each. Beyond that the value depends, in Spark too, on the
order of the rows, and on the tasks that read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.expressions.cases import DAY_TIME, FLOATING, INTEGRAL, ONE_CORE_A_TASK, YEAR_MONTH, case
from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int64Array
from pyspark_pipeline.kernels.buffers import fixed_array, pack_validity, string_parts, validity
from pyspark_pipeline.kernels.histograms import add_values, histogram_width, merge_bins
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, State, StatePool, warm_up
from pyspark_pipeline.operators.aggregation.functions.value_codes import ValueCoder, value_coder
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_TIMES = ("date", "timestamp", "timestamp_ntz", DAY_TIME, YEAR_MONTH)
#: Histograms of more bins take too much memory a group.
_BINS = {"1": "[2-9]|[1-9][0-9]{1,2}"}
_LIMITS: Any = {"distinct": False, "settings": ONE_CORE_A_TASK, "matches": _BINS}
#: Spark's serialized form, big-endian: a header, then a record for each bin.
_HEADER = np.dtype([("most", ">i4"), ("used", ">i4")])
_BIN = np.dtype([("center", ">f8"), ("height", ">f8")])


class HistogramState(State):
    """The histogram of each group."""

    def __init__(self, coder: ValueCoder, most: int) -> None:
        self._coder = coder
        self._most = most
        self._words = PerGroup(np.float64, histogram_width(most))
        self.arrays = (self._words,)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        data = np.ascontiguousarray(self._coder.doubles(self._coder.encode(column)), dtype=np.float64)
        add_values(groups, data, *validity(column), self._most, self._words.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        raise NotImplementedError("histograms are not a state of running frames")

    def merge(self, groups: Int64Array, histograms: pa.Array) -> None:
        """Merge serialized histograms."""
        offsets, data = string_parts(histograms)
        starts = offsets[:-1].astype(np.int64)
        records = data[: int(offsets[-1])]
        counts = (np.diff(offsets).astype(np.int64) - _HEADER.itemsize) // _BIN.itemsize
        is_bin = np.ones(records.size, dtype=np.bool_)
        is_bin[: int(offsets[0])] = False
        is_bin[(starts[:, None] + np.arange(_HEADER.itemsize)).reshape(-1)] = False
        bins = np.ascontiguousarray(records[is_bin]).view(_BIN)
        centers, heights = (frozen(bins[name].astype(np.float64)) for name in ("center", "height"))
        firsts = np.cumsum(counts) - counts
        merge_bins(groups, frozen(counts), frozen(firsts), centers, heights, self._most, self._words.array)

    def bins(self, start: int, stop: int) -> tuple[Int64Array, Float64Array, Float64Array]:
        """Return the numbers of bins of groups ``start`` ≤ g < ``stop``, and the centers and heights of all bins."""
        rows = self._words.part(start, stop).reshape(stop - start, -1)
        counts = rows[:, 0].astype(np.int64)
        is_used = np.arange(self._most + 1) < counts[:, None]
        middle = 3 + self._most
        return counts, rows[:, 2:middle][is_used], rows[:, middle:][is_used]

    def serialized(self, start: int, stop: int) -> pa.Array:
        """Return Spark's serialized histograms."""
        counts, centers, heights = self.bins(start, stop)
        bins = np.empty(centers.size, dtype=_BIN)
        bins["center"], bins["height"] = centers, heights
        headers = np.empty(counts.size, dtype=_HEADER)
        headers["most"], headers["used"] = self._most, counts
        ends = np.append(0, np.cumsum(counts * _BIN.itemsize + _HEADER.itemsize))
        data = np.empty(int(ends[-1]), dtype=np.uint8)
        is_bin = np.ones(data.size, dtype=np.bool_)
        is_bin[(ends[:-1, None] + np.arange(_HEADER.itemsize)).reshape(-1)] = False
        data[is_bin], data[~is_bin] = bins.view(np.uint8), headers.view(np.uint8)
        buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.binary(), stop - start, buffers)


@aggregate("HistogramNumeric", [case([*INTEGRAL, *FLOATING, *_TIMES], ["int"], **_LIMITS)])
class Histogram(AggregateFunction):
    """The bins of the values that are not NULL, an array of structs of center and height; NULL if there is none."""

    is_cut_by_flush = True

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        kind, most = call.arg_types[0], int(call.constant(1))
        self._arrow = call.type.arrow
        self._state = self.state(
            lambda: HistogramState(value_coder(kind), most), "histogram", kind, most, arguments=call.args[:1]
        )

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers[0])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.serialized(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        counts, centers, heights = self._state.bins(start, stop)
        fields = list(self._arrow.value_type)
        parts = [_centers(centers, fields[0].type), pa.array(heights)]
        bins = pa.StructArray.from_arrays(parts, fields=fields)
        ends = np.append(0, np.cumsum(counts)).astype(np.int32)
        mask, nulls = pack_validity(counts > 0)
        return pa.Array.from_buffers(self._arrow, stop - start, [mask, pa.py_buffer(ends)], nulls, children=[bins])


def _centers(centers: Float64Array, kind: pa.DataType) -> pa.Array:
    """Return centers as values of the argument's type, or as doubles if a setting of Spark says so."""
    if pa.types.is_floating(kind):
        return fixed_array(kind, centers.astype(kind.to_pandas_dtype()))
    largest = np.iinfo(np.int64).max
    is_large = centers >= largest
    whole = np.where(is_large, largest, np.where(is_large, 0, centers).astype(np.int64))
    return fixed_array(kind, whole.astype(f"i{kind.bit_width // 8}"))


@warm_up
def _load_kernels() -> None:
    state = HistogramState(value_coder(parse_type("double")), 2)
    state.reserve(1)
    state.update(np.zeros(3, dtype=np.int64), [pa.array([2.0, 1.0, 3.0])])
    state.merge(np.zeros(1, dtype=np.int64), state.serialized(0, 1))
