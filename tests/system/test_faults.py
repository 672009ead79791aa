"""Broken files, invalid rows, invalid options: error messages compared with vanilla Spark's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.support.compare import difference
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, condition_of, configured
from tests.support.tables import TableShelf

_OFF = {ENABLED: "false"}
_ON = {ENABLED: "true"}


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _scribble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4:4000] = b"\xa5" * 3996
    path.write_bytes(bytes(data))


def _remove(path: Path) -> None:
    path.unlink()


def _broken_table(spark: SparkSession, folder: Path, damage: Callable[[Path], None]) -> DataFrame:
    folder.mkdir()
    for number in range(3):
        data = pa.table({"id": range(number * 1000, number * 1000 + 1000), "k": ["a", "b"] * 500})
        pq.write_table(data, folder / f"good-{number}.parquet", use_dictionary=False)
    (folder / "good-1.parquet").rename(folder / "broken.parquet")
    frame = spark.read.schema("id bigint, k string").parquet(str(folder)).where("id > 3").groupBy("k").count()
    damage(folder / "broken.parquet")
    return frame


@pytest.mark.parametrize("damage", [_truncate, _empty, _scribble, _remove], ids=lambda damage: damage.__name__[1:])
def test_error_names_broken_file(spark: SparkSession, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    conditions = []
    for name, settings in (("vanilla", _OFF), ("pipeline", _ON)):
        with configured(spark, settings):
            frame = _broken_table(spark, tmp_path / name, damage)
            with pytest.raises((PySparkException, Py4JError)) as caught:
                frame.collect()
            assert "broken.parquet" in str(caught.value)
            conditions.append((type(caught.value), (condition_of(caught.value) or "").split(".")[0]))
    assert conditions == [conditions[0], conditions[0]]
    assert conditions[0][1] == "FAILED_READ_FILE"


@pytest.mark.parametrize(
    ("damage", "setting"),
    [
        (_truncate, "spark.sql.files.ignoreCorruptFiles"),
        (_empty, "spark.sql.files.ignoreCorruptFiles"),
        (_remove, "spark.sql.files.ignoreMissingFiles"),
    ],
    ids=["truncate", "empty", "remove"],
)
def test_broken_files_are_skipped_if_configured(
    spark: SparkSession, tmp_path: Path, damage: Callable[[Path], None], setting: str
) -> None:
    rows = []
    for name, settings in (("vanilla", _OFF), ("pipeline", _ON)):
        with configured(spark, {**settings, setting: "true"}):
            rows.append(_broken_table(spark, tmp_path / name, damage).collect())
    assert difference(rows[0], rows[1]) is None
    assert sum(row["count"] for row in rows[0]) == 1996


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, i / z FROM tame",
        "SELECT i % z FROM tame WHERE id > 3",
        "SELECT l + l FROM numbers WHERE l > 9007199254740993",
        "SELECT t + t FROM numbers WHERE t = 127",
        "SELECT i * i FROM numbers WHERE i > 0",
        "SELECT CAST(l AS INT) FROM numbers WHERE l > 9007199254740993",
        "SELECT CAST(n9 AS DECIMAL(5,2)) FROM numbers WHERE n9 > 1000",
        "SELECT CAST(ds AS DATE) FROM texts WHERE ds = 'abc'",
        "SELECT sum(l) FROM wide_sums WHERE k = 1",
        "SELECT k, sum(n) FROM wide_sums WHERE k = 1 GROUP BY k",
        "SELECT n380 * n380 FROM numbers WHERE n380 > 100",
    ],
)
def test_ansi_errors_equal_spark(spark: SparkSession, tables: TableShelf, query: str) -> None:
    """Class, condition, message parameters, SQL state and the query context's fragment are Spark's."""
    tables.use(["tame", "numbers", "texts", "wide_sums"])
    errors = []
    for settings in (_OFF, _ON):
        with configured(spark, {**settings, "spark.sql.ansi.enabled": "true"}):
            frame = spark.sql(query)
            with pytest.raises(PySparkException) as caught:
                frame.collect()
            error = caught.value
            fragments = [context.fragment() for context in error.getQueryContext() or []]
            errors.append(
                (type(error), error.getCondition(), error.getSqlState(), error.getMessageParameters(), fragments)
            )
    assert summary_of(frame).converted > 0
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    ("key", "value", "hints"),
    [
        ("spark.pysparkPipeline.batchRowz", "1", ["batchRows"]),
        ("spark.pysparkPipeline.batchRows", "many", ["many", "whole number"]),
        ("spark.pysparkPipeline.batchRows", "0", ["whole number", "1"]),
        ("spark.pysparkPipeline.enabled", "perhaps", ["perhaps", "true", "false"]),
        ("spark.pysparkPipeline.jvmInput", "maybe", ["maybe", "auto", "always", "never"]),
    ],
)
def test_error_names_invalid_option(
    spark: SparkSession, tables: TableShelf, key: str, value: str, hints: list[str]
) -> None:
    tables.use(["tame"])
    with configured(spark, {**_ON, key: value}), pytest.raises(Exception, match=r"pysparkPipeline") as caught:
        spark.sql("SELECT k, count(*) FROM tame GROUP BY k").collect()
    for hint in [key, *hints]:
        assert hint in str(caught.value)


def test_disabled_session_runs_vanilla_plans(spark: SparkSession, tables: TableShelf) -> None:
    """The option works per session and at run time, in both directions."""
    tables.use(["tame"])
    query = f"SELECT i, count(*) FROM parquet.`{tables.path('tame')}` GROUP BY i"
    other = spark.newSession()
    other.conf.set("spark.pysparkPipeline.cost.enabled", "false")

    def plan(session: SparkSession) -> str:
        frame = session.sql(query)
        frame.collect()
        return str(frame._jdf.queryExecution().executedPlan().toString())

    with configured(spark, _OFF):
        assert "Pipeline" not in plan(spark)
        assert "Pipeline" in plan(other)
    with configured(spark, _ON):
        assert "Pipeline" in plan(spark)
        other.conf.set(ENABLED, "false")
        assert "Pipeline" not in plan(other)
