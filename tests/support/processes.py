"""Runs Spark's own launchers in subprocesses, as a user would, with or without the extension."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyspark

from tests.support.class_archive import java_options

ROOT = Path(__file__).resolve().parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
_QUIET = ("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=localhost")
_TIME_LIMIT_S = 240
#: In the command of a process that compiles kernels in the background.
_COMPILER = b"pyspark_pipeline.task.warm"


def submit_args() -> list[str]:
    """Return the arguments that ``pyspark-pipeline submit-args`` prints for a launcher's command line."""
    command = [sys.executable, "-m", "pyspark_pipeline.cli.main", "submit-args"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment(), timeout=_TIME_LIMIT_S)
    return shlex.split(done.stdout)


def environment() -> dict[str, str]:
    """Return the environment of a child: this Python for driver and workers, this source tree importable."""
    known = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK_", "SPARK_"))}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    java = {"SPARK_SUBMIT_OPTS": java_options(), "SPARK_DAEMON_JAVA_OPTS": java_options()}
    spark = {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(SPARK_HOME)}
    return {**known, **java, **spark, "PYTHONPATH": path, "TZ": "UTC"}


def launch(tool: str, arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``bin/<tool>`` of the installed Spark in ``folder``; return the completed process with its output."""
    command = [str(SPARK_HOME / "bin" / tool), *_QUIET, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment(), timeout=_TIME_LIMIT_S, check=False
    )


def output_tail(done: subprocess.CompletedProcess[str]) -> str:
    """Return the end of a launcher's output; a job's own traceback is on its standard output."""
    return f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


def wait_until(holds: Callable[[], bool], expected: str, limit_s: float = 10) -> None:
    """Poll ``holds`` until it returns true; fail with ``expected`` after ``limit_s`` seconds."""
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, expected
        time.sleep(0.05)


def descendants(parent: int) -> Iterator[int]:
    """Yield the processes below ``parent``, children before grandchildren."""
    for child in _children(parent):
        yield child
        yield from descendants(child)


def python_workers(jvm: int) -> list[int]:
    """Return Spark's Python workers below the process ``jvm``: forks of the daemon that it started."""
    return [
        worker
        for daemon in descendants(jvm)
        if b"daemon" in _command(daemon) and b"java" not in _command(daemon).split(b"\0")[0]
        for worker in _children(daemon)
    ]


def computes(parent: int) -> bool:
    """Return whether a Python worker below ``parent`` computes now; watches for a second."""
    before = {worker: _cpu_seconds(worker) for worker in python_workers(parent)}
    time.sleep(1)
    return any(_cpu_seconds(worker) - spent > 0.1 for worker, spent in before.items())


def _cpu_seconds(process: int) -> float:
    """Read how long a process computed; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill(process: int) -> bool:
    """Send SIGKILL to one process and wait until it has closed its files; return whether it existed."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    wait_until(lambda: _has_ended(process), f"process {process} ends")
    return True


def _has_ended(process: int) -> bool:
    """Return whether a process is gone, or a zombie none of whose other threads still holds its files."""
    folder = Path(f"/proc/{process}")
    try:
        state = (folder / "stat").read_text().rpartition(") ")[2][:1]
        return state in "ZX" and len(list((folder / "task").iterdir())) <= 1
    except (FileNotFoundError, ProcessLookupError):
        return True


def _children(parent: int) -> list[int]:
    """Return the processes with this parent, without those that compile kernels, which may outlive a program.

    The operating system's own list of children omits some while another one ends.
    """
    found = []
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = process.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        child = int(process.parent.name)
        if int(after_name[1]) == parent and _COMPILER not in _command(child):
            found.append(child)
    return found


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
