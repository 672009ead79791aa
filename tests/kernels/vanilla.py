"""Vanilla Spark as the oracle of kernels and operators: the run's session with the engine off, or a small one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def vanilla() -> Iterator[Any]:
    """Yield a session without the engine."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    session = active.newSession() if active else _start(SparkSession.builder)
    session.conf.set("spark.pysparkPipeline.enabled", "false")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    session.sparkContext.setLogLevel("OFF")
    yield session
    if active is None:
        session.stop()


def _start(builder: Any) -> Any:
    settings = {"spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.driver.host": "localhost"}
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.master("local[1]").appName("operators").getOrCreate()
