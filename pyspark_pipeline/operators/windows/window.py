"""Window functions over sorted rows: rows wait until what their functions read is known, then leave with it."""

from __future__ import annotations

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.expressions.values import decode
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.memory.tracker import LITTLE_BYTES
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.windows.boundaries import Boundaries, WindowRows
from pyspark_pipeline.operators.windows.held_rows import HeldRows
from pyspark_pipeline.operators.windows.registry import WindowFunction, build_function
from pyspark_pipeline.operators.windows.sorted_input import sorted_input
from pyspark_pipeline.operators.windows.sources import Edges
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import Window


class _Readings:
    """The sources of all functions of one driver: what goes with the rows, and what they make of it."""

    def __init__(self, functions: list[WindowFunction], settings: Settings) -> None:
        self._functions = functions
        readings = [reading for function in functions for reading in function.readings]
        distinct: dict[Expr, int] = {}
        for reading in readings:
            for argument in reading.arguments:
                distinct.setdefault(argument, len(distinct))
        self._places = [[distinct[argument] for argument in reading.arguments] for reading in readings]
        self._arguments = compile_expressions(list(distinct), ExpressionSettings.of(settings))
        self._widths = [0] * len(readings)
        self.sources = [reading.make() for reading in readings]

    def add(self, rows: WindowRows, chunk: Chunk) -> Chunk:
        """Show the next rows to the sources; give them with the columns to keep."""
        columns = [decode(column) for column in self._arguments.evaluate(chunk)]
        kept = [
            source.add(rows, [columns[place] for place in places])
            for source, places in zip(self.sources, self._places, strict=True)
        ]
        self._widths = [len(part) for part in kept]
        return make_chunk([*chunk.columns, *(column for part in kept for column in part)], chunk.num_rows)

    def read(self, piece: Chunk) -> Chunk:
        """Give rows that :meth:`add` gave with the values of the functions."""
        at = piece.num_columns - sum(self._widths)
        columns = piece.columns[:at]
        found = []
        for source, width in zip(self.sources, self._widths, strict=True):
            found.append(source.read(piece.columns[at : at + width], piece.num_rows))
            at += width
        left = iter(found)
        for function in self._functions:
            columns.append(function.result(*(next(left) for _ in function.readings)))
        return make_chunk(columns, piece.num_rows)


class WindowOperator(Operator):
    """Takes rows in the order of the window; gives them in that order with the values of its functions."""

    def __init__(self, node: Window, functions: list[WindowFunction], settings: Settings) -> None:
        self._boundaries = Boundaries(node.spec, settings)
        self._readings = _Readings(functions, settings)
        self._batch_rows: int = settings.options["batchRows"]
        self._edges = Edges()
        self._ready = self._given = 0
        self._finishing = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._held = HeldRows(context)

    def need_input(self) -> bool:
        return not self._finishing and not self.has_output()

    def push_chunk(self, chunk: Chunk) -> None:
        rows = self._boundaries.rows(chunk)
        self._held.add(self._readings.add(rows, chunk))
        self._edges.add(rows)
        self._ready = min((source.ready(self._edges) for source in self._readings.sources), default=self._edges.fed)
        self._count()

    def _count(self) -> None:
        """Count the bytes held; put rows that wait aside where they are too many.

        Raises :class:`ResourceExhaustedError` where what the functions keep does not fit.
        """
        rest = sum(source.nbytes for source in self._readings.sources)
        held = self._held.nbytes
        if self.context.memory.try_hold(held + rest):
            return
        if not self.has_output() and held >= spill_partitions.LEAST_BYTES:
            self._held.spill()
            held = self._held.nbytes
        if self.has_output() or rest <= LITTLE_BYTES:
            self.context.memory.force(held + rest)
        else:
            self.context.memory.hold(held + rest)

    def has_output(self) -> bool:
        return self._given < self._ready

    def pull_chunk(self) -> Chunk:
        piece = self._held.take(min(self._batch_rows, self._ready - self._given))
        self._given += piece.num_rows
        chunk = self._readings.read(piece)
        if not self.has_output():
            self._count()
        return chunk

    def set_finishing(self) -> None:
        self._finishing = True
        for source in self._readings.sources:
            source.finish()
        self._ready = self._edges.fed

    def is_finished(self) -> bool:
        return self._finishing and not self.has_output()

    def set_finished(self) -> None:
        self._finishing = True
        self._given = self._ready
        self._held.close()

    def close(self) -> None:
        self._held.close()
        self.context.memory.hold(0)


class WindowFactory(OperatorFactory):
    """Makes the operators; the rows of a partition meet in one of them."""

    name = "Window"

    def __init__(self, node: Window, settings: Settings) -> None:
        self._node = node
        self._settings = settings
        self._functions = [build_function(call, settings) for call in node.calls]
        self.create(1, 0)  # refuses what it cannot run before anything runs

    def create(self, dop: int, driver_sequence: int) -> WindowOperator:
        return WindowOperator(self._node, self._functions, self._settings)


@implements(Window, execs=["WindowExec"], pipeline=["SortSink", "SortSource", "Window"])
def decompose_window(node: Window, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the window to the pipeline that gives its rows in order."""
    return [*sorted_input(node.spec, node.child, builder), WindowFactory(node, builder.settings)]
