"""Compile expressions of a plan to vectorised evaluators over chunks.

Equal sub-expressions of one compilation are computed once per chunk, constant ones once per
compilation (a constant that raises does so if and when a row is evaluated).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import PipelineError, SparkConditionError, UnsupportedPlanError
from pyspark_pipeline.expressions.calls import CallNode, ColumnNode, LazyNode
from pyspark_pipeline.expressions.column_tests import ColumnTest, SelectionMask, column_tests, has_tests
from pyspark_pipeline.expressions.failures import first_failure
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.registry import ExpressionSettings, LazyKernel, build
from pyspark_pipeline.expressions.text_bytes import with_text_arguments
from pyspark_pipeline.expressions.unscaled import UnscaledTypes, drop_columns, to_decimal128, unscale_values
from pyspark_pipeline.expressions.values import flags, to_array, truth
from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.take import filter_rows, take_rows
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal, columns_read

_ONE_ROW = Frame(1, lambda ordinal: pa.nulls(1))


class CompiledExpressions:
    """Several expressions over the same input columns; immutable, so that drivers share them."""

    __slots__ = ("nodes", "types")

    def __init__(self, nodes: Sequence[Evaluable]) -> None:
        self.nodes = tuple(nodes)
        self.types = tuple(node.type for node in nodes)

    def evaluate(self, chunk: pa.RecordBatch) -> list[pa.Array]:
        """Return one array of ``chunk.num_rows`` rows per expression, of its Arrow type or a dictionary of strings.

        Raise the :class:`SparkConditionError` of the first row for which Spark raises.
        """
        if chunk.num_rows == 0:
            return [pa.nulls(0, type_.arrow) for type_ in self.types]
        try:
            return self._columns(chunk)
        except SparkConditionError as error:
            raise first_failure(_on_slices(self._columns, chunk), chunk.num_rows, error) from None

    def _columns(self, chunk: pa.RecordBatch) -> list[pa.Array]:
        frame = Frame.of_chunk(chunk)
        return [to_array(frame.value(node), chunk.num_rows) for node in self.nodes]


class CompiledCondition:
    """A boolean expression whose flags say for which rows it is true; immutable, so that drivers share it."""

    __slots__ = ("_expressions", "_tests")

    def __init__(self, expressions: CompiledExpressions, tests: Sequence[ColumnTest]) -> None:
        """``tests``, if there are any, select the same rows as the expression."""
        self._expressions = expressions
        self._tests = tests

    def flags(self, chunk: pa.RecordBatch) -> UInt8Array:
        """Return 1 for each row for which the condition is true, else 0: uint8, shape (rows,).

        Raise the :class:`SparkConditionError` of the first row for which Spark raises.
        """
        tested = [(test, chunk.column(test.ordinal)) for test in self._tests]
        if tested and all(test.accepts(column) for test, column in tested):
            mask = allocate(chunk.num_rows, np.uint8)
            mask.fill(1)
            if all(test.apply(column, mask) for test, column in tested):
                return mask
        return flags(pc.fill_null(self._expressions.evaluate(chunk)[0], False)).view(np.uint8)


def _on_slices(evaluate: Callable[[pa.RecordBatch], object], chunk: pa.RecordBatch) -> Callable[[int, int], object]:
    return lambda start, stop: evaluate(chunk.slice(start, stop - start))


class CompiledPredicate:
    """A filter, evaluated as an ordered list of conjuncts.

    Conjuncts with a column test are evaluated first, by :class:`~.column_tests.SelectionMask`, if no conjunct before
    them can raise. If few rows remain, or if the next conjunct can raise, the remaining conjuncts are evaluated on the
    remaining rows only.
    """

    __slots__ = ("nodes", "_selection", "_unscaled", "_unused_columns", "_nulls_dropped")

    #: Leave rows with NULL to the consumer if they are at most this share; below, copying the others costs more.
    LEAVE_NULLS_BELOW = 0.3

    #: Evaluate on a subset if at most this share of rows remains; above, filtering columns costs more than it saves.
    SUBSET_BELOW = 0.5

    def __init__(
        self,
        nodes: Sequence[Evaluable],
        selection: SelectionMask | None = None,
        unscaled: UnscaledTypes = (),
        unused_columns: Collection[int] = (),
        nulls_dropped: Collection[int] = (),
    ) -> None:
        """``nodes`` are the conjuncts that ``selection`` does not test.

        Rows with a NULL in the columns ``nulls_dropped`` do not pass either, but the consumer drops them too.
        """
        self.nodes = tuple(nodes)
        self._selection = selection
        self._unscaled = unscaled
        self._unused_columns = unused_columns
        self._nulls_dropped = tuple(nulls_dropped)

    def for_driver(self) -> CompiledPredicate:
        """Return the same predicate with scratch memory of its own."""
        selection = None if self._selection is None else self._selection.for_driver()
        return CompiledPredicate(self.nodes, selection, self._unscaled, self._unused_columns, self._nulls_dropped)

    def filter(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows for which the predicate is true, as a chunk without unscaled decimals.

        Few rows with NULLs that the consumer drops are left to it.

        Return the chunk itself if all rows pass, no column is unscaled and none is unused.

        Raise the :class:`SparkConditionError` of the first row for which Spark raises.
        """
        try:
            return self._filtered(chunk)
        except SparkConditionError as error:
            raise first_failure(_on_slices(self._filtered, chunk), chunk.num_rows, error) from None

    def _filtered(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        if self._selection is None:
            return self._without_nulls(self._evaluate(self.nodes, to_decimal128(chunk, self._unscaled)))
        kept, remaining = self._selection.filter(chunk, self._unscaled)
        return self._without_nulls(self._evaluate((*remaining, *self.nodes), kept))

    def _without_nulls(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        columns = [column for column in map(chunk.column, self._nulls_dropped) if column.null_count]
        if sum(column.null_count for column in columns) <= self.LEAVE_NULLS_BELOW * chunk.num_rows:
            return chunk
        mask = columns[0].is_valid()
        for column in columns[1:]:
            mask = pc.and_(mask, column.is_valid())
        return self._selected(chunk, None, mask)

    def _evaluate(self, nodes: Sequence[Evaluable], chunk: pa.RecordBatch) -> pa.RecordBatch:
        if chunk.num_rows == 0 or not nodes:
            return chunk
        frame = Frame.of_chunk(chunk)
        kept: Int32Array | None = None
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
            elif index + 1 < len(nodes) and (nodes[index + 1].can_raise or count <= self.SUBSET_BELOW * frame.num_rows):
                kept = _positions(kept, mask)
                frame = frame.subset(mask)
                mask = None
        return self._selected(chunk, kept, mask)

    def _selected(
        self, chunk: pa.RecordBatch, kept: Int32Array | None, mask: pa.BooleanArray | None
    ) -> pa.RecordBatch:
        """Return the rows that ``mask`` (None: all) selects of the rows ``kept`` (None: all)."""
        if mask is None and kept is None:
            return chunk
        chunk = drop_columns(chunk, self._unused_columns)
        if kept is None:
            return filter_rows(chunk, flags(mask).view(np.uint8))
        return take_rows(chunk, kept if mask is None else _positions(kept, mask))


def _positions(kept: Int32Array | None, mask: pa.BooleanArray) -> Int32Array:
    """Return the row numbers in the chunk of the rows that ``mask`` selects of ``kept`` (None: all rows)."""
    chosen = flags(mask)
    return np.flatnonzero(chosen).astype(np.int32) if kept is None else kept[chosen]


class _Compiler:
    """Compiles expressions to nodes; equal expressions become one node."""

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
        value_key = expr.value if isinstance(expr.value, bytes) else repr(expr.value)  # 0.0 and -0.0 are equal
        key = ("literal", expr.type, value_key)
        scalar = literal_scalar(expr)
        return self._intern(key, Evaluable(len(self._nodes), expr.type, scalar=scalar))

    def _call(self, call: Call) -> Evaluable:
        expr = unscale_values(call)
        args = tuple(self.compile(arg) for arg in expr.args)
        fields = tuple(sorted((name, repr(value)) for name, value in expr.fields.items()))
        kernel = build(expr, self._settings)
        context = expr.context if kernel.can_raise else None  # only errors name it
        key = (expr.name, expr.type, fields, tuple(arg.number for arg in args), context)
        found = self._nodes.get(key)
        if found is not None:
            found.shared = True
            return found
        number = len(self._nodes)
        node: Evaluable
        if isinstance(kernel, LazyKernel):
            node = LazyNode(number, expr.type, kernel, args)
        else:
            node = CallNode(number, expr.type, with_text_arguments(kernel, expr), args)
        if args and all(arg.scalar is not None for arg in args):
            node.scalar = _fold(node)
        self._nodes[key] = node
        return node


def _fold(node: Evaluable) -> pa.Scalar | None:
    """Evaluate a constant expression; return None if it raises."""
    try:
        value = node.compute(_ONE_ROW)
    except PipelineError:
        return None
    return value[0] if isinstance(value, pa.Array) else value


def literal_scalar(expr: Literal) -> pa.Scalar:
    """Return the Arrow scalar of a literal."""
    return pa.scalar(expr.value, expr.type.arrow)


def compile_expressions(exprs: Sequence[Expr], settings: ExpressionSettings) -> CompiledExpressions:
    """Compile expressions over the same columns; raise :class:`UnsupportedPlanError` if one is not supported."""
    compiler = _Compiler(settings)
    return CompiledExpressions([compiler.compile(expr) for expr in exprs])


def can_raise(exprs: Sequence[Expr], settings: ExpressionSettings) -> bool:
    """Return whether some input makes one of the expressions raise Spark's error.

    Raise :class:`UnsupportedPlanError` if one is not supported.
    """
    return any(node.can_raise for node in compile_expressions(exprs, settings).nodes)


def compile_predicate(
    expr: Expr,
    settings: ExpressionSettings,
    unscaled: UnscaledTypes = (),
    unused_columns: Collection[int] = (),
    nulls_dropped: Collection[int] = (),
) -> CompiledPredicate:
    """Compile a boolean expression to a filter; raise :class:`UnsupportedPlanError` if it is not supported.

    As in Spark's FilterExec, the conjuncts are evaluated one by one, a NULL drops the row at once, and ``IS NOT
    NULL`` checks come first. ``unscaled`` names the columns that may arrive as unscaled decimals; the caller does not
    read ``unused_columns`` of the result, and drops itself the rows with a NULL in the columns ``nulls_dropped``.
    """
    compiler = _Compiler(settings)
    conjuncts = split_conjuncts(expr)
    conjuncts.sort(key=lambda part: not (isinstance(part, Call) and part.name == "IsNotNull"))
    nodes = [compiler.compile(part) for part in conjuncts]
    first_raising = next((index for index, node in enumerate(nodes) if node.can_raise), len(nodes))
    left: set[int] = set()  # a check before a conjunct that can raise is needed
    if first_raising == len(nodes):
        checked = [_column_not_null(part) for part in conjuncts]
        left = {column for column in checked if column is not None}.intersection(nulls_dropped)
        conjuncts = [part for part, column in zip(conjuncts, checked, strict=True) if column not in left]
        nodes = [node for node, column in zip(nodes, checked, strict=True) if column not in left]
        first_raising = len(nodes)
    tests = column_tests(conjuncts[:first_raising], nodes)
    tested = {node for test in tests for node in test.nodes}
    others = [index for index in range(len(nodes)) if nodes[index] not in tested]
    read_later = columns_read([conjuncts[index] for index in others])
    selection = SelectionMask(tests, frozenset(unused_columns) - read_later) if tests else None
    remaining = [nodes[index] for index in others]
    return CompiledPredicate(remaining, selection, unscaled, unused_columns, sorted(left))


def compile_condition(expr: Expr, settings: ExpressionSettings) -> CompiledCondition:
    """Compile a boolean expression; raise :class:`UnsupportedPlanError` if it is not supported."""
    conjuncts = split_conjuncts(expr)
    tests = compile_column_tests(conjuncts, settings)
    are_all = sum(len(test.nodes) for test in tests) == len(conjuncts)
    return CompiledCondition(compile_expressions([expr], settings), tests if are_all else ())


def _column_not_null(expr: Expr) -> int | None:
    """Return the column that ``expr`` checks for NULL; None for another expression."""
    if not isinstance(expr, Call) or expr.name != "IsNotNull":
        return None
    return expr.args[0].ordinal if isinstance(expr.args[0], ColumnRef) else None


def compile_column_tests(exprs: Sequence[Expr], settings: ExpressionSettings) -> list[ColumnTest]:
    """Return tests of single columns that all rows pass for which all ``exprs`` are true; none if one can raise."""
    compiler = _Compiler(settings)
    nodes = [compiler.compile(expr) for expr in exprs]
    return [] if any(node.can_raise for node in nodes) else column_tests(exprs, nodes)


def gains_from_unscaled(expr: Expr) -> bool:
    """Return whether a filter by ``expr`` gains from unscaled decimals: rows may be dropped before the conversion."""
    return has_tests(split_conjuncts(expr))


def split_conjuncts(expr: Expr) -> list[Expr]:
    """Return the parts of which all must be true for ``expr`` to be true."""
    if isinstance(expr, Call) and expr.name == "And":
        return [part for arg in expr.args for part in split_conjuncts(arg)]
    return [expr]
