"""``toArrow`` and ``toPandas`` of converted plans equal Spark's and use the fragment's chunks without making rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pyspark_pipeline.spark import explain
from tests.support.compare import Rule, difference
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, condition_of, configured, time_limit
from tests.support.tables import TableShelf

_ARROW = "spark.sql.execution.arrow."
_AQE = "spark.sql.adaptive.enabled"
_TABLES = ["numbers", "tame", "texts", "times", "keys", "empty", "batch_plus_one"]

_QUERIES = {
    "numbers": "SELECT * FROM numbers WHERE id >= 0",
    "tame": "SELECT * FROM tame",
    "texts": "SELECT * FROM texts",
    "times": "SELECT * FROM times",
    "keys": "SELECT * FROM keys",
    "nulls": "SELECT CAST(NULL AS INT) AS n, NULL AS nothing, CAST(NULL AS STRING) AS s, id FROM tame",
    "constants": "SELECT 'x' AS c, 1 AS one, -0.0D AS zero FROM tame",
    "empty": "SELECT * FROM empty",
    "no rows left": "SELECT * FROM tame WHERE id < 0",
    "one name twice": "SELECT id, i AS id, n9 FROM tame",
    "groups": "SELECT k, count(*) AS n, sum(i) AS s, max(n38) AS m, avg(i) AS a FROM tame GROUP BY k",
    "one row": "SELECT count(*), sum(n18), max(k), min(d) FROM tame",
    "no groups": "SELECT k, count(*) FROM tame WHERE id < 0 GROUP BY k",
    "join": "SELECT a.id, b.s, a.k FROM tame a LEFT JOIN texts b ON a.id = b.id AND b.id > 100",
    "sorted": "SELECT * FROM tame ORDER BY id DESC",
    "union": "SELECT id, k FROM tame UNION ALL SELECT id, s FROM texts",
    "more than a batch": "SELECT * FROM batch_plus_one",
}

Taken = Callable[[DataFrame], Any]


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool, spark: SparkSession, tables: TableShelf) -> Iterator[None]:
    if vanilla_only:
        pytest.skip("needs the extension")
    tables.use(_TABLES)
    with time_limit(spark):
        yield


def _passed_on(frame: DataFrame) -> int:
    """Return the number of chunks that the JVM passed to Arrow unchanged."""
    return sum(fragment["metrics"]["arrowChunks"] for fragment in explain.summary(frame)["fragments"])


def _bits(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's values; types that Python cannot represent or compare (NaN) as their bits."""
    widths = {pa.float32(): pa.int32(), pa.float64(): pa.int64(), pa.date32(): pa.int32()}
    kind = pa.int64() if pa.types.is_timestamp(column.type) else widths.get(column.type)
    return [value for chunk in column.chunks for value in (chunk.view(kind) if kind else chunk).to_pylist()]


def _arrow(frame: DataFrame) -> tuple[pa.Schema, list[Any]]:
    table = frame.toArrow()
    assert table.validate(full=True) is None
    return table.schema, list(zip(*map(_bits, table.columns), strict=True)) or [table.num_rows]


def _pandas(frame: DataFrame) -> tuple[list[str], list[Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = pd.DataFrame(frame.toPandas())
    kinds = [f"{name}: {dtype}" for name, dtype in zip(made.columns, made.dtypes, strict=True)]
    return kinds, [tuple(row) for row in made.itertuples(index=False, name=None)] or [len(made)]


def _outcome(take: Taken, frame: DataFrame) -> tuple[Any, list[Any]]:
    try:
        return take(frame)
    except Exception as error:
        return type(error), [condition_of(error) or str(error).splitlines()[0]]


def _both(spark: SparkSession, query: str, take: Taken, settings: Mapping[str, str]) -> DataFrame:
    """Assert that the engine's result equals Spark's; return the engine's frame."""
    results = []
    for engine in ("false", "true"):
        with configured(spark, {**settings, ENABLED: engine}):
            frame = spark.sql(query)
            results.append(_outcome(take, frame))
    (wanted, expected), (given, made) = results
    assert given == wanted if not isinstance(wanted, pa.Schema) else given.equals(wanted, check_metadata=True)
    is_ordered = "ORDER BY" in query or int(spark.conf.get("spark.task.cpus") or 1) == 1 and "GROUP" not in query
    assert difference(expected, made, Rule(ordered=is_ordered)) is None
    return frame


@pytest.mark.parametrize("aqe", ["true", "false"])
@pytest.mark.parametrize("name", _QUERIES)
def test_to_arrow_equals_spark_without_rows(spark: SparkSession, name: str, aqe: str) -> None:
    settings = {_AQE: aqe, "spark.sql.session.timeZone": "America/St_Johns"}
    frame = _both(spark, _QUERIES[name], _arrow, settings)
    rows = frame.count()
    summary = summary_of(frame)
    assert summary.converted == summary.operators or not rows, summary
    assert (_passed_on(frame) > 0) == (rows > 0)


@pytest.mark.parametrize(("name", "self_destruct"), [(name, "false") for name in _QUERIES] + [("tame", "true")])
def test_to_pandas_equals_spark_without_rows(spark: SparkSession, name: str, self_destruct: str) -> None:
    settings = {
        _ARROW + "pyspark.enabled": "true",
        _ARROW + "pyspark.selfDestruct.enabled": self_destruct,
        "spark.sql.session.timeZone": "Asia/Kolkata",
    }
    frame = _both(spark, _QUERIES[name], _pandas, settings)
    assert (_passed_on(frame) > 0) == (frame.count() > 0)


@pytest.mark.parametrize(("most", "lengths"), [(10000, [10000] * 6 + [5537]), (0, [65537]), (-1, [65537])])
def test_batches_respect_max_records_per_batch(spark: SparkSession, most: int, lengths: list[int]) -> None:
    with configured(spark, {ENABLED: "true", _ARROW + "maxRecordsPerBatch": str(most)}):
        frame = spark.table("batch_plus_one").where("id >= 0")
        assert [len(batch) for batch in frame.toArrow().to_batches()] == lengths
    assert _passed_on(frame) == len(lengths)


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_rows_without_columns_are_counted_as_in_spark(spark: SparkSession, aqe: str) -> None:
    counts = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine, _AQE: aqe}):
            batches = spark.table("tame").where("i > 0").select()._collect_as_arrow()  # type: ignore[operator]
            counts.append((sum(len(batch) for batch in batches), {batch.num_columns for batch in batches}))
    assert counts[0] == counts[1] == (141, {0})


@pytest.mark.parametrize("take", [_arrow, _pandas])
@pytest.mark.parametrize("aqe", ["true", "false"])
def test_data_error_raises_spark_condition(spark: SparkSession, take: Taken, aqe: str) -> None:
    settings = {_AQE: aqe, _ARROW + "pyspark.enabled": "true", "spark.sql.ansi.enabled": "true"}
    for query, condition in (
        ("SELECT id DIV (id - 5) AS q FROM tame", "DIVIDE_BY_ZERO"),
        ("SELECT k, sum(CAST(k AS INT)) AS s FROM tame GROUP BY k", "CAST_INVALID_INPUT"),
    ):
        frame = _both(spark, query, take, settings)
        assert _outcome(take, frame)[1] == [condition]


@pytest.mark.parametrize(
    "settings",
    [{_ARROW + "useLargeVarTypes": "true"}, {_ARROW + "compression.codec": "lz4"}],
    ids=["large types", "compressed"],
)
def test_unsupported_batch_formats_are_built_from_rows(spark: SparkSession, settings: Mapping[str, str]) -> None:
    frame = _both(spark, _QUERIES["texts"], _arrow, settings)
    assert summary_of(frame).converted and not _passed_on(frame)


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_other_actions_use_rows_and_keep_the_frame_usable(spark: SparkSession, aqe: str) -> None:
    with configured(spark, {ENABLED: "true", _AQE: aqe}):
        frame = spark.sql(_QUERIES["groups"])
        rows = frame.collect()
        assert len(rows) == len(list(frame.toLocalIterator())) == frame.count() == 4
        assert not _passed_on(frame)
        table = frame.toArrow()
        again = frame.toArrow()
        assert _passed_on(frame) > 0
        assert difference([tuple(row) for row in rows], list(zip(*table.to_pydict().values(), strict=True))) is None
        assert difference(table.to_pylist(), again.to_pylist()) is None
        assert difference(rows, frame.collect()) is None


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_spark_operator_above_the_engine_builds_its_own_batches(spark: SparkSession, aqe: str) -> None:
    for query in (
        "SELECT * FROM tame ORDER BY id LIMIT 7",
        "SELECT id, percentile(i, 0.5) OVER (PARTITION BY k ORDER BY id) AS n FROM tame WHERE i > 0",
    ):
        frame = _both(spark, query, _arrow, {_AQE: aqe, "spark.pysparkPipeline.jvmInput": "never"})
        assert summary_of(frame).converted and not _passed_on(frame), query
    cached = spark.table("tame").where("i > 0").groupBy("k").agg(F.sum("i").alias("s")).cache()
    try:
        assert difference(cached.toArrow().to_pylist(), [row.asDict() for row in cached.collect()]) is None
        assert not _passed_on(cached)
    finally:
        cached.unpersist(blocking=True)
