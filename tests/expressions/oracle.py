"""Compare an expression with Spark: values bit by bit, and the rows that raise with their error condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.plan.expr import Expr
from tests.expressions.build import from_catalyst

GROUP = 40


@dataclass(frozen=True)
class Failure:
    """An error condition and its parameters."""

    condition: str
    parameters: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, condition: str, parameters: Mapping[str, str]) -> Failure:
        """Build a comparable failure: Java before 19 may print a float with more digits than needed."""
        comparable = dict(parameters)
        if comparable.get("sourceType") == '"FLOAT"':
            comparable["value"] = str(pa.scalar(float(comparable["value"]), pa.float32()))
        return cls(condition, tuple(sorted(comparable.items())))


@dataclass(frozen=True)
class Column:
    """The values of an expression in this engine, for the rows that do not raise."""

    expression: str
    rows: Sequence[int]
    values: list[Any]


class Oracle:
    """Evaluates expressions over the nasty table with Spark and with this engine."""

    def __init__(self, session: SparkSession, data: pa.Table) -> None:
        self.session = session
        self.data = data
        self.ordinals = {name: index for index, name in enumerate(data.column_names)}

    def check(self, expressions: Sequence[str], ansi: bool, time_zone: str = "UTC", encode: bool = False) -> None:
        """Assert for each expression that both return the same values and raise the same errors for the same rows.

        Spark evaluates the rows that do not raise in groups of GROUP expressions, and of an expression that raises the
        whole table and one row that raises.
        """
        self.session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        self.session.conf.set("spark.sql.session.timeZone", time_zone)
        settings = ExpressionSettings(ansi=ansi, time_zone=time_zone)
        chunk = self._chunk(encode)
        columns: list[Column] = []
        faults: list[str] = []
        for expression in expressions:
            compiled = compile_expressions([self.tree(expression)], settings)
            whole = self._ours(compiled, chunk)
            if not isinstance(whole, Failure):
                columns.append(Column(expression, range(chunk.num_rows), whole))
                continue
            rows = [self._ours(compiled, chunk.slice(row, 1)) for row in range(chunk.num_rows)]
            bad = [row for row, outcome in enumerate(rows) if isinstance(outcome, Failure)]
            middle = bad[len(bad) // 2]
            for where, failure in (("", whole), (f"where id = {middle}", rows[middle])):
                faults += self._faults_of_raising(expression, where, failure)
            good = [row for row in range(chunk.num_rows) if row not in bad]
            if good:
                columns.append(Column(expression, good, self._ours(compiled, chunk.take(pa.array(good, pa.int64())))))
        for start in range(0, len(columns), GROUP):
            faults += self._faults_of_passing(columns[start : start + GROUP])
        assert not faults, f"{len(faults)} faults:\n" + "\n".join(faults[:40])

    def _faults_of_passing(self, group: Sequence[Column]) -> list[str]:
        """Compare the rows of expressions that do not raise in this engine."""
        theirs = self._spark([self._guarded(column) for column in group], "")
        if isinstance(theirs, Failure):
            if len(group) == 1:
                return [f"{group[0].expression}: only Spark raises {theirs}"]
            return [fault for one in group for fault in self._faults_of_passing([one])]
        faults = []
        for column, values in zip(group, theirs, strict=True):
            faults += differences(column.expression, column.rows, [values[row] for row in column.rows], column.values)
        return faults

    def _guarded(self, column: Column) -> str:
        """Return an expression that Spark evaluates only on the rows that do not raise."""
        bad = sorted(set(range(self.data.num_rows)).difference(column.rows))
        return f"if(id in ({', '.join(map(str, bad))}), null, {column.expression})" if bad else column.expression

    def _faults_of_raising(self, expression: str, where: str, ours: Any) -> list[str]:
        """Compare the error of a range of rows."""
        theirs = self._spark([expression], where)
        if theirs == ours:
            return []
        return [f"{expression} {where}: Spark {theirs if isinstance(theirs, Failure) else 'values'}, ours {ours}"]

    def tree(self, expression: str) -> Expr:
        """Return the expression as optimised by Spark, bound to the columns of the nasty table."""
        frame = self.session.sql(f"select {expression} as r from nasty")
        plan = frame._jdf.queryExecution().optimizedPlan()
        assert plan.nodeName() == "Project", plan.toString()
        return from_catalyst(plan.projectList().apply(0), self.ordinals)

    def _chunk(self, encode: bool) -> pa.RecordBatch:
        """Return the table as one chunk with an offset in its buffers, as in a slice, and with values in NULL rows."""
        arrays = []
        for column in self.data.columns:
            array = pa.concat_arrays([column.chunk(0).slice(0, 3), *column.chunks]).slice(3)
            array = with_values_of_null(array)
            arrays.append(array.dictionary_encode() if encode and pa.types.is_string(array.type) else array)
        return pa.RecordBatch.from_arrays(arrays, names=self.data.column_names)

    def _ours(self, compiled: Any, chunk: pa.RecordBatch) -> Any:
        try:
            array = compiled.evaluate(chunk)[0]
        except SparkConditionError as error:
            return Failure.of(error.condition, error.parameters)
        array.validate(full=True)
        expected = compiled.types[0].arrow
        if isinstance(array, pa.DictionaryArray):
            assert len(array.dictionary.unique()) == len(array.dictionary)
            array = array.cast(pa.string())
        assert array.type == expected and len(array) == chunk.num_rows
        return plain(array)

    def _spark(self, expressions: Sequence[str], where: str) -> Any:
        """Return the values of each expression, or the failure of one."""
        columns = ", ".join(f"{expression} as r{index}" for index, expression in enumerate(expressions))
        frame = self.session.sql(f"select {columns} from (select * from nasty {where})")
        try:
            table = frame.toArrow()
        except PySparkException as error:
            return Failure.of(str(error.getCondition()), error.getMessageParameters() or {})
        return [plain(column.combine_chunks()) for column in table.columns]


def with_values_of_null(array: pa.Array) -> pa.Array:
    """Return an equal array of numbers or times whose buffer has other rows' values in rows that are NULL."""
    known = array.drop_null()
    if not len(known) or not array.null_count or pa.types.is_nested(array.type) or array.type.num_buffers > 2:
        return array
    places = pa.array([row % len(known) for row in range(len(array))])
    data = pc.if_else(array.is_valid(), array, known.take(places)).buffers()[1]
    return pa.Array.from_buffers(array.type, len(array), [pc.invert(array.is_null()).buffers()[1], data])


def differences(expression: str, rows: Sequence[int], theirs: Sequence[Any], ours: Sequence[Any]) -> list[str]:
    """Return the differences of two columns: none, or one line with the first rows."""
    compared = zip(rows, theirs, ours, strict=True)
    found = [f"row {row}: Spark {a!r}, ours {b!r}" for row, a, b in compared if not same(a, b)]
    return [f"{expression}: {len(found)} rows differ, {found[:3]}"] if found else []


def plain(array: pa.Array) -> list[Any]:
    """Return the values; dates and timestamps as integers, so that any year is valid."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    return list(array.to_pylist())


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal; NaN equals NaN, and -0.0 differs from 0.0."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return type(left) is type(right) and left == right and str(left) == str(right)
