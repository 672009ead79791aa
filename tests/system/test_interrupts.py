"""Ctrl-C and time limits: a query that is given up stops everywhere, and the next one runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.processes import ROOT, computes, descendants, environment, wait_until
from tests.support.sessions import run

_JOB = str(ROOT / "tests" / "system" / "jobs_interrupted.py")
_ROWS = [[0, 100], [1, 100], [2, 100]]
_TIME_LIMIT_S = 240.0


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _reports(program: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert program.stdout is not None
    return (json.loads(line) for line in program.stdout if line.startswith("{"))


@pytest.mark.rotates
@pytest.mark.parametrize("where", ["query", "function"])
def test_ctrl_c_stops_a_query_and_leaves_the_session_usable(where: str) -> None:
    """SIGINT to the process group, as a terminal sends it; the last one to the program alone, which ends."""
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, _JOB, where]
    program = subprocess.Popen(command, **pipes, text=True, env=environment(), cwd=ROOT, start_new_session=True)
    watch = threading.Timer(_TIME_LIMIT_S, program.kill)
    watch.start()
    assert program.stdin is not None
    started: set[int] = set()
    has_ended_early = False
    try:
        reports = _reports(program)
        errors = []
        for name in ("engine", "vanilla"):
            assert next(reports) == {"what": "running", "name": name}
            if name == "engine":
                _wait_for_worker(program.pid)
            started.update(descendants(program.pid))
            os.killpg(program.pid, signal.SIGINT)
            errors.append(next(reports)["error"])
            wait_until(lambda: not computes(program.pid), "no worker should go on")
            program.stdin.write("\n")
            program.stdin.flush()
            assert next(reports) == {"what": "next", "name": name, "rows": _ROWS, "converted": name == "engine"}
        assert errors[0] == errors[1]
        assert next(reports) == {"what": "running", "name": "uncaught"}
        _wait_for_worker(program.pid)
        started.update(descendants(program.pid))
        os.kill(program.pid, signal.SIGINT)
        program.wait(30)
        wait_until(lambda: not any(Path(f"/proc/{process}").exists() for process in started), "nothing should remain")
    except StopIteration:
        has_ended_early = True
    finally:
        watch.cancel()
        program.kill()
        _, log = program.communicate()
    assert not has_ended_early, log
    assert errors[0] in log and "pyspark_pipeline" not in log.partition(errors[0])[2], log


def _wait_for_worker(program: int) -> None:
    wait_until(lambda: computes(program), "the query should run in a worker", 30)


def test_a_broadcast_that_takes_too_long_fails_as_in_spark(spark: SparkSession) -> None:
    """Without AQE, which has no such limit."""
    long = "SELECT id AS k FROM range(0, 200000000000, 1, 2) WHERE id % 1000000007 = 7"
    query = f"SELECT /*+ BROADCAST(b) */ count(*) FROM range(1000) a JOIN ({long}) b ON a.id = b.k"
    settings = {"spark.sql.broadcastTimeout": "1", "spark.sql.adaptive.enabled": "false"}
    vanilla = run(spark, query, pipeline=False, settings=settings)
    pipeline = run(spark, query, pipeline=True, settings=settings)
    assert pipeline.conversion is not None and pipeline.conversion.converted > 0
    assert vanilla.error is not None and pipeline.error == vanilla.error
    assert "broadcast in 1 secs" in vanilla.message and "broadcast in 1 secs" in pipeline.message
    tracker = spark.sparkContext.statusTracker()
    wait_until(lambda: not tracker.getActiveJobsIds(), "the job of the broadcast should be cancelled")
    wait_until(lambda: not computes(os.getpid()), "no worker should go on")
    assert run(spark, "SELECT count(*) FROM range(1000)", pipeline=True).rows == [(1000,)]
