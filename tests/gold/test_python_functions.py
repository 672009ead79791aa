"""The user's Python functions over Arrow batches: rows, errors and side effects are those of Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.functions import arrow_udf, pandas_udf, udf
from pyspark.sql.types import DoubleType, LongType, StringType

from pyspark_pipeline import profile
from tests.support.conversion import summary_of
from tests.support.python_functions import errors_of_both, python_error, rows_of_both
from tests.support.sessions import ENABLED, configured
from tests.support.tables import TableShelf

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]


def _rows(spark: SparkSession, make: Callable[[], DataFrame], settings: dict[str, str] | None = None) -> list[Any]:
    return rows_of_both(spark, make, "EvalPython", settings)


@pandas_udf(LongType())
def _plus(a: pd.Series, b: pd.Series) -> pd.Series:
    return a + b


@arrow_udf(DoubleType())
def _half(a: pa.Array) -> pa.Array:
    return pc.divide(a, 2.0)


@udf(StringType(), useArrow=True)
def _shown(*values: Any) -> str:
    return " ".join(map(repr, values))


def _identity(kind: str) -> list[Any]:
    """Return one function of each form that returns its argument."""
    return [
        pandas_udf(lambda a: a, kind),
        arrow_udf(lambda a: a, kind),
        udf(lambda a: a, kind, useArrow=True),
        udf(lambda a: a, kind, useArrow=False),
    ]


@pytest.mark.parametrize(("zone", "rows"), [("UTC", "10000"), ("Asia/Kathmandu", "7")])
def test_values_of_all_types_equal_spark(spark: SparkSession, zone: str, rows: str) -> None:
    settings = {"spark.sql.session.timeZone": zone, "spark.sql.execution.arrow.maxRecordsPerBatch": rows}
    made = {
        "b": "boolean", "i": "int", "l": "bigint", "f": "float", "d": "double", "n": "decimal(38,18)", "s": "string",
        "x": "binary", "day": "date", "at": "timestamp", "local": "timestamp_ntz",
    }  # fmt: skip
    columns = [
        "id % 2 = 0 AS b", "CAST(id AS INT) AS i", "id - 9223372036854775807 AS l", "CAST(id AS FLOAT) / 3 AS f",
        "CASE id WHEN 3 THEN double('NaN') WHEN 4 THEN -0.0D WHEN 5 THEN double('-Infinity') ELSE id / 7D END AS d",
        "CAST(id * 1e17 AS DECIMAL(38,18)) / 3 AS n", "CASE id WHEN 6 THEN '' ELSE concat('ü', id % 4, '𝄞') END AS s",
        "CAST(concat('a', id) AS BINARY) AS x", "DATE'1500-01-01' + CAST(id * 30000 AS INT) AS day",
        "timestamp_micros(id * 123456789012345 - 999999999999999) AS at",
        "TIMESTAMP_NTZ'1901-01-01 00:00:00.123456' + make_dt_interval(CAST(id * 365 AS INT)) AS local",
    ]  # fmt: skip
    base = spark.range(0, 40, 1, 2).selectExpr("id", *columns)
    nullable = ["id", *(f"IF(id % 9 = 8, NULL, {name}) AS {name}" for name in made)]

    def called() -> DataFrame:
        forms = zip(*(_identity(kind) for kind in made.values()), strict=True)
        calls = [function(name) for form in forms for function, name in zip(form, made, strict=True)]
        return base.selectExpr(*nullable).select("id", _shown(*made), *calls)

    assert len(_rows(spark, called, settings)) == 40


def test_functions_in_all_places_equal_spark(spark: SparkSession, tables: TableShelf) -> None:
    tables.use(["tame"])
    frame = lambda: spark.table("tame")  # noqa: E731
    _rows(spark, lambda: frame().select("id", _plus("id", "i"), (_half(f.col("id") * 2.0) + 1).alias("h")))
    _rows(spark, lambda: frame().select(_plus(_plus("id", "i"), f.col("i") + 1)))
    _rows(spark, lambda: frame().where(_half("id") > 3).select("id"))
    _rows(spark, lambda: frame().groupBy(_plus(f.col("id") % 3, f.lit(1))).agg(f.sum(_half("id")), f.count("*")))
    _rows(spark, lambda: frame().select(_plus(b="id", a=f.col("i"))))
    _rows(spark, lambda: frame().where("id < 0").select(_plus("id", "i")))
    _rows(spark, lambda: frame().orderBy("id").limit(3).select("id", _shown("id", "i")))
    joined = lambda: frame().alias("a").join(frame().alias("b"), _plus("a.id", "b.i") == f.col("a.i"))  # noqa: E731
    _rows(spark, lambda: joined().select("a.id", "b.id"))


def test_functions_without_arguments_are_called_for_each_row(spark: SparkSession) -> None:
    none = {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
    for use_arrow in (True, False):
        three, numbers = udf(lambda: 3, "bigint", useArrow=use_arrow), itertools.count()
        number = udf(lambda numbers=numbers: next(numbers), "bigint", useArrow=use_arrow).asNondeterministic()
        frame = lambda: spark.range(0, 40, 1, 2).where("id > 2")  # noqa: E731
        _rows(spark, lambda frame=frame, call=three: frame().select("id", call()), none)
        _rows(spark, lambda frame=frame, call=three: frame().select(call()))
        _rows(spark, lambda frame=frame, call=number: frame().select(call(), _plus("id", call())), none)


def test_batches_have_the_rows_that_spark_sends(spark: SparkSession) -> None:
    @pandas_udf("string")
    def batch(a: pd.Series) -> pd.Series:
        return pd.Series([f"{len(a)} from {a.iloc[0]}"] * len(a))

    settings = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}
    rows = _rows(spark, lambda: spark.range(0, 25000, 1, 2).where("id % 3 > 0").select("id", batch("id")), settings)
    assert {row[1].split()[0] for row in rows} == {"1000", "333"}


def test_accumulators_broadcasts_and_task_context_work(spark: SparkSession) -> None:
    counts, factors = spark.sparkContext.accumulator(0), spark.sparkContext.broadcast([10, 20])

    @udf("bigint", useArrow=True)
    def scaled(a: int) -> int:
        counts.add(1)
        return a * factors.value[TaskContext.get().partitionId()]

    rows = _rows(spark, lambda: spark.range(0, 100, 1, 2).where("id > 0").select(scaled("id")))
    assert counts.value == 2 * 99
    assert sum(row[0] for row in rows) == 10 * sum(range(50)) + 20 * sum(range(50, 100))


class TextlessError(ValueError):
    """An error without a text."""

    def __str__(self) -> str:
        raise TypeError("no text")


def test_errors_have_the_text_of_spark(spark: SparkSession) -> None:
    def textless(a: int) -> int:
        raise TextlessError(a)

    def inverse(a: int) -> float:
        try:
            return 1 / (a - 7)
        except ZeroDivisionError as error:
            raise ValueError(f"no inverse of {a}") from error

    functions = [
        udf(inverse, "double", useArrow=True),
        udf(textless, "int", useArrow=True),
        pandas_udf(lambda a: a.map(inverse), "double"),
        pandas_udf(lambda a: a[:1], "bigint"),
        pandas_udf(lambda a: 3, "bigint"),
        arrow_udf(lambda a: pa.array(["x"] * len(a)), "bigint"),
        udf(lambda a: next(iter([])), "bigint", useArrow=True),
    ]
    for function in functions:
        errors = []
        for engine in ("false", "true"):
            with configured(spark, {ENABLED: engine}):
                frame = spark.range(0, 20, 1, 1).where("id > 2").select(function("id"))
                errors.append(python_error(frame))
        assert summary_of(frame).converted > 1
        assert errors[0].splitlines()[-1] == errors[1].splitlines()[-1]
        assert "pyspark_pipeline" not in errors[1]
    assert "no inverse of 7" in python_error(spark.range(10).select(functions[0]("id")))


@pytest.mark.parametrize(
    ("function", "setting", "reason"),
    [
        (_plus, {"spark.sql.pyspark.udf.profiler": "perf"}, "are profiled by Spark"),
        (_plus, {"spark.sql.execution.arrow.useLargeVarTypes": "true"}, "useLargeVarTypes"),
        (_plus, {"spark.sql.execution.arrow.maxRecordsPerBatch": "0"}, "over batches without a limit"),
    ],
    ids=["profiler", "large types", "no limit"],
)
def test_other_functions_stay_in_spark(
    spark: SparkSession, function: Any, setting: dict[str, str], reason: str
) -> None:
    with configured(spark, {**setting, ENABLED: "true"}):
        frame = spark.range(10).where("id > 3").select(function("id", "id"))
        assert len(frame.collect()) == 6
        assert reason in str(summary_of(frame).reasons)


def _running(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    """Return the sums of all values so far, in batches of other sizes than the input's."""
    total = 0
    for batch in batches:
        sums = batch.cumsum() + total
        total = int(sums.iloc[-1])
        half = len(sums) // 2
        yield sums.iloc[:half]
        yield sums.iloc[half:]


def _after_all(batches: Iterator[tuple[pd.Series, pd.Series]]) -> Iterator[pd.Series]:
    seen = list(batches)
    for a, b in seen:
        yield a + b + len(seen)


def _arrow_halves(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    for batch in batches:
        yield pc.divide(batch.cast(pa.float64()), 2.0)


_running.__annotations__ = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
_after_all.__annotations__ = {"batches": Iterator[tuple[pd.Series, pd.Series]], "return": Iterator[pd.Series]}
_arrow_halves.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}


def test_functions_over_iterators_equal_spark(spark: SparkSession) -> None:
    running, after_all = pandas_udf(_running, "bigint"), pandas_udf(_after_all, "bigint")
    halves = arrow_udf(_arrow_halves, "double")
    frame = lambda: spark.range(0, 5000, 1, 2).selectExpr("id", "id % 7 AS k", "concat('ü', id) AS s")  # noqa: E731
    small = {"spark.sql.execution.arrow.maxRecordsPerBatch": "300"}
    _rows(spark, lambda: frame().select("s", after_all("id", "k"), halves(f.col("k") + 1)))
    _rows(spark, lambda: frame().select("s", running("id"), after_all("id", "k")), small)
    _rows(spark, lambda: frame().where(running("k") % 2 == 0).groupBy("k").agg(f.sum(halves("id"))), small)
    _rows(spark, lambda: frame().where("s = 'none'").select(running("id")), small)


def test_function_over_an_iterator_that_breaks_its_contract_fails_as_in_spark(spark: SparkSession) -> None:
    def fewer(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for batch in batches:
            yield batch.iloc[1:]

    def none_read(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        yield next(batches)

    def failing(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for batch in batches:
            yield 1 / (batch - batch).iloc[0].item() + batch

    small = {"spark.sql.execution.arrow.maxRecordsPerBatch": "10"}
    for function in (fewer, none_read, failing):
        function.__annotations__ = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
        with configured(spark, small):
            called = pandas_udf(function, "bigint")
            vanilla, engine = errors_of_both(spark, lambda called=called: spark.range(0, 50, 1, 1).select(called("id")))
        assert vanilla.splitlines()[-2:] == engine.splitlines()[-2:]
        assert "pyspark_pipeline" not in engine


def test_profile_names_the_functions(spark: SparkSession) -> None:
    with configured(spark, {ENABLED: "true"}):
        calls = [_plus("id", f.col("id") + 1), _plus("id", "id")]
        frame = spark.range(0, 100, 1, 1).where("id > 3").select(*calls)
        frame.collect()
        (line,) = [line for line in str(profile(frame)).splitlines() if "EvalPython" in line]
        assert "EvalPython (_plus, _plus): 96 rows out" in line
