"""Functions over the batches of a partition (`mapInArrow`, `mapInPandas`): rows and errors are those of Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tests.support.conversion import summary_of
from tests.support.python_functions import python_error, rows_of_both
from tests.support.sessions import ENABLED, configured

Batches = Iterator[pa.RecordBatch]

_BATCH = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}
_COLUMNS = [
    "id", "IF(id % 7 = 3, NULL, CAST(id AS INT)) AS i",
    "CASE id % 5 WHEN 0 THEN NULL ELSE concat('ü', id % 11) END AS s",
    "CAST(id / 3 AS DECIMAL(12,2)) AS d", "timestamp_seconds(id * 100000) AS at", "id / 7D AS f", "id % 2 = 0 AS b",
    "DATE'1960-01-01' + CAST(id AS INT) AS day", "TIMESTAMP_NTZ'2020-02-29 12:00:00.5' AS local", "X'00FF' AS x",
]  # fmt: skip


pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]


def _rows(spark: SparkSession, make: Callable[[], DataFrame], settings: dict[str, str] | None = None) -> list[Any]:
    return rows_of_both(spark, make, "MapIn", {**_BATCH, **(settings or {})})


def _source(spark: SparkSession) -> DataFrame:
    return spark.range(0, 5500, 1, 2).selectExpr(*_COLUMNS)


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _counts(batches: Batches) -> Batches:
    sizes = [batch.num_rows for batch in batches]
    partition = TaskContext.get().partitionId()
    yield pa.RecordBatch.from_pydict({"partition": [partition], "sizes": [str(sizes)]})


def test_functions_have_an_event_loop(spark: SparkSession) -> None:
    def sizes(batches: Batches) -> Batches:
        import asyncio  # here: a module that the worker has not imported

        async def size(batch: pa.RecordBatch) -> pa.RecordBatch:
            await asyncio.sleep(0)
            return pa.RecordBatch.from_pydict({"n": [batch.num_rows]})

        loop = asyncio.get_event_loop()
        for batch in batches:
            yield loop.run_until_complete(size(batch))

    _rows(spark, lambda: _source(spark).mapInArrow(sizes, "n bigint"))


def test_functions_run_on_the_main_thread(spark: SparkSession) -> None:
    def alarmed(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import signal
        import threading

        before = signal.signal(signal.SIGALRM, lambda *_: None)
        for frame in frames:
            yield frame[["id"]].assign(is_main=threading.current_thread() is threading.main_thread())
        signal.signal(signal.SIGALRM, before)

    @f.pandas_udf("boolean")
    def is_main(ids: Iterator[pd.Series]) -> Iterator[pd.Series]:
        import threading

        for series in ids:
            yield series.map(lambda _: threading.current_thread() is threading.main_thread())

    @f.pandas_udf("boolean")
    def is_main_too(ids: pd.Series) -> pd.Series:
        import threading

        return ids.map(lambda _: threading.current_thread() is threading.main_thread())

    def mapped() -> DataFrame:
        return _source(spark).mapInPandas(alarmed, "id BIGINT, is_main BOOLEAN")

    assert all(row[1] and row[2] for row in _rows(spark, lambda: mapped().select("id", "is_main", is_main_too("id"))))
    assert all(row[1] for row in _rows(spark, lambda: _source(spark).select("id", is_main("id"))))


def test_input_may_be_read_by_a_thread_of_the_function(spark: SparkSession) -> None:
    def read_ahead(batches: Batches) -> Batches:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            for batch in pool.submit(list, batches).result():
                yield batch.select(["id"])

    assert len(_rows(spark, lambda: _source(spark).mapInArrow(read_ahead, "id BIGINT"))) == 5500


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
def test_values_of_all_types_equal_spark(spark: SparkSession, zone: str) -> None:
    settings = {"spark.sql.session.timeZone": zone}
    schema = _source(spark).schema
    assert len(_rows(spark, lambda: _source(spark).mapInArrow(_same, schema), settings)) == 5500
    assert len(_rows(spark, lambda: _source(spark).mapInPandas(_same, schema), settings)) == 5500


def test_function_is_called_once_a_partition_with_batches_of_spark(spark: SparkSession) -> None:
    schema = "partition BIGINT, sizes STRING"
    rows = _rows(spark, lambda: _source(spark).mapInArrow(_counts, schema))
    assert sorted(rows) == [(0, "[1000, 1000, 750]"), (1, "[1000, 1000, 750]")]
    rows = _rows(spark, lambda: _source(spark).where("id < 0").mapInArrow(_counts, schema))
    assert sorted(rows) == [(0, "[]"), (1, "[]")]


def test_functions_between_other_operators_equal_spark(spark: SparkSession) -> None:
    def positive(batches: Batches) -> Batches:
        for batch in batches:
            yield batch.filter(pc.greater(batch["id"], 10)).select(["id", "s"])
            yield batch.slice(0, 0).select(["id", "s"])

    def doubled(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.concat([frame, frame])[["id", "f"]]

    def mapped() -> DataFrame:
        return _source(spark).where("i > 5").mapInArrow(positive, "id BIGINT, s STRING")

    _rows(spark, lambda: mapped().groupBy("s").agg(f.count("*"), f.sum("id")))
    _rows(spark, lambda: mapped().join(_source(spark).where("b"), "id").select("id", "f"))
    _rows(spark, lambda: mapped().mapInArrow(lambda batches: batches, "id BIGINT, s STRING").orderBy("id").limit(7))
    _rows(spark, lambda: _source(spark).mapInPandas(doubled, "id BIGINT, f DOUBLE").where("id % 3 = 1"))
    ordered = _source(spark).repartition(3, "i").sortWithinPartitions("id")
    _rows(spark, lambda: ordered.select("*").mapInPandas(doubled, "id INT, f FLOAT"))


def test_function_may_return_less_more_or_nothing(spark: SparkSession) -> None:
    def first(batches: Batches) -> Batches:
        yield next(batches).select(["id"]).slice(0, 3)

    def wide(batches: Batches) -> Batches:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"id": pa.array(range(300_000)), "other": pa.array([1] * 300_000)})
            assert batch.num_rows

    assert len(_rows(spark, lambda: _source(spark).mapInArrow(first, "id BIGINT"))) == 6
    assert _rows(spark, lambda: _source(spark).mapInArrow(lambda _: iter([]), "id BIGINT")) == []
    rows = _rows(spark, lambda: _source(spark).mapInArrow(wide, "id BIGINT").agg(f.count("*"), f.sum("id")))
    assert rows[0][0] == 6 * 300_000


def test_limit_ends_a_function_that_never_ends(spark: SparkSession) -> None:
    def endless(batches: Batches) -> Batches:
        batch = next(batches)
        while True:
            yield batch.select(["id"])

    assert len(_rows(spark, lambda: _source(spark).mapInArrow(endless, "id BIGINT").limit(10))) == 10


def test_slow_function_is_waited_for(spark: SparkSession) -> None:
    def slow(batches: Batches) -> Batches:
        for batch in batches:
            time.sleep(0.3)
            yield batch.select(["id"])

    assert len(_rows(spark, lambda: _source(spark).mapInArrow(slow, "id BIGINT"))) == 5500


def test_errors_have_the_text_of_spark(spark: SparkSession) -> None:
    def fails_later(batches: Batches) -> Batches:
        for batch in batches:
            yield batch.select(["id"])
            raise ValueError("the user's text")

    def fails_at_once(batches: Batches) -> Batches:
        raise KeyError("missing")

    cases: list[tuple[Any, str]] = [
        (fails_later, "id BIGINT"), (fails_at_once, "id BIGINT"), (lambda batches: 3, "id BIGINT"),
        (lambda batches: iter([3]), "id BIGINT"),
    ]  # fmt: skip
    for function, schema in cases:
        errors = []
        for engine in ("false", "true"):
            with configured(spark, {**_BATCH, ENABLED: engine}):
                frame = _source(spark).mapInArrow(function, schema)
                errors.append(python_error(frame))
        assert summary_of(frame).converted > 1
        assert errors[0].splitlines()[-1] == errors[1].splitlines()[-1]
        assert "pyspark_pipeline" not in errors[1]
    with configured(spark, {ENABLED: "true"}):
        returned = _source(spark).mapInArrow(lambda batches: (b.select(["s"]) for b in batches), "id BIGINT")
        assert "the function returned id as string, it declares bigint" in python_error(returned)


def test_barrier_mode_stays_in_spark(spark: SparkSession) -> None:
    with configured(spark, {ENABLED: "true"}):
        frame = _source(spark).coalesce(1).mapInArrow(_same, _source(spark).schema, barrier=True)
        assert frame.count() == 5500
        assert "barrier mode" in str(summary_of(frame.select("id")).reasons)
