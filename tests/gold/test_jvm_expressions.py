"""Expressions that Spark evaluates for the engine: what they leave behind, in plans, metrics and threads."""

from __future__ import annotations

import subprocess
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pyspark_pipeline.expressions import manifest
from pyspark_pipeline.shim_build import find_spark
from tests.support.compare import difference
from tests.support.conversion import plan_nodes, summary_of
from tests.support.goldfile import read, settings_of
from tests.support.sessions import configured, run, time_limit
from tests.support.tables import TableShelf

_OPTION = "spark.pysparkPipeline."
_ON = {_OPTION + "jvmExpressions": "true"}
_QUERY = "SELECT s RLIKE concat('^.{', id % 3, '}$') AS m, count(*) AS n FROM texts GROUP BY 1"


@pytest.fixture
def session(spark: SparkSession, tables: TableShelf, vanilla_only: bool) -> Iterator[SparkSession]:
    """Yield the session with the option on."""
    if vanilla_only:
        pytest.skip("needs the extension")
    tables.use(["texts"])
    with configured(spark, _ON), time_limit(spark):
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


def test_expressions_see_the_settings_of_the_session_in_every_action(session: SparkSession, tmp_path: Path) -> None:
    session.sql("SELECT cast(id AS string) AS y FROM range(50, 99)").write.parquet(str(tmp_path / "years"))
    with configured(session, {"spark.sql.legacy.timeParserPolicy": "LEGACY"}):
        years = session.read.parquet(str(tmp_path / "years")).selectExpr("to_timestamp(y, 'yy') AS t")
        frame = years.groupBy("t").count()
        assert not summary_of(frame).reasons
        for rows in (frame.collect(), frame.rdd.collect(), list(frame.toLocalIterator())):
            assert {row["t"].year for row in rows} == set(range(1950, 1999))


def test_session_variables_stay_in_spark(session: SparkSession) -> None:
    session.sql("DECLARE OR REPLACE VARIABLE engine_test_number INT DEFAULT 3")
    folding = "org.apache.spark.sql.catalyst.optimizer.ConstantFolding"
    query = "SELECT sum(length(s) + engine_test_number) AS n FROM texts"
    settings = {"spark.sql.optimizer.excludedRules": folding}
    expected, found = (run(session, query, pipeline=engine, settings=settings) for engine in (False, True))
    session.sql("DROP TEMPORARY VARIABLE engine_test_number")
    assert found.rows is not None and found.rows == expected.rows, found.message


def _metrics(frame: DataFrame) -> dict[str, int]:
    """Return the sums of the metrics of all nodes of the executed plan."""
    sums: dict[str, int] = {}
    for node in plan_nodes(frame._jdf.queryExecution().executedPlan()):
        entries = node.metrics().iterator()
        while entries.hasNext():
            entry = entries.next()
            sums[entry._1()] = sums.get(entry._1(), 0) + entry._2().value()
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


_UDF = """
package marks

import java.util.function.Consumer

import org.apache.spark.sql.{Encoder, Encoders, SparkSession, functions}
import org.apache.spark.sql.api.java.UDF1
import org.apache.spark.sql.expressions.Aggregator

class AddMark extends UDF1[String, String] {
  override def call(text: String): String = if (text == "R!") throw new IllegalStateException("no mark") else text + "!"
}

object Longest extends Aggregator[String, String, String] {
  override def zero: String = ""
  override def reduce(longest: String, text: String): String = merge(longest, if (text == null) "" else text)
  override def merge(a: String, b: String): String = if (b.length > a.length) b else a
  override def finish(text: String): String = if (text == "R") throw new IllegalStateException("no R") else text
  override def bufferEncoder: Encoder[String] = Encoders.STRING
  override def outputEncoder: Encoder[String] = Encoders.STRING
}

class RegisterLongest extends Consumer[SparkSession] {
  override def accept(session: SparkSession): Unit =
    session.udf.register("longest", functions.udaf(Longest, Encoders.STRING))
}
"""


@pytest.fixture(scope="module")
def _mark_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a jar with the classes of a user's functions, compiled by the compiler in Spark's jars."""
    folder = tmp_path_factory.mktemp("udf")
    source, classes = folder / "AddMark.scala", folder / "classes"
    source.write_text(_UDF)
    classes.mkdir()
    jars = f"{find_spark().jars}/*"
    command = ["java", "-cp", jars, "scala.tools.nsc.Main", "-classpath", jars, "-d", str(classes), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    jar = folder / "marks.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in classes.rglob("*.class"):
            archive.write(path, path.relative_to(classes).as_posix())
    return jar


def test_functions_of_java_run_in_fragments(session: SparkSession, _mark_jar: Path) -> None:
    session.sql(f"ADD JAR '{_mark_jar}'")
    session.udf.registerJavaFunction("add_mark", "marks.AddMark", "string")
    query = "SELECT add_mark(flag) AS m, count(*) AS n FROM texts GROUP BY 1"
    vanilla, ours = (run(session, query, pipeline=on, settings=_ON) for on in (False, True))
    assert sorted(map(str, vanilla.rows or ())) == sorted(map(str, ours.rows or ()))
    assert len(ours.rows or ()) == 4
    assert ours.conversion is not None
    assert ours.conversion.converted == ours.conversion.operators
    raising = "SELECT add_mark(add_mark(flag)) AS m FROM texts"
    failed, raised = (run(session, raising, pipeline=on, settings=_ON) for on in (False, True))
    assert failed.error == raised.error
    assert failed.error is not None
    assert "FAILED_EXECUTE_UDF" in str(raised.error) or "FAILED_EXECUTE_UDF" in raised.message


def test_aggregate_functions_of_scala_run_in_fragments(session: SparkSession, _mark_jar: Path) -> None:
    session.sql(f"ADD JAR '{_mark_jar}'")
    jvm: Any = session._jvm
    loader = session._jsparkSession.sharedState().jarClassLoader()
    registration = jvm.java.lang.Class.forName("marks.RegisterLongest", True, loader)
    registration.getConstructors()[0].newInstance(None).accept(session._jsparkSession)
    for query in (
        "SELECT flag, longest(s) AS a, longest(s2) AS b, count(*) AS n FROM texts GROUP BY flag",
        "SELECT id, longest(s) AS a FROM texts GROUP BY id",
        "SELECT longest(upper(s2)) AS a FROM texts WHERE id > 3",
    ):
        vanilla, ours = (run(session, query, pipeline=on, settings=_ON) for on in (False, True))
        assert vanilla.rows is not None
        assert sorted(map(str, vanilla.rows)) == sorted(map(str, ours.rows or ())), query
        assert ours.conversion is not None
        assert ours.conversion.converted == ours.conversion.operators, query
    raising = "SELECT id, longest(flag) AS m FROM texts GROUP BY id"
    failed, raised = (run(session, raising, pipeline=on, settings=_ON) for on in (False, True))
    assert failed.error == raised.error
    assert "no R" in failed.message
    assert "no R" in raised.message


def test_reverted_functions_are_those_of_spark(session: SparkSession) -> None:
    """Without rows to group, the cost rule leaves the region, and the function, to Spark."""
    settings = {**_ON, _OPTION + "cost.enabled": "true"}
    query = "SELECT mode(s) AS m, hll_sketch_estimate(hll_sketch_agg(s2)) AS n FROM texts"
    vanilla, ours = (run(session, query, pipeline=on, settings=settings) for on in (False, True))
    assert vanilla.rows == ours.rows
    assert ours.conversion is not None
    assert ours.conversion.converted == 0


_FILES = sorted((Path(__file__).parent / "expressions").glob("*.sql"))
_EXCLUDED = ",".join(sorted(name for name in manifest() if "(" not in name and name not in ("Alias", "JvmExpression")))


@pytest.mark.rotates
@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_spark_evaluates_what_the_engine_does(session: SparkSession, tables: TableShelf, path: Path) -> None:
    """Every fifth statement about expressions has Spark's rows or error if Spark evaluates all of them in fragments."""
    gold = read(path)
    tables.use(gold.tables)
    first = settings_of(gold.combinations[0])
    for statement in gold.statements[::5]:
        settings = {**first, **statement.settings, **_ON, _OPTION + "exclude": _EXCLUDED}
        plain = {**first, **statement.settings, **statement.oracle}
        vanilla = run(session, statement.sql, pipeline=False, settings=plain)
        ours = run(session, statement.sql, pipeline=True, settings=settings)
        assert ours.error == vanilla.error, f"{path.name}:{statement.line}: {ours.message}"
        if vanilla.rows is not None and ours.rows is not None:
            assert difference(vanilla.rows, ours.rows, statement.rule) is None, f"{path.name}:{statement.line}"
