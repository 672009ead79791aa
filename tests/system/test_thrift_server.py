"""Spark's Thrift server with ``submit-args`` added: time limits, reports and options of a JDBC client."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.support.processes import SPARK_HOME, environment, submit_args, wait_until

_STARTED = re.compile(r"Starting ThriftBinaryCLIService on port (\d+)")
_CONF = {
    "spark.pysparkPipeline.cost.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.enabled": "false",
    "spark.driver.host": "localhost",
    "spark.python.task.killTimeout": "60s",
}
_HIVE = {"hive.server2.thrift.port": "0", "hive.server2.thrift.bind.host": "127.0.0.1"}
_QUERY = "SELECT id % 3 AS k, count(*) AS n FROM range(0, 300, 1, 2) GROUP BY 1 ORDER BY 1"
_ROWS = [["0", "100"], ["1", "100"], ["2", "100"]]
_LONG_QUERY = "SELECT id % 1000 AS k, count(*), sum(id) FROM range(0, 200000000000, 1, 4) GROUP BY 1"


class Client:
    """A JDBC connection; queries return rows of texts."""

    def __init__(self, spark: SparkSession, port: int) -> None:
        jvm: Any = spark._jvm
        gateway: Any = spark.sparkContext._gateway
        no_arguments = gateway.new_array(jvm.java.lang.Object, 0)
        driver = jvm.java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver").getDeclaredConstructors()[0]
        url = f"jdbc:hive2://127.0.0.1:{port}/default"
        self._connection = driver.newInstance(no_arguments).connect(url, jvm.java.util.Properties())

    def run(self, text: str, limit_s: int = 0) -> list[list[str]]:
        """Run a statement, with a time limit of the client if ``limit_s`` is positive."""
        statement = self._connection.createStatement()
        try:
            if limit_s:
                statement.setQueryTimeout(limit_s)
            if not statement.execute(text):
                return []
            made = statement.getResultSet()
            columns = range(1, made.getMetaData().getColumnCount() + 1)
            rows = []
            while made.next():
                rows.append([made.getString(column) for column in columns])
            return rows
        finally:
            statement.close()

    def error(self, text: str, limit_s: int = 0) -> str:
        """Run a statement that fails; return the class and the message of the error."""
        with pytest.raises(Py4JJavaError) as caught:
            self.run(text, limit_s)
        error = caught.value.java_exception
        return f"{error.getClass().getSimpleName()}: {error.getMessage()}"

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@pytest.fixture(scope="module")
def port(vanilla_only: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Start a server of its own process; yield its port."""
    if vanilla_only:
        pytest.skip("needs the extension")
    folder = tmp_path_factory.mktemp("thrift")
    log = folder / "log"
    settings = [part for key, value in _CONF.items() for part in ("--conf", f"{key}={value}")]
    hive = [part for key, value in _HIVE.items() for part in ("--hiveconf", f"{key}={value}")]
    main = ["--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "--master", "local[2]"]
    command = [str(SPARK_HOME / "bin" / "spark-submit"), *main, *submit_args(), *settings, "spark-internal", *hive]
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=folder, env=environment(), stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: _port(log) is not None or server.poll() is not None, "the server should start", 120)
        found = _port(log)
        assert found is not None, log.read_text()[-4000:]
        yield found
    finally:
        server.terminate()
        server.wait(60)


def _port(log: Path) -> int | None:
    found = _STARTED.search(log.read_text())
    return int(found[1]) if found else None


@pytest.fixture
def client(spark: SparkSession, port: int) -> Iterator[Client]:
    """Yield a connection of its own session."""
    made = Client(spark, port)
    yield made
    made.close()


def test_the_query_after_one_that_timed_out_does_not_wait_for_its_tasks(client: Client) -> None:
    """The server's option ``spark.python.task.killTimeout`` would make it wait."""
    assert client.run(_QUERY) == _ROWS
    assert client.error(_LONG_QUERY, 2).startswith("SQLTimeoutException")
    start = time.monotonic()
    assert client.run(_QUERY) == _ROWS
    client.run("SET spark.sql.thriftServer.queryTimeout=2")
    assert client.error(_LONG_QUERY).startswith("SQLTimeoutException")
    client.run("SET spark.sql.thriftServer.queryTimeout=0")
    assert client.run(_QUERY) == _ROWS
    assert time.monotonic() - start < 40


def test_explain_statement_shows_fragments_and_reasons(client: Client) -> None:
    text = client.run("EXPLAIN SELECT to_xml(struct(1, string(id))) AS a FROM range(9) WHERE id > 3")[0][0]
    _, heading, report = text.partition("== Extended Information (Pipelines) ==")
    assert heading and "operators in pipelines" in report and "fragment" in report
    assert "to_xml is not supported" in report


def test_data_error_has_spark_condition(client: Client) -> None:
    query = "SELECT 10 div (id - 5) FROM range(0, 10, 1, 2)"
    messages = []
    for enabled in ("true", "false"):
        client.run(f"SET spark.pysparkPipeline.enabled={enabled}")
        messages.append(client.error(query).partition("\n")[0])
    assert messages[0] == messages[1] and "[DIVIDE_BY_ZERO]" in messages[0]


def test_wrong_option_fails_queries_but_not_set_and_reset(client: Client) -> None:
    client.run("SET spark.pysparkPipeline.batchRowz=3")
    assert "did you mean spark.pysparkPipeline.batchRows?" in client.error(_QUERY)
    client.run("RESET spark.pysparkPipeline.batchRowz")
    assert client.run(_QUERY) == _ROWS
