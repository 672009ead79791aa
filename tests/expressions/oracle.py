"""Compare an expression with Spark: values bit by bit, and the rows that raise with their error condition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.plan.expr import Expr
from tests.expressions.build import from_catalyst


@dataclass(frozen=True)
class Failure:
    """An error condition and its parameters."""

    condition: str
    parameters: tuple[tuple[str, str], ...]


class Oracle:
    """Spark over the nasty table, and our engine beside it."""

    def __init__(self, session: SparkSession, data: pa.Table) -> None:
        self.session = session
        self.data = data
        self.ordinals = {name: index for index, name in enumerate(data.column_names)}

    def check(self, expression: str, ansi: bool, time_zone: str = "UTC", encode: bool = False) -> None:
        """Assert that both give the same values, raise for the same rows, and raise the same condition."""
        self.session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        self.session.conf.set("spark.sql.session.timeZone", time_zone)
        tree = self.tree(expression)
        compiled = compile_expressions([tree], ExpressionSettings(ansi=ansi, time_zone=time_zone))
        chunk = self._chunk(encode)
        whole = self._ours(compiled, chunk)
        bad: list[int] = []
        if isinstance(whole, Failure):
            rows = [self._ours(compiled, chunk.slice(row, 1)) for row in range(chunk.num_rows)]
            bad = [row for row, outcome in enumerate(rows) if isinstance(outcome, Failure)]
            theirs = self._spark(expression, "")
            assert theirs == whole, f"{expression}: Spark {theirs}, ours {whole}"
            for row in bad[1:4]:
                theirs = self._spark(expression, f"where id = {row}")
                assert theirs == rows[row], f"{expression} row {row}: Spark {theirs}, ours {rows[row]}"
            good = [row for row in range(chunk.num_rows) if row not in bad]
            whole = self._ours(compiled, chunk.take(pa.array(good, pa.int64()))) if good else []
        where = f"where id not in ({', '.join(map(str, bad))})" if bad else ""
        theirs = self._spark(expression, where)
        assert not isinstance(theirs, Failure), f"{expression}: only Spark raises {theirs}"
        assert not isinstance(whole, Failure)
        kept = [row for row in range(chunk.num_rows) if row not in bad]
        differences = [
            f"row {kept[i]}: Spark {a!r}, ours {b!r}" for i, (a, b) in enumerate(zip(theirs, whole, strict=True))
            if not same(a, b)
        ]  # fmt: skip
        assert not differences, f"{expression}: {len(differences)} rows differ, e.g. {differences[:4]}"

    def tree(self, expression: str) -> Expr:
        """Return the expression as Spark optimised it, bound to the columns of the nasty table."""
        frame = self.session.sql(f"select {expression} as r from nasty")
        plan = frame._jdf.queryExecution().optimizedPlan()
        assert plan.nodeName() == "Project", plan.toString()
        return from_catalyst(plan.projectList().apply(0), self.ordinals)

    def _chunk(self, encode: bool) -> pa.RecordBatch:
        """Return the table as one chunk; it starts inside its buffers, as a slice does."""
        arrays = []
        for column in self.data.columns:
            array = pa.concat_arrays([column.chunk(0).slice(0, 3), *column.chunks]).slice(3)
            arrays.append(array.dictionary_encode() if encode and pa.types.is_string(array.type) else array)
        return pa.RecordBatch.from_arrays(arrays, names=self.data.column_names)

    def _ours(self, compiled: Any, chunk: pa.RecordBatch) -> Any:
        try:
            array = compiled.evaluate(chunk)[0]
        except SparkConditionError as error:
            return Failure(error.condition, tuple(sorted(error.parameters.items())))
        array.validate(full=True)
        expected = compiled.types[0].arrow
        if isinstance(array, pa.DictionaryArray):
            assert len(array.dictionary.unique()) == len(array.dictionary)
            array = array.cast(pa.string())
        assert array.type == expected and len(array) == chunk.num_rows
        return plain(array)

    def _spark(self, expression: str, where: str) -> Any:
        frame = self.session.sql(f"select {expression} as r from (select * from nasty {where})")
        try:
            return plain(frame.toArrow().column(0).combine_chunks())
        except PySparkException as error:
            return Failure(str(error.getCondition()), tuple(sorted((error.getMessageParameters() or {}).items())))


def plain(array: pa.Array) -> list[Any]:
    """Return the values; dates and timestamps as their numbers, so that any year will do."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    return list(array.to_pylist())


def same(left: Any, right: Any) -> bool:
    """Compare two values; NaN is NaN, and -0.0 is not 0.0."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return type(left) is type(right) and left == right and str(left) == str(right)
