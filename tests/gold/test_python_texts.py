"""Texts of pandas: objects of every class in columns of strings become what Spark makes of them, or its error."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from tests.support.python_functions import same_outcome

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]


class _Text(str):
    """A text of another class."""

    __slots__ = ()


_OBJECTS: dict[str, list[Any]] = {
    "texts": ["a", "", "\u00fc", "\U0001f600", "a" * 3000, None, "nul\0"],
    "nulls": [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, "x"],
    "numpy nulls": [np.datetime64("NaT"), "x"],
    "decimal nulls": [decimal.Decimal("NaN"), "x"],
    "classes of texts": [_Text("t"), np.str_("n"), "x"],
    "bytes": [b"ab", "x"],
    "bad bytes": [b"\xff", "x"],
    "numbers": [1, "x"],
    "booleans": [True, "x"],
    "decimals": [decimal.Decimal(1), "x"],
    "lists": [["a"], "x"],
    "surrogates": ["\ud800", "x"],
    "only nulls": [None, float("nan")],
}
#: Rows, and whether each has an object of its own. Fewer than 1024 rows are not encoded.
_SHAPES = [(5000, False), (5000, True), (100, False)]


def _series(objects: list[Any], rows: int, *, distinct: bool) -> pd.Series:
    made = [objects[-1 - i % len(objects)] for i in range(rows)]
    if distinct:
        made = [f"{value}{i}" if type(value) is str else value for i, value in enumerate(made)]
    series = pd.Series([None] * rows, dtype=object)
    series[:] = made
    return series


def _mapped(spark: SparkSession, series: Callable[[int], pd.Series]) -> DataFrame:
    def call(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.DataFrame({"n": frame["id"], "s": series(len(frame))})

    return _ids(spark).mapInPandas(call, "s string, n bigint")


def _computed(spark: SparkSession, series: Callable[[int], pd.Series]) -> DataFrame:
    return _ids(spark).select("id", f.pandas_udf(lambda ids: series(len(ids)), "string")("id").alias("s"))


def _grouped(spark: SparkSession, series: Callable[[int], pd.Series]) -> DataFrame:
    def call(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"other": series(len(frame)), 1: frame["id"]})[[1, "other"]].set_axis([0, 1], axis=1)

    return _ids(spark).groupBy(f.expr("id % 2")).applyInPandas(call, "n bigint, s string")


def _structs(spark: SparkSession, series: Callable[[int], pd.Series]) -> DataFrame:
    def call(ids: pd.Series) -> pd.DataFrame:
        return pd.DataFrame({"n": ids, "s": series(len(ids))})

    return _ids(spark).select(f.pandas_udf(call, "s string, n bigint")("id").alias("x")).select("x.*")


def _ids(spark: SparkSession) -> DataFrame:
    rows = int(spark.conf.get("test.rows", "5000"))
    return spark.range(0, rows, 1, 1)


@pytest.mark.parametrize("form", [_mapped, _computed, _grouped, _structs], ids=lambda form: form.__name__)
@pytest.mark.parametrize("objects", _OBJECTS)
def test_objects_become_texts_as_in_spark(spark: SparkSession, objects: str, form: Callable[..., DataFrame]) -> None:
    for rows, distinct in _SHAPES:
        spark.conf.set("test.rows", str(rows))
        values = _OBJECTS[objects]
        same_outcome(spark, lambda: form(spark, lambda n: _series(values, n, distinct=distinct)))  # noqa: B023


def test_frames_without_declared_columns(spark: SparkSession) -> None:
    spark.conf.set("test.rows", "50")
    same_outcome(spark, lambda: _ids(spark).mapInPandas(lambda frames: frames, StructType([])))


def test_columns_of_strings_with_other_types(spark: SparkSession) -> None:
    makes: list[Callable[[int], pd.Series]] = [
        lambda n: pd.Series(np.arange(n)),
        lambda n: pd.Series(["a", "b"] * (n // 2), dtype="category"),
        lambda n: pd.Series(["a", None] * (n // 2), dtype="string"),
        lambda n: pd.Series(["a", "b"] * n)[::2].reset_index(drop=True),
        lambda n: pd.DataFrame({"a": ["a", "b"] * (n // 2), "b": ["c"] * n}).T.loc["a"],
    ]
    spark.conf.set("test.rows", "5000")
    for make in makes:
        same_outcome(spark, lambda: _mapped(spark, make))  # noqa: B023
        same_outcome(spark, lambda: _computed(spark, make))  # noqa: B023
