"""Executors whose Python is not the driver's: packed, from ``--py-files``, lacking, late.

Each job runs on a standalone master with workers on the loopback, or on local-cluster. The executors' path has only
the files of this repository that a test adds.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.class_archive import java_options
from tests.support.processes import ROOT, SPARK_HOME, environment, output_tail, submit_args, wait_until
from tests.system.clusters import (
    Standalone,
    has_all_but_the_package,
    make_environment,
    make_wheel,
    make_whole_environment,
    pack,
    script,
)

_JOB = str(ROOT / "tests" / "system" / "jobs_executors.py")
_SMALL = {
    "spark.pysparkPipeline.executors.waitSeconds": "240",
    "spark.ui.enabled": "false",
    "spark.driver.host": "localhost",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": java_options(),
    "spark.sql.shuffle.partitions": "4",
    "spark.pysparkPipeline.cost.enabled": "false",
    "spark.locality.wait": "0s",
}
_ROWS = [[k, 143 if k < 6 else 142, sum(range(k, 1000, 7))] for k in range(7)]


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("executors")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Standalone]:
    """Yield a cluster of two workers."""
    with _cluster(folder, "able", "second") as cluster:
        yield cluster


@contextlib.contextmanager
def _cluster(folder: Path, *workers: str) -> Iterator[Standalone]:
    cluster = Standalone(folder)
    try:
        for name in workers:
            cluster.add_worker(name)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def without_package(folder: Path) -> Path:
    """Return a Python with all requirements of the package."""
    return make_environment(folder / "without_package", has_all_but_the_package)


@pytest.fixture(scope="module")
def bare(folder: Path) -> Path:
    """Return a Python without packages: Spark puts pyspark on its path."""
    return make_environment(folder / "bare", lambda name: False)


def submit(master: str, python: str, job: Sequence[str], *arguments: str) -> dict[str, Any]:
    """Run the job with ``python`` for the executors; return its output lines by name."""
    settings = [word for key, value in _SMALL.items() for word in ("--conf", f"{key}={value}")]
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master, *submit_args(), *settings, *arguments]
    variables = environment() | {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}
    variables |= {"SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([*command, *job], capture_output=True, text=True, env=variables, timeout=420, check=False)
    assert done.returncode == 0, output_tail(done)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["what"]: line for line in lines} | {"log": done.stderr}


@pytest.mark.rotates
def test_late_executor_without_package_fails_no_query(tmp_path: Path, bare: Path) -> None:
    python = script(
        tmp_path / "by_worker",
        [f'case "$PWD" in */able/*) exec {sys.executable} "$@";; esac', f'exec {bare} "$@"'],
    )
    flag = tmp_path / "first query has run"

    def join() -> None:
        wait_until(flag.exists, "the job should run its first query", 200)
        cluster.add_worker("lacking")

    with _cluster(tmp_path, "able") as cluster:
        joining = threading.Thread(target=join)
        joining.start()
        found = submit(cluster.url, str(python), [_JOB, "late", str(flag)])
        joining.join()
    assert found["before"]["rows"] == _ROWS and found["before"]["converted"] == found["before"]["operators"]
    assert found["joined"]["running"], "the long query should outlast the arrival of the executor"
    assert sum(row[1] for row in found["during"]["rows"]) == 400_000_000 and found["during"]["converted"] > 0
    assert found["query"]["rows"] == _ROWS and found["query"]["converted"] == 0
    (reason,) = found["query"]["reasons"]
    lacking = f"Python {python} has no pyarrow, numpy, numba, pyspark_pipeline: install pyspark_pipeline there"
    assert reason.startswith("every operator: pyspark_pipeline cannot run: executor 1 on ") and lacking in reason
    assert len(found["pythons"]["prefixes"]) == 2, "Spark's own functions run on both"
    assert lacking in found["strict"]["error"] and "(spark.pysparkPipeline.strict=true)" in found["strict"]["error"]


@pytest.mark.rotates
@pytest.mark.parametrize("form", ["venv-pack", "conda-pack"])
def test_packed_environment_runs_fragments(cluster: Standalone, folder: Path, form: str) -> None:
    if form == "venv-pack":
        make_environment(folder / form, lambda name: True)
    else:
        make_whole_environment(folder / form)
    archive = pack(folder / form, folder / f"{form}.tar.gz")
    shutil.rmtree(folder / form)
    arguments = ["--archives", f"{archive}#environment"]
    found = submit(cluster.url, "./environment/bin/python3", [_JOB, "packed", "-"], *arguments)
    assert found["query"]["rows"] == _ROWS, found
    assert found["query"]["converted"] == found["query"]["operators"], found["query"]["reasons"]
    assert all(prefix.endswith("/environment") for prefix in found["pythons"]["prefixes"])
    assert len(found["pythons"]["prefixes"]) == 2, "both workers"


@pytest.mark.rotates
def test_wheel_in_py_files_runs_fragments(cluster: Standalone, folder: Path, without_package: Path) -> None:
    wheel = make_wheel(folder / "pyspark_pipeline-0.1.0-py3-none-any.whl")
    found = submit(cluster.url, str(without_package), [_JOB, "wheel", "-"], "--py-files", str(wheel))
    assert found["query"]["rows"] == _ROWS, found
    assert found["query"]["converted"] == found["query"]["operators"], found["query"]["reasons"]
    assert found["pythons"]["prefixes"] == [str(without_package.parents[1])]


@pytest.mark.rotates
def test_functions_run_on_executors(cluster: Standalone, folder: Path) -> None:
    (folder / "shipped.py").write_text("ADDED = 7\n")
    (folder / "offset.txt").write_text("1000")
    job = [str(ROOT / "tests" / "system" / "jobs_functions.py"), str(folder / "offset.txt")]
    found = submit(cluster.url, sys.executable, job, "--py-files", str(folder / "shipped.py"))
    check_forms(found, 5)


@pytest.mark.rotates
def test_files_of_all_formats_are_read_and_written_on_executors(cluster: Standalone, folder: Path) -> None:
    job = [str(ROOT / "tests" / "system" / "jobs_files.py"), str(folder / "files")]
    check_forms(submit(cluster.url, sys.executable, job), 7)


def check_forms(found: dict[str, Any], forms: int) -> None:
    """Check the lines of a job that runs each form with and without fragments."""
    del found["log"]
    assert len(found) == forms
    for form, line in found.items():
        assert line["rows"] == line["spark"] and line["rows"], form
        assert line["converted"] == line["operators"], (form, line["reasons"])


@pytest.mark.rotates
def test_spark_runs_the_job_if_all_executors_lack_the_package(bare: Path) -> None:
    found = submit("local-cluster[2,1,1024]", str(bare), [_JOB, "lacking", "-"])
    assert found["query"]["rows"] == _ROWS and found["query"]["converted"] == 0
    (reason,) = found["query"]["reasons"]
    assert reason.startswith("every operator: pyspark_pipeline cannot run: executor ")
    assert f"Python {bare} has no pyarrow, numpy, numba" in reason
    assert found["pythons"]["prefixes"] == [str(bare.parents[1])], "Spark's own functions run"
    assert "(spark.pysparkPipeline.strict=true)" in found["strict"]["error"]
    assert "pyspark_pipeline cannot run, Spark runs every query itself" in found["log"]


@pytest.mark.rotates
def test_program_runs_in_environment_that_is_not_activated(folder: Path, bare: Path) -> None:
    """Local workers run the program's interpreter, not the first of the PATH, unless the user chooses another."""
    (folder / "path").mkdir()
    (folder / "path" / "python3").symlink_to(bare)
    variables = environment() | {"PATH": f"{folder / 'path'}:{environment()['PATH']}"}
    del variables["PYSPARK_PYTHON"]
    command = [sys.executable, str(ROOT / "tests" / "system" / "jobs_two_pythons.py"), str(bare)]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=420, check=False)
    assert done.returncode == 0, output_tail(done)
    first, second = done.stdout.split("OTHER\n")
    assert "ROWS 1000" in first and f"PYTHON {sys.prefix}\n" in first and "fragment" in first, first
    assert "ROWS 1000" in second and f"PYTHON {bare.parents[1]}\n" in second and "fragment" not in second
    lacks = f"pyspark_pipeline cannot run: Python {bare} has no pyarrow, numpy, numba"
    assert f"every operator: {lacks}" in second
    assert lacks in second.partition("STRICT")[2] and "strict=true" in second.partition("STRICT")[2]
