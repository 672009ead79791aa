"""Spark's launchers with only ``submit-args`` added: spark-submit of a plain job, and the SQL shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.conversion import summary_of
from tests.support.processes import ROOT, environment, launch, output_tail, submit_args

_JOBS = ROOT / "tests" / "system"
_SMALL = ("--conf", "spark.pysparkPipeline.cost.enabled=false", "--conf", "spark.sql.shuffle.partitions=4")

_KRYO = (
    "--conf", "spark.serializer=org.apache.spark.serializer.KryoSerializer",
    "--conf", "spark.kryo.registrationRequired=true",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _rows(output: str, kind: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith(f"{kind} ")]


def test_plain_job_runs_unchanged(tmp_path: Path) -> None:
    """Also with Kryo restricted to registered classes, which task results and broadcasts must satisfy."""
    job = [*_SMALL, *_KRYO, str(_JOBS / "jobs_plain.py"), str(tmp_path / "table")]
    vanilla = launch("spark-submit", ["--master", "local[2]", *job], tmp_path)
    assert vanilla.returncode == 0, output_tail(vanilla)
    assert "Pipeline" not in vanilla.stdout
    pipeline = launch("spark-submit", ["--master", "local[2]", *submit_args(), *job], tmp_path)
    assert pipeline.returncode == 0, output_tail(pipeline)
    for kind, count in (("ROW", 7), ("JOINED", 10)):
        assert _rows(pipeline.stdout, kind) == _rows(vanilla.stdout, kind)
        assert len(_rows(vanilla.stdout, kind)) == count
    assert "PipelineFragment" in pipeline.stdout and "PipelineBroadcastExchange" in pipeline.stdout


@pytest.mark.rotates
def test_jvm_only_driver_runs_fragments(tmp_path: Path) -> None:
    settings = [*_SMALL, "--conf", "spark.sql.catalogImplementation=in-memory"]
    settings += ["--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:memory:{tmp_path.name};create=true"]
    statements = "SELECT id % 3 AS k, count(*) AS n FROM range(1000) GROUP BY 1 ORDER BY 1"
    query = ["-e", f"{statements}; EXPLAIN {statements};"]
    vanilla = launch("spark-sql", ["--master", "local[2]", *settings, *query], tmp_path)
    assert vanilla.returncode == 0, output_tail(vanilla)
    pipeline = launch("spark-sql", ["--master", "local[2]", *submit_args(), *settings, *query], tmp_path)
    assert pipeline.returncode == 0, output_tail(pipeline)
    assert vanilla.stdout.splitlines()[:3] == ["0\t334", "1\t333", "2\t333"]
    assert pipeline.stdout.splitlines()[:3] == vanilla.stdout.splitlines()[:3]
    assert "Pipeline" in pipeline.stdout and "Pipeline" not in vanilla.stdout


@pytest.mark.rotates
def test_spark_runs_the_job_if_worker_memory_is_too_small(tmp_path: Path) -> None:
    settings = [*_SMALL, "--conf", "spark.sql.catalogImplementation=in-memory"]
    settings += ["--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:memory:{tmp_path.name};create=true"]
    settings += ["--master", "local[2]", *submit_args(), "--conf", "spark.executor.pyspark.memory=512m"]
    query = ["-e", "SELECT count(*) FROM range(1000); EXPLAIN SELECT count(*) FROM range(1000);"]
    done = launch("spark-sql", [*settings, *query], tmp_path)
    assert done.returncode == 0, output_tail(done)
    assert done.stdout.splitlines()[0] == "1000" and "Pipeline" not in done.stdout
    reason = "spark.executor.pyspark.memory gives a worker 512 MiB, it needs 640 or more"
    assert f"pyspark_pipeline cannot start, Spark runs every query itself: {reason}" in done.stderr
    strict = launch("spark-sql", [*settings, "--conf", "spark.pysparkPipeline.strict=true", *query], tmp_path)
    assert strict.returncode != 0 and reason in strict.stderr + strict.stdout


def test_tasks_of_killed_workers_are_retried(tmp_path: Path) -> None:
    arguments = ["--master", "local[2,4]", *submit_args(), *_SMALL, str(_JOBS / "jobs_killed.py"), "2"]
    done = launch("spark-submit", arguments, tmp_path)
    assert done.returncode == 0, output_tail(done)
    total = 400_000_000
    assert f"ROWS 1000 {total} {total * (total - 1) // 2}" in done.stdout
    counts = next(line for line in done.stdout.splitlines() if line.startswith("KILLED")).split()
    assert int(counts[1]) >= 2 and int(counts[3]) >= 1, done.stdout
    assert "Pipeline" in done.stdout


@pytest.mark.rotates
def test_a_program_with_a_local_connect_server_runs_fragments() -> None:
    command = [sys.executable, str(_JOBS / "jobs_connect.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=240, check=False)
    assert done.returncode == 0, output_tail(done)
    assert "ROWS pyspark.sql.connect.session [(0, 100), (1, 100), (2, 100)]" in done.stdout
    assert int(done.stdout.partition("EXPLAIN ")[2].splitlines()[0]) > 0
    rows = "[(0, 0, 10), (10, 100, 20), (20, 200, 30)]"
    converted, plain = (line for line in done.stdout.splitlines() if line.startswith("FUNCTIONS"))
    assert (converted, plain) == (f"FUNCTIONS 6 {rows}", f"FUNCTIONS 0 {rows}")
    for report in ("profile", "timeline"):
        refused = f"REFUSED {report} reads the driver's JVM, which a Spark Connect client cannot reach"
        assert refused in done.stdout, output_tail(done)


def test_queries_run_in_threads_whose_class_loader_does_not_see_the_jar(spark: SparkSession) -> None:
    """As those of Java's common pool, and those of the Thrift server that open a session."""
    jvm: Any = spark._jvm
    thread = jvm.java.lang.Thread.currentThread()
    loader = thread.getContextClassLoader()
    thread.setContextClassLoader(jvm.java.lang.ClassLoader.getSystemClassLoader())
    try:
        frame = spark.newSession().sql("SELECT id % 3 AS k, count(*) AS n FROM range(300) GROUP BY 1")
        assert sorted(tuple(row) for row in frame.collect()) == [(0, 100), (1, 100), (2, 100)]
        assert "Extended Information (Pipelines)" in frame._jdf.queryExecution().toString()
    finally:
        thread.setContextClassLoader(loader)
    assert summary_of(frame).converted > 0
