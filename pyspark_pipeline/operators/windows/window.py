"""Window functions over sorted rows: rows are buffered until the values of their functions are known."""

from __future__ import annotations

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.expressions.values import decode
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.memory.tracker import ALWAYS_GRANTED_BYTES
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.windows.boundaries import Boundaries, WindowRows
from pyspark_pipeline.operators.windows.frame_values import PartitionBounds
from pyspark_pipeline.operators.windows.registry import WindowFunction, build_function
from pyspark_pipeline.operators.windows.row_buffer import RowBuffer
from pyspark_pipeline.operators.windows.sorted_input import sorted_input
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import Window


class _WindowInputs:
    """The frame values of all functions in one driver, and the columns they buffer with the rows."""

    def __init__(self, functions: list[WindowFunction], settings: Settings) -> None:
        self._functions = functions
        inputs = [input_ for function in functions for input_ in function.inputs]
        distinct: dict[Expr, int] = {}
        for input_ in inputs:
            for argument in input_.arguments:
                distinct.setdefault(argument, len(distinct))
        self._places = [[distinct[argument] for argument in input_.arguments] for input_ in inputs]
        self._arguments = compile_expressions(list(distinct), ExpressionSettings.of(settings))
        self._widths = [0] * len(inputs)
        self.frame_values = [input_.make() for input_ in inputs]

    def add(self, rows: WindowRows, chunk: Chunk) -> Chunk:
        """Add the next rows to all frame values; return the rows with the columns to buffer appended."""
        columns = [decode(column) for column in self._arguments.evaluate(chunk)]
        kept = [
            value.add(rows, [columns[place] for place in places])
            for value, places in zip(self.frame_values, self._places, strict=True)
        ]
        self._widths = [len(part) for part in kept]
        return make_chunk([*chunk.columns, *(column for part in kept for column in part)], chunk.num_rows)

    def evaluate(self, piece: Chunk) -> Chunk:
        """Return rows that :meth:`add` returned, with the values of the functions in place of the buffered columns."""
        at = piece.num_columns - sum(self._widths)
        columns = piece.columns[:at]
        found = []
        for value, width in zip(self.frame_values, self._widths, strict=True):
            found.append(value.evaluate(piece.columns[at : at + width], piece.num_rows))
            at += width
        left = iter(found)
        for function in self._functions:
            columns.append(function.result(*(next(left) for _ in function.inputs)))
        return make_chunk(columns, piece.num_rows)


class WindowOperator(Operator):
    """Appends the values of the window functions to rows, which arrive and leave in the order of the window."""

    def __init__(self, node: Window, functions: list[WindowFunction], settings: Settings) -> None:
        self._boundaries = Boundaries(node.spec, settings)
        self._inputs = _WindowInputs(functions, settings)
        self._batch_rows: int = settings.options.batch_rows
        self._bounds = PartitionBounds()
        self._complete = self._emitted = 0
        self._finishing = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._buffer = RowBuffer(context)

    def need_input(self) -> bool:
        return not self._finishing and not self.has_output()

    def push_chunk(self, chunk: Chunk) -> None:
        rows = self._boundaries.rows(chunk)
        self._buffer.add(self._inputs.add(rows, chunk))
        self._bounds.add(rows)
        complete = (value.complete_rows(self._bounds) for value in self._inputs.frame_values)
        self._complete = min(complete, default=self._bounds.num_rows)
        self._reserve()

    def _reserve(self) -> None:
        """Reserve the bytes in memory; spill the row buffer if they do not fit.

        Raises :class:`ResourceExhaustedError` if the state of the functions does not fit.
        """
        state = sum(value.nbytes for value in self._inputs.frame_values)
        buffered = self._buffer.nbytes
        if self.context.memory.try_reserve(buffered + state):
            return
        if not self.has_output() and buffered >= spill_partitions.MIN_SPILL_BYTES:
            self._buffer.spill()
            buffered = self._buffer.nbytes
        if self.has_output() or state <= ALWAYS_GRANTED_BYTES:
            self.context.memory.reserve_unchecked(buffered + state)
        else:
            self.context.memory.reserve(buffered + state)

    def has_output(self) -> bool:
        return self._emitted < self._complete

    def pull_chunk(self) -> Chunk:
        piece = self._buffer.take(min(self._batch_rows, self._complete - self._emitted))
        self._emitted += piece.num_rows
        chunk = self._inputs.evaluate(piece)
        if not self.has_output():
            self._reserve()
        return chunk

    def set_finishing(self) -> None:
        self._finishing = True
        for value in self._inputs.frame_values:
            value.finish()
        self._complete = self._bounds.num_rows

    def is_finished(self) -> bool:
        return self._finishing and not self.has_output()

    def set_finished(self) -> None:
        self._finishing = True
        self._emitted = self._complete
        self._buffer.close()

    def close(self) -> None:
        self._buffer.close()
        self.context.memory.reserve(0)


class WindowFactory(OperatorFactory):
    """Creates the operators; one operator gets all rows of a partition."""

    name = "Window"

    def __init__(self, node: Window, settings: Settings) -> None:
        self._node = node
        self._settings = settings
        self._functions = [build_function(call, settings) for call in node.calls]
        self.create(1, 0)  # raises for unsupported plans before anything runs

    def create(self, dop: int, driver_sequence: int) -> WindowOperator:
        return WindowOperator(self._node, self._functions, self._settings)


@implements(
    Window,
    execs=["WindowExec", "UpdatingSessionsExec"],
    pipeline=["SortSink", "SortSource", "Window"],
    order=lambda node: node.spec,
)
def decompose_window(node: Window, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the window to the pipeline that sorts its input."""
    return [*sorted_input(node.spec, node.child, builder), WindowFactory(node, builder.settings)]
