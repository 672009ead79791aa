"""The metrics of ``DataFrame.observe``, collected by the engine or beside it, as Spark collects them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, configured

_ABOVE: dict[str, Callable[[DataFrame], DataFrame]] = {
    "nothing": lambda frame: frame,
    "aggregation": lambda frame: frame.groupBy("k").count(),
    "sort": lambda frame: frame.orderBy("id"),
    "first rows of a sort": lambda frame: frame.orderBy("id").limit(3),
    "limit": lambda frame: frame.limit(5),
    "limit below an aggregation": lambda frame: frame.limit(5).groupBy("k").count(),
    "limit below an exchange": lambda frame: frame.selectExpr("id + 1 AS a").limit(5).repartition(2),
    "limit above a filter": lambda frame: frame.where("id > 20").limit(7),
    "limit above an exchange": lambda frame: frame.repartition(2, "k").limit(7),
    "limit above an aggregation": lambda frame: frame.groupBy("k").count().limit(2),
    "two observations": lambda frame: frame.where("k > 2").observe("other", F.count("*").alias("n")).limit(9),
    "ranges": lambda frame: frame.selectExpr("id", "k + 1 AS k").repartitionByRange(3, "id").groupBy("k").count(),
    "join": lambda frame: frame.join(F.broadcast(frame.sparkSession.range(5).toDF("k")), "k").groupBy("k").count(),
    "join without rows": lambda frame: frame.join(F.broadcast(frame.sparkSession.range(9, 9).toDF("k")), "k"),
    "union": lambda frame: frame.union(frame).groupBy("k").count(),
    "coalesced partitions": lambda frame: frame.coalesce(1).groupBy("k").count(),
}

#: The operators above that run without adaptive execution, which would leave out a join without rows, and its input.
_NOT_ADAPTIVE = ("aggregation", "sort", "limit below an exchange", "join without rows")

#: The operators above of which all are converted on every version.
_CONVERTED = {"nothing", "aggregation", "first rows of a sort", "union"}

_METRICS = (
    "count(*) n", "count(if(k > 3, 1, NULL)) + 1 c", "sum(id) s", "max(k) m", "avg(id) a",
    "sum(CAST(id AS DECIMAL(30, 2))) d",
    "min(CAST(id AS STRING)) t", "approx_count_distinct(id) u", "percentile(k, 0.5) p", "collect_set(k) l",
    "max_by(k, id) b",
    "max(named_struct('k', k)) r", "sum(IF(k > 100, id, NULL)) nothing",
)  # fmt: skip
_OF_ONE_PARTITION = (
    "stddev(id / 3D) v", "sum(id / 3D) s", "first(id) f", "collect_list(k) l", "corr(id, k) c",
    "approx_percentile(id, 0.3) p"
)  # fmt: skip


@pytest.fixture(scope="module")
def observed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("observations") / "rows"
    spark.range(0, 20000, 1, 2).selectExpr("id", "id % 7 AS k").write.parquet(str(folder))
    return folder


def _run(
    spark: SparkSession, folder: Path, above: Callable[[DataFrame], DataFrame]
) -> tuple[DataFrame, dict[str, Any]]:
    """Return a frame that has run, and what was observed below the operators ``above``."""
    observation = Observation()
    frame = above(spark.read.parquet(str(folder)).where("k > 1").observe(observation, *map(F.expr, _METRICS)))
    frame.collect()
    return frame, _sorted(observation)


def _sorted(observation: Observation) -> dict[str, Any]:
    """Return the metrics of an observation; of a set the sorted values."""
    return {name: sorted(value) if isinstance(value, list) else value for name, value in observation.get.items()}


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_observed_metrics_equal_spark(spark: SparkSession, observed: Path, vanilla_only: bool, aqe: str) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    wrong = []
    for name in _NOT_ADAPTIVE if aqe == "false" else [name for name in _ABOVE if name != "join without rows"]:
        found = []
        for engine in ("false", "true"):
            with configured(spark, {ENABLED: engine, "spark.sql.adaptive.enabled": aqe}):
                frame, metrics = _run(spark, observed, _ABOVE[name])
                found.append(metrics)
        summary = summary_of(frame)
        assert summary.converted == summary.operators or name not in _CONVERTED, f"{name}: {summary.reasons}"
        wrong += [f"{name}: {found}"] if found[0] != found[1] else []
    assert wrong == []


@pytest.mark.parametrize("rows", ["id < 9000", "id < 1", "id < 0"])
def test_metrics_of_one_partition_follow_the_order_of_its_rows(
    spark: SparkSession, observed: Path, vanilla_only: bool, rows: str
) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    found = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            observation = Observation()
            source = spark.read.parquet(str(observed)).coalesce(1).where(rows)
            frame = source.observe(observation, *map(F.expr, _OF_ONE_PARTITION))
            frame.collect()
            found.append(observation.get)
    summary = summary_of(frame)
    assert summary.converted == summary.operators, summary.reasons
    assert found[0] == found[1]


def test_error_in_a_metric_is_that_of_spark(spark: SparkSession, observed: Path, vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    found = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine, "spark.sql.ansi.enabled": "true"}):
            metric = F.expr("sum(CAST(k AS TINYINT) / (id - 4)) s")
            source = spark.read.parquet(str(observed)).observe(Observation(), metric)
            with pytest.raises(ArithmeticException) as raised:
                source.collect()
            found.append(raised.value.getCondition())
    assert found == ["DIVIDE_BY_ZERO", "DIVIDE_BY_ZERO"]
