"""MapGroups, MapCogroups, AggregatePython and WindowPython: functions of the rows of a group.

The input is sorted by the keys.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.python_functions.calls import (
    Cogroup,
    Evaluate,
    Group,
    argument_schema,
    batch_of,
    load_calls,
    result_columns,
    user_error,
)
from pyspark_pipeline.operators.python_functions.struct_columns import struct_columns
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.windows.boundaries import Boundaries
from pyspark_pipeline.operators.windows.row_buffer import RowBuffer
from pyspark_pipeline.operators.windows.sorted_input import sorted_input
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.python_functions import (
    AggregatePython,
    BothInputs,
    MapCogroups,
    MapGroups,
    PythonFunctions,
    PythonGroups,
    WindowPython,
)

#: A chunk of output has fewer rows if the functions need more time: an operator above may need no more.
_SECONDS_A_CHUNK = 0.1


class GroupCalls:
    """Calls the functions of a node with groups: batches of their arguments within the limits."""

    def __init__(self, node: PythonGroups, settings: Settings) -> None:
        self._functions = node.functions
        self._settings = settings
        self._compiled = compile_expressions(node.arguments, ExpressionSettings.of(settings))
        self._is_struct = isinstance(node, MapGroups) and node.takes_struct
        numbered = argument_schema(node.arguments, settings.time_zone)
        names = node.names if isinstance(node, MapGroups) else numbered.names
        self._schema = pa.schema(list(zip(names, numbered.types, strict=True)))
        self._evaluate: Evaluate | None = None

    def arguments(self, chunk: Chunk) -> pa.RecordBatch:
        """Return the columns of which the functions get the rows of groups."""
        batch = batch_of(self._compiled.evaluate(chunk), self._schema, chunk.num_rows)
        if not self._is_struct:
            return batch
        struct = pa.StructArray.from_arrays(batch.columns, fields=list(self._schema))
        return pa.RecordBatch.from_arrays([struct], ["struct"])

    def results(self, groups: Sequence[Group | Cogroup]) -> Iterator[pa.RecordBatch]:
        """Yield the results of the groups in order; raise :func:`user_error`."""
        try:
            self._evaluate = self._evaluate or load_calls(self._functions, self._settings)
            yield from self._evaluate(0, iter(groups))
        except PipelineError:
            raise
        except (Exception, SystemExit) as error:
            raise user_error(self._functions.names, error) from error


class GroupOperator(Operator):
    """Cuts sorted rows into groups and outputs what the functions return for them."""

    def __init__(self, node: PythonGroups, calls: GroupCalls, settings: Settings) -> None:
        self._calls = calls
        self._boundaries = Boundaries(node.spec, settings)
        self._batch_rows: int = settings.options.batch_rows
        self._open = Group([])
        self._open_bytes = 0  # of the chunks with rows of the open group
        self._ready: deque[Group] = deque()
        self._results: Iterator[pa.RecordBatch] | None = None
        self._finishing = False

    def need_input(self) -> bool:
        return not self._finishing and not self.has_output()

    def push_chunk(self, chunk: Chunk) -> None:
        arguments = self._calls.arguments(chunk)
        starts = np.flatnonzero(self._boundaries.rows(chunk).partition_starts)
        self._add_rows(chunk, starts)
        ends = [*starts.tolist(), chunk.num_rows]
        if ends[0]:
            self._open.parts.append((arguments, 0, ends[0]))
        for start, end in zip(ends, ends[1:], strict=False):
            self._end_group()
            self._open.parts.append((arguments, start, end))
        nbytes = arguments.nbytes
        self._open_bytes += nbytes
        self._reserve(self._open_bytes + nbytes)

    def _add_rows(self, chunk: Chunk, starts: Int64Array) -> None:
        """Receive the rows of groups and the ordinals of the first ones."""

    def _reserve(self, nbytes: int) -> None:
        """Reserve the bytes of the arguments of groups."""
        self.context.memory.reserve_unchecked(nbytes)

    def _end_group(self) -> None:
        if self._open.parts:
            self._ready.append(self._open)
            self._open, self._open_bytes = Group([]), 0

    def has_output(self) -> bool:
        return bool(self._ready) or self._results is not None

    def pull_chunk(self) -> Chunk | None:
        if self._results is None:
            self._results = self._calls.results(self._arguments(self._take_groups()))
        batches: list[pa.RecordBatch] = []
        rows = 0
        end = time.monotonic() + _SECONDS_A_CHUNK
        while rows < self._batch_rows and (not batches or time.monotonic() < end):
            batch = next(self._results, None)
            if batch is None:
                self._results = None
                break
            if batch.num_rows:
                batches.append(batch)
                rows += batch.num_rows
        return self._chunk(batches) if batches else None

    def _arguments(self, groups: list[Group]) -> Sequence[Group | Cogroup]:
        """Return what the functions get of groups."""
        return groups

    def _take_groups(self) -> list[Group]:
        groups: list[Group] = []
        rows = 0
        while self._ready and rows < self._batch_rows:
            groups.append(self._ready.popleft())
            rows += groups[-1].num_rows
        return groups

    def _chunk(self, batches: list[pa.RecordBatch]) -> Chunk:
        """Return the rows of batches of results, of which there are some."""
        raise NotImplementedError

    def is_finished(self) -> bool:
        return self._finishing and not self.has_output()

    def set_finishing(self) -> None:
        self._finishing = True
        self._end_group()

    def set_finished(self) -> None:
        self._finishing = True
        self.close()

    def close(self) -> None:
        self._open, self._open_bytes, self._results = Group([]), 0, None
        self._ready.clear()
        self._reserve(0)


class MapGroupsOperator(GroupOperator):
    """Outputs the rows that a function returns for a group."""

    def __init__(self, node: MapGroups | MapCogroups, calls: GroupCalls, settings: Settings) -> None:
        super().__init__(node, calls, settings)
        self._node = node

    def _chunk(self, batches: list[pa.RecordBatch]) -> Chunk:
        node = self._node
        parts = [struct_columns(batch.column(0), node.output, node.functions.names) for batch in batches]
        return make_chunk(
            [pa.concat_arrays(pieces) for pieces in zip(*parts, strict=True)], sum(batch.num_rows for batch in batches)
        )


class MapCogroupsOperator(MapGroupsOperator):
    """Outputs the rows that a function returns for the groups of two inputs with equal keys."""

    def __init__(self, node: MapCogroups, calls: GroupCalls, settings: Settings) -> None:
        super().__init__(node, calls, settings)
        left, right = node.names
        types = argument_schema(node.arguments, settings.time_zone).types[1:]
        self._schemas = (
            pa.schema(list(zip(left, types[: len(left)], strict=True))),
            pa.schema(list(zip(right, types[len(left) :], strict=True))),
        )

    def _arguments(self, groups: list[Group]) -> Sequence[Cogroup]:
        return [Cogroup(group, self._schemas) for group in groups]


class AggregatePythonOperator(GroupOperator):
    """Outputs the keys of a group and a value of each function."""

    def __init__(self, node: AggregatePython, calls: GroupCalls, settings: Settings) -> None:
        super().__init__(node, calls, settings)
        self._keys = compile_expressions(node.spec.partition, ExpressionSettings.of(settings))
        self._functions = node.functions
        self._has_keys = bool(node.spec.partition)
        self._first_rows: list[Chunk] = []

    def _add_rows(self, chunk: Chunk, starts: Int64Array) -> None:
        if self._has_keys and len(starts):
            first = chunk.take(pa.array(starts))
            self._first_rows.append(make_chunk(self._keys.evaluate(first), first.num_rows))

    def _chunk(self, batches: list[pa.RecordBatch]) -> Chunk:
        values = _values(batches, self._functions)
        if not self._has_keys:
            return values
        keys, rows = concat_chunks(self._first_rows), values.num_rows
        self._first_rows = [keys.slice(rows)] if keys.num_rows > rows else []
        return make_chunk([*keys.slice(0, rows).columns, *values.columns], rows)

    def close(self) -> None:
        super().close()
        self._first_rows = []


class WindowPythonOperator(GroupOperator):
    """Outputs the rows of a partition with a value of each function."""

    def __init__(self, node: WindowPython, calls: GroupCalls, settings: Settings) -> None:
        super().__init__(node, calls, settings)
        self._functions = node.functions

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._rows = RowBuffer(context)

    def _add_rows(self, chunk: Chunk, starts: Int64Array) -> None:
        self._rows.add(chunk)

    def _reserve(self, nbytes: int) -> None:
        if not self.context.memory.try_reserve(nbytes + self._rows.nbytes):
            self._rows.spill()
            self.context.memory.reserve_unchecked(nbytes + self._rows.nbytes)

    def _chunk(self, batches: list[pa.RecordBatch]) -> Chunk:
        values = _values(batches, self._functions)
        rows: list[Chunk] = []
        missing = values.num_rows
        while missing:
            rows.append(self._rows.take(missing))
            missing -= rows[-1].num_rows
        return make_chunk([*concat_chunks(rows).columns, *values.columns], values.num_rows)

    def close(self) -> None:
        super().close()
        if hasattr(self, "_rows"):  # prepared
            self._rows.close()


def _values(batches: Sequence[pa.RecordBatch], functions: PythonFunctions) -> Chunk:
    """Return the columns of batches of results as those of the engine."""
    made = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    return make_chunk(result_columns(made, functions), made.num_rows)


class GroupsFactory(OperatorFactory):
    """Creates the operators, by ``make``; one gets all rows of a group."""

    def __init__(
        self, node: PythonGroups, make: Callable[[Any, GroupCalls, Settings], GroupOperator], settings: Settings
    ) -> None:
        self.name = type(node).__name__
        self.detail = node.functions.names
        self._node = node
        self._make = make
        self._settings = settings
        self._calls = GroupCalls(node, settings)

    def create(self, dop: int, driver_sequence: int) -> GroupOperator:
        return self._make(self._node, self._calls, self._settings)


def _decompose(
    node: PythonGroups, make: Callable[[Any, GroupCalls, Settings], GroupOperator], builder: PipelineBuilder
) -> list[OperatorFactory]:
    return [*sorted_input(node.spec, node.child, builder), GroupsFactory(node, make, builder.settings)]


@implements(
    MapGroups,
    execs=["FlatMapGroupsInPandasExec", "FlatMapGroupsInArrowExec"],
    pipeline=["SortSink", "SortSource", "MapGroups"],
)
def decompose_map_groups(node: MapGroups, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the function to the pipeline that sorts its input."""
    return _decompose(node, MapGroupsOperator, builder)


@implements(
    MapCogroups,
    execs=["FlatMapCoGroupsInPandasExec", "FlatMapCoGroupsInArrowExec"],
    pipeline=["SortSink", "SortSource", "MapCogroups"],
)
def decompose_map_cogroups(node: MapCogroups, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the function to the pipeline that sorts the rows of both inputs."""
    return _decompose(node, MapCogroupsOperator, builder)


@implements(BothInputs, execs=[], pipeline=[])
def decompose_both_inputs(node: BothInputs, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Open a pipeline with the rows of both inputs."""
    return builder.union_all([builder.decompose(child) for child in node.inputs])


@implements(
    AggregatePython,
    execs=["ArrowAggregatePythonExec"],
    pipeline=["SortSink", "SortSource", "AggregatePython"],
)
def decompose_aggregate_python(node: AggregatePython, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the functions to the pipeline that sorts their input."""
    return _decompose(node, AggregatePythonOperator, builder)


@implements(
    WindowPython,
    execs=["ArrowWindowPythonExec"],
    pipeline=["SortSink", "SortSource", "WindowPython"],
    order=lambda node: node.spec,
)
def decompose_window_python(node: WindowPython, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the functions to the pipeline that sorts their input."""
    return _decompose(node, WindowPythonOperator, builder)
