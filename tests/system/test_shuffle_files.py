"""Shuffle files that workers write: damaged ones are computed again, none is left behind, Spark's settings hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.support.conversion import summary_of
from tests.support.processes import ROOT, SPARK_HOME, environment, output_tail, submit_args
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
    jvm: Any = spark._jvm
    folders = jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager().localDirs()
    return {path for folder in folders for path in Path(folder.getPath()).rglob(pattern)}


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
        left = {path for path in _files(spark, "*") - before if path.is_file()}
        assert not [path for path in left if "temp_" in path.name or ".data." in path.name or path.suffix == ""]


_CLUSTER = ["spark.master=local-cluster[2,1,512]", "spark.locality.wait=0s"]
_CASES = {
    "cluster": _CLUSTER,
    "zstd": [
        "spark.io.compression.codec=zstd",
        "spark.shuffle.checksum.algorithm=CRC32",
        "spark.pysparkPipeline.exchange.bufferBytes=20000",
    ],
    "plain": ["spark.shuffle.compress=false", "spark.shuffle.checksum.enabled=false"],
    "encrypted": ["spark.io.encryption.enabled=true"],
}


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
