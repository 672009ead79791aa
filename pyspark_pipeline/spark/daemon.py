"""The daemon that forks the Python workers of fragments, at a low cost per task.

Only fragments use it (``FragmentWorkers.scala``); the user's own functions keep Spark's daemon.

Spark's worker calls ``importlib.invalidate_caches()`` for each task, which re-reads the directory of every
archive on the path: Spark's own ``pyspark.zip`` and core jar cost it about 100 ms. If the same pyspark is installed
as a package those archives are not needed, so they are dropped (never the user's). pyarrow, pandas (pyarrow
imports it in the first conversion), Spark's worker and the engine with its compiled kernels are loaded before the
fork, and the garbage collector is frozen so that forked workers share their pages. It starts no thread. Then
it runs Spark's own daemon; if any of these steps fails, it still does, and the task raises the error.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import socket
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PRELOADED = (
    "pandas",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyspark.sql.pandas.serializers",
    "pyspark.worker",
    "pyspark_pipeline.spark.entry",
    "pyspark_pipeline.spark.worker",
)

# Parameters of glibc's mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_RETAINED_MILLISECONDS = 12_000


def _spark_archives() -> list[str]:
    """Return the entries of ``sys.path`` that are archives of Spark itself."""
    home = os.environ.get("SPARK_HOME", "")
    own = ("pyspark.zip", "spark-core_")
    return [
        entry
        for entry in sys.path
        if os.path.isfile(entry)
        and (os.path.basename(entry).startswith(own) or _is_py4j(entry))
        and (not home or os.path.realpath(entry).startswith(os.path.realpath(home)))
    ]


def _is_py4j(entry: str) -> bool:
    name = os.path.basename(entry)
    return name.startswith("py4j-") and name.endswith("-src.zip")


def drop_spark_archives() -> None:
    """Remove Spark's archives from the path if the same pyspark, and a py4j, are installed as packages."""
    archives = _spark_archives()
    archived = _archived_version(archives)
    before = list(sys.path)
    sys.path[:] = [entry for entry in sys.path if entry not in archives]
    installed = _installed_version()
    if find_spec("py4j") is None or installed is None or archived not in (None, installed):
        sys.path[:] = before
        return
    for archive in archives:
        for cached in [path for path in sys.path_importer_cache if path.startswith(archive)]:
            del sys.path_importer_cache[cached]


def _archived_version(archives: list[str]) -> bytes | None:
    """Return the version of the ``pyspark.zip`` that Spark put on the path; None if there is none."""
    for archive in archives:
        if os.path.basename(archive) == "pyspark.zip":
            with contextlib.suppress(OSError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(archive) as content:
                return _version(content.read("pyspark/version.py"))
    return None


def _installed_version() -> bytes | None:
    """Return the version of the importable pyspark without importing it; None if there is none."""
    spec = find_spec("pyspark")
    if spec is not None and spec.origin is not None:
        with contextlib.suppress(OSError):
            return _version((Path(spec.origin).parent / "version.py").read_bytes())
    return None


def _version(source: bytes) -> bytes | None:
    found = re.search(rb"""^__version__\b[^=]*=\s*["']([^"']+)""", source, re.MULTILINE)
    return found and found[1]


def preload() -> None:
    """Import the modules and kernels that every task needs, before the fork."""
    for module in _PRELOADED:
        import_module(module)
    from pyspark_pipeline.task.warm import warm

    try:
        warm()
    except Exception as error:  # a task then compiles what it needs itself
        print(f"pyspark_pipeline: kernels are not preloaded: {error!r}", file=sys.stderr)
    gc.collect()
    gc.freeze()


def configure_allocators() -> None:
    """Configure the allocators before pyarrow is imported: freed pages are retained for the next arrays.

    If Spark limits the address space, they are returned at once, for reserved but unused addresses count against
    ``spark.executor.pyspark.memory``. pyarrow must then allocate from the system's allocator, which must map every
    large array separately and have one arena.
    """
    if "PYSPARK_EXECUTOR_MEMORY_MB" not in os.environ:
        os.environ.setdefault("MIMALLOC_PURGE_DELAY", str(_RETAINED_MILLISECONDS))
        return
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("MIMALLOC_ARENA_RESERVE", str(64 << 10))  # KiB, for users of that pool
    with contextlib.suppress(OSError, AttributeError):
        system = ctypes.CDLL(None)
        for parameter, value in ((_MMAP_THRESHOLD, 1 << 20), (_TRIM_THRESHOLD, 1 << 20), (_ARENA_MAX, 1)):
            system.mallopt(parameter, value)


def main() -> None:
    """Prepare this process, then run Spark's daemon."""
    os.setpgid(0, 0)  # as Spark's daemon does: Ctrl-C in a terminal is for the driver, not for its child processes
    before = list(sys.path)
    with output_to_stderr():
        try:
            configure_allocators()
            drop_spark_archives()
            preload()
        except (Exception, SystemExit) as error:
            sys.path[:] = before
            print(f"pyspark_pipeline: its daemon runs as Spark's, without the engine: {error!r}", file=sys.stderr)
    prepare_workers()
    from pyspark.daemon import manager

    manager()  # type: ignore[no-untyped-call,unused-ignore]


@contextlib.contextmanager
def output_to_stderr() -> Iterator[None]:
    """Redirect standard output to standard error: Spark reads the daemon's port from standard output."""
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)


def prepare_workers() -> None:
    """Prepare what forked workers do before and after the tasks that Spark sends over a worker's socket.

    They set TCP_NODELAY, trim their allocators while they are idle, and exit without a traceback if Spark has closed
    them.

    By default TCP delays a small message until the receiver acknowledges the previous one, which the receiver
    delays for 40 ms. Over a Unix domain socket the last flush of a closed worker fails with a broken pipe; a socket
    that the JVM closed needs no answer.
    """
    daemon: Any = import_module("pyspark.daemon")
    spark_worker = daemon.worker

    def worker(sock: socket.socket, authenticated: bool) -> int:
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        memory = sys.modules.get("pyspark_pipeline.task.memory")
        if memory is not None:
            memory.IDLE_TRIM.wait_for_task(sock)
        try:
            return int(spark_worker(sock, authenticated))
        except BrokenPipeError:
            return 1

    daemon.worker = worker


if __name__ == "__main__":
    main()
