"""An archive of Spark's classes for the JVMs of the tests: class data sharing halves the CPU time of a session's start.

``python -m tests.support.class_archive`` runs a session with the extension over some Parquet, whose JVM writes the
archive when it ends. It is valid for the Java and the Spark that wrote it; a JVM ignores an archive of others.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.support.sessions import ENABLED, configured, start

#: Nearly all that a JVM of the tests runs, it runs once: its second compiler costs more than it saves.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
    # Lets a test release Jackson's buffers, see test_long_lines_of_an_encoding.
    " -Dcom.fasterxml.jackson.core.util.BufferRecyclers.trackReusableBuffers=true"
)

_ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"

_QUERIES = (
    "SELECT k % 7 AS g, count(*), sum(v), max(t), collect_list(k % 3) FROM rows GROUP BY g ORDER BY g",
    "SELECT a.k, b.t, row_number() OVER (PARTITION BY b.k % 5 ORDER BY a.k) FROM rows a LEFT JOIN rows b ON a.k = b.v",
    "SELECT /*+ BROADCAST(b) */ DISTINCT a.t FROM rows a JOIN rows b ON a.k = b.k WHERE a.d > DATE'2020-01-05' LIMIT 9",
    "SELECT explode(array(k, v)) FROM rows UNION ALL SELECT max(v) FROM rows WHERE t LIKE '1%' OR k IN (SELECT 3)",
)


def java_options() -> str:
    """Return the options for the JVMs of the tests; with the archive if one was written."""
    if not _ARCHIVE.exists():
        return JAVA_OPTIONS
    return f"{JAVA_OPTIONS} -XX:SharedArchiveFile={_ARCHIVE} -Xlog:disable -Xlog:all=error:stderr"


def _write() -> None:
    made = _ARCHIVE.with_suffix(f".{os.getpid()}")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{JAVA_OPTIONS} -XX:ArchiveClassesAtExit={made} -Xlog:disable"
    with tempfile.TemporaryDirectory() as folder:
        spark = start(Path(folder))
        numbers = spark.range(0, 2000, numPartitions=3)
        rows = numbers.selectExpr(
            "id AS k", "id * 3 AS v", "string(id) AS t", "date_add(DATE'2020-01-01', int(id % 40)) AS d", "id / 7 AS q"
        )
        rows.write.parquet(f"{folder}/rows")
        spark.read.parquet(f"{folder}/rows").createOrReplaceTempView("rows")
        for enabled in ("false", "true"):
            with configured(spark, {ENABLED: enabled}):
                for query in _QUERIES:
                    spark.sql(query).collect()
                spark.sql(_QUERIES[0]).toPandas()
        spark.sql(_QUERIES[0]).explain("formatted")
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        process = gateway.proc
        spark.stop()
        gateway.shutdown()
        process.stdin.close()
        process.wait()
    made.rename(_ARCHIVE)


if __name__ == "__main__":
    _write()
