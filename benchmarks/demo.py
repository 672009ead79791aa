"""``make demo``: one job through spark-submit, without and with the extension; answers, times, ratio, plan."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.tpch import data

ROOT = Path(__file__).resolve().parents[1]
_RUNS = 4


def submit(folder: Path, arguments: list[str], cores: int) -> str:
    """Run the job through spark-submit; return its output."""
    beside = Path(sys.executable).with_name("spark-submit")
    command = [str(beside), "--master", f"local[{cores}]", "--driver-memory", "4g", "--conf", "spark.ui.enabled=false"]
    command += [*arguments, str(ROOT / "examples" / "etl_job.py"), str(folder), str(_RUNS)]
    print("$ spark-submit", shlex.join(command[1:]), flush=True)
    env = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the job failed:\n{done.stdout}{done.stderr[-8000:]}")
    return done.stdout


def seconds(output: str) -> list[float]:
    """Return the time of each run from the job's output."""
    return [float(value) for value in re.findall(r"^took ([\d.]+) s$", output, re.MULTILINE)]


def rows(output: str) -> list[str]:
    """Return the answer from the job's output."""
    return re.findall(r"^row (.*)$", output, re.MULTILINE)


def main() -> int:
    """Run the demo; return 1 if the answers differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    folder = data.make(arguments.scale, arguments.data)
    command = [sys.executable, "-m", "pyspark_pipeline.cli.main", "submit-args"]
    switch_on = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    vanilla = submit(folder, [], arguments.cores)
    ours = submit(folder, shlex.split(switch_on), arguments.cores)
    equal = rows(vanilla) == rows(ours) != []
    print("\nanswer, " + ("the same from both:" if equal else "DIFFERENT; vanilla Spark, then the pipeline engine:"))
    for row in rows(vanilla) + ([] if equal else rows(ours)):
        print("  " + row)
    print("\nplan with the extension on:" + ours.partition("== Physical Plan ==")[2].rstrip())
    print("\nseconds of each run in one session, the first cold:")
    for name, output in (("vanilla Spark", vanilla), ("pipeline engine", ours)):
        print(f"  {name:16}" + "".join(f"{value:8.2f}" for value in seconds(output)))
    medians = [statistics.median(seconds(output)[1:]) for output in (vanilla, ours)]
    print(f"ratio of the median warm runs: {medians[0] / medians[1]:.1f}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
