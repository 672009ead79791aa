"""The Python processes of a session: functions that stay in Spark use Spark's workers, fragments use their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from tests.support.conversion import summary_of
from tests.support.processes import ROOT, descendants, environment, kill, output_tail, python_workers
from tests.support.sessions import ENABLED, configured

_OWN = "pyspark_pipeline.spark.daemon"
_QUERY = "SELECT id % 3 AS k, count(*) AS n FROM range(0, 300, 1, 1) GROUP BY 1"
_LONG_QUERY = "SELECT id % 1000 AS k, count(*), sum(id) FROM range(0, 2000000000, 1, 2) GROUP BY 1"


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _rows(spark: SparkSession) -> list[tuple[Any, ...]]:
    frame: DataFrame = spark.sql(_QUERY)
    rows = sorted(tuple(row) for row in frame.collect())
    assert summary_of(frame).converted > 0
    return rows


_EXPECTED = [(0, 100), (1, 100), (2, 100)]


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Yield a folder whose path Spark accepts for sockets: shorter than 61 bytes, which `tmp_path` may not be."""
    with tempfile.TemporaryDirectory(prefix="sockets-", dir="/tmp") as folder:
        yield Path(folder)


def _daemons(module: str) -> list[int]:
    """Return the daemons below this process, without the workers that they forked."""
    command = f"-m\0{module}\0".encode()
    found = [pid for pid in descendants(os.getpid()) if command in _read(pid, "cmdline")]
    workers = {worker for pid in found for worker in descendants(pid)}
    return [pid for pid in found if pid not in workers]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # the process has ended
        return b""


def _environment(pid: int) -> dict[str, str]:
    entries = _read(pid, "environ").decode().split("\0")
    return {name: value for name, _, value in (entry.partition("=") for entry in entries)}


@contextmanager
def _started_with(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set static settings for the ``with`` block; Spark reads these settings again for each task."""
    conf = spark.sparkContext._jsc.sc().conf()
    before = {key: conf.get(key) for key in settings if conf.contains(key)}
    try:
        for key, value in settings.items():
            conf.set(key, value)
        yield
    finally:
        for key in settings:
            conf.set(key, before[key]) if key in before else conf.remove(key)


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_user_functions_that_stay_in_spark_run_in_its_own_workers(spark: SparkSession, enabled: str) -> None:
    assert _rows(spark) == _EXPECTED

    @udf
    def facts() -> str:  # type: ignore[misc,unused-ignore]
        daemon = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().decode().split("\0")[1:3]
        sockets = [os.environ.get("PYTHON_UNIX_DOMAIN_ENABLED"), bool(os.environ.get("PYTHON_WORKER_FACTORY_SECRET"))]
        loaded = sorted({name.split(".")[0] for name in sys.modules} & {"numba", "pyspark_pipeline"})
        return f"{daemon} {sockets} {loaded}"

    with configured(spark, {ENABLED: enabled, "spark.pysparkPipeline.exclude": "BatchEvalPythonExec"}):
        assert spark.range(1).select(facts()).first() == ("['-m', 'pyspark.daemon'] [None, True] []",)
    conf = spark.sparkContext.getConf()
    assert not conf.contains("spark.python.daemon.module")
    assert not conf.contains("spark.python.unix.domain.socket.enabled")


def test_workers_of_fragments_listen_on_tcp_with_sparks_secret(spark: SparkSession) -> None:
    assert _rows(spark) == _EXPECTED
    daemons = [_environment(pid) for pid in _daemons(_OWN)]
    assert daemons
    for variables in daemons:
        assert "PYTHON_UNIX_DOMAIN_ENABLED" not in variables
        assert len(variables["PYTHON_WORKER_FACTORY_SECRET"]) >= 64


_UDF = "spark.sql.execution.pyspark.udf."


@pytest.mark.parametrize(
    ("static", "runtime", "variables"),
    [
        ({"spark.python.daemon.module": "pyspark.daemon"}, {}, set()),
        ({"spark.python.worker.reuse": "false"}, {f"{_UDF}daemonKillWorkerOnFlushFailure": "false"}, set()),
        (
            {},
            {
                f"{_UDF}faulthandler.enabled": "true",
                f"{_UDF}idleTimeoutSeconds": "60",
                f"{_UDF}killOnIdleTimeout": "true",
                f"{_UDF}tracebackDumpIntervalSeconds": "60",
            },
            {"PYTHON_FAULTHANDLER_DIR", "PYTHON_TRACEBACK_DUMP_INTERVAL_SECONDS"},
        ),
        (
            {"spark.python.unix.domain.socket.enabled": "true"},
            {"spark.sql.execution.pandas.udf.buffer.size": "65537"},  # else a daemon that listens on TCP serves
            {"PYTHON_UNIX_DOMAIN_ENABLED"},
        ),
    ],
    ids=["the user's daemon", "no reuse", "watched workers", "unix domain sockets"],
)
def test_spark_worker_settings_apply_to_fragments(
    spark: SparkSession, short_folder: Path, static: dict[str, str], runtime: dict[str, str], variables: set[str]
) -> None:
    before = set(_daemons(_OWN))
    folder = {"spark.python.unix.domain.socket.dir": str(short_folder)}
    with _started_with(spark, {**static, **folder}), configured(spark, runtime):
        assert [_rows(spark) for _ in range(2)] == [_EXPECTED, _EXPECTED]
    started = set(_daemons(_OWN)) - before
    assert len(started) == (1 if runtime else 0)
    assert all(variables <= _environment(pid).keys() for pid in started)
    assert bool(list(short_folder.glob(".*.sock"))) == ("PYTHON_UNIX_DOMAIN_ENABLED" in variables)
    assert _rows(spark) == _EXPECTED


def _first_query(*arguments: str) -> dict[str, Any]:
    """Run a program in a session of its own; return the workers before and after its first query, and the rows."""
    program = str(ROOT / "tests" / "system" / "jobs_first_worker.py")
    command = [sys.executable, program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=180)
    assert done.returncode == 0, output_tail(done)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.rotates
def test_first_worker_starts_before_first_query() -> None:
    found = _first_query("wait")
    assert found["rows"] == [list(row) for row in _EXPECTED]
    assert len(found["before"]) == 1 and set(found["before"]) <= set(found["after"])


@pytest.mark.rotates
def test_disabled_extension_starts_no_worker_and_checks_no_option() -> None:
    """Nothing starts before a session enables the extension, and a wrong option fails no start."""
    wrong = [f"spark.pysparkPipeline.{setting}" for setting in ("strict=true", "batchRows=many")]
    found = _first_query("enable", "spark.pysparkPipeline.enabled=false", *wrong)
    rows = [list(row) for row in _EXPECTED]
    assert found == {"before": [], "after": [], "rows": rows, "enabled": {"rows": rows, "workers": 1}}


@pytest.mark.rotates
def test_session_without_daemon_stays_in_spark() -> None:
    found = _first_query("enable", "spark.python.use.daemon=false")
    rows = [list(row) for row in _EXPECTED]
    assert found == {"before": [], "after": [], "rows": rows, "enabled": {"rows": rows, "workers": 0}}


def test_queries_after_a_killed_worker_succeed(spark: SparkSession) -> None:
    """Tasks of a local session have one attempt: only the query of the killed worker fails."""
    assert _rows(spark) == _EXPECTED
    for worker in python_workers(os.getpid()):
        kill(worker)
    assert _rows(spark) == _EXPECTED
    errors: list[Exception] = []

    def fails() -> None:
        try:
            spark.sql(_LONG_QUERY).collect()
        except (PySparkException, Py4JError) as error:
            errors.append(error)

    thread = threading.Thread(target=fails)
    thread.start()
    time.sleep(1)
    for worker in python_workers(os.getpid()):
        kill(worker)
    thread.join()
    assert "Python worker exited unexpectedly" in str(errors[0])
    assert [_rows(spark) for _ in range(5)] == [_EXPECTED] * 5


@pytest.mark.parametrize("is_together", [True, False], ids=["at once", "daemon first"])
def test_queries_after_a_killed_daemon_and_its_idle_workers_succeed(spark: SparkSession, is_together: bool) -> None:
    """Spark's pool gives tasks the killed workers: it cannot tell their daemon, or takes zombies for live."""
    assert _rows(spark) == _EXPECTED
    daemons = _daemons(_OWN)
    workers = [worker for daemon in daemons for worker in descendants(daemon)]
    assert workers
    for daemon in daemons:
        kill(daemon)
    if not is_together:
        assert _rows(spark) == _EXPECTED
    for worker in workers:
        kill(worker)
    assert [_rows(spark) for _ in range(3)] == [_EXPECTED] * 3
