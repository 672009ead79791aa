"""Compile expressions of a plan to vectorised evaluators over chunks.

Equal sub-expressions of one compilation are computed once per chunk; constant ones once per
compilation (unless they raise: then they raise when, and only if, a row is evaluated).
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.errors import PipelineError, UnsupportedPlanError
from pyspark_pipeline.expressions.calls import CallNode, ColumnNode, LazyNode
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.registry import ExpressionSettings, LazyKernel, build
from pyspark_pipeline.expressions.values import to_array, truth
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal

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
    """A filter: its conjuncts in order, each evaluated only on the rows that passed those before it."""

    __slots__ = ("nodes",)

    #: A filtered chunk is worth making when at most this share of the rows is left.
    NARROW_BELOW = 0.5

    def __init__(self, nodes: Sequence[Evaluable]) -> None:
        self.nodes = tuple(nodes)

    def filter(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows where the predicate is true, as a chunk; the same chunk when all are."""
        rows = chunk.num_rows
        if rows == 0:
            return chunk
        frame = Frame.of_chunk(chunk)
        selected: list[pa.BooleanArray] = []
        for index, node in enumerate(self.nodes):
            passed = truth(frame.value(node), frame.num_rows)
            count = passed.true_count
            if count == frame.num_rows:
                continue
            if count == 0:
                return chunk.slice(0, 0)
            selected.append(passed)
            if index + 1 < len(self.nodes):
                frame = frame.subset(passed)
        return _narrow(chunk, selected)


def _narrow(chunk: pa.RecordBatch, selected: Sequence[pa.BooleanArray]) -> pa.RecordBatch:
    """Filter by masks, each over the rows that the one before it left."""
    for mask in selected:
        chunk = chunk.filter(mask)
    return chunk


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
        key = ("literal", expr.type, repr(expr.value))
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


def compile_predicate(expr: Expr, settings: ExpressionSettings) -> CompiledPredicate:
    """Compile a boolean expression to a filter; raise :class:`UnsupportedPlanError` when it is not supported.

    As Spark's FilterExec: the conjuncts are taken one by one, a NULL drops the row at once, and ``IS NOT
    NULL`` checks come first.
    """
    compiler = _Compiler(settings)
    conjuncts = _conjuncts(expr)
    conjuncts.sort(key=lambda part: not (isinstance(part, Call) and part.name == "IsNotNull"))
    return CompiledPredicate([compiler.compile(part) for part in conjuncts])


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.name == "And":
        return [part for arg in expr.args for part in _conjuncts(arg)]
    return [expr]
