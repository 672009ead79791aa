"""Samples and coalesced partitions of data frames: the same rows in the same partitions with and without the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

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
