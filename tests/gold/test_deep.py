"""Expressions hundreds of levels deep: results equal Spark's, and expressions above the depth limit stay in Spark."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.compare import difference
from tests.support.sessions import run
from tests.support.tables import TableShelf

#: About the maximum of Spark's parser.
_LEVELS = 400

_MOST_LEVELS = 500


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _sum() -> str:
    return "id" + " + i + id" * (_LEVELS // 2)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {_sum()} FROM tame",
        f"SELECT count(*) FROM tame WHERE {_sum()} > 1000",
        f"SELECT {_sum()}, sum({_sum()}) FROM tame GROUP BY {_sum()}",
    ],
    ids=["project", "filter", "aggregate"],
)
def test_deep_expressions_equal_spark(spark: SparkSession, tables: TableShelf, query: str) -> None:
    tables.use(["tame"])
    settings = {"spark.sql.ansi.enabled": "false"}
    vanilla, pipeline = (run(spark, query, pipeline=on, settings=settings) for on in (False, True))
    assert vanilla.error is None, vanilla.message[:200]
    assert pipeline.error is None, pipeline.message[:200]
    assert pipeline.conversion is not None and pipeline.conversion.converted > 0
    assert vanilla.rows is not None and pipeline.rows is not None
    assert difference(vanilla.rows, pipeline.rows) is None


def _negated(spark: SparkSession, levels: int) -> Any:
    expressions = spark._jvm.org.apache.spark.sql.catalyst.expressions
    expression = spark._jsparkSession.range(1).queryExecution().executedPlan().output().apply(0)
    for _ in range(levels - 1):
        expression = expressions.UnaryMinus(expression, False)
    return expression


def test_deeper_expressions_stay_in_spark(spark: SparkSession) -> None:
    shim = spark._jvm.org.apache.spark.sql.pysparkpipeline
    support = shim.Support(False, shim.Exclusions.none(), False)
    assert support.reason(_negated(spark, _MOST_LEVELS)).isEmpty()
    reason = f"an expression is nested more than {_MOST_LEVELS} levels deep"
    for levels in (_MOST_LEVELS + 1, 5000):
        assert support.reason(_negated(spark, levels)).get() == reason
