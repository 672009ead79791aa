"""Aggregates and windows: the cases of Spark's ``test_pandas_udf_grouped_agg``, ``…_window`` and those of Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.functions import arrow_udf, pandas_udf, udf

from tests.support.python_functions import FREE, same_outcome

pytestmark = [pytest.mark.usefixtures("extension", "one_driver"), pytest.mark.rotates]



def _rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, 60, 1, 2).where("id >= 0").selectExpr("id % 6 AS id", "id * 1.5D AS v", "1.0D AS w")


def _of(kind: Any, function: Callable[..., Any], result: str) -> Any:
    """Return an aggregate of series or arrays."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    function.__annotations__ = {**dict.fromkeys(names, kind), "return": Any if kind is pa.Array else float}
    if kind is pa.Array:
        function.__annotations__["return"] = pa.Scalar
    return (arrow_udf if kind is pa.Array else pandas_udf)(function, result)


def _aggregates(form: str) -> dict[str, Any]:
    if form == "pandas":
        return {
            "sum": _of(pd.Series, lambda v: v.sum(), "double"), "mean": _of(pd.Series, lambda v: v.mean(), "double"),
            "weighted": _of(pd.Series, lambda v, w: np.average(v, weights=w), "double"),
            "biased": _of(pd.Series, lambda v, w=None: v.sum() + (100 if w is None else w.sum()), "double"),
            "size": _of(pd.Series, lambda v: len(v), "bigint"),
            "listed": _of(pd.Series, lambda v: [1.0, 2.0], "array<double>"),
            "decimal": _of(pd.Series, lambda v: np.float64(len(v)), "decimal(10,0)"),
        }  # fmt: skip
    return {
        "sum": _of(pa.Array, lambda v: pc.sum(v), "double"), "mean": _of(pa.Array, lambda v: pc.mean(v), "double"),
        "weighted": _of(pa.Array, lambda v, w: float(np.average(v, weights=w)), "double"),
        "biased": _of(pa.Array, lambda v, w=None: pc.sum(v).as_py() + (100 if w is None else pc.sum(w).as_py()),
            "double"),
        "size": _of(pa.Array, lambda v: len(v), "bigint"),
        "listed": _of(pa.Array, lambda v: [1.0, 2.0], "array<double>"),
        "decimal": _of(pa.Array, lambda v: pa.scalar(len(v)), "decimal(10,0)"),
    }  # fmt: skip


_FORMS = pytest.mark.parametrize("form", ["pandas", "arrow"])


@_FORMS
def test_aggregates_equal_spark(spark: SparkSession, form: str) -> None:
    made = _aggregates(form)
    plus_one, plus_two = udf(lambda x: x + 1.0, "double"), pandas_udf(lambda s: s + 2, "double")
    by_id = lambda: _rows(spark).groupBy("id")  # noqa: E731
    several = [
        made["sum"]("v"), made["mean"]("v").alias("m"), made["weighted"]("v", f.lit(1.0)),
            made["weighted"](w="w", v=f.col("v")),
        made["biased"]("v"), made["biased"]("v", w=f.col("w")), made["size"]("w"), made["listed"]("v"),
    ]  # fmt: skip
    around = [made["sum"](f.col("v") + 1) + 2, plus_one(made["sum"]("v")), made["sum"](plus_one("v")),
        plus_two(made["sum"](plus_two("v")))]
    keys = [plus_one("id"), plus_two("id"), f.col("v") % 2]
    same_outcome(spark, lambda: by_id().agg(*several), settings=FREE)
    same_outcome(spark, lambda: by_id().agg(*around), settings=FREE)
    same_outcome(spark, lambda: _rows(spark).groupBy(*keys).agg(made["sum"]("v")), settings=FREE)
    same_outcome(spark, lambda: by_id().agg(made["sum"]("v").alias("v")).groupBy("id").agg(made["sum"]("v")),
        settings=FREE)
    same_outcome(spark, lambda: by_id().agg(made["mean"]("v").alias("m")).where("m > 40"), settings=FREE)
    plain = {**FREE, "spark.sql.retainGroupColumns": "false"}
    same_outcome(spark, lambda: by_id().agg(made["sum"]("v")), settings=plain)
    if form == "pandas":
        same_outcome(spark, lambda: by_id().agg(made["decimal"]("v")), settings=FREE)


@_FORMS
def test_aggregates_by_name_in_sql(spark: SparkSession, form: str) -> None:
    _rows(spark).createOrReplaceTempView("aggregated")
    spark.udf.register("weighted", _aggregates(form)["weighted"])
    calls = "weighted(v, w => w), weighted(w => w, v => v)"
    same_outcome(spark, lambda: spark.sql(f"SELECT id, {calls} FROM aggregated GROUP BY id"), settings=FREE)
    window = "OVER (PARTITION BY id ORDER BY v ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)"
    same_outcome(spark, lambda: spark.sql(f"SELECT id, weighted(w => w, v => v) {window} FROM aggregated"),
        settings=FREE)
    for arguments in ("v => v, x => w", "v, v => w"):
        query = f"SELECT weighted({arguments}) FROM aggregated GROUP BY id"
        assert isinstance(same_outcome(spark, lambda query=query: spark.sql(query), settings=FREE), str)


@_FORMS
def test_windows_equal_spark(spark: SparkSession, form: str) -> None:
    made = _aggregates(form)
    ordered = Window.partitionBy("id").orderBy("v")
    whole = ordered.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    frames = [
        whole, ordered, Window.partitionBy(), ordered.rowsBetween(-2, 1), ordered.rangeBetween(-2, 4),
        ordered.rowsBetween(Window.unboundedPreceding, 3), ordered.rangeBetween(-3, Window.unboundedFollowing),
    ]  # fmt: skip
    plus_one = udf(lambda x: x + 1.0, "double")
    same_outcome(spark, lambda: _rows(spark).select("*", *(made["mean"]("v").over(frame) for frame in frames[:3])),
        settings=FREE)
    same_outcome(spark, lambda: _rows(spark).select("*", *(made["size"]("v").over(frame) for frame in frames[3:])),
        settings=FREE)
    mixed = [
        made["sum"]("v").over(whole) - f.min("v").over(whole), f.rank().over(ordered), made["listed"]("v").over(whole),
        plus_one(made["mean"](plus_one("v")).over(frames[3])), made["sum"](f.col("v") * 2).over(whole) + 1,
    ]  # fmt: skip
    same_outcome(spark, lambda: _rows(spark).select("id", *mixed), settings=FREE)
    same_outcome(spark, lambda: _rows(spark).withColumn("v", made["mean"]("v").over(whole)), settings=FREE)
