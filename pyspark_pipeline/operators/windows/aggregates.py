"""Aggregate functions over window frames, by the states that aggregations use (Velox: ``AggregateWindow``).

A frame is a group. Frames that begin with the partition are a scan of the states (``rows``, ``range``) or one group a
partition (``whole``); other frames are ranges of rows (:mod:`~.frames`). The registry of aggregate functions declares
which frames a function supports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.operators.aggregation.functions import aggregate_cases, build_function
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction
from pyspark_pipeline.operators.aggregation.functions.state import Groups, StatePool
from pyspark_pipeline.operators.windows.boundaries import WindowRows
from pyspark_pipeline.operators.windows.frame_values import (
    FrameValue,
    GroupValues,
    ValueAtLastPeer,
    ValueAtPartitionEnd,
)
from pyspark_pipeline.operators.windows.frames import Frames, ValueOverFrames, ValueOverGrowingFrames
from pyspark_pipeline.operators.windows.range_bounds import RangeBounds
from pyspark_pipeline.operators.windows.registry import WindowFunction, WindowInput, window_function
from pyspark_pipeline.plan.expr import Expr, Literal
from pyspark_pipeline.plan.nodes import AggregateCall, Settings
from pyspark_pipeline.plan.windows import WindowCall

BuildAggregate = Callable[[AggregateCall, StatePool, Settings], AggregateFunction]


class FrameStates:
    """The states of one call in one driver; ``arguments`` are the arguments that they are updated with."""

    def __init__(self, call: WindowCall, settings: Settings, build: BuildAggregate = build_function) -> None:
        pool = StatePool(Groups.FRAMES)
        self.function = build(_aggregate_call(call), pool, settings)
        self._states = pool.states
        inputs = pool.inputs.get(None, [])
        distinct = {id(argument): argument for fed in inputs for argument in fed.arguments}
        self.arguments: tuple[Expr, ...] = tuple(distinct.values())
        ordinals = {key: ordinal for ordinal, key in enumerate(distinct)}
        self._inputs = [(fed.state, [ordinals[id(argument)] for argument in fed.arguments]) for fed in inputs]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(state.nbytes for state in self._states)

    def reserve(self, groups: int) -> None:
        """Grow to at least ``groups`` groups."""
        for state in self._states:
            state.reserve(groups)

    def take(self, groups: Int64Array) -> None:
        """Keep only ``groups``, renumbered from 0 in this order."""
        for state in self._states:
            state.take(groups)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        """Update the groups of rows."""
        for state, ordinals in self._inputs:
            state.update(groups, [columns[ordinal] for ordinal in ordinals])

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        """Set group i + 1 to the state after row i of partitions that begin where ``starts`` is set."""
        self.reserve(starts.size + 1)
        for state, ordinals in self._inputs:
            state.scan(starts, [columns[ordinal] for ordinal in ordinals])

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the values over the rows ``begin[i]`` ≤ r < ``end[i]``; both ascend."""
        for state, ordinals in self._inputs:
            state.clear()
            state.reserve(begin.size)
            state.over(begin, end, [columns[ordinal] for ordinal in ordinals])
        return self.result(0, begin.size)

    def result(self, start: int, stop: int) -> pa.Array:
        """Return the values of groups ``start`` ≤ g < ``stop``."""
        return self.function.result(start, stop)


def _aggregate_call(call: WindowCall) -> AggregateCall:
    return AggregateCall(
        function=call.function,
        mode="Complete",
        args=call.args,
        arg_types=tuple(arg.type for arg in call.args),
        filter=None,
        type=call.type,
        buffer=(),
        fields=call.fields,
        context=call.context,
        constants=tuple(arg if isinstance(arg, Literal) else None for arg in call.args),
    )


class ValueOfRunningFrame(FrameValue):
    """The aggregate over the partition's rows up to the row itself."""

    def __init__(self, states: FrameStates) -> None:
        self._states = states

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        self._states.scan(rows.partition_starts, columns)
        made = self._states.result(1, rows.num_rows + 1)
        self._states.take(np.array([rows.num_rows]))
        return [made]

    def evaluate(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        return list(kept)


class _FrameGroups(GroupValues):
    """The aggregates over frames that end with a group of rows; group 0 of the states is the open one."""

    def __init__(self, states: FrameStates) -> None:
        self._states = states
        self._has_open = False

    @property
    def nbytes(self) -> int:
        return self._states.nbytes

    def _ended(self, kept: Int64Array) -> list[list[pa.Array]]:
        """Return the values of the groups ``kept`` but the last, which is open."""
        self._has_open = True
        self._states.take(kept)
        ended = kept.size - 1
        values = [[self._states.result(0, ended)]] if ended else []
        self._states.take(np.array([ended]))
        return values

    def last(self) -> list[list[pa.Array]]:
        return [[self._states.result(0, 1)]] if self._has_open else []


class PeerAggregates(_FrameGroups):
    """The aggregates from the partition's first row to the last row of each peer group."""

    def ended(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[list[pa.Array]]:
        starts = rows.peer_starts
        self._states.scan(rows.partition_starts, columns)
        last_rows = np.append(np.flatnonzero(starts), starts.size)  # group i + 1 is the state after row i
        return self._ended(last_rows if self._has_open or not starts[0] else last_rows[1:])


class PartitionAggregates(_FrameGroups):
    """The aggregates over all rows of each partition."""

    def ended(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[list[pa.Array]]:
        groups = np.cumsum(rows.partition_starts, dtype=np.int64)
        count = int(groups[-1]) + 1
        self._states.reserve(count)
        self._states.update(groups, columns)
        return self._ended(np.arange(0 if self._has_open else 1, count))


_FRAME_VALUES: Mapping[str, Callable[[FrameStates], FrameValue]] = {
    "rows": ValueOfRunningFrame,
    "range": lambda states: ValueAtLastPeer(PeerAggregates(states)),
    "whole": lambda states: ValueAtPartitionEnd(PartitionAggregates(states)),
}


def aggregate_over_frame(
    call: WindowCall, settings: Settings, build: BuildAggregate = build_function
) -> WindowFunction:
    """Build an aggregate function over the call's frame."""
    probe = FrameStates(call, settings, build)

    def make() -> FrameValue:
        states = FrameStates(call, settings, build)
        if call.frame == "sliding":
            frames = frames_of(call, settings)
            is_growing = frames.lower.kind == "unbounded"
            return ValueOverGrowingFrames(states, frames) if is_growing else ValueOverFrames(states, frames)
        return _FRAME_VALUES["rows" if states.function.is_known_at_first_row else call.frame](states)

    return WindowFunction((WindowInput(make, probe.arguments + order_of(call)),), lambda columns: columns[0])


def frames_of(call: WindowCall, settings: Settings) -> Frames:
    """Return the frames between the call's bounds; the last argument column is that of :func:`order_of`."""
    values = None if call.order is None else RangeBounds(call.order, *call.bounds, settings)
    return Frames(*call.bounds, values)


def order_of(call: WindowCall) -> tuple[Expr, ...]:
    """Return the expression whose values the call's bounds are relative to; none if they are not offsets of values."""
    return () if call.order is None else (call.order.expr,)


for _name, _case in aggregate_cases():
    if "frames" in _case:
        window_function(_name, [_case])(aggregate_over_frame)
