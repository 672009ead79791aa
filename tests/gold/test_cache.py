"""Cached plans: the engine's result stays in chunks, at every storage level, and both engines read it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import StorageLevel
from pyspark.errors import NumberFormatException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import pyspark_pipeline
from tests.support.compare import difference
from tests.support.conversion import plan_nodes, summary_of
from tests.support.sessions import ENABLED, configured
from tests.support.tables import TableShelf

_ROWS = 6000
_LEVELS = {
    "objects": StorageLevel.MEMORY_AND_DISK_DESER,
    "memory": StorageLevel.MEMORY_ONLY,
    "memory and disk": StorageLevel.MEMORY_AND_DISK,
    "disk": StorageLevel.DISK_ONLY,
    "off heap": StorageLevel.OFF_HEAP,
    "replicated": StorageLevel.MEMORY_AND_DISK_2,
}
#: Parquet's statistics omit NaN: Spark's scan loses such rows if it pushes filters down.
_VANILLA = {ENABLED: "false", "spark.sql.parquet.filterPushdown": "false"}


@pytest.fixture(autouse=True)
def _cleared(limited_extension: None, spark: SparkSession) -> Iterator[None]:
    yield
    spark.catalog.clearCache()


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Return a table of two files with a column of every flat type, each with NULLs and extreme values."""
    folder = tmp_path_factory.mktemp("cached")
    for part in range(2):
        pq.write_table(_table(part), folder / f"{part}.parquet", row_group_size=2000)
    frame = spark.read.parquet(str(folder))
    intervals = ("INTERVAL '1' DAY * (id % 9) AS days", "INTERVAL '1' MONTH * (id % 30) AS months")
    return frame.selectExpr("*", *intervals, "NULL AS nothing")


def _table(part: int) -> pa.Table:
    ids = list(range(part * _ROWS, (part + 1) * _ROWS))
    epoch, second = datetime.datetime(1970, 1, 1), datetime.timedelta(seconds=1)
    utc = epoch.replace(tzinfo=datetime.UTC)

    def column(of: Any, kind: pa.DataType, every: int = 7) -> pa.Array:
        return pa.array([None if i % every == 0 else of(i) for i in ids], kind)

    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "flag": column(lambda i: i % 3 == 0, pa.bool_()),
            "tiny": column(lambda i: i % 256 - 128, pa.int8()),
            "small": column(lambda i: i % 65536 - 32768, pa.int16()),
            "big": column(lambda i: (-1) ** i * (2**63 - 1 - i), pa.int64()),
            "single": column(lambda i: float("nan") if i % 5 == 0 else i / 8, pa.float32()),
            "double": column(lambda i: float("nan") if i < 900 else -0.0 if i % 5 == 0 else i / 3, pa.float64()),
            "word": column(lambda i: f"word {i % 20}", pa.string()),
            "text": column(lambda i: f"é{i:06}" * (i % 4), pa.string()),
            "bytes": column(lambda i: bytes([i % 256]) * (i % 3), pa.binary()),
            "day": column(lambda i: datetime.date(1, 1, 1) + i * datetime.timedelta(days=100), pa.date32()),
            "time": column(lambda i: utc + (i - 3000) * second, pa.timestamp("us", tz="UTC")),
            "local": column(lambda i: epoch + (i - 3000) * second * 86400, pa.timestamp("us")),
            "cents": column(lambda i: Decimal(i - 4000) / 100, pa.decimal128(12, 2)),
            "wide": column(lambda i: Decimal(i) * 10**28, pa.decimal128(38, 3)),
            "void": pa.nulls(len(ids), pa.int32()),
        }
    )


@contextmanager
def _cached(frame: DataFrame, level: StorageLevel = StorageLevel.MEMORY_AND_DISK_DESER) -> Iterator[DataFrame]:
    frame.persist(level)
    try:
        yield frame
    finally:
        frame.unpersist(blocking=True)


def _grouped(frame: DataFrame) -> DataFrame:
    """Return an aggregation that reads every column."""
    others = [name for name in frame.columns if name not in ("word", "flag")]
    calls = [F.count(name).alias(name) for name in others]
    calls += [_shown(name, F.max(name)).alias(f"max {name}") for name in others if name != "nothing"]
    return frame.groupBy("word", "flag").agg(*calls, F.sum("cents").alias("s"), F.sum("id").alias("i"))


def _every(frame: DataFrame) -> DataFrame:
    """Return all columns; PySpark collects no intervals of months."""
    return frame.select(*[_shown(name, F.col(name)).alias(name) for name in frame.columns])


def _shown(name: str, column: Column) -> Column:
    return column > F.expr("INTERVAL '12' MONTH") if name == "months" else column


def _summed(frame: DataFrame) -> DataFrame:
    return frame.groupBy("flag").agg(F.count("*"), F.max("id"))


def _vanilla(spark: SparkSession, frame: DataFrame) -> list[Any]:
    with configured(spark, _VANILLA):
        return frame.collect()


def _scanned(frame: DataFrame) -> int:
    """Return the rows of the cached batches that the plan which ``frame`` ran has read."""
    nodes = plan_nodes(frame._jdf.queryExecution().executedPlan())
    scans = [node for node in nodes if node.getClass().getSimpleName() == "InMemoryTableScanExec"]
    assert scans
    return sum(scan.metrics().apply("numOutputRows").value() for scan in scans)


def _assert_whole(frame: DataFrame) -> None:
    found = summary_of(frame)
    assert found.converted == found.operators and found.transitions == 1, found


@pytest.mark.rotates
@pytest.mark.parametrize("level", _LEVELS)
def test_cached_chunks_are_read_by_both_engines(spark: SparkSession, rows: DataFrame, level: str) -> None:
    expected = [*_vanilla(spark, _grouped(rows)), *_vanilla(spark, _every(rows))]
    with _cached(rows.where("id >= 0"), _LEVELS[level]) as cached:
        grouped = _grouped(cached)
        found = [*grouped.collect(), *_every(cached).collect()]
        _assert_whole(grouped)
        assert difference(expected, found) is None
        read = [*_vanilla(spark, _grouped(cached)), *_vanilla(spark, _every(cached))]
        assert difference(expected, read) is None


def test_cached_chunks_become_pandas_and_arrow(spark: SparkSession, rows: DataFrame) -> None:
    plain = rows.where("id % 2 = 1").drop("days", "months", "nothing")
    with configured(spark, _VANILLA):
        frame, table = plain.toPandas(), plain.toArrow()
    with _cached(plain) as cached:
        assert cached.select("*").toPandas().equals(frame)
        assert str(cached.select("*").toArrow().to_pylist()) == str(table.to_pylist())


def test_nested_columns_are_cached_by_spark(spark: SparkSession, tables: TableShelf) -> None:
    tables.use(["nests"])
    for sql in ("SELECT * FROM nests", "SELECT k, collect_list(i) AS l, count(*) AS n FROM nests GROUP BY k"):
        plain = spark.sql(sql)
        with _cached(plain) as cached:
            frame = cached.where("k IS NOT NULL")
            assert difference(_vanilla(spark, spark.sql(sql).where("k IS NOT NULL")), frame.collect()) is None


def test_declined_function_reads_cached_chunks(spark: SparkSession, rows: DataFrame) -> None:
    with _cached(rows.where("id % 2 = 1")) as cached:
        frame = cached.selectExpr("id", "soundex(text) AS s", "to_xml(struct(cents, day)) AS j")
        assert difference(_vanilla(spark, frame), frame.collect()) is None


@pytest.mark.parametrize(
    ("predicate", "limit"),
    [
        ("id = 4321", 2000),
        ("id IS NULL", 0),
        ("double > 1e300", 2000),  # NaN is above all numbers
        ("double = double('NaN')", 2000),
        ("double < 0", 2 * _ROWS),
        ("text >= 'é011990'", 2000),
        ("text LIKE 'é000123%'", 2 * _ROWS),
        ("word = 'no word'", 0),
        ("cents >= 79.90", 2000),
        ("cents IN (1.23, 1.24)", 2000),
        ("wide < 5000000000000000000000000000000", 2000),
        ("day = DATE'0030-01-01'", 2 * _ROWS),
        ("time < TIMESTAMP'1970-01-01 00:00:00'", 4000),
        ("void > 5", 0),
        ("void IS NULL", 2 * _ROWS),
        ("void <=> 5", 0),
        ("bytes = X'05'", 2 * _ROWS),
        ("days >= INTERVAL '8' DAY", 2 * _ROWS),
        ("months > INTERVAL '40' MONTH", 0),
    ],
)
def test_batches_are_skipped_by_their_statistics(
    spark: SparkSession, rows: DataFrame, predicate: str, limit: int
) -> None:
    batches = {"spark.sql.inMemoryColumnarStorage.batchSize": "2000"}
    with configured(spark, batches), _cached(rows.where("id >= 0")) as cached:
        cached.count()
        found, plain = (_summed(frame.where(predicate)) for frame in (cached, rows))
        assert difference(_vanilla(spark, plain), found.collect()) is None
        assert _scanned(found) <= limit
        _assert_whole(found)


def test_no_batch_is_skipped_without_partition_pruning(spark: SparkSession, rows: DataFrame) -> None:
    with configured(spark, {"spark.sql.inMemoryColumnarStorage.partitionPruning": "false"}):
        with _cached(rows.where("id >= 0")) as cached:
            found = cached.where("id = 77").groupBy("flag").count()
            assert [row["count"] for row in found.collect()] == [1]
            assert _scanned(found) == 2 * _ROWS


def test_counts_read_no_column(spark: SparkSession, rows: DataFrame) -> None:
    with _cached(rows.where("id >= 100")) as cached:
        counted = cached.groupBy().count()
        assert counted.collect()[0][0] == 2 * _ROWS - 100
        _assert_whole(counted)


def test_empty_partitions_and_plans_are_cached(spark: SparkSession, rows: DataFrame) -> None:
    with _cached(rows.where("id < 3").select("id", "text")) as few, _cached(rows.where("id < 0")) as none:
        assert few.groupBy().agg(F.count("id"), F.max("id")).collect()[0][:2] == (3, 2)
        assert none.groupBy("word").count().collect() == []
        assert [tuple(row) for row in none.agg(F.count("*"), F.max("wide")).collect()] == [(0, None)]
    with _cached(rows.select().where("rand() >= 0")) as columnless:
        assert columnless.count() == 2 * _ROWS


def test_lost_blocks_are_computed_again(spark: SparkSession, rows: DataFrame) -> None:
    context: Any = spark.sparkContext._jsc.sc()  # type: ignore[union-attr]
    with _cached(rows.where("id >= 0"), StorageLevel.MEMORY_ONLY) as cached:
        expected = _grouped(cached).collect()
        (info,) = context.getRDDStorageInfo()
        context.getPersistentRDDs().apply(info.id()).unpersist(True)
        again = _grouped(cached)
        assert difference(expected, again.collect()) is None
        _assert_whole(again)


def test_unpersisted_plan_is_scanned_again(spark: SparkSession, rows: DataFrame) -> None:
    with _cached(rows.where("id >= 0")) as cached:
        cached.count()
    again = rows.where("id >= 0").groupBy("flag").count()
    assert len(again.collect()) == 3
    assert "InMemoryTableScan" not in again._jdf.queryExecution().executedPlan().toString()
    assert not spark.sparkContext._jsc.sc().getRDDStorageInfo()  # type: ignore[union-attr]


def test_rows_that_spark_computed_are_cached_by_spark(spark: SparkSession, rows: DataFrame) -> None:
    with configured(spark, _VANILLA):
        cached = rows.where("id >= 0")
        cached.persist()
        cached.count()
    try:
        grouped = _grouped(cached)
        assert difference(_vanilla(spark, _grouped(rows)), grouped.collect()) is None
        assert "InMemoryTableScan: Spark computed the cached rows" in pyspark_pipeline.explain(grouped).reasons
    finally:
        cached.unpersist(blocking=True)


def test_types_that_the_engine_does_not_hold_are_cached_by_spark(spark: SparkSession, rows: DataFrame) -> None:
    with _cached(rows.where("id < 10").selectExpr("id", "array(id, 1) AS a", "map(id, day) AS m")) as cached:
        frame = cached.selectExpr("id", "a[0] AS first", "size(m) AS n")
        assert difference(_vanilla(spark, frame), frame.collect()) is None


@pytest.mark.parametrize("compressed", ["true", "false"])
def test_settings_of_the_cache_are_kept(spark: SparkSession, rows: DataFrame, compressed: str) -> None:
    settings = {
        "spark.sql.inMemoryColumnarStorage.compressed": compressed,
        "spark.sql.inMemoryColumnarStorage.batchSize": "500",
    }
    with configured(spark, settings), _cached(rows.where("id >= 0")) as cached:
        assert difference(_vanilla(spark, _grouped(rows)), _grouped(cached).collect()) is None
        one = cached.where("id = 77").groupBy("flag").count()
        one.collect()
        assert _scanned(one) == 500


def test_result_of_an_exchange_is_cached_as_chunks(spark: SparkSession, rows: DataFrame) -> None:
    with _cached(rows.repartition(5, "word")) as cached, _cached(cached.select("word", "flag", "cents")) as twice:
        grouped = _grouped(cached)
        assert difference(_vanilla(spark, _grouped(rows)), grouped.collect()) is None
        _assert_whole(grouped)
        sums = twice.groupBy("word").agg(F.sum("cents"))
        assert difference(_vanilla(spark, rows.groupBy("word").agg(F.sum("cents"))), sums.collect()) is None
        _assert_whole(sums)


def test_cached_sides_are_joined(spark: SparkSession, rows: DataFrame) -> None:
    left, right = rows.where("id < 5000"), rows.groupBy("word").agg(F.count("*").alias("n"))
    query = "SELECT l.id, r.n FROM l JOIN r ON l.word = r.word WHERE l.id % 100 = 3"
    left.createOrReplaceTempView("l")
    right.createOrReplaceTempView("r")
    expected = _vanilla(spark, spark.sql(query))
    with _cached(left), _cached(right):
        for hint in ("", "/*+ BROADCAST(r) */ ", "/*+ MERGE(r) */ "):
            joined = spark.sql(query.replace("SELECT ", f"SELECT {hint}"))
            assert difference(expected, joined.collect()) is None
            _assert_whole(joined)


def test_sorted_cache_keeps_its_order(spark: SparkSession, rows: DataFrame) -> None:
    with _cached(rows.select("id", "text").orderBy(F.desc("id"))) as cached:
        assert [row["id"] for row in cached.select("id").collect()] == list(range(2 * _ROWS - 1, -1, -1))
        assert [row["id"] for row in cached.where("id % 2 = 0").limit(3).collect()] == [11998, 11996, 11994]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_error_of_a_cached_plan_is_that_of_spark(spark: SparkSession, rows: DataFrame, ansi: str) -> None:
    with configured(spark, {"spark.sql.ansi.enabled": ansi}):
        with _cached(rows.selectExpr("id", "CAST(word AS INT) AS n")) as cached:
            if ansi == "false":
                assert cached.agg(F.count("n")).collect()[0][0] == 0
            else:
                with pytest.raises(NumberFormatException, match="CAST_INVALID_INPUT"):
                    cached.agg(F.count("n")).collect()


def test_scan_alone_is_cached_as_chunks_under_the_cost_rule(spark: SparkSession, rows: DataFrame) -> None:
    settings = {"spark.pysparkPipeline.cost.enabled": "true", "spark.pysparkPipeline.cost.minScanBytes": "1"}
    with configured(spark, settings), _cached(rows.where("id >= 0")) as cached:
        grouped = _grouped(cached)
        assert difference(_vanilla(spark, _grouped(rows)), grouped.collect()) is None
        _assert_whole(grouped)
