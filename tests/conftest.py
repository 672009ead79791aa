"""Options and fixtures of all tests: one Spark session that runs both engines, and its tables.

``--vanilla`` runs without the extension (gold files are then checked against Spark alone),
``--combinations one`` runs each gold file once, ``next`` once in the following combination of its matrix,
``--every N`` runs one statement of N of each gold file, the first of which rotates by file (another with ``next``), and
one of N of the tests marked ``rotates``, ``--answers live`` runs each gold statement on Spark too, also where a record
of Spark's answer exists (``record`` writes the records, see ``tests/support/answers.py``),
``--task-cpus N`` sets the parallelism inside an instance, ``--gold-report FILE`` writes faults
as JSON lines, ``--write-plans`` the snapshots of plans.
Random tests run the same cases every time; ``--hypothesis-profile explore`` draws new ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings as hypothesis_settings
from pyspark.sql import SparkSession

from benchmarks.executions import Executions
from tests.support import (
    class_archive,
    csv_tables,
    file_tables,
    java_names,
    json_file_tables,
    json_tables,
    nasty_tables,
    nested_tables,
    orc_tables,
    sessions,
    text_tables,
)
from tests.support.tables import TableShelf

__all__ = [
    "csv_tables",
    "file_tables",
    "json_file_tables",
    "json_tables",
    "nasty_tables",
    "nested_tables",
    "orc_tables",
    "text_tables",
]

os.environ["TZ"] = "UTC"

os.environ.setdefault("SPARK_SUBMIT_OPTS", class_archive.java_options())
java_names.remember()

hypothesis_settings.register_profile("explore", deadline=None)
hypothesis_settings.register_profile("same", deadline=None, derandomize=True)
hypothesis_settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options named above."""
    group = parser.getgroup("pyspark_pipeline")
    group.addoption("--vanilla", action="store_true", help="run Spark without the extension")
    group.addoption("--task-cpus", type=int, default=1, help="spark.task.cpus of the session")
    combinations = "run each gold file in all combinations of its matrix, in one, which rotates by file, or in the next"
    group.addoption("--combinations", choices=("all", "one", "next"), default="all", help=combinations)
    group.addoption("--every", type=int, default=1, metavar="N", help="run one statement of N of each gold file")
    answers = "compare gold files with Spark's recorded answers where they are equal, always live, or record them"
    group.addoption("--answers", choices=("recorded", "live", "record"), default="recorded", help=answers)
    group.addoption("--write-plans", action="store_true", help="write the snapshots of tests/plans")
    group.addoption("--gold-report", help="write every fault of the gold files to this file, one JSON object a line")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that another run with ``--every`` has."""
    every, turn = config.getoption("--every"), config.getoption("--combinations") == "next"
    rotating = [item for item in items if item.get_closest_marker("rotates")]
    left = {id(item) for number, item in enumerate(rotating) if (number + turn) % every}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left])
    items[:] = [item for item in items if id(item) not in left]


@pytest.fixture(scope="session")
def vanilla_only(request: pytest.FixtureRequest) -> bool:
    """Return whether the extension is left out."""
    return bool(request.config.getoption("--vanilla"))


@pytest.fixture
def extension(vanilla_only: bool) -> None:
    """Skip the test if the extension is left out."""
    if vanilla_only:
        pytest.skip("needs the extension")


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, vanilla_only: bool
) -> Iterator[SparkSession]:
    """Yield the session with the extension installed; ``spark.pysparkPipeline.enabled`` chooses the engine."""
    cpus = int(request.config.getoption("--task-cpus"))
    session = sessions.start(tmp_path_factory.mktemp("spark"), task_cpus=cpus, vanilla=vanilla_only)
    yield session
    if (code := sessions.exit_code_of_jvm()) is not None:
        pytest.fail(f"the JVM ended during the tests: exit code {code}, if negative a signal (-9 if memory ran out)")
    session.stop()


@pytest.fixture
def limited_extension(extension: None, spark: SparkSession) -> Iterator[None]:
    """Skip the test if the extension is left out; else limit its time."""
    with sessions.time_limit(spark):
        yield


@pytest.fixture(scope="session")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> TableShelf:
    """Return the tables, which are built on first use."""
    return TableShelf(spark, tmp_path_factory.mktemp("tables"))


@pytest.fixture
def executions(spark: SparkSession, extension: None) -> Iterator[Executions]:
    """Yield the collector of the extension's reports on all queries, those of writes too."""
    found = Executions(spark)
    yield found
    found.stop()


@pytest.fixture
def one_driver(spark: SparkSession) -> None:
    """Skip the test of functions that stay in Spark if instances have several drivers."""
    if spark.conf.get("spark.task.cpus", "1") != "1":
        pytest.skip("stays in Spark with several drivers")
