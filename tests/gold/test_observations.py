"""The metrics of ``DataFrame.observe`` beside converted operators, as Spark collects them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
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
}


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
    metrics = F.count("*").alias("n"), F.sum("id").alias("s"), F.max("k").alias("m"), F.avg("id").alias("a")
    frame = above(spark.read.parquet(str(folder)).where("k > 1").observe(observation, *metrics))
    frame.collect()
    return frame, observation.get


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_observed_metrics_equal_spark(spark: SparkSession, observed: Path, vanilla_only: bool, aqe: str) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    wrong = []
    for name, above in _ABOVE.items():
        found = []
        for engine in ("false", "true"):
            with configured(spark, {ENABLED: engine, "spark.sql.adaptive.enabled": aqe}):
                frame, metrics = _run(spark, observed, above)
                found.append(metrics)
        assert summary_of(frame).converted > 0, name
        wrong += [f"{name}: {found}"] if found[0] != found[1] else []
    assert wrong == []
