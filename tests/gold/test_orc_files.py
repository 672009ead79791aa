"""Options and schemas of reads of ORC files, damaged files, splits, time zones: Spark's rows or condition."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.conversion import summary_of
from tests.support.file_reads import outcome_of_both
from tests.support.orc_tables import typed_rows
from tests.support.sessions import ENABLED, configured

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]


def _write(folder: Path, columns: Mapping[str, Any] | pa.Table, name: str = "a.orc", **style: Any) -> None:
    orc.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), str(folder / name), **style)


def _read(spark: SparkSession, folder: Path, schema: str = "", **options: str) -> DataFrame:
    reader = spark.read.options(**options)
    return (reader.schema(schema) if schema else reader).orc(str(folder))


@contextmanager
def _time_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    """Set the time zone of the JVM."""
    assert spark._jvm is not None
    zones = spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone(zone))
    try:
        yield
    finally:
        zones.setDefault(before)


@pytest.fixture(scope="module")
def typed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a file of every type."""
    folder = tmp_path_factory.mktemp("orc") / "typed"
    with configured(spark, {ENABLED: "false"}):
        typed_rows(spark, 300).coalesce(1).write.orc(str(folder))
    return folder


@pytest.mark.parametrize(
    "schema",
    [
        "tiny int, small bigint, id bigint, share double, price decimal(20,2), NAME string, gone int, local bigint",
        "more struct<y:struct<Z:string,new:int,w:array<struct<d:date>>>,gone:array<int>>, list array<bigint>",
        "more struct<gone:int>, pairs map<string,bigint>",
        "gone int",
    ],
)
def test_schemas_that_convert(spark: SparkSession, typed: Path, schema: str) -> None:
    frame, _ = outcome_of_both(spark, lambda: _read(spark, typed, schema))
    assert summary_of(frame).reasons == ()


def test_case_of_names_counts(spark: SparkSession, typed: Path) -> None:
    with configured(spark, {"spark.sql.caseSensitive": "true"}):
        schema = "ID bigint, id bigint, more struct<y:struct<z:string>,Y:struct<Z:string,z:string>>"
        frame, _ = outcome_of_both(spark, lambda: _read(spark, typed, schema))
    assert summary_of(frame).reasons == ()


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("id smallint", "stored as int, which is not read as smallint"),
        ("id string", "stored as int, which is not read as string"),
        ("word binary", "stored as string, which is not read as binary"),
        ("price decimal(20,3)", "stored as decimal(10,2), which is not read as decimal(20,3)"),
        ("wide decimal(18,10)", "which is not read as decimal(18,10)"),
        ("list array<int>", "which is not read as array<int>"),
        ("seen timestamp_ntz", "which is not read as timestamp_ntz"),
        ("day timestamp", "which is not read as timestamp"),
        ("list array<timestamp>", "whose timestamps are not read from ORC"),
    ],
)
def test_schemas_that_stay_in_spark(spark: SparkSession, typed: Path, schema: str, reason: str) -> None:
    assert reason in "".join(summary_of(_read(spark, typed, schema)).reasons)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"orc.skip.corrupt.data": "true"}, "orc.skip.corrupt.data=true"),
        ({"orc.proleptic.gregorian": "true"}, "orc.proleptic.gregorian=true"),
        ({"ignoreCorruptFiles": "true"}, "ignoreCorruptFiles=true"),
    ],
    ids=str,
)
def test_options_that_stay_in_spark(spark: SparkSession, typed: Path, options: Mapping[str, str], reason: str) -> None:
    assert reason in "".join(summary_of(_read(spark, typed, "id int", **options)).reasons)


def test_reader_of_rows_stays_in_spark(spark: SparkSession, typed: Path) -> None:
    with configured(spark, {"spark.sql.orc.enableVectorizedReader": "false"}):
        assert "enableVectorizedReader=false" in "".join(summary_of(_read(spark, typed)).reasons)


def test_version_2_of_the_data_source_api_stays_in_spark(spark: SparkSession, typed: Path) -> None:
    with configured(spark, {"spark.sql.sources.useV1SourceList": "", "spark.sql.orc.aggregatePushdown": "true"}):
        for columns in (["count(*)", "max(id)"], ["id", "word"]):
            frame, _ = outcome_of_both(spark, lambda columns=columns: _read(spark, typed).selectExpr(*columns))
            assert any("BatchScan" in reason for reason in summary_of(frame).reasons)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Kolkata"])
def test_timestamps_of_the_time_zone_of_the_jvm(spark: SparkSession, tmp_path: Path, typed: Path, zone: str) -> None:
    columns = ["id", "seen", "local", "day"]
    with _time_zone(spark, zone):
        with configured(spark, {ENABLED: "false"}):
            overlap = spark.range(200).selectExpr("id", "timestamp_seconds(1699171200 + id * 60) AS seen")
            rows = typed_rows(spark, 2000).select(*columns)
            overlap.unionByName(rows, allowMissingColumns=True).coalesce(1).write.orc(str(tmp_path / "own"))
        frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path / "own"))
        assert summary_of(frame).reasons == ()
        assert "timestamps of the time zone UTC" in "".join(summary_of(_read(spark, typed).select("seen")).reasons)
        frame, _ = outcome_of_both(spark, lambda: _read(spark, typed).select("day", "local"))
        assert summary_of(frame).reasons == ()


def test_splits_anywhere(spark: SparkSession, tmp_path: Path) -> None:
    dice, rows = random.Random(1), range(20000)
    times = pa.array([row * 10**6 if row % 3 else None for row in rows], pa.timestamp("us"))
    data = {"n": [dice.randrange(2**60) for _ in rows], "t": times}
    _write(tmp_path, data, stripe_size=20000, batch_size=500, compression="lz4")
    assert orc.ORCFile(str(tmp_path / "a.orc")).nstripes > 2
    for size in ("20000", "70000"):
        with configured(spark, {"spark.sql.files.maxPartitionBytes": size, "spark.sql.files.openCostInBytes": "0"}):
            frame, _ = outcome_of_both(
                spark, lambda: _read(spark, tmp_path).selectExpr("count(*)", "sum(n)", "max(t)", "count(t)")
            )
            assert summary_of(frame).reasons == ()


def test_files_without_names_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, {"_col0": [1, 2], "_col1": ["a", None]})
    schema = "n bigint, v string, w int"
    for columns in (["*"], ["w", "v"], ["count(*)"]):
        frame, _ = outcome_of_both(spark, lambda columns=columns: _read(spark, tmp_path, schema).selectExpr(*columns))
        assert summary_of(frame).reasons == ()
    frame, found = outcome_of_both(spark, lambda: _read(spark, tmp_path, "n bigint"))
    assert found == "FAILED_READ_FILE.NO_HINT"


def test_columns_by_their_places(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, {"a.b": [1, 2], "a": [{"b": 3}, {"b": 4}], "é x": ["p", "q"]})
    places = {"orc.force.positional.evolution": "true"}
    reads = (
        lambda: _read(spark, tmp_path),
        lambda: _read(spark, tmp_path).select("`a.b`"),
        lambda: _read(spark, tmp_path, "q bigint, r struct<b:bigint>, s string", **places).select("s", "r.b"),
    )
    for read in reads:
        frame, _ = outcome_of_both(spark, read)
        assert summary_of(frame).reasons == ()


def test_files_without_rows_or_with_damage(spark: SparkSession, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("empty", "bad", "twice", "early", "damaged")]
    for folder in folders:
        folder.mkdir()
    empty, bad, twice, early, damaged = folders
    _write(empty, {"n": pa.array([], pa.int32())})
    frame, found = outcome_of_both(spark, lambda: _read(spark, empty))
    assert found == [] and summary_of(frame).reasons == ()
    (bad / "a.orc").write_bytes(b"ORC no")
    _, found = outcome_of_both(spark, lambda: _read(spark, bad, "n int"))
    assert found == "FAILED_READ_FILE.NO_HINT"
    _write(twice, pa.table([pa.array([1]), pa.array([2])], names=["n", "N"]))
    _, found = outcome_of_both(spark, lambda: _read(spark, twice, "n bigint"))
    assert found == "FAILED_READ_FILE.NO_HINT"
    _write(early, {"t": pa.array([-1_500_000], pa.timestamp("us"))})  # pyarrow writes negative nanoseconds
    frame, found = outcome_of_both(spark, lambda: _read(spark, early))
    assert found is None and summary_of(frame).reasons == ()
    _write(damaged, {"n": range(5000), "s": [f"{row * 7919}" for row in range(5000)]}, compression="zlib")
    data = (damaged / "a.orc").read_bytes()
    (damaged / "a.orc").write_bytes(data[:200] + b"\xff" * 400 + data[600:])
    frame, found = outcome_of_both(spark, lambda: _read(spark, damaged))
    assert found == "FAILED_READ_FILE.NO_HINT" and summary_of(frame).reasons == ()


def test_dates_of_both_calendars(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, {"d": pa.array([-300000, -141428, -141427, None, 5], pa.int32()).cast(pa.date32())})
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path))
    assert summary_of(frame).reasons == ()


def test_dates_of_the_proleptic_calendar(spark: SparkSession, tmp_path: Path) -> None:
    for name, shift in (("new", 0), ("old", 365 * 500)):
        with configured(spark, {ENABLED: "false"}):
            rows = spark.range(20).selectExpr(
                f"date_sub('2000-01-01', CAST(id AS INT) + {shift}) AS d",
                f"timestamp_seconds(946684800 - id * 86400 - {shift} * 86400L) AS t",
            )
            rows.coalesce(1).write.option("orc.proleptic.gregorian", "true").orc(str(tmp_path / name))
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path / "new"))
    assert summary_of(frame).reasons == ()
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path / "old"))
    assert "dates before 1582-10-15 of the proleptic Gregorian calendar" in "".join(summary_of(frame).reasons)


def test_tables_in_partitions(spark: SparkSession, tmp_path: Path) -> None:
    with configured(spark, {ENABLED: "false"}):
        spark.sql(f"CREATE TABLE orc_of_words (id INT, word STRING, price DECIMAL(8, 2), parts ARRAY<INT>, "
                  f"code VARCHAR(5), day DATE) USING orc PARTITIONED BY (day) LOCATION '{tmp_path}'")  # fmt: skip
        spark.sql("INSERT INTO orc_of_words SELECT id, concat('é', id), id / 7, array(id, NULL), 'ab', "
                  "date_add('2024-01-01', id % 3) FROM (SELECT CAST(id AS INT) AS id FROM range(100))")  # fmt: skip
    try:
        query = partial(spark.sql, "SELECT day, max(code), count(*), sum(price), max(word), sum(parts[0]), "
                        "max(_metadata.file_name) FROM orc_of_words WHERE day > '2024-01-01' GROUP BY day")  # fmt: skip
        frame, found = outcome_of_both(spark, query)
        assert summary_of(frame).reasons == () and found and len(found) == 2
    finally:
        spark.sql("DROP TABLE orc_of_words")
