"""Detection of the first rows of a window's partitions and peer groups in sorted rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.expressions.values import decode
from pyspark_pipeline.kernels.arrays import BoolArray
from pyspark_pipeline.kernels.key_runs import differs
from pyspark_pipeline.kernels.sort_fields import ordinals
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class WindowRows:
    """Rows in the order of the window: bools, shape (rows,), flag the first rows of partitions and of peer groups."""

    partition_starts: BoolArray
    peer_starts: BoolArray

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return int(self.partition_starts.size)


def one_row(array: pa.Array, row: int) -> pa.Array:
    """Return a copy of one row of an array, which does not keep the other rows in memory."""
    return array.take(pa.array([row], pa.int64()))


class Boundaries:
    """Compares the keys of each row with those of the previous row, also across chunks.

    As in Spark's window, NULL equals NULL, NaN equals NaN, and −0.0 equals 0.0.
    """

    def __init__(self, spec: WindowSpec, settings: Settings) -> None:
        exprs = [*spec.partition, *(key.expr for key in spec.order)]
        self._compiled = compile_expressions(exprs, ExpressionSettings.of(settings))
        self._split = len(spec.partition)
        self._before: list[pa.Array] | None = None

    def rows(self, chunk: Chunk) -> WindowRows:
        """Return the boundaries of partitions and peer groups in the next chunk, which is not empty."""
        keys = [_comparable(decode(array)) for array in self._compiled.evaluate(chunk)]
        before, self._before = self._before, [one_row(key, chunk.num_rows - 1) for key in keys]
        starts = self._changes(keys[: self._split], before and before[: self._split], chunk.num_rows)
        peers = self._changes(keys[self._split :], before and before[self._split :], chunk.num_rows)
        return WindowRows(starts, peers | starts)

    def _changes(self, keys: Sequence[pa.Array], before: Sequence[pa.Array] | None, rows: int) -> BoolArray:
        changes = np.zeros(rows, dtype=np.bool_)
        if before is None:
            changes[0] = True
            before = [key.slice(0, 1) for key in keys]
        for key, last in zip(keys, before, strict=True):
            changes |= differs(pa.concat_arrays([last, key]))
        return changes


def _comparable(key: pa.Array) -> pa.Array:
    """Return floating-point numbers as integers that are equal if and only if Spark compares the numbers as equal."""
    if not pa.types.is_floating(key.type):
        return key
    valid = None if key.null_count == 0 else ~np.asarray(key.is_valid())
    return pa.array(ordinals(key), mask=valid)
