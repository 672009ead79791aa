"""Functions of groups: the cases of Spark's ``test_pandas_grouped_map`` and ``test_arrow_grouped_map``."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.functions import pandas_udf, udf

from tests.support.python_functions import FREE, same_outcome

pytestmark = [pytest.mark.usefixtures("extension", "one_driver"), pytest.mark.rotates]

_BY_PLACE = {"spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName": "false"}
_SAFE = {"spark.sql.execution.pandas.convertToArrowArraySafely": "true"}
_COLUMNS = [
    "id", "id % 4 AS k", "id * 10 AS v", "IF(id % 5 = 0, NULL, id / 7D) AS d", "concat('s', id % 3) AS s",
    "CAST(id AS DECIMAL(10,3)) AS n", "timestamp_seconds(id * 86400) AS t", "array(id, id + 1) AS a",
]  # fmt: skip


def _rows(spark: SparkSession, columns: tuple[str, ...] = ()) -> DataFrame:
    frame = spark.range(0, 40, 1, 2).where("id >= 0").selectExpr(*_COLUMNS)
    return frame.select(*columns) if columns else frame


def _in_place(group: pd.DataFrame) -> pd.DataFrame:
    group["v"] += 1
    group.iloc[0, 0] = 99
    group.sort_values("v", ascending=False, inplace=True)
    return group[["id", "v"]]


def _sometimes_named(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    row = (group.v.mean(), key[0]) if key[0] % 2 else (key[0], group.v.mean())
    return pd.DataFrame([row], columns=["m", "k"] if key[0] % 2 else None)


def _sometimes_none(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame() if key[0] % 2 else pd.DataFrame([(key[0], group.v.mean())])


def _fails_later(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    if key[0]:
        raise ValueError(f"the function fails for {key[0]}")
    return pd.DataFrame({"v": [2**40]})


#: Functions of a frame, their declared columns, and settings.
PANDAS: dict[str, tuple[Callable[..., Any], str, dict[str, str]]] = {
    "changes in place": (_in_place, "id long, v long", {}),
    "names sometimes": (_sometimes_named, "k long, m double", {}),
    "no rows sometimes": (_sometimes_none, "k long, m double", {}),
    "numbers as names": (lambda p: pd.DataFrame({0: p.id, 1: p.v * 4.5}), "k long, m double", {}),
    "numbers of other types": (lambda p: pd.DataFrame({"a": p.id, "b": p.id * 1.5, "c": p.id}),
        "a smallint, b int, c double", {}),
    "pandas' own types": (
        lambda p: pd.DataFrame({
            "i": p.id.where(p.id % 3 > 0).astype("Int64"), "b": (p.id > 3).astype("boolean"),
            "f": p.d.astype("Float64"),
            "s": p.s.astype("category"), "x": p.s.astype("string[pyarrow]"), "u": p.id.astype("uint8"),
        }), "i bigint, b boolean, f double, s string, x string, u decimal(10,0)", {},
    ),
    "texts of numbers": (lambda p: pd.DataFrame({"a": ["123"], "b": ["1.5"]}), "a int, b double", {}),
    "moments": (
        lambda p: pd.DataFrame({
            "z": p.t.dt.tz_localize("America/New_York"), "l": p.t, "u": p.t.astype("datetime64[s]"),
            "o": [datetime.datetime(2020, 1, 1, 1)] * len(p), "d": [datetime.date(2020, 1, 1)] * len(p),
        }), "z timestamp, l timestamp_ntz, u timestamp, o timestamp, d date", {},
    ),
    "missing values": (lambda p: pd.DataFrame({"t": [pd.NaT, pd.Timestamp(0)], "s": [None, float("nan")]}),
        "t timestamp, s string", {}),
    "decimals": (lambda p: pd.DataFrame({"n": p.n * 2, "m": [Decimal("1.23456")] * len(p)}),
        "n decimal(12,3), m decimal(10,2)", {}),
    "nested values": (
        lambda p: pd.DataFrame({"a": p.a, "s": [{"x": 1, "y": "q"}, Row(x=2, y="r")] * (len(p) // 2),
            "m": [{"k": 1}] * len(p)}),
        "a array<long>, s struct<x:int,y:string>, m map<string,int>", {},
    ),
    "an index": (lambda p: p.set_index("id")[["v"]], "v long", {}),
    "an aggregate": (lambda p: p.groupby("s", as_index=False).agg({"v": "sum"}), "s string, v long", {}),
    "columns by place": (lambda p: pd.DataFrame([("hi", 1)], columns=["x", "y"]), "a string, b float", _BY_PLACE),
    "other names": (lambda p: pd.DataFrame({"iid": p.id, "v": p.v}), "id long, v long", {}),
    "too many columns": (lambda p: pd.DataFrame([(1, 2, 3)]), "id long, v long", {}),
    "no frame": (lambda p: {"id": [1]}, "id long", {}),
    "a fraction": (lambda p: pd.DataFrame({"id": p.id + 0.5}), "id bigint", _SAFE),
    "a text for a number": (lambda p: pd.DataFrame({"a": ["x"]}), "a double", {}),
    "a conversion that fails before a later group": (_fails_later, "v int", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", PANDAS)
def test_functions_of_frames_equal_spark(spark: SparkSession, name: str) -> None:
    function, schema, settings = PANDAS[name]
    same_outcome(spark, lambda: _rows(spark).groupBy("k").applyInPandas(function, schema),
        settings={**FREE, **settings})


#: Functions of a table of ``id``, ``k``, ``v``, ``s``, their declared columns, and settings.
ARROW: dict[str, tuple[Callable[..., Any], str, dict[str, str]]] = {
    "no columns sometimes": (lambda k, t: pa.table([]) if k[0].as_py() % 2 else t.select(["id", "v"]),
        "id long, v long", {}),
    "another order": (lambda t: t.append_column("u", pc.multiply(t["v"], 3)).select(["u", "id"]), "id long, u long",
        {}),
    "columns by place": (lambda t: pa.table({"x": ["hi"], "y": [1]}), "a string, b long", _BY_PLACE),
    "other names": (lambda t: pa.table({"id": [1], "v": [2.0]}), "id long, m double", {}),
    "other types": (lambda t: t.select(["id", "v"]), "id int, v string", {}),
    "no table": (lambda k, t: k, "id long", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ARROW)
def test_functions_of_tables_equal_spark(spark: SparkSession, name: str) -> None:
    function, schema, settings = ARROW[name]
    grouped = lambda: _rows(spark, ("id", "k", "v", "s")).groupBy("k")  # noqa: E731
    same_outcome(spark, lambda: grouped().applyInArrow(function, schema), settings={**FREE, **settings})


def _shown(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"t": [f"{key!r} {list(map(type, key))}"], "n": [len(group)]})


KEYS: dict[str, Callable[[], list[Any]]] = {
    "all": list, "another case": lambda: ["K"], "one twice": lambda: ["k", "k"],
    "of many types": lambda: ["s", "n", "t", "a"], "a condition": lambda: [f.col("id") % 2 == 0],
    "a window of time": lambda: ["k", f.window("t", "5 days")],
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
def test_keys_equal_spark(spark: SparkSession, name: str) -> None:
    grouped = lambda: _rows(spark).groupBy(*KEYS[name]())  # noqa: E731
    same_outcome(spark, lambda: grouped().applyInPandas(_shown, "t string, n long"), settings=FREE)


def test_groups_among_other_operators(spark: SparkSession) -> None:
    def self_join() -> DataFrame:
        made = _rows(spark).groupBy("k").applyInPandas(lambda p: p[["k", "s"]], "k long, s string")
        return made.alias("a").join(made.alias("b"), f.col("a.k") == f.col("b.k")).groupBy("a.s").count()

    def above_functions() -> DataFrame:
        plus_one, plus_two = udf(lambda x: x + 1, "int"), pandas_udf(lambda s: s + 2, "int")
        made = _rows(spark).select(plus_one("id").alias("a"), plus_two("id").alias("b"))
        return made.groupBy().applyInPandas(lambda p: pd.DataFrame([p.sum().sum()]), "sum int")

    for make in (self_join, above_functions):
        same_outcome(spark, make, settings=FREE)


def test_functions_over_batches_of_a_group_equal_spark(spark: SparkSession) -> None:
    def some(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next(batches)
        yield pa.RecordBatch.from_pylist([{"v": x.as_py() % 4} for x in first.column("id")])

    def sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"v": [batch.num_rows for batch in batches]})

    def fails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield next(batches).select(["v"])
        raise ValueError("in the middle")

    grouped = lambda: _rows(spark, ("id", "k", "v", "s")).groupBy("k")  # noqa: E731
    by_rows = {"spark.sql.execution.arrow.maxRecordsPerBatch": "3"}
    by_bytes = {"spark.sql.execution.arrow.maxBytesPerBatch": "200"}
    for function, settings in ((some, by_rows), (sizes, by_rows), (sizes, by_bytes), (fails, by_rows)):
        function.__annotations__ = {"batches": Iterator[pa.RecordBatch], "return": Iterator[pa.RecordBatch]}
        make = lambda function=function: grouped().applyInArrow(function, "v long")  # noqa: E731
        same_outcome(spark, make, settings={**FREE, **settings})
