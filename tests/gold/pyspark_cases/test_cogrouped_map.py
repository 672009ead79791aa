"""Functions of cogroups: the cases of Spark's ``test_pandas_cogrouped_map`` and ``test_arrow_cogrouped_map``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from tests.support.python_functions import FREE, same_outcome

pytestmark = [pytest.mark.usefixtures("extension", "one_driver"), pytest.mark.rotates]



def _left(spark: SparkSession) -> DataFrame:
    return spark.range(0, 60, 1, 2).where("id >= 0").selectExpr("id % 6 AS id", "id AS k", "id * 10 AS v")


def _right(spark: SparkSession) -> DataFrame:
    return spark.range(0, 60, 1, 2).where("id >= 0").selectExpr("id % 7 AS id", "id AS k", "id * 100 AS v2",
        "'a' AS v3")


def _merged(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.merge(left, right, on=["id", "k"])


def _without_names(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    made = _merged(left, right)
    made.columns = range(made.columns.size)
    return made


def _sometimes_none(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame() if len(left) and left["id"].iloc[0] % 2 else _merged(left, right)


_SCHEMA = "id long, k long, v long, v2 long, v3 string"
#: Functions of two frames, and their declared columns.
PANDAS: dict[str, tuple[Callable[..., Any], str]] = {
    "a merge": (_merged, _SCHEMA),
    "with the key": (lambda key, left, right: left.assign(key=key[0]), "id long, k long, v long, key long"),
    "without names": (_without_names, _SCHEMA), "no rows sometimes": (_sometimes_none, _SCHEMA),
    "other names": (lambda left, right: _merged(left, right).assign(more=1), _SCHEMA),
    "no frame": (lambda left, right: left.size + right.size, _SCHEMA),
    "a text for a number": (lambda left, right: pd.DataFrame({"id": [1], "k": ["x"]}), "id long, k double"),
}  # fmt: skip
#: Functions of two tables, and their declared columns.
ARROW: dict[str, tuple[Callable[..., Any], str]] = {
    "numbers of rows": (
        lambda key, left, right: pa.table({"k": [repr(key)], "n": [left.num_rows], "m": [right.num_rows]}),
        "k string, n long, m long",
    ),
    "no columns sometimes": (lambda key, left, right: pa.table([]) if key[0].as_py() % 2 else left,
        "id long, k long, v long"),
    "other types": (lambda left, right: left, "id int, k long, v string"),
    "other names": (lambda left, right: left.select(["id", "v"]), "id long, m long"),
}  # fmt: skip


@pytest.mark.parametrize("name", PANDAS)
def test_functions_of_frames_equal_spark(spark: SparkSession, name: str) -> None:
    grouped = lambda: _left(spark).groupBy("id").cogroup(_right(spark).groupBy("id"))  # noqa: E731
    same_outcome(spark, lambda: grouped().applyInPandas(*PANDAS[name]), settings=FREE)


@pytest.mark.parametrize("name", ARROW)
def test_functions_of_tables_equal_spark(spark: SparkSession, name: str) -> None:
    grouped = lambda: _left(spark).groupBy("id").cogroup(_right(spark).groupBy("id"))  # noqa: E731
    same_outcome(spark, lambda: grouped().applyInArrow(*ARROW[name]), settings=FREE)


def _counted(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"n": [len(left)], "m": [len(right)]})


def test_keys_and_inputs_of_other_kinds(spark: SparkSession) -> None:
    by_condition = f.col("id") % 2 == 0
    days = Window.partitionBy("k", "id")

    def windowed() -> DataFrame:
        right = _right(spark).withColumn("s", f.sum("v2").over(days)).groupBy("id", "k")
        return _left(spark).groupBy("id", "k").cogroup(right).applyInPandas(_counted, "n long, m long")

    def joined() -> DataFrame:
        both = _left(spark).groupBy("ID").cogroup(_left(spark).groupBy("Id"))
        made = both.applyInPandas(lambda a, b: a + b, "id long, k long, v long")
        return made.alias("a").join(made.alias("b"), f.col("a.id") == f.col("b.id")).groupBy("a.id").count()

    def counted(*keys: Any) -> DataFrame:
        both = _left(spark).groupBy(*keys).cogroup(_right(spark).groupBy(*keys))
        return both.applyInPandas(_counted, "n long, m long")

    for make in (lambda: counted(by_condition), counted, windowed, joined):
        same_outcome(spark, make, settings=FREE)
