"""The probe of the workers' Python reports the error of the process that it starts, however it ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.system.clusters import script


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _obstacle(spark: SparkSession, python: str) -> str:
    """Probe ``python``; return the reason why it cannot run fragments, empty if it can."""
    jvm: Any = spark._jvm
    nothing = getattr(getattr(jvm, "scala.collection.immutable.Nil$"), "MODULE$")
    variables = getattr(getattr(jvm, "scala.collection.immutable.Map$"), "MODULE$").empty()
    obstacle = jvm.org.apache.spark.sql.pysparkpipeline.PythonProbe(python, nothing, variables, True).obstacle()
    return str(obstacle.get()) if obstacle.isDefined() else ""


def _with_module(folder: Path, name: str, text: str) -> str:
    """Create an interpreter that imports ``text`` as module ``name``; return its path."""
    (folder / f"{name}.py").write_text(text)
    return str(script(folder / "python", [f'PYTHONPATH="{folder}:$PYTHONPATH" exec {sys.executable} "$@"']))


def test_complete_interpreter_has_no_obstacle(spark: SparkSession) -> None:
    assert _obstacle(spark, sys.executable) == ""


def test_missing_interpreter_is_reported(spark: SparkSession) -> None:
    reason = _obstacle(spark, "./environment/bin/python3")
    assert reason.startswith("Python ./environment/bin/python3 does not start: Cannot run program")


def test_import_error_names_package_and_cause(spark: SparkSession, tmp_path: Path) -> None:
    python = _with_module(tmp_path, "numba", "raise ImportError('libLLVM.so: cannot open\\nshared object file')")
    assert _obstacle(spark, python) == (
        f"Python {python} cannot import numba: ImportError: libLLVM.so: cannot open shared object file"
    )


def test_exiting_interpreter_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    python = str(script(tmp_path / "python", ["echo 'no license for this host' >&2", "exit 3"]))
    assert _obstacle(spark, python) == f"Python {python} ended with exit code 3: no license for this host"


def test_crash_during_import_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    python = _with_module(tmp_path, "numba", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert _obstacle(spark, python) == f"Python {python} was ended by signal 11 while it imported numba"


def test_ctrl_c_does_not_end_the_probe(spark: SparkSession, tmp_path: Path) -> None:
    python = _with_module(tmp_path, "numba", "import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    told = _obstacle(spark, python)
    assert "KeyboardInterrupt" not in told and "signal" not in told
