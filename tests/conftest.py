"""Options and fixtures of all tests: one Spark session that is both engines, and its tables.

``--vanilla`` runs without the extension (gold files are then checked against Spark alone),
``--combinations one`` runs each gold file once, ``--task-cpus N`` sets the parallelism inside an instance,
``--gold-report FILE`` writes faults as JSON lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support import file_tables, nasty_tables, sessions
from tests.support.tables import TableShelf

__all__ = ["file_tables", "nasty_tables"]

os.environ["TZ"] = "UTC"

# Nearly all that a JVM of the tests runs, it runs once: its second compiler costs more than it gives.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options named above."""
    group = parser.getgroup("pyspark_pipeline")
    group.addoption("--vanilla", action="store_true", help="run Spark without the extension")
    group.addoption("--task-cpus", type=int, default=1, help="spark.task.cpus of the session")
    combinations = "run each gold file in all combinations of its matrix, or in one: the next file in the next one"
    group.addoption("--combinations", choices=("all", "one"), default="all", help=combinations)
    group.addoption("--gold-report", help="write every fault of the gold files to this file, one JSON object a line")


@pytest.fixture(scope="session")
def vanilla_only(request: pytest.FixtureRequest) -> bool:
    """Whether the extension is left out."""
    return bool(request.config.getoption("--vanilla"))


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, vanilla_only: bool
) -> Iterator[SparkSession]:
    """The session with the extension installed; ``spark.pysparkPipeline.enabled`` chooses the engine."""
    cpus = int(request.config.getoption("--task-cpus"))
    session = sessions.start(tmp_path_factory.mktemp("spark"), task_cpus=cpus, vanilla=vanilla_only)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> TableShelf:
    """The tables, built when first used."""
    return TableShelf(spark, tmp_path_factory.mktemp("tables"))
