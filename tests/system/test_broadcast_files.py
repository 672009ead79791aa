"""Files of broadcast chunks, in a session whose tasks run in the driver: workers and Spark read them, none is left."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.conversion import summary_of
from tests.support.processes import wait_until
from tests.support.sessions import configured

_ROWS = "(SELECT id, concat('text ', id) AS t, id % 7 AS k FROM range(0, 300000, 1, 2))"
_QUERY = f"SELECT /*+ BROADCAST(b) */ count(*), sum(b.id), max(b.t) FROM {_ROWS} a JOIN {_ROWS} b ON a.id = b.id * 3"
_EXPECTED = [(100000, sum(range(100000)), "text 99999")]


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _folders(spark: SparkSession) -> set[Path]:
    utils: Any = spark._jvm.org.apache.spark.util.Utils  # type: ignore[union-attr]
    context: Any = spark.sparkContext._jsc.sc()
    return set(Path(utils.getLocalDir(context.conf())).glob("broadcast*"))


def test_chunks_are_in_files_as_long_as_the_broadcast(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    before = _folders(spark)
    frame = spark.sql(_QUERY)
    assert list(map(tuple, frame.collect())) == _EXPECTED
    assert summary_of(frame).converted == summary_of(frame).operators
    (made,) = _folders(spark) - before
    sizes = sorted(path.stat().st_size for path in made.iterdir())
    assert len(sizes) == 3 and sizes[0] < 1000 and sizes[1] > 1_000_000

    del frame

    def is_removed() -> bool:
        gc.collect()
        jvm.System.gc()
        return not made.exists()

    wait_until(is_removed, "the folder of a broadcast ends with it", limit_s=60)


def test_join_of_spark_reads_the_files(spark: SparkSession) -> None:
    with configured(spark, {"spark.pysparkPipeline.exclude": "BroadcastHashJoinExec"}):
        frame = spark.sql(_QUERY)
        assert list(map(tuple, frame.collect())) == _EXPECTED
        assert "PipelineBroadcastExchange" in frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.parametrize("rows", ["1 / (id - 299999)", "id"], ids=["error", "too large"])
def test_failed_broadcast_leaves_no_file(spark: SparkSession, rows: str) -> None:
    side = f"(SELECT {rows} AS n FROM {_ROWS})"
    failing = f"SELECT /*+ BROADCAST(b) */ count(*) FROM {_ROWS} a JOIN {side} b ON a.id = b.n"
    before = _folders(spark)
    with configured(spark, {"spark.sql.ansi.enabled": "true", "spark.sql.maxBroadcastTableSize": "100k"}):
        with pytest.raises((PySparkException, Py4JJavaError), match="DIVIDE_BY_ZERO|Cannot broadcast the table"):
            spark.sql(failing).collect()
    wait_until(lambda: _folders(spark) == before, "a failed broadcast leaves no folder", limit_s=60)
