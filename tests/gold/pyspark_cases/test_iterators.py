"""Functions over batches: the cases of Spark's ``test_pandas_map``, ``test_arrow_map`` and of iterators of series."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.functions import arrow_udf, pandas_udf

from tests.support.conversion import summary_of
from tests.support.python_functions import same_outcome
from tests.support.sessions import ENABLED, configured

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]

_SMALL = {"spark.sql.execution.arrow.maxRecordsPerBatch": "2"}


def _rows(spark: SparkSession) -> DataFrame:
    frame = spark.range(0, 10, 1, 1).where("id >= 0")
    return frame.selectExpr("id", "concat('s', id) AS s", "IF(id % 2 = 0, NULL, id) AS v")


def _each(function: Callable[[Any], Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    return lambda batches: (function(batch) for batch in batches)


def _unnamed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns=list(frame.columns).index)


#: Functions of frames, and their declared columns.
PANDAS: dict[str, tuple[Callable[..., Any], str]] = {
    "without names": (_each(_unnamed), "a long, b string, c double"),
    "another order": (_each(lambda p: p[["v", "id"]]), "id long, v double"),
    "more rows": (_each(lambda p: pd.DataFrame({"a": range(100)})), "a long"),
    "a list": (lambda frames: [p[["id"]] for p in frames], "id long"),
    "one batch": (lambda frames: iter([next(frames)[["id"]]]), "id long"),
    "no batches": (lambda frames: iter([]), "a int, b string"),
    "empty ones": (lambda frames: iter([pd.DataFrame({"a": []})]), "a int"),
    "one without columns": (lambda frames: itertools.chain((p[["id"]] for p in frames), [pd.DataFrame()]), "id int"),
    "structs": (_each(lambda p: pd.DataFrame({"a": [{"x": 1, "y": "z"}] * len(p)})), "a struct<x:int,y:string>"),
    "other names": (_each(lambda p: p.rename(columns={"id": "iid"})), "id long, s string, v double"),
    "one name twice": (_each(lambda p: p.rename(columns={"s": "id"})), "id long, s string, v double"),
    "too few columns": (_each(lambda p: _unnamed(p[["id"]])), "id long, s string"),
    "too many columns": (_each(_unnamed), "a long"),
    "a text for a number": (_each(lambda p: p[["s"]].rename(columns={"s": "id"})), "id double"),
    "no iterator": (lambda frames: 1, "a int"),
    "no frames": (lambda frames: iter([1]), "a int"),
    "an end inside": (_each(lambda p: next(iter([]))), "id long"),
}
#: Functions of batches, and their declared columns.
ARROW: dict[str, tuple[Callable[..., Any], str]] = {
    "a table": (lambda batches: iter([pa.Table.from_batches(list(batches)).select(["id"])]), "id long"),
    "names by place": (_each(lambda b: b.select(["id"]).rename_columns(["other"])), "id long"),
    "too many columns": (_each(lambda b: b), "id long"),
    "a part": (_each(lambda b: b.slice(1, 2).select(["s", "v"])), "s string, v long"),
    "no rows of another type": (lambda _: iter([pa.record_batch({"a": pa.array([], pa.float64())})]), "a int"),
    "no rows of a nested type": (lambda _: iter([pa.record_batch({"a": pa.array([], pa.float64())})]), "a array<int>"),
    "batches of two types": (
        lambda batches: itertools.chain((b.select(["id"]) for b in batches),
            [pa.record_batch({"z": pa.array([], pa.string())})]),
        "id long",
    ),
}


@pytest.mark.parametrize("name", PANDAS)
def test_functions_of_frames_equal_spark(spark: SparkSession, name: str) -> None:
    same_outcome(spark, lambda: _rows(spark).mapInPandas(*PANDAS[name]), "MapIn", _SMALL)


@pytest.mark.parametrize("name", ARROW)
def test_functions_of_batches_equal_spark(spark: SparkSession, name: str) -> None:
    same_outcome(spark, lambda: _rows(spark).mapInArrow(*ARROW[name]), "MapIn", _SMALL)


def test_joins_of_a_mapped_frame_with_itself(spark: SparkSession) -> None:
    def joined() -> DataFrame:
        made = _rows(spark).mapInPandas(lambda frames: frames, "id long, s string, v double")
        return made.alias("a").join(made.alias("b"), f.col("a.id") == f.col("b.id")).select("a.id", "b.s")

    same_outcome(spark, joined, "MapIn")


def _close(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    try:
        yield from batches
    finally:
        raise RuntimeError("at the end")


def _random(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    context = TaskContext.get()
    assert context is not None
    np.random.seed(context.partitionId())
    for batch in batches:
        yield pd.Series(np.random.randint(100, size=len(batch)))


def _reads_one(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    yield next(batches)


def _fails(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for number, batch in enumerate(batches):
        if number == 2:
            raise KeyError("in the middle")
        yield batch


SERIES: dict[str, Callable[..., Any]] = {
    "a state": _random, "a list": lambda batches: list(batches),
    "one batch": lambda batches: iter([pd.concat(list(batches))]),
    "an error at the end": _close, "an error in the middle": _fails, "not all input": _reads_one,
    "numbers": lambda batches: map(len, batches), "too few rows": lambda batches: (b.iloc[:1] for b in batches),
    "too many rows": lambda batches: (pd.concat([b, b]) for b in batches),
}  # fmt: skip


@pytest.mark.parametrize("name", SERIES)
def test_functions_over_series_equal_spark(spark: SparkSession, name: str) -> None:
    def called(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        return SERIES[name](batches)  # type: ignore[no-any-return]

    called.__annotations__ = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
    same_outcome(spark, lambda: _rows(spark).select("id", pandas_udf(called, "bigint")("id")), settings=_SMALL)


#: Columns of which the batches are cut by their bytes.
SIZED = [
    "CAST(id AS INT) AS c", "id % 3 = 0 AS c", "IF(id % 4 = 1, NULL, repeat('ü', CAST(id % 50 AS INT))) AS c",
    "CAST(id AS DECIMAL(12,2)) AS c", "array_repeat(id, CAST(id % 7 AS INT)) AS c", "array(CAST(NULL AS INT)) AS c",
    "IF(id % 3 = 0, NULL, map(concat('k', id), array(id, NULL))) AS c",
    "IF(id % 6 = 0, NULL, named_struct('p', id, 'q', repeat('z', CAST(id % 30 AS INT)), 'r', array(id % 2 = 0))) AS c",
]  # fmt: skip


@pytest.mark.parametrize("column", SIZED)
def test_batches_end_at_the_bytes_of_spark(spark: SparkSession, column: str) -> None:
    sized = {"spark.sql.execution.arrow.maxBytesPerBatch": "3001",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500"}
    count = _each(lambda b: pa.record_batch({"n": [b.num_rows]}))
    rows = lambda: spark.range(0, 2000, 1, 1).where("id >= 0").selectExpr("id", column)  # noqa: E731
    found = same_outcome(spark, lambda: rows().mapInArrow(count, "n long"), "MapIn", sized)
    assert len(found) > 4
    size = arrow_udf(lambda *a: pa.array([len(a[0])] * len(a[0])), "int")
    same_outcome(spark, lambda: rows().select("id", size("c", f.col("id") + 1)), settings=sized)


def test_batches_of_large_rows_are_smaller(spark: SparkSession) -> None:
    count = _each(lambda b: pa.record_batch({"n": [b.num_rows]}))
    rows = lambda: spark.range(0, 150, 1, 1).where("id >= 0").selectExpr("repeat('x', 1000000) AS s")  # noqa: E731
    found = same_outcome(spark, lambda: rows().mapInArrow(count, "n long"), "MapIn")
    assert isinstance(found, list)
    assert [row[0] for row in found] == [68, 68, 14]


def test_split_results_stay_in_spark(spark: SparkSession) -> None:
    with configured(spark, {"spark.sql.execution.arrow.maxRecordsPerOutputBatch": "3", ENABLED: "true"}):
        frame = _rows(spark).mapInArrow(_each(lambda b: b.select(["id"])), "id long")
        frame.collect()
        assert "maxRecordsPerOutputBatch" in str(summary_of(frame).reasons)
