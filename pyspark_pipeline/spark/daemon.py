"""The daemon that forks Python workers (``spark.python.daemon.module``), made cheap for every task.

Spark's worker calls ``importlib.invalidate_caches()`` for each task, which re-reads the directory of every
archive on the path: Spark's own ``pyspark.zip`` and core jar cost it about 100 ms. Where pyspark is installed as a
package those archives are not needed, so they are dropped (never the user's). pyarrow and the engine are
imported before the fork, and the collector is frozen so that forked workers share their pages.
It starts no thread. Then Spark's own daemon takes over.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib.util import find_spec


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
    """Import what every task needs, before the fork."""
    import pyarrow.compute
    import pyarrow.parquet

    import pyspark_pipeline.spark.worker  # noqa: F401

    gc.collect()
    gc.freeze()


def main() -> None:
    """Prepare this process and hand over to Spark's daemon."""
    drop_spark_archives()
    preload()
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
