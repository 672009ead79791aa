"""The user's Python functions where users run them: modules, executors, notebooks, failures, cancelled jobs."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.functions import arrow_udf, pandas_udf, udf
from pyspark.sql.window import Window

from pyspark_pipeline import assert_same_rows
from tests.support.conversion import summary_of
from tests.support.processes import ROOT, wait_until
from tests.support.python_functions import rows_of_both
from tests.support.sessions import ENABLED, configured

pytestmark = pytest.mark.usefixtures("extension")

Act = Callable[[], Any]
_FORMS = [
    "udf", "udf of Arrow", "pandas_udf", "arrow_udf", "pandas_udf over an iterator", "arrow_udf over an iterator",
    "mapInArrow", "mapInPandas", "applyInPandas", "applyInArrow", "aggregate", "Arrow aggregate", "window",
]  # fmt: skip


def _called(spark: SparkSession, form: str, act: Act) -> DataFrame:
    """Return a frame of two tasks whose function, of a form, calls ``act`` and returns its argument, or a sum."""

    def same(values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        act()
        return values

    def each(batches: Any) -> Any:
        for batch in batches:
            act()
            yield batch

    def total(values: pd.Series) -> int:
        act()
        return int(values.sum())

    def arrow_total(values: pa.Array) -> pa.Scalar:
        act()
        return pc.sum(values)

    total.__annotations__ = {"values": pd.Series, "return": int}
    arrow_total.__annotations__ = {"values": pa.Array, "return": pa.Scalar}
    frame = spark.range(0, 20, 1, 2).where("id >= 0")
    groups, key = frame.groupBy((f.col("id") % 3).alias("k")), f.col("id") % 3
    if form.endswith("iterator"):
        kind: Any = pd.Series if form.startswith("pandas") else pa.Array
        each.__annotations__ = {"batches": Iterator[kind], "return": Iterator[kind]}
        return frame.select((pandas_udf if kind is pd.Series else arrow_udf)(each, "bigint")("id"))
    return {
        "udf": lambda: frame.select(udf(same, "bigint", useArrow=False)("id")),
        "udf of Arrow": lambda: frame.select(udf(same, "bigint", useArrow=True)("id")),
        "pandas_udf": lambda: frame.select(pandas_udf(same, "bigint")("id")),
        "arrow_udf": lambda: frame.select(arrow_udf(same, "bigint")("id")),
        "mapInArrow": lambda: frame.mapInArrow(each, "id bigint"),
        "mapInPandas": lambda: frame.mapInPandas(each, "id bigint"),
        "applyInPandas": lambda: groups.applyInPandas(same, "id bigint"),
        "applyInArrow": lambda: groups.applyInArrow(same, "id bigint"),
        "aggregate": lambda: groups.agg(pandas_udf(total, "bigint")("id")),
        "Arrow aggregate": lambda: groups.agg(arrow_udf(arrow_total, "bigint")("id")),
        "window": lambda: frame.select("id", pandas_udf(total, "bigint")("id").over(Window.partitionBy(key))),
    }[form]()


def _same_rows(spark: SparkSession, form: str, act: Act, settings: dict[str, str] | None = None) -> list[Any]:
    return rows_of_both(spark, lambda: _called(spark, form, act), "Python", settings)


def _failure(frame: DataFrame) -> tuple[str, str]:
    """Return the class of the error of a query, and the last line of its text before the stack of the JVM."""
    with pytest.raises((PySparkException, Py4JError)) as caught:
        frame.collect()
    text = str(caught.value).split("JVM stacktrace")[0].split("Driver stacktrace")[0].strip()
    return type(caught.value).__name__, text.splitlines()[-1]


class _EndError(BaseException):
    """Is no Exception."""


class _UnpickledError(Exception):
    """Cannot be pickled, nor made with one argument."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(first)
        self.lock = threading.Lock()


class _TextError(Exception):
    """Has no text."""

    def __str__(self) -> str:
        raise ValueError("no text")


def _raise(error: BaseException) -> None:
    raise error


_FAILURES: dict[str, Act] = {
    "exit": lambda: sys.exit(3),
    "stop": lambda: next(iter(())),
    "other base": lambda: _raise(_EndError("the end")),
    "not pickled": lambda: _raise(_UnpickledError(1, 2)),
    "without text": lambda: _raise(_TextError()),
}


@pytest.mark.parametrize(
    ("form", "failure"),
    [
        ("udf", "exit"),
        ("mapInArrow", "exit"),
        ("arrow_udf over an iterator", "stop"),
        ("arrow_udf", "other base"),
        ("applyInArrow", "not pickled"),
        ("mapInPandas", "without text"),
    ],
)
def test_functions_that_fail_in_unusual_ways_fail_as_in_spark(spark: SparkSession, form: str, failure: str) -> None:
    failures = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            failures.append(_failure(_called(spark, form, _FAILURES[failure])))
    assert failures[0] == failures[1]


def test_functions_that_log_to_spark_stay_in_spark(spark: SparkSession) -> None:
    def log() -> None:
        logging.getLogger("mine").warning("logged")

    logged = {"spark.sql.pyspark.worker.logging.enabled": "true"}
    for form in ("udf", "applyInArrow"):
        with configured(spark, {**logged, ENABLED: "true"}):
            frame = _called(spark, form, log)
            frame.collect()
        assert "worker.logging.enabled" in str(summary_of(frame).reasons), form


@pytest.mark.parametrize("form", ["mapInPandas"])
def test_next_query_works_after_a_worker_ends_in_a_function(spark: SparkSession, form: str) -> None:
    """Tasks of a local session have one attempt."""
    failures = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            with pytest.raises(Py4JError) as caught:
                _called(spark, form, lambda: os.kill(os.getpid(), signal.SIGKILL)).collect()
            failures.append("Python worker exited unexpectedly" in str(caught.value))
    assert failures == [True, True]
    assert len(_same_rows(spark, form, lambda: None)) == 20


@pytest.mark.parametrize("form", ["udf", "mapInArrow"])
def test_cancelled_job_ends_a_function_that_sleeps(spark: SparkSession, form: str, tmp_path: Path) -> None:
    started, errors = tmp_path / "started", []

    def sleep() -> None:
        started.touch()
        time.sleep(100)

    def run() -> None:
        spark.sparkContext.setJobGroup("sleeping", "sleeping", interruptOnCancel=True)
        errors.append(_failure(_called(spark, form, sleep)))

    with configured(spark, {ENABLED: "true"}):
        thread = InheritableThread(target=run)
        thread.start()
        wait_until(started.exists, "the function should be called", 30)
        spark.sparkContext.cancelJobGroup("sleeping")
        thread.join(30)
    assert [name for name, _ in errors] == ["Py4JJavaError"]
    assert len(_same_rows(spark, form, lambda: None)) == 20


@pytest.mark.parametrize("form", ["udf", "arrow_udf", "mapInArrow", "applyInPandas"])
def test_functions_may_print_and_start_threads(spark: SparkSession, form: str) -> None:
    def act() -> None:
        print("to stdout", flush=True)
        print("to stderr", file=sys.stderr)
        os.write(1, b"to the descriptor\n")
        threading.Thread(target=time.sleep, args=(1,)).start()

    _same_rows(spark, form, act)


def test_redefined_functions_of_the_same_name_are_the_new_ones(spark: SparkSession) -> None:
    for factor in (2, 3):
        names: dict[str, Any] = {}
        exec(f"def times(x):\n    return x * {factor}\n", names)
        times = names["times"]
        spark.udf.register("times", arrow_udf(lambda x, factor=factor: pc.multiply(x, factor), "bigint"))
        frame = lambda: spark.range(1, 4).where("id > 0")  # noqa: E731
        make = lambda: frame().select(udf(times, "bigint")("id"), f.expr("times(id)"))  # noqa: B023, E731
        assert [row[0] for row in rows_of_both(spark, make, "Python")] == [factor, 2 * factor, 3 * factor]


@pytest.mark.parametrize("form", ["udf", "arrow_udf", "mapInPandas"])
def test_state_of_a_function_lasts_for_its_task(spark: SparkSession, form: str) -> None:
    calls: list[int] = []

    def act() -> None:
        calls.append(0)
        if len(calls) > 10:
            raise ValueError("another task's state")

    _same_rows(spark, form, act, {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"})


def test_values_of_many_megabytes_equal_spark(spark: SparkSession) -> None:
    size = 30_000_000

    def large(values: pa.Array) -> pa.Array:
        return pa.array(["x" * size] * len(values))

    def parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays([large(batch.column(0))], ["s"])

    frame = lambda: spark.range(0, 2, 1, 1).where("id >= 0")  # noqa: E731
    shown = lambda made: made.select(f.length("s"), f.substring("s", size, 9))  # noqa: E731
    rows_of_both(spark, lambda: shown(frame().select(arrow_udf(large, "string")("id").alias("s"))), "Python")
    rows_of_both(spark, lambda: shown(frame().mapInArrow(parts, "s string")), "Python")


def test_documented_functions_by_name_and_their_check(spark: SparkSession) -> None:
    text = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    example, check = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:2]
    names: dict[str, Any] = {"spark": spark}
    exec(compile(example, "extend.md", "exec"), names)
    assert len(assert_same_rows(lambda: names["by_name"].select("*"), runs="[net]")) == 3
    assert_same_rows(lambda: names["by_call"].select("*"), runs="[net]")
    with configured(spark, {ENABLED: "true"}):
        exec(compile(check, "extend.md", "exec"), names)


def test_check_of_rows_finds_differences_and_queries_that_stay_in_spark(spark: SparkSession) -> None:
    def frame(text: str) -> DataFrame:
        return spark.range(3).where("id > 0").selectExpr(f"{text} AS v")

    def by_engine() -> DataFrame:
        return frame("id" if spark.conf.get(ENABLED, None) == "true" else "-id")

    before = spark.conf.get(ENABLED, None)
    assert assert_same_rows(lambda: frame("double('NaN')")) != []
    with pytest.raises(AssertionError, match=r"(?s)2 rows of Spark, 2 of the engine.*only in Spark: Row\(v=-1\)"):
        assert_same_rows(by_engine)
    with pytest.raises(AssertionError, match="no fragment runs EvalPython"):
        assert_same_rows(lambda: frame("id"), runs="EvalPython")
    with pytest.raises(AssertionError, match="no fragment runs any operator"):
        assert_same_rows(lambda: spark.createDataFrame([(1,)], "v int"))
    assert spark.conf.get(ENABLED, None) == before
