"""APPROX_COUNT_DISTINCT: an estimate of the number of distinct values, by HyperLogLog++ with Spark's registers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.cases import KINDS, case
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import fixed_array, validity, values
from pyspark_pipeline.kernels.hyperloglog import WORDS, add_hashes, estimate_counts, merge_registers, run_hashes
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.xxhash64 import xxhash64_rows
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, State, StatePool, updated, warm_up
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_SEED = 42


class RegisterState(State):
    """The registers of each group, which hold the largest ranks of the hashes of its values."""

    def __init__(self) -> None:
        self._words = PerGroup(np.int64, WORDS)
        self.arrays = (self._words,)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        add_hashes(groups, *_hashes(columns[0]), self._words.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        run_hashes(starts, *_hashes(columns[0]), self._words.array)

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        """Merge partial registers."""
        parts = frozen(np.stack([values(buffer) for buffer in buffers], axis=1).reshape(-1))
        merge_registers(groups, parts, self._words.array)

    def columns(self, start: int, stop: int) -> list[pa.Array]:
        """Return the words as columns of bigint."""
        words = np.ascontiguousarray(self._words.part(start, stop).reshape(-1, WORDS).T)
        return [fixed_array(pa.int64(), column) for column in words]

    def counts(self, start: int, stop: int) -> pa.Array:
        """Return the estimates; bigint, never NULL."""
        return fixed_array(pa.int64(), estimate_counts(self._words.part(start, stop), stop - start))


def _hashes(column: pa.Array) -> tuple[Int64Array, UInt8Array, int]:
    """Return the hashes of the rows (int64), the bytes of validity bits, and the number of these to skip."""
    if pa.types.is_dictionary(column.type):
        if column.dictionary.null_count:
            return _hashes(column.dictionary_decode())
        bitmap, skip = validity(column.indices)
    elif pa.types.is_null(column.type):
        bitmap, skip = np.zeros(len(column) // 8 + 1, dtype=np.uint8), 0
    else:
        bitmap, skip = validity(column)
    return xxhash64_rows([column], len(column), _SEED), bitmap, skip


@aggregate("HyperLogLogPlusPlus", [case(KINDS, fields={"relativeSD": ["0.05"]}, frames=FRAMES)])
class ApproximateCount(AggregateFunction):
    """The estimated number of distinct values that are not NULL; the buffer are the words of the registers."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(RegisterState, "registers")

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return self._state.columns(start, stop)

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.counts(start, stop)


@warm_up
def _load_kernels() -> None:
    state = updated(RegisterState(), pa.array([1, None]))
    state.merge(np.zeros(1, dtype=np.int64), state.columns(0, 1))
    state.counts(0, 1)
