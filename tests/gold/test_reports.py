"""Reports on a plan: the object of ``explain``, without text that Spark redacts; also from a Spark Connect client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import pyspark_pipeline
from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.spark.explain import summary
from tests.support.sessions import ENABLED, configured, time_limit
from tests.support.tables import TableShelf

_SECRET = "hunter2"
_REDACTION = {ENABLED: "true", "spark.sql.redaction.string.regex": f"(?i){_SECRET}"}


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool, spark: SparkSession, tables: TableShelf) -> Iterator[None]:
    if vanilla_only:
        pytest.skip("needs the extension")
    tables.use(["tame"])
    with time_limit(spark):
        yield


def test_explain_returns_an_object_with_every_reason(spark: SparkSession) -> None:
    query = "SELECT to_xml(struct(1, k)) AS a, luhn_check(k) AS b FROM tame WHERE i > 3"
    with configured(spark, {ENABLED: "true"}):
        frame = spark.sql(query)
        frame.collect()
        made = pyspark_pipeline.explain(frame)
        known = summary(frame)
    counts = (made.operators, made.converted, made.transitions)
    assert counts == (known["operators"], known["converted"], known["transitions"])
    assert list(made.reasons) == known["reasons"] and made.reasons
    assert list(made.decisions) == known["decisions"]
    assert all(reason in str(made) for reason in made.reasons)
    assert [fragment.id for fragment in made.fragments] == [fragment["id"] for fragment in known["fragments"]]
    assert made.fragments[0].metrics["inputRows"] > 0 and "Filter" in made.fragments[0].pipelines[0]


def _texts(spark: SparkSession, query: str) -> list[str]:
    frame = spark.sql(query)
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    reports = spark._jvm.org.apache.spark.sql.pysparkpipeline
    made = pyspark_pipeline.explain(frame)
    line = reports.Report.of(plan).line()  # the log line
    return [str(made), made._repr_html_(), str(summary(frame)), str(pyspark_pipeline.profile(frame)), line]


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_redacted_text_is_in_no_report(spark: SparkSession, aqe: str) -> None:
    padding = "x" * 150  # the label of an operator is cut in the middle of the secret
    queries = [
        f"SELECT id FROM tame WHERE k <> '{_SECRET}'",
        f"SELECT id FROM tame WHERE k <> '{padding}{_SECRET}'",
        f"SELECT id, lag(k, 1, '{_SECRET}') OVER (PARTITION BY i ORDER BY id) AS p FROM tame",
        f"SELECT rlike(concat(k, '{_SECRET}'), k) AS {_SECRET} FROM tame",
    ]
    with configured(spark, {**_REDACTION, "spark.sql.adaptive.enabled": aqe}):
        texts = [text for query in queries for text in _texts(spark, query)]
    assert not [text for text in texts if re.search("hunter|ter2", text)]
    assert any("*********(redacted)" in text for text in texts)
    with configured(spark, {ENABLED: "true"}):
        assert any(_SECRET in text for text in _texts(spark, queries[0]))


def test_fragment_with_redacted_text_is_not_captured(spark: SparkSession, tmp_path: Path) -> None:
    asked = {**_REDACTION, "spark.pysparkPipeline.capture.folder": str(tmp_path)}
    with configured(spark, asked):
        assert spark.sql(f"SELECT id FROM tame WHERE k <> '{_SECRET}'").collect()
        assert spark.sql(f"SELECT id FROM tame WHERE k IN ('a', 'b', '{_SECRET}') OR i > 0").collect()
        assert not list(tmp_path.iterdir())
        assert spark.sql("SELECT id FROM tame WHERE k <> 'public'").collect()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.fixture(scope="module")
def client(spark: SparkSession, vanilla_only: bool) -> Iterator[Any]:
    """Yield a Spark Connect client of a server inside the tests' own session."""
    if vanilla_only:
        pytest.skip("needs the extension")
    pytest.importorskip("grpc")
    pytest.importorskip("zstandard")
    if spark.version.startswith("4.3"):
        pytest.skip("py4j reaches neither SparkEnv nor the server's port here")
    from pyspark.sql.connect.session import SparkSession as ConnectSession  # here: it needs grpc

    jvm = spark._jvm
    service = getattr(getattr(jvm.org.apache.spark.sql.connect.service, "SparkConnectService$"), "MODULE$")
    jvm.org.apache.spark.SparkEnv.get().conf().set("spark.connect.grpc.binding.port", "0")
    service.start(spark.sparkContext._jsc.sc())
    session = ConnectSession.Builder().remote(f"sc://localhost:{service.localPort()}").create()
    yield session
    session.client.close()
    none = jvm.scala.Option.empty()
    service.stop(none, none)


def test_connect_client_queries_run_in_the_engine(spark: SparkSession, client: Any, tables: TableShelf) -> None:
    query = f"SELECT k, count(*) AS n, sum(i) AS s FROM parquet.`{tables.path('tame')}` GROUP BY k ORDER BY k"
    with configured(spark, {ENABLED: "false"}):
        expected = spark.sql(query).collect()
    frame = client.sql(query)
    assert [tuple(row) for row in frame.collect()] == [tuple(row) for row in expected]
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    ran = spark._jsparkSession.sharedState().statusStore().executionsList().last()
    assert "PipelineFragment" in ran.physicalPlanDescription()
    client.conf.set(ENABLED, "false")
    assert [tuple(row) for row in client.sql(query).collect()] == [tuple(row) for row in expected]
    client.conf.unset(ENABLED)


def test_explain_works_from_a_connect_client(client: Any, tables: TableShelf) -> None:
    query = "SELECT to_xml(struct(1, k)) AS s, count(*) AS n FROM parquet.`{}` GROUP BY 1"
    frame = client.sql(query.format(tables.path("tame")))
    made = pyspark_pipeline.explain(frame)
    assert 0 < made.converted < made.operators and made.fragments and made.transitions
    assert any("to_xml" in reason for reason in made.reasons)
    assert made.decisions == ("HashAggregate: input of rows from Project: jvmInput=auto",)
    assert str(made).startswith(f"{made.converted} of {made.operators} operators in pipelines")


def test_profile_from_connect_client_raises_with_reason(client: Any, tmp_path: Path) -> None:
    frame = client.range(3)
    for name, call in {
        "profile": lambda: pyspark_pipeline.profile(frame),
        "timeline": lambda: pyspark_pipeline.timeline(frame, tmp_path / "trace.json"),
        "summary": lambda: summary(frame),
    }.items():
        with pytest.raises(PipelineError, match=f"^{name} reads the driver's JVM, which a Spark Connect client cannot"):
            call()
