"""A converted aggregation by keys of an empty stage becomes an empty relation, as Spark's own (adaptive execution)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.sessions import ENABLED, configured, time_limit
from tests.support.tables import TableShelf

_EXCLUDED = "spark.sql.adaptive.optimizer.excludedRules"
_EMPTY = "SELECT k, sum(i) AS s FROM tame WHERE id < 0 GROUP BY k"
_JOIN = f"SELECT a.k, a.s, b.c FROM ({_EMPTY}) a JOIN (SELECT k, count(*) AS c FROM tame GROUP BY k) b ON a.k = b.k"


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool, spark: SparkSession, tables: TableShelf) -> Iterator[None]:
    if vanilla_only:
        pytest.skip("needs the extension")
    tables.use(["tame"])
    with time_limit(spark), configured(spark, {ENABLED: "true", "spark.sql.adaptive.enabled": "true"}):
        yield


def _final_plan(spark: SparkSession, query: str, excluded: str) -> str:
    with configured(spark, {_EXCLUDED: excluded}):
        frame = spark.sql(query)
        assert frame.collect() == []
        return str(frame._jdf.queryExecution().executedPlan().toString()).partition("Initial Plan")[0]


@pytest.mark.parametrize(("query", "relation"), [(_EMPTY, "LocalRows(<empty>"), (_JOIN, "EmptyRelation")])
def test_aggregation_of_an_empty_stage_is_an_empty_relation(spark: SparkSession, query: str, relation: str) -> None:
    plan = _final_plan(spark, query, "none")
    assert relation in plan
    assert "Aggregate" not in plan


@pytest.mark.parametrize(
    "rule",
    ["org.apache.spark.sql.pysparkpipeline.EmptyAggregations",
     "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"],
)  # fmt: skip
def test_excluded_rule_keeps_the_aggregation(spark: SparkSession, rule: str) -> None:
    assert "Aggregate" in _final_plan(spark, _EMPTY, rule)
