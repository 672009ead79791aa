"""Compile expressions of a plan to vectorised evaluators over chunks.

Equal sub-expressions of one compilation are computed once per chunk; constant ones once per
compilation (unless they raise: then they raise when, and only if, a row is evaluated).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import PipelineError, UnsupportedPlanError
from pyspark_pipeline.expressions.calls import CallNode, ColumnNode, LazyNode
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.marks import TAKE_BELOW, MarkFilter, column_tests, has_tests
from pyspark_pipeline.expressions.narrow import NarrowTypes, widened, without
from pyspark_pipeline.expressions.registry import ExpressionSettings, LazyKernel, build
from pyspark_pipeline.expressions.values import flags, to_array, truth
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal, columns_read

_ONE_ROW = Frame(1, lambda ordinal: pa.nulls(1))


class CompiledExpressions:
    """Several expressions over the same input columns."""

    __slots__ = ("nodes", "types")

    def __init__(self, nodes: Sequence[Evaluable]) -> None:
        self.nodes = tuple(nodes)
        self.types = tuple(node.type for node in nodes)

    def evaluate(self, chunk: pa.RecordBatch) -> list[pa.Array]:
        """Return one array of ``chunk.num_rows`` rows per expression: its Arrow type, strings maybe by dictionary.

        Raise :class:`SparkConditionError` when a row breaks a rule of Spark.
        """
        if chunk.num_rows == 0:
            return [pa.nulls(0, type_.arrow) for type_ in self.types]
        frame = Frame.of_chunk(chunk)
        return [to_array(frame.value(node), chunk.num_rows) for node in self.nodes]


class CompiledPredicate:
    """A filter: its conjuncts in order.

    What can be tested a column at a time is (by :class:`~.marks.MarkFilter`), before the others, where no conjunct
    that can raise stands before it. Once few rows are left, or the next conjunct can raise, the rest is evaluated
    on the rows left only.
    """

    __slots__ = ("nodes", "_marks", "_narrow", "_unread")

    #: Narrow to the rows left when they are at most this share; above, filtering columns costs more than it saves.
    NARROW_BELOW = 0.5

    def __init__(
        self,
        nodes: Sequence[Evaluable],
        marks: MarkFilter | None = None,
        narrow: NarrowTypes = (),
        unread: Collection[int] = (),
    ) -> None:
        """``nodes`` are the conjuncts that ``marks`` does not test."""
        self.nodes = tuple(nodes)
        self._marks = marks
        self._narrow = narrow
        self._unread = unread

    def filter(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows where the predicate is true, as a chunk without narrow columns.

        The chunk itself where all are, nothing is narrow and nothing unread.

        Raise :class:`SparkConditionError` when a row breaks a rule of Spark.
        """
        if self._marks is None:
            return self._where(self.nodes, widened(chunk, self._narrow))
        kept, left = self._marks.filter(chunk, self._narrow)
        return self._where((*left, *self.nodes), kept)

    def _where(self, nodes: Sequence[Evaluable], chunk: pa.RecordBatch) -> pa.RecordBatch:
        if chunk.num_rows == 0 or not nodes:
            return chunk
        frame = Frame.of_chunk(chunk)
        kept: npt.NDArray[np.int32] | None = None
        mask: pa.BooleanArray | None = None
        for index, node in enumerate(nodes):
            value = frame.value(node)
            if isinstance(value, pa.Scalar) and value.as_py() is True:
                continue
            passed = truth(value, frame.num_rows)
            mask = passed if mask is None else pc.and_(mask, passed)
            count = mask.true_count
            if count == 0:
                return chunk.slice(0, 0)
            if count == frame.num_rows:
                mask = None
            elif index + 1 < len(nodes) and (
                nodes[index + 1].can_raise or count <= self.NARROW_BELOW * frame.num_rows
            ):
                kept = _positions(kept, mask)
                frame = frame.subset(mask)
                mask = None
        return self._rows_left(chunk, kept, mask)

    def _rows_left(
        self, chunk: pa.RecordBatch, kept: npt.NDArray[np.int32] | None, mask: pa.BooleanArray | None
    ) -> pa.RecordBatch:
        """Select ``mask`` of the rows ``kept`` (None: all)."""
        if kept is None:
            if mask is None:
                return chunk
            if mask.true_count > TAKE_BELOW * chunk.num_rows:
                return without(chunk, self._unread).filter(mask)
        if mask is not None:
            kept = _positions(kept, mask)
        return without(chunk, self._unread).take(pa.array(kept))


def _positions(kept: npt.NDArray[np.int32] | None, mask: pa.BooleanArray) -> npt.NDArray[np.int32]:
    """Return the row numbers in the chunk of the rows that ``mask`` selects of ``kept`` (None: all rows)."""
    chosen = flags(mask)
    return np.flatnonzero(chosen).astype(np.int32) if kept is None else kept[chosen]


class _Compiler:
    """Interns expressions: equal ones become one node."""

    def __init__(self, settings: ExpressionSettings) -> None:
        self._settings = settings
        self._nodes: dict[object, Evaluable] = {}

    def compile(self, expr: Expr) -> Evaluable:
        if isinstance(expr, ColumnRef):
            return self._intern(("column", expr.ordinal), ColumnNode(len(self._nodes), expr.type, expr.ordinal))
        if isinstance(expr, Literal):
            return self._literal(expr)
        if isinstance(expr, Call):
            return self._call(expr)
        raise UnsupportedPlanError(f"expression {type(expr).__name__} is not supported")

    def _intern(self, key: object, node: Evaluable) -> Evaluable:
        found = self._nodes.setdefault(key, node)
        found.shared = found.shared or found is not node
        return found

    def _literal(self, expr: Literal) -> Evaluable:
        told_apart = expr.value if isinstance(expr.value, bytes) else repr(expr.value)  # 0.0 and -0.0 are equal
        key = ("literal", expr.type, told_apart)
        scalar = literal_scalar(expr)
        return self._intern(key, Evaluable(len(self._nodes), expr.type, scalar=scalar))

    def _call(self, expr: Call) -> Evaluable:
        args = tuple(self.compile(arg) for arg in expr.args)
        fields = tuple(sorted((name, repr(value)) for name, value in expr.fields.items()))
        key = (expr.name, expr.type, fields, tuple(arg.number for arg in args), expr.context)
        found = self._nodes.get(key)
        if found is not None:
            found.shared = True
            return found
        kernel = build(expr, self._settings)
        number = len(self._nodes)
        node: Evaluable
        if isinstance(kernel, LazyKernel):
            node = LazyNode(number, expr.type, kernel, args)
        else:
            node = CallNode(number, expr.type, kernel, args)
        if args and all(arg.scalar is not None for arg in args):
            node.scalar = _fold(node)
        self._nodes[key] = node
        return node


def _fold(node: Evaluable) -> pa.Scalar | None:
    """Evaluate a constant once; None when that raises."""
    try:
        value = node.compute(_ONE_ROW)
    except PipelineError:
        return None
    return value[0] if isinstance(value, pa.Array) else value


def literal_scalar(expr: Literal) -> pa.Scalar:
    """Make the Arrow scalar of a literal."""
    return pa.scalar(expr.value, expr.type.arrow)


def compile_expressions(exprs: Sequence[Expr], settings: ExpressionSettings) -> CompiledExpressions:
    """Compile expressions bound to the same columns; raise :class:`UnsupportedPlanError` for one not supported."""
    compiler = _Compiler(settings)
    return CompiledExpressions([compiler.compile(expr) for expr in exprs])


def can_raise(exprs: Sequence[Expr], settings: ExpressionSettings) -> bool:
    """Say whether some input makes one of the expressions raise Spark's error.

    Raise :class:`UnsupportedPlanError` for one not supported.
    """
    return any(node.can_raise for node in compile_expressions(exprs, settings).nodes)


def compile_predicate(
    expr: Expr, settings: ExpressionSettings, narrow: NarrowTypes = (), unread: Collection[int] = ()
) -> CompiledPredicate:
    """Compile a boolean expression to a filter; raise :class:`UnsupportedPlanError` when it is not supported.

    As Spark's FilterExec: the conjuncts are taken one by one, a NULL drops the row at once, and ``IS NOT
    NULL`` checks come first. ``narrow`` names the columns that may come as narrow decimals; what is in the columns
    ``unread`` of the rows left does not matter.
    """
    compiler = _Compiler(settings)
    conjuncts = _conjuncts(expr)
    conjuncts.sort(key=lambda part: not (isinstance(part, Call) and part.name == "IsNotNull"))
    nodes = [compiler.compile(part) for part in conjuncts]
    safe = next((place for place, node in enumerate(nodes) if node.can_raise), len(nodes))
    tests = column_tests(conjuncts[:safe], nodes)
    tested = {node for test in tests for node in test.nodes}
    others = [place for place in range(len(nodes)) if nodes[place] not in tested]
    read_later = columns_read([conjuncts[place] for place in others])
    marks = MarkFilter(tests, frozenset(unread) - read_later) if tests else None
    return CompiledPredicate([nodes[place] for place in others], marks, narrow, unread)


def gains_from_narrow(expr: Expr) -> bool:
    """Say whether a filter by ``expr`` gains from narrow columns: rows may go before decimals are made wide."""
    return has_tests(_conjuncts(expr))


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.name == "And":
        return [part for arg in expr.args for part in _conjuncts(arg)]
    return [expr]
