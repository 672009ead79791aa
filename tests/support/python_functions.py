"""Runs DataFrames with Python functions on both engines and compares rows and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession

from tests.support.compare import difference
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, configured

#: A scan of any size is worth its transition.
FREE = {"spark.pysparkPipeline.cost.minScanBytes": "0"}


def rows_of_both(
    spark: SparkSession, make: Callable[[], DataFrame], operator: str, settings: Mapping[str, str] | None = None
) -> list[Any]:
    """Return the rows of both engines, which are equal; ``operator`` (a part of its name) runs in the engine."""
    rows = []
    for engine in ("false", "true"):
        with configured(spark, {**(settings or {}), ENABLED: engine}):
            frame = make()
            rows.append(frame.collect())
    summary = summary_of(frame)
    assert summary.converted > 1 and operator not in str(summary.reasons), summary.reasons
    found = difference(rows[0], rows[1])
    assert found is None, found
    return rows[1]


def same_outcome(
    spark: SparkSession, make: Callable[[], DataFrame], operator: str = "Python",
        settings: Mapping[str, str] | None = None
) -> list[Any] | str:
    """Return the rows of both engines, which are equal, or the last line of the error of both, of the same class.

    ``operator`` (a part of its name) runs in the engine.
    """
    found: list[tuple[str, list[Any] | str]] = []
    for engine in ("false", "true"):
        with configured(spark, {**(settings or {}), ENABLED: engine}):
            frame = make()
            try:
                found.append(("rows", frame.collect()))
            except PySparkException as error:
                text = str(error).split("JVM stacktrace")[0].strip()
                assert "pyspark_pipeline" not in text, text
                found.append((type(error).__name__, text.splitlines()[-1]))
    summary = summary_of(frame)
    assert summary.converted > 1 and operator not in str(summary.reasons), summary.reasons
    (class_, expected), (_, actual) = found
    assert found[1][0] == class_, found
    if class_ == "rows":
        found_difference = difference(list(expected), list(actual))
        assert found_difference is None, found_difference
    else:
        assert expected == actual
    return actual


def python_error(frame: DataFrame) -> str:
    """Return the text of the error of a Python function that ``frame`` raises."""
    with pytest.raises(PythonException) as caught:
        frame.collect()
    return str(caught.value)


def errors_of_both(spark: SparkSession, make: Callable[[], DataFrame]) -> tuple[str, str]:
    """Return the texts of the errors of Spark and of the engine, from the traceback on and without that of the JVM."""
    texts = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            texts.append(python_error(make()).split("Traceback", 1)[1].split("JVM stacktrace")[0])
    return texts[0], texts[1]
