"""Spark's launchers with nothing but ``submit-args`` added: spark-submit of a plain job, and the SQL shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes import ROOT, launch, submit_args, told

_JOBS = ROOT / "tests" / "system"
_SMALL = ("--conf", "spark.pysparkPipeline.cost.enabled=false", "--conf", "spark.sql.shuffle.partitions=4")


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _rows(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("ROW")]


def test_a_plain_job_runs_unchanged(tmp_path: Path) -> None:
    job = [str(_JOBS / "jobs_plain.py"), str(tmp_path / "table")]
    vanilla = launch("spark-submit", ["--master", "local[2]", *_SMALL, *job], tmp_path)
    assert vanilla.returncode == 0, told(vanilla)
    assert "Pipeline" not in vanilla.stdout
    pipeline = launch("spark-submit", ["--master", "local[2]", *submit_args(), *_SMALL, *job], tmp_path)
    assert pipeline.returncode == 0, told(pipeline)
    assert _rows(pipeline.stdout) == _rows(vanilla.stdout)
    assert len(_rows(vanilla.stdout)) == 7
    assert "PipelineFragment" in pipeline.stdout


def test_a_jvm_only_driver_runs_fragments(tmp_path: Path) -> None:
    settings = [*_SMALL, "--conf", "spark.sql.catalogImplementation=in-memory"]
    settings += ["--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:memory:{tmp_path.name};create=true"]
    statements = "SELECT id % 3 AS k, count(*) AS n FROM range(1000) GROUP BY 1 ORDER BY 1"
    query = ["-e", f"{statements}; EXPLAIN {statements};"]
    vanilla = launch("spark-sql", ["--master", "local[2]", *settings, *query], tmp_path)
    assert vanilla.returncode == 0, told(vanilla)
    pipeline = launch("spark-sql", ["--master", "local[2]", *submit_args(), *settings, *query], tmp_path)
    assert pipeline.returncode == 0, told(pipeline)
    assert vanilla.stdout.splitlines()[:3] == ["0\t334", "1\t333", "2\t333"]
    assert pipeline.stdout.splitlines()[:3] == vanilla.stdout.splitlines()[:3]
    assert "Pipeline" in pipeline.stdout and "Pipeline" not in vanilla.stdout


def test_where_workers_get_too_little_memory_spark_runs_the_job_and_says_why(tmp_path: Path) -> None:
    settings = [*_SMALL, "--conf", "spark.sql.catalogImplementation=in-memory"]
    settings += ["--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:memory:{tmp_path.name};create=true"]
    settings += ["--master", "local[2]", *submit_args(), "--conf", "spark.executor.pyspark.memory=512m"]
    query = ["-e", "SELECT count(*) FROM range(1000); EXPLAIN SELECT count(*) FROM range(1000);"]
    done = launch("spark-sql", [*settings, *query], tmp_path)
    assert done.returncode == 0, told(done)
    assert done.stdout.splitlines()[0] == "1000" and "Pipeline" not in done.stdout
    told_why = "spark.executor.pyspark.memory gives a worker 512 MiB, it needs 640 or more"
    assert f"pyspark_pipeline cannot start, Spark runs every query itself: {told_why}" in done.stderr
    strict = launch("spark-sql", [*settings, "--conf", "spark.pysparkPipeline.strict=true", *query], tmp_path)
    assert strict.returncode != 0 and told_why in strict.stderr + strict.stdout


def test_killed_workers_are_retried(tmp_path: Path) -> None:
    arguments = ["--master", "local[2,4]", *submit_args(), *_SMALL, str(_JOBS / "jobs_killed.py"), "2"]
    done = launch("spark-submit", arguments, tmp_path)
    assert done.returncode == 0, told(done)
    total = 40_000_000
    assert f"ROWS 1000 {total} {total * (total - 1) // 2}" in done.stdout
    counts = next(line for line in done.stdout.splitlines() if line.startswith("KILLED")).split()
    assert int(counts[1]) >= 2 and int(counts[3]) >= 1, done.stdout
    assert "Pipeline" in done.stdout
