"""Functions of rows, pickled and by Arrow: the cases of Spark's ``test_udf`` and ``test_arrow_python_udf``."""

from __future__ import annotations

import datetime
import functools
from collections import namedtuple
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.functions import udf

from tests.support.python_functions import same_outcome

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]


class _Plus:
    """A function that is an object, with methods of all kinds."""

    def __call__(self, x: int) -> int:
        return x + 4

    def method(self, x: int) -> int:
        return x + 5

    @staticmethod
    def static(x: int) -> int:
        return x + 6

    @classmethod
    def of_class(cls, x: int) -> int:
        return x + 7


_Pair = namedtuple("_Pair", "a b")
_CALLABLES: list[Callable[..., Any]] = [
    _Plus(), _Plus().method, _Plus.static, _Plus.of_class, abs, functools.partial(lambda a, b: a - b, 4),
    functools.partial(lambda a, b: a * b, b=4),
]  # fmt: skip
_STRUCTS: list[Callable[[int], Any]] = [
    lambda x: Row(a=x, b="q"), lambda x: {"a": x, "b": "z"}, lambda x: {"b": "z"}, lambda x: [x, "l"],
    lambda x: _Pair(x, "n"), lambda x: None if x % 2 else (x, None),
]  # fmt: skip


def _rows(spark: SparkSession, count: int = 10) -> DataFrame:
    return spark.range(0, count, 1, 1).where("id >= 0")


def _twice_read(spark: SparkSession, make: Callable[..., Any], query: str) -> DataFrame:
    _rows(spark).where(f.col("id") < 4).createOrReplaceTempView("udf_few")
    _rows(spark).filter(make(lambda x: x, "bigint")("id") >= 2).createOrReplaceTempView("udf_filtered")
    return spark.sql(query)


def _by_name(spark: SparkSession, make: Callable[..., Any], call: str) -> DataFrame:
    spark.udf.register("by_name", make(lambda a, b=0, **others: f"{a} {b} {sorted(others.items())}", "string"))
    return spark.sql(f"SELECT {call} FROM range(0, 5, 1, 1) WHERE id > 0")


CASES: dict[str, Callable[[SparkSession, Callable[..., Any]], DataFrame]] = {
    "callable objects": lambda spark, make: _rows(spark).select(*(make(g, "bigint")("id") for g in _CALLABLES)),
    "chains": lambda spark, make: _rows(spark).select(
        make(lambda x: x + x, "int")(make(lambda x: x + 1, "int")("id") + 1),
            make(lambda x, y: x * y, "bigint")("id", "id")
    ),
    "a join of both sides": lambda spark, make: _rows(spark).alias("a").join(
        _rows(spark).alias("b"), [make(lambda a, b: a == b, "boolean")("a.id", "b.id"),
            f.col("a.id") % 2 == f.col("b.id") % 2]
    ),
    "a left join of one side": lambda spark, make: _rows(spark).alias("a").join(
        _rows(spark, 5).alias("b"), make(str, "string")("a.id") == f.col("b.id").cast("string"), "left_outer"
    ),
    "a filter above an outer join": lambda spark, make: _rows(spark).join(_rows(spark, 5), "id", "left_outer")
    .withColumn("b", make(lambda x: None if x % 2 else "x", "string")("id")).filter("b = 'x'"),
    "IN and scalar subqueries": lambda spark, make: _twice_read(
        spark, make,
            "SELECT id, (SELECT max(id) FROM udf_filtered) FROM udf_few WHERE id IN (SELECT id FROM udf_filtered)"
    ),
    "explode": lambda spark, make: _rows(spark).select("id",
        f.explode(make(lambda x: list(range(x)), "array<bigint>")("id"))),
    "nested arguments": lambda spark,
    make: _rows(spark).selectExpr("array(1, id, NULL) l", "map('k', array(id)) m").select(
        make(str, "string")("l"), make(str, "string")("m"), make(str, "string")(f.struct("l", "m")),
            make(len, "int")("m")
    ),
    "aggregates around": lambda spark, make: _rows(spark).groupBy(make(lambda x: x % 3, "bigint")("id").alias("k"))
    .agg(f.sum(make(lambda x: len(str(x)), "int")("id")).alias("s")).select(make(lambda a, b: a + b, "bigint")("k",
        "s")),
    "above DISTINCT": lambda spark, make: _rows(spark).selectExpr("id % 2 AS k").distinct()
    .select("k", make(lambda: "constant", "string")()).filter(make(lambda k: k == 1, "boolean")("k")),
    "windows by functions": lambda spark, make: _rows(spark).select(
        "id", f.row_number().over(Window.partitionBy(make(lambda x: x % 3, "int")("id")).orderBy(make(lambda x: -x,
            "int")("id")))
    ),
    "ORDER BY and LIMIT": lambda spark, make: _rows(spark).orderBy(make(lambda x: -x, "bigint")("id")).limit(4),
    "CASE": lambda spark, make: _rows(spark).select(
        f.when(f.col("id") > 5, make(lambda x: 100 // (x - 5) if x != 5 else 0,
            "int")("id")).otherwise(make(lambda x: x, "int")("id"))
    ),
    "structs": lambda spark, make: _rows(spark).select(*(make(g, "struct<a:bigint,b:string>")("id") for g in _STRUCTS)),
    "256 arguments": lambda spark,
    make: _rows(spark, 3).select(*(f.lit(f"d{i}").alias(f"c{i}") for i in range(256)), "id")
    .where("id > 0").select(make(lambda *a: f"{len(a)} {a[7]}", "string")(*(f"c{i}" for i in range(256)))),
    "dates": lambda spark, make: _rows(spark).selectExpr(
        "DATE'2020-02-29' + CAST(id AS INT) AS d",
        "TIMESTAMP'2020-03-01 12:34:56.789' + make_dt_interval(CAST(id AS INT)) AS t"
    ).select(
        make(lambda d: d + datetime.timedelta(1), "date")("d"),
            make(lambda t: t.replace(microsecond=5), "timestamp")("t"),
        make(repr, "string")("t"), make(lambda t: t, "timestamp_ntz")(f.col("t").cast("timestamp_ntz")),
    ),
    "decimals": lambda spark, make: _rows(spark).select(
        *(make(lambda x: Decimal(x) / 8, kind)("id") for kind in ("decimal(10,2)", "decimal(38,18)", "decimal(25,1)"))
    ),
    "names and defaults": lambda spark, make: _by_name(
        spark, make, "by_name(id), by_name(a => id), by_name(b => id * 10, a => id), by_name(id, c => 'x', d => 2.5)"
    ),
    "an unknown name": lambda spark, make: _by_name(spark, make, "by_name(b => 1, c => 'x')"),
    "an error after rows": lambda spark, make: _rows(spark).select(make(lambda x: 1 // (7 - x), "int")("id")),
    "a function of numbers that were made": lambda spark, make: _rows(spark)
    .select(make(lambda x: x * 7, "bigint").asNondeterministic()("id").alias("z")).withColumn("y",
        make(lambda v: v + 10, "bigint")("z")).where("y > 30"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["pickled", "arrow"])
@pytest.mark.parametrize("name", CASES)
def test_case_equals_spark(spark: SparkSession, name: str, form: str) -> None:
    make = functools.partial(udf, useArrow=form == "arrow")
    same_outcome(spark, lambda: CASES[name](spark, make))


def test_integers_become_decimals_only_if_the_setting_says_so(spark: SparkSession) -> None:
    make = lambda: _rows(spark, 3).select(udf(lambda x: x, "decimal(10,2)", useArrow=True)("id"))  # noqa: E731
    key = "spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled"
    assert isinstance(same_outcome(spark, make, settings={key: "true"}), list)
    assert isinstance(same_outcome(spark, make), str)


def test_functions_share_an_accumulator(spark: SparkSession) -> None:
    total = spark.sparkContext.accumulator(0)
    one = udf(lambda x: (total.add(1), x)[1], "bigint")
    hundred = udf(lambda x: (total.add(100), x)[1], "bigint")
    same_outcome(spark, lambda: _rows(spark, 3).select(one("id"), hundred("id")))
    assert total.value == 2 * 3 * 101
