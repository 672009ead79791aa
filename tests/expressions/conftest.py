"""A plain Spark and the nasty table for the differential tests of expressions."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.expressions import nasty
from tests.expressions.oracle import Oracle


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """Yield an oracle over vanilla Spark: the session of the whole run with the engine off, or a small one."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    folder: Path = tmp_path_factory.mktemp("nasty")
    data: pa.Table = nasty.table()
    pq.write_table(data, folder / "nasty.parquet", store_decimal_as_integer=False)
    active = SparkSession.getActiveSession()
    session = active.newSession() if active else _start()
    session.conf.set("spark.pysparkPipeline.enabled", "false")
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    session.conf.set("spark.sql.parquet.int96RebaseModeInRead", "CORRECTED")
    session.read.parquet(str(folder / "nasty.parquet")).createOrReplaceTempView("nasty")
    yield Oracle(session, data)
    if active is None:
        session.stop()


def _start() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").appName("expressions")
    for key, value in (
        ("spark.ui.enabled", "false"),
        ("spark.driver.memory", "1g"),
        ("spark.driver.host", "localhost"),
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.shuffle.partitions", "1"),
    ):
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
