"""Reads of files on both engines."""

from __future__ import annotations

from collections.abc import Callable

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.support.sessions import ENABLED, condition_of, configured


def outcome_of_both(spark: SparkSession, query: Callable[[], DataFrame]) -> tuple[DataFrame, list[str] | str | None]:
    """Return the query, executed in the engine, and its outcome, which is Spark's: sorted rows, or a condition."""
    with configured(spark, {ENABLED: "false"}):
        expected = _outcome(query())
    frame = query()
    found = _outcome(frame)
    assert found == expected
    return frame, found


def _outcome(frame: DataFrame) -> list[str] | str | None:
    try:
        return sorted(repr(tuple(row)) for row in frame.collect())
    except (Py4JJavaError, PySparkException) as error:
        return condition_of(error)
