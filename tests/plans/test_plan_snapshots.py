"""The plans of TPC-H and TPC-DS at scale 10, with adaptive execution and without, are those in ``snapshots/``.

A change of policy is a change of these files: ``pytest tests/plans --write-plans`` writes them anew, and ``git diff``
shows which plans changed. With adaptive execution it is the plan before the first stage has run.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.plans.outline import outline
from tests.plans.pipelines import built, shown
from tests.plans.suites import Suite, make_tables, tpcds, tpch
from tests.support.sessions import configured, spark_minor

_SNAPSHOTS = Path(__file__).parent / "snapshots"
_SUITES = {"tpch": (tpch, 22), "tpcds": (tpcds, 99)}
_SETTINGS = {
    "spark.pysparkPipeline.enabled": "true",
    "spark.pysparkPipeline.cost.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
}
_MODES = {"off": "false", "on": "true"}


@pytest.fixture(scope="module", params=_SUITES)
def suite(
    request: pytest.FixtureRequest, spark: SparkSession, vanilla_only: bool, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Suite]:
    """The name of a suite and the suite, its tables made."""
    if vanilla_only or spark_minor() != "4.1":
        pytest.skip("the snapshots are of the engine on Spark 4.1")
    made: Suite = _SUITES[request.param][0]()
    make_tables(made, spark, tmp_path_factory.mktemp(request.param))
    return request.param, made


@pytest.fixture(scope="module")
def frames(suite: tuple[str, Suite], spark: SparkSession) -> dict[str, tuple[DataFrame, DataFrame]]:
    """The frames of each query by file name: planned without adaptive execution, and with it."""
    made = {}
    for number, sql in suite[1].queries.items():
        planned = []
        for aqe in _MODES.values():
            with configured(spark, {**_SETTINGS, "spark.sql.adaptive.enabled": aqe}):
                planned.append(spark.sql(sql.strip().rstrip(";")))
                planned[-1]._jdf.queryExecution().executedPlan()
        made[f"q{number:02}.txt"] = (planned[0], planned[1])
    return made


def _text(frames: tuple[DataFrame, DataFrame]) -> str:
    parts = [f"== adaptive execution {mode} ==\n{outline(frame)}\n" for mode, frame in zip(_MODES, frames, strict=True)]
    return "\n".join(parts)


def test_plans_are_those_of_the_snapshots(
    suite: tuple[str, Suite], frames: dict[str, tuple[DataFrame, DataFrame]], request: pytest.FixtureRequest
) -> None:
    folder = _SNAPSHOTS / suite[0]
    texts = {file: _text(planned) for file, planned in frames.items()}
    if request.config.getoption("--write-plans"):
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
    assert len(texts) == _SUITES[suite[0]][1]
    assert sorted(texts) == sorted(path.name for path in folder.glob("*.txt"))
    assert [file for file, text in texts.items() if (folder / file).read_text(encoding="utf-8") != text] == []


def test_explain_shows_the_pipelines_that_the_worker_builds(
    spark: SparkSession, frames: dict[str, tuple[DataFrame, DataFrame]]
) -> None:
    reports = spark._jvm.org.apache.spark.sql.pysparkpipeline.PlanReport
    different, compared = {}, 0
    for file, (planned, _) in frames.items():
        for number, fragment in enumerate(json.loads(reports.wire(planned._jdf.queryExecution().executedPlan()))):
            explained = [shown(line) for line in fragment["pipelines"]]
            names = [name for pipeline in explained for name in pipeline]
            # Explain shows all inputs of a union, of which an instance runs one, and a sort for every window, where the
            # worker sorts once for windows of one order.
            windows = [name for name in names if name.startswith("Window")]
            if "Union" in names or len(windows) > 1:
                continue
            compared += 1
            if explained != (worker := built(json.dumps(fragment["plan"]))):
                different[f"{file} fragment {number}"] = (explained, worker)
    assert compared > 50
    assert different == {}
