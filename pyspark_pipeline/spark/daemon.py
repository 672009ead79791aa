"""The daemon that forks Python workers (``spark.python.daemon.module``), made cheap for every task.

Spark's worker calls ``importlib.invalidate_caches()`` for each task, which re-reads the directory of every
archive on the path: Spark's own ``pyspark.zip`` and core jar cost it about 100 ms. Where pyspark is installed as a
package those archives are not needed, so they are dropped (never the user's). pyarrow, pandas (pyarrow
imports it in the first conversion), Spark's worker and the engine with its compiled kernels are loaded before the
fork, and the collector is frozen so that forked workers share their pages. It starts no thread. Then
Spark's own daemon takes over.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_PRELOADED = (
    "pandas",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyspark.sql.pandas.serializers",
    "pyspark.worker",
    "pyspark_pipeline.spark.worker",
)

# Parameters of glibc's mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8


def _spark_archives() -> list[str]:
    """Entries of ``sys.path`` that are archives of Spark itself."""
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
    """Take Spark's archives off the path where an installed pyspark and py4j remain."""
    archives = _spark_archives()
    kept = [entry for entry in sys.path if entry not in archives]
    before = list(sys.path)
    sys.path[:] = kept
    if find_spec("pyspark") is None or find_spec("py4j") is None:
        sys.path[:] = before
        return
    for archive in archives:
        for cached in [path for path in sys.path_importer_cache if path.startswith(archive)]:
            del sys.path_importer_cache[cached]


def preload() -> None:
    """Load what every task needs, before the fork."""
    for module in _PRELOADED:
        import_module(module)
    from pyspark_pipeline.task.warm import warm

    try:
        warm()
    except Exception as error:  # a task then compiles what it needs itself
        print(f"pyspark_pipeline: kernels are not preloaded: {error!r}", file=sys.stderr)
    gc.collect()
    gc.freeze()


def reserve_little() -> None:
    """Have addresses given back as soon as they are free where Spark limits the address space.

    Reserved but unused addresses count against ``spark.executor.pyspark.memory``. pyarrow, not imported yet, is to
    take memory from the system's allocator, and that to map every array of its own and to have one arena.
    """
    if "PYSPARK_EXECUTOR_MEMORY_MB" not in os.environ:
        return
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("MIMALLOC_ARENA_RESERVE", str(64 << 10))  # KiB, for who asks for that pool
    with contextlib.suppress(OSError, AttributeError):
        system = ctypes.CDLL(None)
        for parameter, value in ((_MMAP_THRESHOLD, 1 << 20), (_TRIM_THRESHOLD, 1 << 20), (_ARENA_MAX, 1)):
            system.mallopt(parameter, value)


def main() -> None:
    """Prepare this process and hand over to Spark's daemon."""
    reserve_little()
    drop_spark_archives()
    preload()
    let_idle_workers_go_quietly()
    from pyspark.daemon import manager

    manager()  # type: ignore[no-untyped-call,unused-ignore]


def let_idle_workers_go_quietly() -> None:
    """Keep the traceback of a broken pipe off the user's screen when Spark drops a worker that was idle for a minute.

    Over a Unix domain socket the worker's last flush fails at once; what the JVM closed needs no answer.
    """
    daemon: Any = import_module("pyspark.daemon")
    spark_worker = daemon.worker

    def worker(sock: Any, authenticated: Any) -> int:
        try:
            return int(spark_worker(sock, authenticated))
        except BrokenPipeError:
            return 1

    daemon.worker = worker


if __name__ == "__main__":
    main()
