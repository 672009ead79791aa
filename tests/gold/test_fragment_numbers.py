"""A fragment has one number: in explain before and after execution, Spark's UI, the profile, the timeline, the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import pyspark_pipeline
from tests.support.sessions import ENABLED, configured, time_limit
from tests.support.tables import TableShelf

QUERY = """
SELECT t.i, count(*) AS n, (SELECT max(id) FROM tame) AS last FROM tame t
JOIN (SELECT i, min(id) AS m FROM tame GROUP BY i) u ON t.i = u.i GROUP BY t.i ORDER BY t.i"""

#: An operator before fusion, a fragment of Spark's plan, a line of the report below it.
_LABEL = r"[fF]ragment (\d+)"


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool, spark: SparkSession, tables: TableShelf) -> Iterator[None]:
    if vanilla_only:
        pytest.skip("needs the extension")
    tables.use(["tame"])
    with time_limit(spark):
        yield


def _numbers(pattern: str, text: str) -> set[int]:
    return {int(number) for number in re.findall(pattern, text)}


def _explained(frame: DataFrame, mode: str) -> str:
    query = frame._jdf.queryExecution()
    text = query.explainString(frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString(mode))
    return str(text)


def _named_in_ui(spark: SparkSession) -> set[int]:
    """Return the numbers in the names of the boxes on the SQL page of the last query."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    nodes = store.planGraph(store.executionsList().last().executionId()).allNodes()
    names = [nodes.apply(place).name() for place in range(nodes.size())]
    return {int(name.split()[1]) for name in names if name.startswith("PipelineFragment")}


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_every_report_names_fragments_by_the_same_numbers(spark: SparkSession, tmp_path: Path, aqe: str) -> None:
    settings = {ENABLED: "true", "spark.sql.adaptive.enabled": aqe, "spark.pysparkPipeline.metrics.timeline": "true"}
    with configured(spark, settings):
        frame = spark.sql(QUERY)
        planned = _numbers(_LABEL, _explained(frame, "formatted"))
        first = pyspark_pipeline.explain(frame)
        frame.collect()
        ran = {fragment.id for fragment in pyspark_pipeline.explain(frame).fragments}
        profile = pyspark_pipeline.profile(frame)
        pyspark_pipeline.timeline(frame, tmp_path / "trace.json")
        formatted = _numbers(_LABEL, _explained(frame, "formatted"))
        shown = _named_in_ui(spark)
        wire = json.loads(spark._jvm.org.apache.spark.sql.pysparkpipeline.PlanReport.wire(
            frame._jdf.queryExecution().executedPlan()))  # fmt: skip
    assert len(ran) >= 4 and ran == planned == formatted == {fragment.id for fragment in first.fragments}
    assert _numbers(r"(?:^|\n)fragment (\d+)", profile.text) == ran
    assert {fragment["id"] for fragment in profile.fragments} == ran == {entry["plan"]["id"] for entry in wire}
    assert _numbers(r"fragment (\d+)", (tmp_path / "trace.json").read_text()) == ran
    assert shown == ran


def test_fragments_of_two_queries_have_different_numbers(spark: SparkSession) -> None:
    """So do the fragments of a query and of the cached plan that it reads, in one profile."""
    with configured(spark, {ENABLED: "true"}):
        found = [{fragment.id for fragment in pyspark_pipeline.explain(spark.sql(QUERY)).fragments} for _ in range(2)]
    assert found[0] and not found[0] & found[1]
