"""A defect in the extension leaves the query, or the application, to Spark; only a strict one raises it.

The shim of these sessions lacks classes, as if it met a build of Spark that lacks what it was compiled against.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from pyspark_pipeline.launch import PLUGIN
from pyspark_pipeline.shim_build import find_spark, shim_jar
from tests.support.processes import ROOT, launch, output_tail

_PACKAGE = "org/apache/spark/sql/pysparkpipeline/"
_ROWS = [[k, 143 if k < 6 else 142, 10 * k * (143 if k < 6 else 142)] for k in range(7)]


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def run_without(classes: Collection[str], folder: Path, adaptive: str, *settings: str) -> dict[str, Any]:
    """Run the job with a shim that lacks ``classes``; return what it prints, and its log."""
    lacking = folder / "lacking.jar"
    absent = {f"{_PACKAGE}{name}.class" for name in classes}
    with zipfile.ZipFile(shim_jar(find_spark().home)) as whole, zipfile.ZipFile(lacking, "w") as jar:
        assert absent <= set(whole.namelist())
        for entry in whole.infolist():
            if entry.filename not in absent:
                jar.writestr(entry, whole.read(entry))
    conf = [f"spark.plugins={PLUGIN}", "spark.pysparkPipeline.cost.enabled=false", *settings]
    options = ["--master", "local[2]", "--jars", str(lacking), *(word for pair in conf for word in ("--conf", pair))]
    job = [str(ROOT / "tests" / "system" / "jobs_defects.py"), str(folder), adaptive]
    done = launch("spark-submit", [*options, *job], folder)
    assert done.returncode == 0, output_tail(done)
    return {**json.loads(done.stdout.splitlines()[-1]), "log": done.stderr}


@pytest.mark.rotates
def test_spark_runs_a_query_whose_conversion_fails(tmp_path: Path) -> None:
    """Rules of the optimizer, a strategy and the conversion lack a class, with AQE on."""
    classes = ["EarlyReduction$Reduction", "BroadcastStrategy$", "Placement$"]
    found = run_without(classes, tmp_path, "true")
    assert found["rows"] == _ROWS and found["converted"] == 0
    (reason,) = found["reasons"]
    assert reason.startswith("every operator: pyspark_pipeline failed while planning: java.lang.NoClassDefFoundError: ")
    assert "pyspark_pipeline failed while planning, Spark runs the query itself" in found["log"]
    assert f"{_PACKAGE}" in found["error"]


@pytest.mark.rotates
def test_application_starts_without_an_extension_that_fails_to_start(tmp_path: Path) -> None:
    found = run_without(["QueryLog"], tmp_path, "true")
    assert found["rows"] == _ROWS and found["converted"] == 0
    reason = "every operator: pyspark_pipeline cannot run: it did not start: java.lang.NoClassDefFoundError"
    assert reason in found["reasons"][0]
