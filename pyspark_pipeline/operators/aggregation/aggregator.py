"""The aggregator: a table of groups and the states of all calls, with chunks as input and output.

The blocking and the streaming operators use it; it depends neither on execution modes nor on drivers. The aggregators
of all drivers share the compiled expressions of one :class:`AggregateProgram`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import EngineBugError, SparkConditionError
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import (
    CompiledCondition,
    CompiledExpressions,
    ExpressionSettings,
    compile_condition,
    compile_expressions,
)
from pyspark_pipeline.expressions.unscaled import drop_columns
from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import count_nulls, make_chunk
from pyspark_pipeline.kernels.dependent_keys import DependentKeyTable
from pyspark_pipeline.kernels.key_runs import run_starts
from pyspark_pipeline.kernels.row_ranges import row_numbers
from pyspark_pipeline.kernels.take import take_rows
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.aggregation.conditional_arguments import with_conditions
from pyspark_pipeline.operators.aggregation.functions import build_function
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction
from pyspark_pipeline.operators.aggregation.functions.state import Groups, State, StateInput, StatePool
from pyspark_pipeline.plan.expr import ColumnRef, Expr, columns_read
from pyspark_pipeline.plan.nodes import Aggregate, AggregateCall, Field, Node, Settings

NULL_KEYS = declare_counter("null_keys", "NULLs in the key columns of an aggregation", unit="values")


_FilteredRows = tuple[BoolArray, list[pa.Array]]


class _ChosenRows(NamedTuple):
    """The rows that pass a filter, by flags and by numbers (None: all), and their argument columns."""

    flags: BoolArray
    numbers: Int32Array | None
    columns: list[pa.Array]


_Evaluated = TypeVar("_Evaluated")


def _passed(condition: CompiledCondition | None, chunk: Chunk) -> UInt8Array:
    """Return 1 for each row that passes a filter, if there is one, else 0."""
    return np.ones(chunk.num_rows, dtype=np.uint8) if condition is None else condition.flags(chunk)


def _of_rows(evaluate: Callable[[Chunk], _Evaluated], chunk: Chunk, rows: Int32Array) -> _Evaluated:
    """Evaluate the rows of a chunk with these numbers; an error has the number of rows of the chunk before its row."""
    try:
        return evaluate(take_rows(chunk, rows))
    except SparkConditionError as error:
        error.rows_before = int(rows[error.rows_before])
        raise


class _FilteredInputs:
    """The states updated under one filter: their arguments are evaluated only for rows that pass it.

    ``has_groups``: else all rows are of one group.
    """

    def __init__(self, condition: CompiledCondition, arguments: _Arguments, has_groups: bool) -> None:
        self._condition = condition
        self._arguments = arguments
        self._has_groups = has_groups

    def evaluate(self, chunk: Chunk) -> _ChosenRows | None:
        """Return the rows that pass and their argument columns; None if no row passes."""
        passed = _passed(self._condition, chunk)
        numbers = row_numbers(passed)
        if not numbers.size:
            return None
        if numbers.size == chunk.num_rows:
            return _ChosenRows(passed.view(np.bool_), None, self._arguments.evaluate(chunk)[1])
        read = drop_columns(chunk, set(range(chunk.num_columns)) - self._arguments.columns_read)
        return _ChosenRows(passed.view(np.bool_), numbers, _of_rows(self._arguments.evaluate, read, numbers)[1])

    def update(self, groups: Int64Array, passed: _ChosenRows | None) -> None:
        """Update the states with the result of :meth:`evaluate`."""
        if passed is None:
            self._arguments.filter_rows(groups, np.zeros(groups.size, dtype=np.bool_))
            return
        self._arguments.filter_rows(groups, passed.flags)
        if passed.numbers is not None:
            groups = groups[passed.numbers] if self._has_groups else groups[: passed.numbers.size]
        self._arguments.update(groups, passed.columns)


class _ArgumentProgram:
    """Grouping expressions and arguments compiled together, so that common subexpressions are computed once."""

    def __init__(self, grouping: Sequence[Expr], inputs: Sequence[StateInput], settings: ExpressionSettings) -> None:
        self.keys = len(grouping)
        distinct: dict[Expr, int] = {}
        for state_input in inputs:
            for argument in state_input.arguments:
                distinct.setdefault(argument, len(distinct))
        self.ordinals = [[distinct[argument] for argument in state_input.arguments] for state_input in inputs]
        exprs = [*grouping, *distinct]
        self.columns_read = columns_read(exprs)
        self.compiled: CompiledExpressions | None = compile_expressions(exprs, settings) if exprs else None


class _PartlyRead:
    """The states updated under one filter, of which an argument fails: Spark evaluates some only in some rows."""

    def __init__(
        self, condition: CompiledCondition | None, inputs: Sequence[StateInput], settings: ExpressionSettings
    ) -> None:
        self._condition = condition
        others = [
            StateInput(fed.state, fed.arguments[1:] if fed.state.reads_some_rows else fed.arguments) for fed in inputs
        ]
        self._others = _ArgumentProgram((), others, settings)
        self._firsts = [
            compile_expressions(fed.arguments[:1], settings) if fed.state.reads_some_rows else None for fed in inputs
        ]

    def evaluate(self, chunk: Chunk) -> _FilteredRows:
        """Return a mask of the rows that pass, and the arguments that Spark evaluates in all of these."""
        passed = _passed(self._condition, chunk)
        others = self._others.compiled
        columns = [] if others is None else _of_rows(others.evaluate, chunk, row_numbers(passed))
        return passed.view(np.bool_), columns

    def update(self, chunk: Chunk, groups: Int64Array, passed: _FilteredRows, inputs: Sequence[StateInput]) -> None:
        """Update the states with the result of :meth:`evaluate`; raise an error only of a row that Spark evaluates."""
        rows, others = passed
        if self._condition is not None:
            for fed in inputs:
                fed.state.filter_rows(groups, rows)
        chunk, groups = chunk.filter(pa.array(rows)), groups[rows]
        if not groups.size:
            return
        for fed, first, places in zip(inputs, self._firsts, self._others.ordinals, strict=True):
            columns = [others[place] for place in places]
            if first is not None:
                read = fed.state.rows_read(groups, columns)
                value = first.evaluate(chunk.filter(pa.array(read)))[0]
                columns.insert(0, value.take(pa.array(np.cumsum(read) - 1, mask=~read)))
            fed.state.update(groups, columns)


class AggregateProgram:
    """The expressions of an :class:`Aggregate` node, compiled once; raises for an unsupported node."""

    def __init__(self, node: Aggregate, settings: Settings) -> None:
        compiled = ExpressionSettings.of(settings)
        self.node = node = with_conditions(node, compiled)
        self.settings = settings
        pool, _ = self.make_states()
        self.arguments = _ArgumentProgram(node.grouping, pool.inputs.get(None, []), compiled)
        self.filters = [
            (condition, compile_condition(condition, compiled), _ArgumentProgram((), fed, compiled))
            for condition, fed in pool.inputs.items()
            if condition
        ]
        self.results = None if node.results is None else compile_expressions(node.results, compiled)
        self._inputs = pool.inputs

    @property
    def has_partly_read(self) -> bool:
        """Whether Spark evaluates an argument only in some rows."""
        return any(fed.state.reads_some_rows for inputs in self._inputs.values() for fed in inputs)

    @cached_property
    def keys(self) -> CompiledExpressions | None:
        """The grouping expressions alone."""
        grouping = self.node.grouping
        return compile_expressions(grouping, ExpressionSettings.of(self.settings)) if grouping else None

    @cached_property
    def partly_read(self) -> list[tuple[Expr | None, _PartlyRead]]:
        """The filters, and the states updated under each."""
        settings = ExpressionSettings.of(self.settings)
        conditions: dict[Expr | None, CompiledCondition] = {key: compiled for key, compiled, _ in self.filters}
        return [(key, _PartlyRead(conditions.get(key), fed, settings)) for key, fed in self._inputs.items()]

    def make_states(self) -> tuple[StatePool, list[AggregateFunction]]:
        """Return new states and the functions over them."""
        pool = StatePool(Groups.BY_KEYS if self.node.grouping else Groups.ONE)
        return pool, [build_function(call, pool, self.settings) for call in self.node.calls]


class _Arguments:
    """The arguments of the states of one aggregator."""

    def __init__(self, program: _ArgumentProgram, inputs: Sequence[StateInput]) -> None:
        self._keys = program.keys
        self._inputs = inputs
        self._argument_ordinals = program.ordinals
        self._compiled = program.compiled
        self.columns_read = program.columns_read

    def evaluate(self, chunk: Chunk) -> tuple[list[pa.Array], list[pa.Array]]:
        """Return the key columns and the argument columns of a chunk."""
        made = self._compiled.evaluate(chunk) if self._compiled is not None else []
        return made[: self._keys], made[self._keys :]

    def filter_rows(self, groups: Int64Array, passed: BoolArray) -> None:
        """Report to the states which rows pass a filter."""
        for state_input in self._inputs:
            state_input.state.filter_rows(groups, passed)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        """Update the states."""
        for state_input, places in zip(self._inputs, self._argument_ordinals, strict=True):
            state_input.state.update(groups, [columns[place] for place in places])


class Aggregator:
    """Groups and accumulators of one :class:`Aggregate` node in one driver."""

    def __init__(self, program: AggregateProgram) -> None:
        node = program.node
        self._pool, self._functions = program.make_states()
        self._buffer_ordinals = _buffer_ordinals(node)
        inputs = self._pool.inputs
        self._arguments = _Arguments(program.arguments, inputs.get(None, []))
        self._filtered = [
            _FilteredInputs(compiled, _Arguments(arguments, inputs[condition]), bool(node.grouping))
            for condition, compiled, arguments in program.filters
        ]
        self._results = program.results
        self._program, self._inputs = program, inputs
        self.table = DependentKeyTable([expr.type.arrow for expr in node.grouping]) if node.grouping else None
        self._one_group: Int64Array = np.zeros(0, dtype=np.int64)
        self.rows = 0
        #: Runs of rows with equal keys, as far as they were counted; see :meth:`add`.
        self.runs = 0

    @property
    def num_groups(self) -> int:
        """Number of groups; without grouping expressions always one."""
        return self.table.count if self.table is not None else 1

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        held = sum(state.nbytes for state in self._pool.states)
        return held + (self.table.nbytes if self.table is not None else 0)

    @property
    def is_exact_in_parts(self) -> bool:
        """Whether groups of parts of the rows, merged, are exactly those of all rows, however they are cut."""
        return all(function.is_exact_in_parts for function in self._functions)

    def nbytes_after(self, rows: int) -> int:
        """Estimate the bytes held after ``rows`` more rows; arrays that grow double, and are copied one by one."""
        grows = self.table is not None and not self.table.has_capacity(rows)
        return 2 * self.nbytes if grows else self.nbytes

    @property
    def states(self) -> Sequence[State]:
        """The states of all calls."""
        return self._pool.states

    def add(self, chunk: Chunk, *, counts_runs: bool = False) -> int:
        """Add a chunk of the child's columns; return the number of NULLs in its key columns.

        ``counts_runs``: count its runs (:mod:`~pyspark_pipeline.kernels.key_runs`). Raise the error of the first row
        that fails in an expression or in a sum.
        """
        try:
            keys, columns, filtered = self._evaluate(chunk)
        except SparkConditionError as error:
            if self._program.has_partly_read:
                return self._add_partly(chunk)
            self._add_before(error, chunk)
            raise
        groups = self._groups(keys, chunk.num_rows)
        if counts_runs:
            self.runs += int(np.count_nonzero(run_starts(keys)))
        self._update(chunk, groups, self.num_groups, columns, filtered)
        return count_nulls(keys)

    def _groups(self, keys: Sequence[pa.Array], rows: int) -> Int64Array:
        if self.table is not None:
            return self.table.group_ids(keys)
        if self._one_group.size < rows:
            self._one_group = np.zeros(rows, dtype=np.int64)
        return self._one_group[:rows]

    def _add_before(self, error: SparkConditionError, chunk: Chunk) -> None:
        """Add the rows before that with the error: an earlier one may overflow a sum."""
        if error.rows_before:
            self.add(chunk.slice(0, error.rows_before))

    def _add_partly(self, chunk: Chunk) -> int:
        """Add a chunk of which an argument fails that Spark may not evaluate; return the number of NULLs in keys."""
        program = self._program
        try:
            keys = program.keys.evaluate(chunk) if program.keys is not None else []
            passed = [arguments.evaluate(chunk) for _, arguments in program.partly_read]
        except SparkConditionError as error:
            self._add_before(error, chunk)
            raise
        groups = self._groups(keys, chunk.num_rows)
        self.rows += chunk.num_rows
        for state in self._pool.states:
            state.reserve(self.num_groups)
        for (condition, arguments), rows in zip(program.partly_read, passed, strict=True):
            arguments.update(chunk, groups, rows, self._inputs[condition])
        self._merge(chunk, groups)
        return count_nulls(keys)

    def _evaluate(self, chunk: Chunk) -> tuple[list[pa.Array], list[pa.Array], list[_ChosenRows | None]]:
        """Return the key columns, the argument columns, and the argument columns of every filter."""
        keys, columns = self._arguments.evaluate(chunk)
        return keys, columns, [feed.evaluate(chunk) for feed in self._filtered]

    def to_intermediate(self, chunk: Chunk, *, by_runs: bool) -> tuple[Chunk, int]:
        """Convert a chunk to the output of a partial aggregation with one group a row, or a run; reset the states.

        Return it and the number of NULLs in the key columns of the rows. Only for an empty aggregator: its table is not
        used. (Velox: ``Aggregate::toIntermediate``.)
        """
        if self.num_groups:
            raise EngineBugError(f"to_intermediate was called on an aggregation with {self.num_groups} groups")
        keys, columns, filtered = self._evaluate(chunk)
        nulls = count_nulls(keys)
        for state in self._pool.states:
            state.clear()
        if by_runs:
            starts = run_starts(keys)
            groups, firsts = np.cumsum(starts) - 1, pa.array(np.flatnonzero(starts))
            keys, count = [key.take(firsts) for key in keys], len(firsts)
        else:
            groups, count = np.arange(chunk.num_rows, dtype=np.int64), chunk.num_rows
        self._update(chunk, groups, count, columns, filtered)
        buffers = [buffer for function in self._functions for buffer in function.buffers(0, count)]
        return make_chunk([*keys, *buffers], count), nulls

    def _update(
        self,
        chunk: Chunk,
        groups: Int64Array,
        count: int,
        columns: Sequence[pa.Array],
        filtered: Sequence[_ChosenRows | None],
    ) -> None:
        self.rows += chunk.num_rows
        for state in self._pool.states:
            state.reserve(count)
        self._arguments.update(groups, columns)
        for feed, passed in zip(self._filtered, filtered, strict=True):
            feed.update(groups, passed)
        self._merge(chunk, groups)

    def _merge(self, chunk: Chunk, groups: Int64Array) -> None:
        for function, places in zip(self._functions, self._buffer_ordinals, strict=True):
            if places is not None:
                function.merge(groups, [chunk.column(place) for place in places])

    def output(self, start: int, stop: int) -> Chunk:
        """Return the output rows of groups ``start`` ≤ g < ``stop``."""
        if self._results is None:
            return self.buffers(start, stop)
        keys = self._keys(start, stop)
        values = [function.result(start, stop) for function in self._functions]
        before = make_chunk([*keys, *values], stop - start)
        return make_chunk(self._results.evaluate(before), stop - start)

    def buffers(self, start: int, stop: int) -> Chunk:
        """Return the keys and buffers of groups ``start`` ≤ g < ``stop``, the input of a merging stage."""
        keys = self._keys(start, stop)
        values = [buffer for function in self._functions for buffer in function.buffers(start, stop)]
        return make_chunk([*keys, *values], stop - start)

    def _keys(self, start: int, stop: int) -> list[pa.Array]:
        for state in self._pool.states:
            state.reserve(stop)
        return self.table.keys(start, stop) if self.table is not None else []


def _buffer_ordinals(node: Aggregate) -> list[list[int] | None]:
    """Return the ordinals of the child's buffer columns by call; None for a call that reads arguments.

    They are the child's last columns, in the order of the merging calls.
    """
    widths = [len(call.buffer) if call.merges else 0 for call in node.calls]
    at = len(node.child.output) - sum(widths)
    places: list[list[int] | None] = []
    for call, width in zip(node.calls, widths, strict=True):
        places.append(list(range(at, at + width)) if call.merges else None)
        at += width
    return places


def merge_stage(node: Aggregate) -> Aggregate:
    """Return the aggregation whose input are ``node``'s keys and buffers, and whose output is that of ``node``."""
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
    """Return whether there are calls and all turn arguments into buffers, so that rows can be converted to buffers."""
    return bool(calls) and all(call.mode == "Partial" for call in calls)
