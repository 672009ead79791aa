"""Expressions that Spark evaluates for the engine: what they leave behind, in plans, metrics and threads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.support.conversion import summary_of
from tests.support.sessions import configured, time_limit
from tests.support.tables import TableShelf

_OPTION = "spark.pysparkPipeline."
_QUERY = "SELECT s RLIKE concat('^.{', id % 3, '}$') AS m, count(*) AS n FROM texts GROUP BY 1"


@pytest.fixture
def session(spark: SparkSession, tables: TableShelf, vanilla_only: bool) -> Iterator[SparkSession]:
    """Yield the session with the option on."""
    if vanilla_only:
        pytest.skip("needs the extension")
    tables.use(["texts"])
    with configured(spark, {_OPTION + "jvmExpressions": "true"}), time_limit(spark):
        yield spark


def _threads(spark: SparkSession) -> list[str]:
    """Return the names of the threads that evaluate expressions, once those of ended tasks had time to end."""
    jvm: Any = spark._jvm
    names: list[str] = []
    for _ in range(50):
        found = [thread.getName() for thread in jvm.java.lang.Thread.getAllStackTraces().keySet()]
        names = [name for name in found if name.startswith("pysparkpipeline evaluation")]
        if not names:
            break
        time.sleep(0.1)
    return names


def _metrics(frame: DataFrame) -> dict[str, int]:
    """Return the sums of the metrics of all nodes of the executed plan."""
    sums: dict[str, int] = {}
    pending = [frame._jdf.queryExecution().executedPlan()]
    while pending:
        node = pending.pop()
        name = node.getClass().getSimpleName()
        if name == "AdaptiveSparkPlanExec":
            pending.append(node.executedPlan())
        if name.endswith("QueryStageExec"):
            pending.append(node.plan())
        entries = node.metrics().iterator()
        while entries.hasNext():
            entry = entries.next()
            sums[entry._1()] = sums.get(entry._1(), 0) + entry._2().value()
        children = node.children().iterator()
        while children.hasNext():
            pending.append(children.next())
    return sums


def test_metrics_count_values_and_time(session: SparkSession) -> None:
    frame = session.sql(_QUERY)
    frame.collect()
    assert summary_of(frame).converted == summary_of(frame).operators
    metrics = _metrics(frame)
    assert metrics["jvmExpressionRows"] == session.table("texts").count()
    assert metrics["jvmExpressionTime"] > 0
    plain = session.sql("SELECT flag, count(*) AS n FROM texts GROUP BY flag")
    plain.collect()
    assert "jvmExpressionRows" not in _metrics(plain)


def test_threads_end_with_their_tasks(session: SparkSession) -> None:
    session.sql(_QUERY).collect()
    assert _threads(session) == []
    with pytest.raises((PySparkException, Py4JError)):
        session.sql("SELECT s RLIKE concat('(', flag) AS a FROM texts WHERE flag = 'R'").collect()
    assert _threads(session) == []
    assert len(session.sql("SELECT s RLIKE concat(flag, '.*') AS a FROM texts LIMIT 1").collect()) == 1
    assert _threads(session) == []


def test_cached_plans_and_replans_keep_expressions(session: SparkSession) -> None:
    expected = sorted(map(str, session.sql(_QUERY).collect()))
    cached = session.sql("SELECT id, s RLIKE concat('^.{', id % 3, '}$') AS m FROM texts").cache()
    try:
        found = cached.groupBy("m").count().collect()
        assert sorted(row["count"] for row in found) == sorted(row.n for row in session.sql(_QUERY).collect())
    finally:
        cached.unpersist()
    with configured(session, {"spark.sql.adaptive.enabled": "false", _OPTION + "batchRows": "7"}):
        assert sorted(map(str, session.sql(_QUERY).collect())) == expected
    with configured(session, {_OPTION + "cost.enabled": "true", _OPTION + "cost.minScanBytes": "0"}):
        assert sorted(map(str, session.sql(_QUERY).collect())) == expected
