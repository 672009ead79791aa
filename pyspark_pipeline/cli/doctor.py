"""``pyspark-pipeline doctor``: checks the requirements of the extension on the driver and on the executors.

A check is a function that returns its finding; the finding of a failed check has a remedy.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pyspark_pipeline.cli.root_cause import root_cause
from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.shim_build import find_spark, shim_jar, shim_sources, source_files

_LEAST_JAVA = 17
_PACKAGES = {"pyarrow": (18, None), "pandas": (2, 3), "numba": (0, None), "numpy": (1, None)}
_PROBE_SECONDS = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check: pass or fail, its description, and the remedy of a failure."""

    subject: str
    is_fine: bool
    detail: str
    mend: str = ""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("doctor", help="check Java, Spark, the packages, the jar, and the workers' Python")
    parser.add_argument("--master", default="local[2]", help="where to run the tiny job (default local[2])")
    parser.add_argument("--no-job", action="store_true", help="do not run a job")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one line per check; return 0 if all pass, else 1."""
    checks: list[Callable[[], Finding]] = [check_java, check_spark]
    checks += [lambda name=name: check_package(name) for name in _PACKAGES]  # type: ignore[misc]
    checks.append(check_jar)
    findings = [check() for check in checks]
    if not arguments.no_job and all(finding.is_fine for finding in findings):
        findings += check_workers(arguments.master)
    for finding in findings:
        print(f"[{'ok' if finding.is_fine else 'FAIL':>4}] {finding.subject}: {finding.detail}")
        if not finding.is_fine:
            print(f"       mend: {finding.mend}")
    return 0 if all(finding.is_fine for finding in findings) else 1


def check_java() -> Finding:
    """Check for Java 17 or newer."""
    mend = f"install Java {_LEAST_JAVA} or newer and put it on the PATH, or set JAVA_HOME"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java or not Path(java).exists():
        return Finding(subject="java", is_fine=False, detail="not found", mend=mend)
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)', output)
    is_fine = match is not None and int(match[1]) >= _LEAST_JAVA
    first = (output.splitlines() or ["no answer"])[0]
    return Finding(subject="java", is_fine=is_fine, detail=f"{first} ({java})", mend=mend)


def check_spark() -> Finding:
    """Check for a Spark of a minor version that the shim has sources for."""
    try:
        spark = find_spark()
        source_files(shim_sources(Path(__file__).resolve().parents[1]), spark.minor)
    except PipelineError as error:
        mend = "pip install 'pyspark>=4.1,!=4.2.*,<4.4'"
        return Finding(subject="spark", is_fine=False, detail=str(error), mend=mend)
    return Finding(subject="spark", is_fine=True, detail=f"{spark.version} ({spark.home})")


def check_package(name: str) -> Finding:
    """Check for one package of a supported version."""
    least, below = _PACKAGES[name]
    wanted = f"{name}>={least}" + ("" if below is None else f",<{below}")
    mend = f"{sys.executable} -m pip install '{wanted}'"
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(subject=name, is_fine=False, detail="not installed", mend=mend)
    major = int(found.split(".")[0])
    is_fine = major >= least and (below is None or major < below)
    return Finding(subject=name, is_fine=is_fine, detail=found, mend=mend)


def check_jar() -> Finding:
    """Check that there is a jar; compiles it if it is missing."""
    try:
        return Finding(subject="shim jar", is_fine=True, detail=str(shim_jar()))
    except PipelineError as error:
        mend = "see the message; then run doctor again"
        return Finding(subject="shim jar", is_fine=False, detail=str(error), mend=mend)


def check_workers(master: str) -> list[Finding]:
    """Run a small job with the extension on; compare every worker's Python and packages with the driver's."""
    command = [sys.executable, "-m", "pyspark_pipeline.spark.probe", master]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        detail = f"no answer in {_PROBE_SECONDS} s"
        return [Finding(subject="job", is_fine=False, detail=detail, mend=f"check that {master} has free executors")]
    lines = [line.removeprefix("probe: ") for line in done.stdout.splitlines() if line.startswith("probe: ")]
    if done.returncode != 0 or not lines:
        detail = root_cause(done.stderr) or f"exit code {done.returncode}"
        mend = f"run it alone to see all: {' '.join(command)}"
        return [Finding(subject="job", is_fine=False, detail=detail, mend=mend)]
    obstacles = [line.removeprefix("obstacle: ") for line in done.stdout.splitlines() if line.startswith("obstacle: ")]
    driver, *workers = lines
    mend = f"export PYSPARK_PYTHON={sys.executable} (or spark.pyspark.python), with the driver's versions on every host"
    findings = [Finding(subject="driver", is_fine=True, detail=driver)]
    for worker in sorted(set(workers)):
        host, _, what = worker.partition(" ")
        same = what == driver.partition(" ")[2]
        findings.append(Finding(subject=f"worker on {host}", is_fine=same, detail=what, mend=mend))
    return findings + [Finding(subject="extension", is_fine=False, detail=text, mend=mend) for text in obstacles]
