"""Aggregate functions that Spark's own code computes, on buffers in the executor's JVM (``AggregateBuffers.scala``).

The engine groups the rows and says which buffer each row updates, in the order in which Spark would update it. Spark
updates the buffers of the first groups of a task as their rows come. Once there are :data:`HASHED_GROUPS`, it sorts the
other rows by group, updates new buffers with them, and merges the buffers that it had into these. Other rows than those
of the first groups are therefore collected here, and sent when a group is output, so that the JVM has few buffers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.expressions.cases import ALL_KINDS, ONE_CORE_A_TASK, case
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.aggregation.functions.hashed_rows import (
    HASHED_GROUPS,
    OBJECT_HASH_AGGREGATION,
    HashedRows,
)
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import Groups, State, StatePool
from pyspark_pipeline.operators.aggregation.functions.value_lists import ListState, plain_column
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_BIGINT, _BINARY = parse_type("bigint"), parse_type("binary")
#: Buffers that the JVM has at once of groups whose rows were collected.
_BUFFERS = 2048
#: Numbers of buffers, unique in this process: of the first groups, each state has a range; of others, one each time.
_RANGES, _OTHERS = itertools.count(), itertools.count(1)


class _Step(IntEnum):
    """The steps that the JVM takes on buffers, in the order of ``JvmAggregateCall.steps``."""

    UPDATE = 0
    MERGE = 1
    SERIALIZE = 2
    EVALUATE = 3


class JvmBuffers(State):
    """Buffers of a function in the JVM, and collected rows of groups that are not among the first.

    ``call`` is the number of its first step, ``kinds`` are the types of the arguments, or that of serialized buffers
    alone if the state ``merges``. Without keys, Spark sorts no rows.
    """

    def __init__(self, call: AggregateCall, settings: Settings, *, has_keys: bool) -> None:
        self._first_step: int = call.fields["number"]
        self._evaluate = settings.evaluate_in_jvm
        self._merges = call.merges
        self._type = call.type
        self._kinds = [_BINARY] if call.merges else list(call.arg_types)
        self._has_keys = has_keys
        self._begin()

    def _begin(self) -> None:
        self._range = next(_RANGES) << 32
        self._hashed = HashedRows()
        self._later = ListState(self._kinds, keeps_null=True)

    @property
    def nbytes(self) -> int:
        return self._later.nbytes

    def reserve(self, groups: int) -> None:
        """Groups without rows take no space."""

    def clear(self) -> None:
        self._begin()

    def take(self, groups: Int64Array) -> None:
        raise NotImplementedError("buffers in the JVM are not a state of frames")

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        raise NotImplementedError("buffers in the JVM are not a state of running frames")

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        hashed = self._hashed.count(groups) if self._has_keys else groups.size
        self._send(groups[:hashed] + self._range, [column[:hashed] for column in columns])
        if hashed < groups.size:
            self._later.update(groups[hashed:], [column[hashed:] for column in columns])

    def filter_rows(self, groups: Int64Array, passed: BoolArray) -> None:
        if self._has_keys:
            self._hashed.filter(groups, passed)

    def serialized(self, start: int, stop: int) -> pa.Array:
        """Return the serialized buffers of groups ``start`` ≤ g < ``stop``."""
        return self._read(_Step.SERIALIZE, _BINARY, start, stop)

    def values(self, start: int, stop: int) -> pa.Array:
        """Return the values of the function for groups ``start`` ≤ g < ``stop``."""
        return self._read(_Step.EVALUATE, self._type, start, stop)

    def _read(self, step: _Step, kind: DataType, start: int, stop: int) -> pa.Array:
        if not self._hashed.is_exceeded:
            numbers = np.arange(start, stop) + self._range
            return self._ask(step, [pa.array(numbers), pa.nulls(numbers.size, pa.int64())], kind)
        bounds, columns = self._later.rows(start, stop)
        parts = []
        for first in range(0, stop - start, _BUFFERS):
            last = min(first + _BUFFERS, stop - start)
            numbers = np.array([-next(_OTHERS) for _ in range(first, last)])
            rows = slice(int(bounds[first]), int(bounds[last]))
            sizes = np.diff(bounds[first : last + 1])
            self._send(np.repeat(numbers, sizes), [column[rows] for column in columns])
            groups = np.arange(start + first, start + last)
            merged = pa.array(groups + self._range, mask=groups >= HASHED_GROUPS)
            parts.append(self._ask(step, [pa.array(numbers), merged], kind))
        return pa.concat_arrays(parts) if parts else pa.nulls(0, kind.arrow)

    def _send(self, numbers: Int64Array, columns: Sequence[pa.Array]) -> None:
        if numbers.size:
            step = _Step.MERGE if self._merges else _Step.UPDATE
            plain = [plain_column(column, kind.arrow) for column, kind in zip(columns, self._kinds, strict=True)]
            self._ask(step, [pa.array(numbers), *plain], _BIGINT)

    def _ask(self, step: _Step, columns: list[pa.Array], kind: DataType) -> pa.Array:
        if self._evaluate is None:
            raise EngineBugError("a fragment with functions that Spark computes runs without Spark")
        return self._evaluate(self._first_step + step, make_chunk(columns, len(columns[0])), [kind])[0]


_PLANNED = {**ONE_CORE_A_TASK, **OBJECT_HASH_AGGREGATION}


@aggregate("JvmAggregate", [case(ALL_KINDS, variadic=True, result=ALL_KINDS, distinct=False, settings=_PLANNED)])
class JvmAggregate(AggregateFunction):
    """Any function whose buffer is an object in Spark: sketches, users' aggregate functions."""

    is_cut_by_flush = True
    is_kept_by_merge = False

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        has_keys = pool.groups is not Groups.ONE
        self._state: JvmBuffers = self.state(
            lambda: JvmBuffers(call, settings, has_keys=has_keys), "jvm", call.fields["number"]
        )

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.update(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.serialized(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.values(start, stop)
