"""COUNT_MIN_SKETCH of integers, strings and bytes: the buffer and the value are Spark's serialized sketch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.expressions.cases import INTEGRAL, case
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import string_parts, validity, values
from pyspark_pipeline.kernels.count_min import add_hashes, add_numbers, hash_factors, read_sketches, write_sketches
from pyspark_pipeline.kernels.murmur3 import hash_rows
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, State, StatePool, warm_up
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_MAX_BYTES = 2**31 - 1
#: Errors and confidences whose sketches have at most some kilobytes: those of many groups fit one column.
_MATCHES = {"1": r"[0-9]+\.[0-9]{1,2}", "2": r"0\.[0-9]{1,4}", "3": "-?[0-9]+"}


class SketchState(State):
    """The counts of the sketch of each group."""

    def __init__(self, error: float, confidence: float, seed: int) -> None:
        self.width = math.ceil(2 / error)
        self.depth = math.ceil(-math.log(1 - confidence) / math.log(2))
        self.factors = hash_factors(seed, self.depth)
        self._words = PerGroup(np.int64, 1 + self.depth * self.width)
        self.arrays = (self._words,)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        if pa.types.is_integer(column.type):
            data = values(column).astype(np.int64, copy=False)
            add_numbers(groups, data, *validity(column), self.factors, self.width, self._words.array)
            return
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        first, second = (hash_rows([column] * count, len(column), 0).view(np.int32) for count in (1, 2))
        add_hashes(groups, first, second, *validity(column), self.depth, self.width, self._words.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        raise NotImplementedError("sketches are not a state of running frames")

    def merge(self, groups: Int64Array, sketches: pa.Array) -> None:
        """Add the counts of sketches."""
        offsets, data = string_parts(sketches)
        counts = read_sketches(data[offsets[0] : offsets[-1]], len(sketches), self.depth, self.width)
        np.add.at(self._words.array.reshape(-1, counts.shape[1]), groups, counts)

    def sketches(self, start: int, stop: int) -> pa.Array:
        """Return the sketches of groups ``start`` ≤ g < ``stop``."""
        size, data = write_sketches(self._words.part(start, stop), self.factors, self.width)
        if data.size > _MAX_BYTES:
            raise ResourceExhaustedError(f"{data.size} bytes of sketches do not fit one column")
        ends = np.arange(stop - start + 1, dtype=np.int32) * np.int32(size)
        return pa.Array.from_buffers(pa.binary(), stop - start, [None, pa.py_buffer(ends), pa.py_buffer(data)])


@aggregate(
    "CountMinSketchAgg", [case([*INTEGRAL, "string", "binary"], ["double"], ["double"], ["int"], matches=_MATCHES)]
)
class CountMinSketch(AggregateFunction):
    """A sketch of the counts of the values that are not NULL."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        given = [call.constant(position) for position in (1, 2, 3)]
        self._state = self.state(lambda: SketchState(*given), "sketch", *given, arguments=call.args[:1])

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers[0])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.sketches(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.sketches(start, stop)


@warm_up
def _load_kernels() -> None:
    for column in (pa.array([1, None]), pa.array(["a", None])):
        state = SketchState(0.5, 0.5, 1)
        state.reserve(1)
        state.update(np.zeros(2, dtype=np.int64), [column])
