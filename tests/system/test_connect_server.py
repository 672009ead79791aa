"""A Spark Connect server of its own process with ``submit-args`` added: what a client observes, as in Spark."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.processes import ROOT, SPARK_HOME, environment, output_tail, submit_args, wait_until

_JOB = str(ROOT / "tests" / "system" / "jobs_connect_client.py")
_CONF = {
    "spark.pysparkPipeline.cost.enabled": "false",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.progress.reportInterval": "200ms",
    "spark.driver.host": "localhost",
    "spark.driver.memory": "1g",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
_WAYS = ("all", "tag", "operation")


@pytest.fixture(scope="module")
def server(vanilla_only: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """Start a server; yield its port and its process."""
    if vanilla_only:
        pytest.skip("needs the extension")
    folder = tmp_path_factory.mktemp("connect")
    with socket.create_server(("127.0.0.1", 0)) as free:
        found = free.getsockname()[1]
    conf = {**_CONF, "spark.connect.grpc.binding.port": str(found)}
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    main = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"]
    command = [str(SPARK_HOME / "bin" / "spark-submit"), *main, *submit_args(), *settings, "spark-internal"]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: _listens(found) or process.poll() is not None, "the server should start", 120)
        assert process.poll() is None, log.read_text()[-4000:]
        yield found, process.pid
    finally:
        process.terminate()
        process.wait(60)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def told(server: tuple[int, int]) -> dict[str, Any]:
    """Return what a client in a process of its own observes."""
    command = [sys.executable, _JOB, *map(str, server)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), cwd=ROOT, timeout=240, check=False
    )
    assert done.returncode == 0, output_tail(done)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_rows_and_errors_equal_spark(told: dict[str, Any]) -> None:
    for name in ("grouped", "joined", "sorted", "divided", "parsed"):
        assert told["engine"][name] == told["vanilla"][name], name
    assert len(told["engine"]["grouped"]) == 3
    assert [told["engine"][name][1] for name in ("divided", "parsed")] == ["DIVIDE_BY_ZERO", "CAST_INVALID_INPUT"]


def test_explain_reports_and_others_say_why_not(told: dict[str, Any]) -> None:
    reports = told["reports"]
    assert reports["converted"] > 3
    for name in ("profile", "timeline"):
        assert reports[name].startswith(f"{name} reads the driver's JVM, which a Spark Connect client cannot reach")


@pytest.mark.parametrize("way", _WAYS)
def test_interrupt_ends_a_long_query_as_in_spark(told: dict[str, Any], way: str) -> None:
    made, expected = (told[engine]["interrupted"][way] for engine in ("engine", "vanilla"))
    assert made["found"] and expected["found"]
    assert made["error"] == expected["error"] and made["error"][1].startswith("OPERATION_CANCELED")
    assert made["next"] == expected["next"] == told["vanilla"]["grouped"]
