"""Samples and coalesced partitions of data frames: the same rows in the same partitions with and without the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pyspark_pipeline.spark.profile import fragments
from tests.support.compare import EXACT, Rule, difference
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, configured, time_limit
from tests.support.tables import TableShelf

Make = Callable[[DataFrame], DataFrame]

ORDERED = Rule(ordered=True)
SMALL_SPLITS = {"spark.sql.files.maxPartitionBytes": "10000", "spark.sql.files.openCostInBytes": "0"}
SEEDS = (0, -1, 42, 2**63 - 1, -(2**63))


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool, spark: SparkSession) -> Iterator[None]:
    if vanilla_only:
        pytest.skip("needs the extension")
    with configured(spark, SMALL_SPLITS), time_limit(spark):
        yield


def _rows(spark: SparkSession, frame: DataFrame, make: Make, aqe: str, engine: str) -> tuple[list[Any], Any]:
    """Return the rows in order, and the conversion."""
    with configured(spark, {ENABLED: engine, "spark.sql.adaptive.enabled": aqe}):
        made = make(frame)
        return made.collect(), summary_of(made) if engine == "true" else None


def _check(spark: SparkSession, frame: DataFrame, make: Make, aqe: str = "true") -> list[Any]:
    """Compare both engines; return the rows. Every operator is converted."""
    expected, _ = _rows(spark, frame, make, aqe, "false")
    found, conversion = _rows(spark, frame, make, aqe, "true")
    assert difference(expected, found, ORDERED) is None
    assert conversion.converted == conversion.operators > 0, conversion
    return found


@pytest.mark.rotates
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fraction", [0.0, 1e-4, 0.5, 1.0])
def test_sample_keeps_the_rows_of_spark(spark: SparkSession, tables: TableShelf, seed: int, fraction: float) -> None:
    tables.use(["small_files", "batch_plus_one"])
    for name in ("small_files", "batch_plus_one"):
        frame = spark.table(name).where("id % 5 <> 2")
        rows = _check(spark, frame, lambda frame: frame.sample(False, fraction, seed))
        assert fraction < 1.0 or len(rows) == frame.count()


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_random_split_covers_all_rows_once(spark: SparkSession, tables: TableShelf, aqe: str) -> None:
    tables.use(["small_files"])
    frame = spark.table("small_files").select("id", "i", "n18", "b")
    parts = [
        _check(spark, frame, lambda frame, part=part: frame.randomSplit([1.0, 2.0, 3.0], seed=-5)[part], aqe)
        for part in range(3)
    ]
    assert all(parts) and sorted(row.id for part in parts for row in part) == list(range(150))


def test_sample_with_replacement_stays_in_spark(spark: SparkSession, tables: TableShelf) -> None:
    tables.use(["small_files"])
    frame = spark.table("small_files")
    expected, _ = _rows(spark, frame, lambda frame: frame.sample(True, 0.7, 3), "true", "false")
    found, conversion = _rows(spark, frame, lambda frame: frame.sample(True, 0.7, 3), "true", "true")
    assert difference(expected, found, ORDERED) is None
    assert any("a sample with replacement is not supported" in reason for reason in conversion.reasons)


def _partitions(spark: SparkSession, frame: DataFrame, engine: str) -> list[list[Any]]:
    """Return the rows of every partition in order."""
    with configured(spark, {ENABLED: engine}):
        made: list[list[Any]] = frame.select("*").rdd.glom().collect()
        return made


@pytest.mark.rotates
@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_coalesced_partitions_are_those_of_spark(spark: SparkSession, tables: TableShelf, count: int) -> None:
    tables.use(["small_files", "empty"])
    files = spark.table("small_files")
    frames = [
        files.where("id <> 3").coalesce(count),
        files.select("id").coalesce(9).coalesce(count),
        spark.range(0, 1000, 7, 13).select((F.col("id") * 2).alias("x")).coalesce(count),
        spark.range(0).coalesce(count),
        spark.table("empty").coalesce(count),
        files.repartition(5, "i").select("id", "i").coalesce(count),
        files.groupBy("i").count().coalesce(1),
        files.sample(False, 0.5, 3).coalesce(count).sample(False, 0.5, 3),
    ]
    with configured(spark, {"spark.sql.adaptive.enabled": "false"}):
        for number, frame in enumerate(frames):
            expected, found = (_partitions(spark, frame, engine) for engine in ("false", "true"))
            assert len(found) == len(expected), number
            rule = EXACT if number in (5, 6) else ORDERED  # the order of rows behind an exchange is free
            for one, other in zip(expected, found, strict=True):
                assert difference(one, other, rule) is None, number


@pytest.mark.parametrize("count", [1, 3])
def test_coalesced_partitions_become_files(spark: SparkSession, tables: TableShelf, tmp_path: Path, count: int) -> None:
    tables.use(["small_files"])
    written = []
    for engine in ("true", "false"):
        folder = tmp_path / engine
        with configured(spark, {ENABLED: engine}):
            spark.table("small_files").coalesce(count).write.parquet(str(folder))
        files = sorted(folder.glob("part-*"))
        written.append([spark.read.parquet(str(file)).collect() for file in files])
    assert len(written[0]) == len(written[1]) == count
    assert all(difference(one, other, ORDERED) is None for one, other in zip(*written, strict=True))


_JOINED = [
    "SELECT k, sum(n), avg(cast(d AS decimal(20, 4))), count(*), min(s), max(s) FROM parts WHERE n % 7 <> 2 GROUP BY k",
    "SELECT count(DISTINCT n), sum(DISTINCT d) FROM parts",
    "SELECT k, x, count(*) FROM parts LATERAL VIEW explode(array(n, k)) e AS x GROUP BY k, x",
    "SELECT b.v, sum(d) FROM parts JOIN VALUES (1, 'one'), (2, 'two') AS b(k, v) USING (k) GROUP BY b.v",
    "SELECT k, collect_list(n) FROM (SELECT /*+ REPARTITION(2, k) */ * FROM parts) GROUP BY k",
    "SELECT /*+ BROADCAST(b) */ a.n, b.d FROM VALUES (5), (17) AS a(n) JOIN parts b USING (n)",
]
_SINGLE = [
    "SELECT n FROM parts",
    "SELECT k, sum(f) FROM parts GROUP BY k",  # the sum of doubles depends on the parts
    "SELECT avg(f), stddev(n) FROM parts",
    "SELECT avg(d) FROM parts",  # Spark adds decimals of few digits as doubles
    "SELECT max(f) FROM parts",
    "SELECT k, percentile_approx(n, 0.5, 3) FROM parts GROUP BY k",
    "SELECT k, sum(p) FROM (SELECT k, spark_partition_id() AS p FROM parts) GROUP BY k",
    "SELECT k, max(m) FROM (SELECT k, monotonically_increasing_id() AS m FROM parts) GROUP BY k",
    "SELECT k, count(*) FROM (SELECT k, rand(3) AS r FROM parts) WHERE r > 0.5 GROUP BY k",
    "SELECT /*+ REPARTITION(3) */ n FROM parts",
    "SELECT count(*) FROM (SELECT n FROM parts ORDER BY n LIMIT 30)",
]


@pytest.mark.parametrize("aqe", ["true", "false"])
@pytest.mark.parametrize("query", [*_JOINED, *_SINGLE])
def test_tasks_read_several_partitions_where_nothing_sees_them(
    spark: SparkSession, tmp_path: Path, query: str, aqe: str
) -> None:
    for part in range(24):
        numbers = [part * 10 + place for place in range(10)]
        columns = {
            "k": [n % 4 for n in numbers], "n": numbers,
            "d": pa.array([Decimal(n).scaleb(-2) for n in numbers], pa.decimal128(8, 2)),
            "s": [f"s{n}" for n in numbers], "f": [1e16 / (n + 1) for n in numbers],
        }  # fmt: skip
        pq.write_table(pa.table(columns), tmp_path / f"{part:02}.parquet")
    sizes = {"spark.sql.files.maxPartitionBytes": "3000", "spark.sql.files.openCostInBytes": "3000"}
    with configured(spark, sizes):
        spark.read.parquet(str(tmp_path)).createOrReplaceTempView("parts")
        frame = spark.sql(query)
        expected, _ = _rows(spark, frame, lambda frame: frame.select("*"), aqe, "false")
        with configured(spark, {ENABLED: "true", "spark.sql.adaptive.enabled": aqe}):
            assert difference(expected, frame.collect(), EXACT) is None
    if spark.conf.get("spark.task.cpus", "1") == "1":
        scans = [f for f in fragments(frame) if '"FileScan"' in json.dumps(f)]
        (instances,) = (len(fragment["instances"]) for fragment in scans)
        assert instances in ((6, 8, 12) if query in _JOINED else (24,))
