"""The aggregator: a table of groups and the states of all calls, fed with chunks, read out as chunks.

It knows neither modes of execution nor drivers; the blocking and the streaming operators use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import CompiledExpressions, ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.buffers import Array, count_nulls, make_chunk
from pyspark_pipeline.kernels.group_table import GroupTable
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.aggregates import build_function
from pyspark_pipeline.operators.aggregates.state import Feeding, State, StatePool
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.nodes import Aggregate, AggregateCall, Field, Node, Settings

NULL_KEYS = declare_counter("null_keys", "NULLs in the key columns of an aggregation", unit="values")


class _FilteredFeed:
    """The states fed under one filter: their arguments are evaluated only for rows that pass it."""

    def __init__(self, condition: Expr, feedings: Sequence[Feeding], settings: ExpressionSettings) -> None:
        self._condition = compile_expressions([condition], settings)
        self._arguments = _Arguments((), feedings, settings)

    def update(self, chunk: Chunk, groups: Array) -> None:
        passed = pc.fill_null(self._condition.evaluate(chunk)[0], False)
        if passed.true_count == 0:
            return
        kept = chunk.filter(passed)
        _, columns = self._arguments.evaluate(kept)
        self._arguments.update(groups[np.asarray(passed)], columns)


class _Arguments:
    """Grouping expressions and arguments compiled together, so that what they share is computed once."""

    def __init__(self, grouping: Sequence[Expr], feedings: Sequence[Feeding], settings: ExpressionSettings) -> None:
        self._keys = len(grouping)
        self._feedings = feedings
        distinct: dict[Expr, int] = {}
        for feeding in feedings:
            for argument in feeding.arguments:
                distinct.setdefault(argument, len(distinct))
        self._places = [[distinct[argument] for argument in feeding.arguments] for feeding in feedings]
        exprs = [*grouping, *distinct]
        self._compiled: CompiledExpressions | None = compile_expressions(exprs, settings) if exprs else None

    def evaluate(self, chunk: Chunk) -> tuple[list[pa.Array], list[pa.Array]]:
        """Give the key columns and the argument columns of a chunk."""
        made = self._compiled.evaluate(chunk) if self._compiled is not None else []
        return made[: self._keys], made[self._keys :]

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        """Feed the states."""
        for feeding, places in zip(self._feedings, self._places, strict=True):
            feeding.state.update(groups, [columns[place] for place in places])


class Aggregator:
    """Groups and accumulators of one :class:`Aggregate` node in one driver."""

    def __init__(self, node: Aggregate, settings: Settings) -> None:
        self._node = node
        self._settings = settings
        self._pool = StatePool(has_keys=bool(node.grouping))
        self._functions = [build_function(call, self._pool, settings) for call in node.calls]
        self._merging = _merging_places(node)
        compiled = ExpressionSettings.of(settings)
        feedings = dict(self._pool.feedings)
        self._arguments = _Arguments(node.grouping, feedings.pop(None, []), compiled)
        self._filtered = [_FilteredFeed(condition, fed, compiled) for condition, fed in feedings.items() if condition]
        self._results = None if node.results is None else compile_expressions(node.results, compiled)
        self.table = GroupTable([expr.type.arrow for expr in node.grouping]) if node.grouping else None
        self.rows = 0

    @property
    def num_groups(self) -> int:
        """How many groups there are; without grouping expressions always one."""
        return self.table.count if self.table is not None else 1

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        held = sum(state.nbytes for state in self._pool.states)
        return held + (self.table.nbytes if self.table is not None else 0)

    def nbytes_with(self, rows: int) -> int:
        """Estimate the bytes held after ``rows`` more; arrays that grow double, and are copied one by one."""
        grows = self.table is not None and not self.table.has_room(rows)
        return 2 * self.nbytes if grows else self.nbytes

    @property
    def states(self) -> Sequence[State]:
        """The states of all calls."""
        return self._pool.states

    def add(self, chunk: Chunk) -> int:
        """Take a chunk of the child's columns; give the number of NULLs in its key columns."""
        keys, columns = self._arguments.evaluate(chunk)
        if self.table is not None:
            groups = self.table.group_ids(keys)
        else:
            groups = np.zeros(chunk.num_rows, dtype=np.int64)
        self._update(chunk, groups, columns)
        return count_nulls(keys)

    def convert(self, chunk: Chunk) -> Chunk:
        """Make the output of a partial aggregation whose groups are the chunk's rows; states start anew.

        Only for an aggregator that nothing was added to: its table is not used.
        """
        if self.num_groups:
            raise EngineBugError(f"rows are to pass an aggregation that has {self.num_groups} groups")
        keys, columns = self._arguments.evaluate(chunk)
        for state in self._pool.states:
            state.clear()
        self._update(chunk, np.arange(chunk.num_rows, dtype=np.int64), columns)
        buffers = [buffer for function in self._functions for buffer in function.buffers(0, chunk.num_rows)]
        return make_chunk([*keys, *buffers], chunk.num_rows)

    def _update(self, chunk: Chunk, groups: Array, columns: Sequence[pa.Array]) -> None:
        self.rows += chunk.num_rows
        count = self.num_groups if self.table is None or self.table.count else chunk.num_rows
        for state in self._pool.states:
            state.reserve(count)
        self._arguments.update(groups, columns)
        for feed in self._filtered:
            feed.update(chunk, groups)
        for function, places in zip(self._functions, self._merging, strict=True):
            if places is not None:
                function.merge(groups, [chunk.column(place) for place in places])

    def output(self, start: int, stop: int) -> Chunk:
        """Make the output rows of groups ``start`` ≤ g < ``stop``."""
        if self._results is None:
            return self.buffers(start, stop)
        keys = self._keys(start, stop)
        values = [function.result(start, stop) for function in self._functions]
        before = make_chunk([*keys, *values], stop - start)
        return make_chunk(self._results.evaluate(before), stop - start)

    def buffers(self, start: int, stop: int) -> Chunk:
        """Make rows of the keys and the buffers of groups ``start`` ≤ g < ``stop``: what a later stage merges."""
        keys = self._keys(start, stop)
        values = [buffer for function in self._functions for buffer in function.buffers(start, stop)]
        return make_chunk([*keys, *values], stop - start)

    def _keys(self, start: int, stop: int) -> list[pa.Array]:
        for state in self._pool.states:
            state.reserve(stop)
        return self.table.keys(start, stop) if self.table is not None else []


def _merging_places(node: Aggregate) -> list[list[int] | None]:
    """Give the child's columns that each merging call reads (None for a call that reads arguments).

    They are the child's last columns, in the order of the merging calls.
    """
    widths = [len(call.buffer) if call.merges else 0 for call in node.calls]
    at = len(node.child.output) - sum(widths)
    places: list[list[int] | None] = []
    for call, width in zip(node.calls, widths, strict=True):
        places.append(list(range(at, at + width)) if call.merges else None)
        at += width
    return places


def merging_node(node: Aggregate) -> Aggregate:
    """Give the aggregation that makes of ``node``'s keys and buffers what ``node`` makes of its rows."""
    keys = tuple(key.type for key in node.grouping)
    types = (*keys, *(kind for call in node.calls for kind in call.buffer))
    below = Node(output=tuple(Field(id=i, name=f"b{i}", type=kind) for i, kind in enumerate(types)))
    mode = "PartialMerge" if node.results is None else "Final"
    return replace(
        node,
        grouping=tuple(ColumnRef(type=kind, ordinal=i) for i, kind in enumerate(keys)),
        calls=tuple(replace(call, mode=mode, args=(), filter=None) for call in node.calls),
        child=below,
    )


def is_partial(calls: Sequence[AggregateCall]) -> bool:
    """Say whether there are calls and all turn arguments into buffers, so that rows may pass as buffers."""
    return bool(calls) and all(call.mode == "Partial" for call in calls)
