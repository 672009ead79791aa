"""Partitions that the user sorted: windows and aggregates read their rows in that order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from tests.support.compare import difference
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, configured

_FREE = {"spark.pysparkPipeline.cost.minScanBytes": "0", "spark.sql.adaptive.enabled": "false"}
_QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "a window": lambda frame: frame.select("*", *(f.first(c).over(Window.partitionBy("k")) for c in ("id", "t"))),
    "a sort aggregate": lambda frame: frame.groupBy("k").agg(f.first("id"), f.last("id"), f.max("s")),
    "a sort aggregate without keys": lambda frame: frame.agg(f.max("s"), f.count("*")),
    "a hash aggregate": lambda frame: frame.groupBy("k").agg(f.first("id"), f.last("t")),
}


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize("name", _QUERIES)
def test_rows_are_read_in_the_order_of_the_user(spark: SparkSession, name: str) -> None:
    def query() -> DataFrame:
        columns = ["id", "hash(id) % 9 AS k", "hash(id, 1) % 100 AS t", "concat('s', id % 13) AS s"]
        source = spark.range(0, 4000, 1, 4).selectExpr(*columns)
        return _QUERIES[name](source.repartition(3, "k").sortWithinPartitions("k", f.desc("t"), "id"))

    rows = []
    for engine in ("false", "true"):
        with configured(spark, {**_FREE, ENABLED: engine}):
            frame = query()
            rows.append(frame.collect())
    assert summary_of(frame).converted > 1
    found = difference(rows[0], rows[1])
    assert found is None, found


@pytest.mark.usefixtures("extension")
def test_a_window_without_an_order_reads_the_order_of_the_window_beside_it(spark: SparkSession) -> None:
    """Spark 4.3 sorts once for both windows, by the columns of the longer order."""

    def query() -> DataFrame:
        frame = spark.range(0, 4000, 1, 4).selectExpr("id", "hash(id) % 9 AS k", "hash(id, 1) % 100000 AS t")
        keys = Window.partitionBy("k")
        first = [f.first("t").over(keys), f.last("id").over(keys), f.sum("id").over(keys)]
        return frame.select("*", *first, f.row_number().over(keys.orderBy("t", "id")))

    rows = []
    for engine in ("false", "true"):
        with configured(spark, {**_FREE, ENABLED: engine}):
            frame = query()
            rows.append(frame.collect())
    summary = summary_of(frame)
    assert summary.converted == summary.operators, summary
    found = difference(rows[0], rows[1])
    if spark.version.startswith("4.3"):
        assert found is None, found
