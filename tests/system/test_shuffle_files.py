"""Files that workers write: damaged ones are computed again, none is left behind, Spark's settings hold."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from tests.support.conversion import summary_of
from tests.support.processes import ROOT, SPARK_HOME, environment, launch, output_tail, submit_args, wait_until
from tests.support.sessions import configured

_SETTINGS = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "3"}
_QUERY = """
    SELECT k, count(*) AS n, sum(d) AS s, max(t) AS t
    FROM (SELECT id % 1000 AS k, CAST(id AS decimal(15, 2)) AS d, concat('text ', id) AS t FROM range(0, 100000, 1, 2))
    GROUP BY k
"""


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _files(spark: SparkSession, pattern: str) -> set[Path]:
    """Return the files in the folder of the session's blocks; py4j cannot ask Spark 4.3's ``SparkEnv``."""
    jvm: Any = spark._jvm
    resolver = jvm.org.apache.spark.sql.pysparkpipeline.MapFiles.manager().shuffleBlockResolver()
    return set(Path(resolver.getDataFile(0, 0).getPath()).parents[1].rglob(pattern))


def _rows(frame: DataFrame) -> list[Any]:
    return sorted(frame.collect())


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def _remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [_flip, _truncate, _remove], ids=lambda damage: damage.__name__[1:])
def test_damaged_output_is_computed_again(spark: SparkSession, damage: Callable[[Path], None]) -> None:
    with configured(spark, _SETTINGS):
        before = _files(spark, "shuffle_*.data")
        frame = spark.sql(_QUERY)
        expected = _rows(frame)
        written = _files(spark, "shuffle_*.data") - before
        assert len(written) == 2 and summary_of(frame).converted == summary_of(frame).operators
        for path in written:
            damage(path)
        assert _rows(frame) == expected and len(expected) == 1000


def test_jvm_writes_if_told_so(spark: SparkSession) -> None:
    with configured(spark, _SETTINGS):
        expected = _rows(spark.sql(_QUERY))
        with configured(spark, {"spark.pysparkPipeline.exchange.workerFiles": "false"}):
            assert _rows(spark.sql(_QUERY)) == expected


def test_failed_task_leaves_no_file(spark: SparkSession) -> None:
    failing = _QUERY.replace("id % 1000 AS k", "1 / (id - 99999) AS k")
    with configured(spark, _SETTINGS | {"spark.sql.ansi.enabled": "true"}):
        before = _files(spark, "*")
        with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
            spark.sql(failing).collect()

        def unfinished() -> list[Path]:
            left = {path for path in _files(spark, "*") - before if path.is_file()}
            return [path for path in left if "temp_" in path.name or ".data." in path.name or path.suffix == ""]

        # The other task of the stage ends when it learns that the job has failed.
        wait_until(lambda: not unfinished(), "failed tasks leave no file", limit_s=60)


_GROUPS = "(SELECT id % 10 AS k, count(*) AS n FROM range(0, 100, 1, 2) GROUP BY 1)"
_CHECKSUMS = "spark.sql.shuffle.orderIndependentChecksum"


@pytest.mark.parametrize(
    ("query", "level", "compared"),
    [
        (f"SELECT /*+ REPARTITION(3, n) */ * FROM {_GROUPS}", "UNORDERED", "UNORDERED"),
        (f"SELECT /*+ REPARTITION(3) */ * FROM {_GROUPS}", "INDETERMINATE", "INDETERMINATE"),
        (
            f"SELECT /*+ REPARTITION(2, n) */ n FROM (SELECT n, rand(3) AS r FROM {_GROUPS}) WHERE r > 0.5",
            "UNORDERED",
            "INDETERMINATE",
        ),
        ("SELECT /*+ REPARTITION(3) */ id FROM range(0, 9, 1, 2) WHERE rand(3) > 0.5", "DETERMINATE", "DETERMINATE"),
        ("SELECT /*+ REPARTITION(3, i) */ now_(id) AS i FROM range(0, 9, 1, 2)", "DETERMINATE", "INDETERMINATE"),
    ],
    ids=["hash", "round robin", "rand", "rand of ordered rows", "user function"],
)
def test_spark_learns_whether_a_retry_repeats_the_rows(
    spark: SparkSession, query: str, level: str, compared: str
) -> None:
    """Spark 4.3 compares checksums of rows by default; workers compute none."""
    spark.udf.register("now_", udf(lambda x: x, "bigint").asNondeterministic())
    found = []
    for compares in ("false", "true"):
        settings = {f"{_CHECKSUMS}.enabled": compares, f"{_CHECKSUMS}.enableFullRetryOnMismatch": compares}
        with configured(spark, _SETTINGS | settings):
            exchange = _exchanges(spark.sql(query)._jdf.queryExecution().executedPlan())[0]
            found.append(exchange.shuffleDependency().rdd().outputDeterministicLevel().toString())
    assert found == [level, compared]


def _exchanges(plan: Any) -> list[Any]:
    """Return the exchanges of a plan from the top down."""
    children = plan.children()
    below = [exchange for i in range(children.size()) for exchange in _exchanges(children.apply(i))]
    return [plan, *below] if plan.nodeName() == "PipelineExchange" else below


_CLUSTER = ["spark.master=local-cluster[2,1,512]", "spark.locality.wait=0s"]
_CASES = {  # with --every 3 a run has that of the cluster
    "plain": ["spark.shuffle.compress=false", "spark.shuffle.checksum.enabled=false"],
    "cluster": _CLUSTER,
    "zstd": [
        "spark.io.compression.codec=zstd",
        "spark.shuffle.checksum.algorithm=CRC32",
        "spark.pysparkPipeline.exchange.bufferBytes=20000",
    ],
    "encrypted": ["spark.io.encryption.enabled=true"],
}


@pytest.mark.rotates
@pytest.mark.parametrize("case", _CASES)
def test_settings_of_spark_hold(case: str) -> None:
    """A job in a session of its own compares engine and Spark."""
    job = str(ROOT / "tests" / "system" / "jobs_shuffle_files.py")
    settings = ["spark.ui.enabled=false", "spark.driver.host=localhost", "spark.pysparkPipeline.cost.enabled=false"]
    settings += ["spark.sql.shuffle.partitions=5", "spark.executor.memory=512m", *_CASES[case]]
    words = [word for setting in settings for word in ("--conf", setting)]
    master = [] if _CASES[case][:1] == _CLUSTER[:1] else ["--master", "local[2]"]
    command = [str(SPARK_HOME / "bin" / "spark-submit"), *master, *submit_args(), *words, job]
    variables = environment() | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=300, check=False)
    assert done.returncode == 0, output_tail(done)
    assert "EQUAL True" in done.stdout and "CONVERTED True" in done.stdout, output_tail(done)


def _killed_writer(kind: str, folder: Path) -> dict[str, Any]:
    """Run the job of a worker that is killed within a file of ``kind``; return what it prints."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "localhost",
        "spark.local.dir": str(folder),
        "spark.pysparkPipeline.cost.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.hadoop.parquet.block.size": str(4 << 20),
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    job = [str(ROOT / "tests" / "system" / "jobs_killed_writer.py"), kind, str(folder)]
    done = launch("spark-submit", ["--master", "local[2,4]", *submit_args(), *words, *job], folder)
    assert done.returncode == 0, output_tail(done)
    found: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert found["killed"][0] > 0 and found["failed"] > 0 and not found["left"], found
    return found


@pytest.mark.rotates
def test_worker_killed_within_its_file_leaves_none(tmp_path: Path) -> None:
    found = _killed_writer("shuffle", tmp_path)
    groups = [[v for v in range(2_000_000) if v % 1000 % 3 == g] for g in range(3)]
    assert found["rows"] == [[g, len(values), sum(values), True] for g, values in enumerate(groups)]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.rotates
def test_worker_killed_within_a_file_of_a_table_leaves_none(tmp_path: Path) -> None:
    found = _killed_writer("parquet", tmp_path)
    assert found["rows"] == [[3_000_000, sum(range(3_000_000)), 3_000_000]]
    names = sorted(path.name.partition("-")[0] for path in tmp_path.rglob("*") if path.is_file())
    assert names == ["._SUCCESS.crc", "_SUCCESS", "part", "part"]
