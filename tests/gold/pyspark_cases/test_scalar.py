"""Functions of series and arrays: the cases of Spark's tests of scalar pandas and Arrow functions."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import arrow_udf, pandas_udf, udf

from tests.support.python_functions import same_outcome

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]

_COLUMNS = [
    "id", "concat('s', id) AS s", "timestamp_seconds(id * 3600) AS t", "DATE'2020-01-01' + CAST(id AS INT) AS day",
    "IF(id % 3 = 0, NULL, id / 3) AS d", "CAST(id AS DECIMAL(10,2)) AS n", "array(id, NULL) AS a", "map('k', id) AS m",
    "named_struct('a', id, 'b', array(id)) AS st", "id % 3 = 0 AS b",
]  # fmt: skip
#: Functions of series, the types of their results, and their columns.
PANDAS: list[tuple[Callable[..., Any], str, str]] = [
    (lambda s: s > 3, "int", "id"), (lambda s: s % 2, "boolean", "id"), (lambda s: s * 1.5, "int", "id"),
    (lambda s: s, "int", "d"), (lambda s: s.astype("category"), "string", "s"),
    (lambda s: s.astype("string"), "string", "s"),
    (lambda s: pd.Series([None] * len(s)), "int", "id"),
    (lambda s: pd.Series(range(len(s)), index=range(9, 9 + len(s))), "int", "id"),
    (lambda s: s.rename("other"), "bigint", "id"), (lambda s: s.astype("Int64").where(s % 2 > 0), "bigint", "id"),
    (lambda s: s.dt.tz_localize("America/Los_Angeles"), "timestamp", "t"), (lambda s: s.dt.date, "date", "t"),
    (lambda s: s + datetime.timedelta(1), "date", "day"), (lambda s: s.astype(str), "string", "t"),
    (lambda s: pd.DataFrame({"id": s, "str": s.astype(str)}), "struct<id:bigint,str:string>", "id"),
    (lambda s: pd.DataFrame({"id": s, "n": s.apply(lambda x: Row(p=str(x), q=float(x)))}),
        "struct<id:int,n:struct<p:string,q:float>>", "id"),
    (lambda s: s, "struct<a:bigint,b:array<bigint>>", "st"), (lambda s: s, "map<string,bigint>", "m"),
    (lambda s: s, "array<bigint>", "a"),
    (lambda s: s.str.split("s"), "array<string>", "s"),
    (lambda s: s.str.split("s", expand=True), "struct<a:string,b:string>", "s"),
    (lambda s: s.apply(lambda x: [[int(x)]]), "array<array<int>>", "id"), (lambda s: s * 2, "decimal(12,3)", "n"),
    (lambda s: s.str.encode("utf8"), "binary", "s"), (lambda s: s.str[1:], "int", "s"),
    (lambda s: s.map(type).map(repr), "string", "b"), (lambda s: pd.Series([str(s.dtype)] * len(s)), "string", "day"),
]  # fmt: skip
ARROW: list[tuple[Callable[..., Any], str, str]] = [
    (lambda a: pc.add(a, 1), "int", "id"), (lambda a: a.cast(pa.large_string()), "string", "s"),
    (lambda a: pa.nulls(len(a)), "string", "id"),
    (lambda a: pc.utf8_slice_codeunits(a, 1), "int", "s"),
    (lambda a: a.cast(pa.timestamp("ns", "UTC")), "timestamp", "t"),
    (lambda a: a.cast(pa.float32()), "double", "id"), (lambda a: pa.concat_arrays([a, a])[len(a) :], "bigint", "id"),
    (lambda a: pc.ascii_split_whitespace(a), "array<string>", "s"),
    (lambda a: a.cast(pa.list_(pa.int64())), "array<bigint>", "a"),
    (lambda a: pa.StructArray.from_arrays([a, a.cast(pa.string())], ["x", "y"]), "struct<x:bigint,y:string>", "id"),
    (lambda a: pa.array([str(v.as_py()) for v in a]), "string", "m"), (lambda a: pc.greater(a, 3), "int", "id"),
]  # fmt: skip
#: Functions whose results Spark refuses, all or those of some versions.
WRONG: dict[str, Callable[[], Any]] = {
    "a scalar": lambda: pandas_udf(lambda s: 1.0, "double"),
    "too few": lambda: pandas_udf(lambda s: s.iloc[:1], "bigint"),
    "no number": lambda: pandas_udf(lambda s: s.map(lambda _: "x"), "double"),
    "a failing one": lambda: pandas_udf(lambda s: s * (1 // 0), "bigint"),
    "no array": lambda: arrow_udf(lambda a: a.to_pylist(), "bigint"),
    "too large": lambda: arrow_udf(lambda a: pc.add(a, 2**31), "int"),
}  # fmt: skip


def _rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, 10, 1, 1).where("id >= 0").selectExpr(*_COLUMNS)


@pytest.mark.parametrize("settings", [{}, {"spark.sql.session.timeZone": "America/Los_Angeles"}], ids=["UTC", "LA"])
def test_results_of_all_kinds_equal_spark(spark: SparkSession, settings: dict[str, str]) -> None:
    made = [pandas_udf(function, kind)(column) for function, kind, column in PANDAS]
    same_outcome(spark, lambda: _rows(spark).select("id", *made), settings=settings)
    made_by_arrow = [arrow_udf(function, kind)(column) for function, kind, column in ARROW]
    same_outcome(spark, lambda: _rows(spark).select("id", *made_by_arrow), settings=settings)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_results_fail_as_in_spark(spark: SparkSession, name: str) -> None:
    same_outcome(spark, lambda: _rows(spark).select(WRONG[name]()("id")))


def _more(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for batch in batches:
        yield batch + 1000


def _arrow_more(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    for batch in batches:
        yield pc.add(batch, 10000)


_more.__annotations__ = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
_arrow_more.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}


def test_functions_of_all_forms_in_one_query(spark: SparkSession) -> None:
    forms = [
        udf(lambda x: x + 1, "bigint", useArrow=False), udf(lambda x: x + 1, "bigint", useArrow=True),
        pandas_udf(lambda s: s + 10, "bigint"), arrow_udf(lambda a: pc.add(a, 100), "bigint"),
        pandas_udf(_more, "bigint"), arrow_udf(_arrow_more, "bigint"),
    ]  # fmt: skip

    def chained(order: tuple[Any, ...]) -> Any:
        column: Any = "id"
        for function in order:
            column = function(column)
        return column

    pairs = [chained(order) for order in itertools.permutations(forms, 2)]
    same_outcome(spark, lambda: _rows(spark).select(chained(tuple(forms)), chained(tuple(reversed(forms)))))
    same_outcome(spark, lambda: _rows(spark).select(*pairs[::3], forms[2](forms[0]("id") + 1) + forms[3]("id")))
    by_hints = udf(_more, returnType="bigint") if spark.version >= "4.1" else forms[4]
    same_outcome(spark, lambda: _rows(spark).select(by_hints("id")))


@pytest.mark.parametrize("is_off_heap", ["true", "false"])
def test_functions_above_files_of_many_rows(spark: SparkSession, is_off_heap: str, tmp_path_factory: Any) -> None:
    path = str(tmp_path_factory.mktemp("ids") / "ids.parquet")
    spark.range(0, 30_000, 1, 1).write.parquet(path)
    settings = {"spark.sql.columnVector.offheap.enabled": is_off_heap}
    zero = pandas_udf(lambda s: pd.Series([0] * len(s)), "bigint")
    same_outcome(spark, lambda: spark.read.parquet(path).select(zero("id")).distinct(), settings=settings)
