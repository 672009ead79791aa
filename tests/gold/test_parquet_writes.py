"""Writes of Parquet: files of the engine and of Spark have the same names, schemas, footers and rows."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import YearMonthIntervalType

from benchmarks.executions import Executions
from tests.support.compare import difference
from tests.support.sessions import ENABLED, configured

_REBASE = "spark.sql.parquet.datetimeRebaseModeInWrite"
_INT96_REBASE = "spark.sql.parquet.int96RebaseModeInWrite"
_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
_FAILURES = (PySparkException, Py4JJavaError)
_ADAPTIVE = "spark.sql.adaptive.enabled"
_ZONE = "spark.sql.session.timeZone"
_FILE = re.compile(r"part-(\d+)-[0-9a-f-]{36}(.*)")


@pytest.fixture(scope="module", autouse=True)
def _needs_extension(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Rows of every type that is written, in three files."""
    folder = str(tmp_path_factory.mktemp("writes") / "rows")
    with configured(spark, {ENABLED: "false"}):
        spark.range(0, 700, 1, 3).selectExpr(
            "id",
            "get(array('', 'a', 'a b', 'ä/ö', 'x=y', '%41', 'A', '.'), cast(id % 9 AS int)) AS text",
            "if(id % 7 = 0, null, cast(id % 100 AS tinyint)) AS b1",
            "cast(id * 7 AS smallint) AS b2",
            "cast(-id AS int) AS b4",
            "if(id % 5 = 0, null, id % 3 = 0) AS flag",
            "cast(get(array('NaN', '0.0', '-0.0', 'Infinity', '1.5'), cast(id % 6 AS int)) AS double) AS d",
            "cast(id / 3 AS float) AS f",
            "cast(id * 1.25 AS decimal(9,2)) AS d9",
            "cast(-id * 1.5 AS decimal(18,3)) AS d18",
            "if(id % 11 = 0, null, cast(id * 1000000007 AS decimal(38,6)) * -1) AS d38",
            "date_add(date'1500-01-01', cast(id * 300 AS int)) AS day",
            "if(id % 13 = 0, null, timestamp_micros(id * 100000000000001 - 30000000000000000)) AS ts",
            "timestamp_ntz'0001-01-01 00:00:00.000001' + make_dt_interval(cast(id * 1000 AS int)) AS ntz",
            "time'12:34:56.123456' AS at",
            "make_dt_interval(cast(id AS int), 1, 2, 3.5) AS span",
            "make_ym_interval(1, cast(id % 50 AS int)) AS months",
            "cast(concat('b', id) AS binary) AS bytes",
            "if(id % 4 = 0, null, array(id, null, -id)) AS longs",
            "map(concat('k', id % 4), if(id % 3 = 0, null, timestamp_micros(id)), 'z', null) AS m",
            "if(id % 20 = 0, double('NaN'), double(id)) AS n",
        ).withColumns({
            "st": F.expr("if(id % 8 = 0, null, named_struct('s', cast(id AS string), 'n', n))"),
            "deep": F.expr("array(named_struct('x', d9, 'y', if(id % 2 = 0, null, array(day))))"),
        }).write.parquet(folder)  # fmt: skip
    return spark.read.parquet(folder)


class Written(NamedTuple):
    """A file: its schema, its footer's keys and writer, its codecs, statistics and rows."""

    schema: str
    keys: dict[bytes, bytes]
    writer: str
    codecs: set[str]
    bounds: list[Any]
    rows: list[str]


def _files(folder: Path) -> dict[str, Written]:
    """Return the files below ``folder`` by folder, number and suffix of their names."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or path.name.endswith(".crc"):
            continue
        name = _FILE.fullmatch(path.name)
        place = f"{path.parent.relative_to(folder)}/{name[1] + name[2] if name else path.name}"
        found[place] = _written(path) if name else None
    return found


def _written(path: Path) -> Written:
    file = pq.ParquetFile(path)
    about = file.metadata
    schema = re.sub(r"^<.*>\n", "", str(about.schema))
    columns = [about.row_group(0).column(i) for i in range(about.num_columns)] if about.num_row_groups else []
    bounds = [
        (s.null_count, s.min, s.max) if s is not None and s.has_min_max else None
        for column in columns
        if column.physical_type not in ("FLOAT", "DOUBLE")
        for s in [column.statistics]
    ]
    rows = [repr(row) for row in file.read().to_pylist()]
    return Written(schema, about.metadata, about.created_by, {c.compression for c in columns}, bounds, rows)


Write = Callable[[DataFrame, str], None]


def _both(spark: SparkSession, frame: DataFrame, write: Write, folder: Path) -> list[Path]:
    """Write on Spark, then in the engine; return the folders."""
    targets = [folder / name for name in ("spark", "engine")]
    for target, enabled in zip(targets, ("false", "true"), strict=True):
        with configured(spark, {ENABLED: enabled}):
            write(frame, str(target))
    return targets


def _assert_same(spark: SparkSession, targets: list[Path]) -> None:
    """Compare the files of folders; those of partitions were sorted, which leaves the order of equal rows open."""
    expected, found = (_files(target) for target in targets)
    assert list(found) == list(expected)
    for place, file in expected.items():
        if file is not None:
            made = found[place]
            assert made.schema == file.schema
            assert made.keys == file.keys
            assert made.writer == file.writer
            assert made.codecs == file.codecs
            assert len(made.rows) == len(file.rows)
            if place.startswith("./"):
                assert made.rows == file.rows, place
                assert made.bounds == file.bounds, place
    if any(expected.values()):
        with configured(spark, {ENABLED: "false"}):
            read = [spark.read.parquet(str(target)) for target in targets]
            assert read[0].schema == read[1].schema
            plain = [frame.withColumns(_as_text(frame)) for frame in read]
            assert difference(*(frame.collect() for frame in plain)) is None


def _as_text(frame: DataFrame) -> dict[str, Column]:
    """Return the columns whose values Python does not have, as texts."""
    months = [f.name for f in frame.schema if isinstance(f.dataType, YearMonthIntervalType)]
    return {name: F.col(name).cast("string") for name in months}


def _by(*columns: str, **options: Any) -> Write:
    def write(frame: DataFrame, path: str) -> None:
        made: DataFrameWriter = frame.write.options(**options)
        (made.partitionBy(*columns) if columns else made).parquet(path)

    return write


#: Makes files local to no file system that the engine renames files in.
_RAW = {"fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem", "fs.file.impl.disable.cache": "true"}

_WRITES: dict[str, tuple[Write, dict[str, str]]] = {
    "one folder": (_by(), {}),
    "zstd": (_by(compression="zstd"), {_TIMESTAMPS: "TIMESTAMP_MICROS"}),
    "gzip": (_by(compression="gzip"), {_TIMESTAMPS: "TIMESTAMP_MILLIS"}),
    "lz4_raw": (_by(), {"spark.sql.parquet.compression.codec": "lz4_raw"}),
    "uncompressed": (_by(compression="none", **{"parquet.enable.dictionary": "false"}), {}),
    "texts": (_by("text"), {}),
    "numbers": (lambda frame, path: _by("b1", "flag")(frame.where("id % 9 < 1"), path), {_ADAPTIVE: "false"}),
    "moments": (lambda frame, path: _by("ts")(frame.where("id % 20 < 1"), path), {_ZONE: "America/Los_Angeles"}),
    "decimals and days": (lambda frame, path: _by("d9", "day")(frame.where("id % 20 < 1"), path), {}),
    "times": (lambda frame, path: _by("ntz")(frame.where("id < 20"), path), {}),
    "few rows a file": (_by(maxRecordsPerFile=100), {}),
    "few rows a file and folder": (_by("flag", maxRecordsPerFile=7), {}),
    "one row a file": (lambda frame, path: _by("flag", maxRecordsPerFile=1)(frame.where("id < 12"), path), {}),
    "no rows": (lambda frame, path: _by()(frame.where("id < 0"), path), {}),
    "no rows in folders": (lambda frame, path: _by("text")(frame.where("id < 0"), path), {}),
    "another file system": (_by("flag", **_RAW), {}),
    "one row": (lambda frame, path: _by("text")(frame.where("id = 5"), path), {}),
    "one partition without rows": (lambda frame, path: _by()(frame.where("id > 600"), path), {}),
    "chunks of few rows": (_by("text"), {"spark.pysparkPipeline.batchRows": "10"}),
    "small row groups": (_by(**{"parquet.block.size": "20000"}), {"spark.pysparkPipeline.batchRows": "10"}),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRITES)
@pytest.mark.rotates
def test_files_are_those_of_spark(
    spark: SparkSession, rows: DataFrame, executions: Executions, name: str, tmp_path: Path
) -> None:
    write, settings = _WRITES[name]
    with configured(spark, settings):
        executions.take()
        targets = _both(spark, rows, write, tmp_path)
        made = executions.take()
        assert not made["reasons"], made
        assert made["operators"] == 2 * made["converted"], made
        if name == "small row groups":
            (group, *_), made_rows = _row_groups(targets[1])
            assert 10 <= group < 200
            assert made_rows == _row_groups(targets[0])[1]
        else:
            _assert_same(spark, targets)


def test_files_are_moved_not_copied(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    """Hadoop writes a file of checksums beside each file that goes through its local file system."""
    _, target = _both(spark, rows.select("id"), lambda frame, path: frame.write.parquet(path), tmp_path)
    assert {path.suffix for path in target.iterdir() if "part-" in path.name} == {".parquet"}


def _row_groups(folder: Path) -> tuple[list[int], int]:
    """Return the rows of each row group of the first file, and of the whole folder."""
    files = [pq.ParquetFile(path).metadata for path in sorted(folder.glob("part-*"))]
    return [files[0].row_group(i).num_rows for i in range(files[0].num_row_groups)], sum(f.num_rows for f in files)


def _write_tables(spark: SparkSession, frame: DataFrame, name: str, folder: Path) -> list[Any]:
    """Write a table by every statement; return what it holds after each, and its folders."""
    frame.where("id < 12").createOrReplaceTempView("some_rows")
    columns = "id, d9, b4, text"
    found: list[Any] = []

    def holds() -> None:
        with configured(spark, {ENABLED: "false"}):
            rows = spark.sql(f"select count(*), sum(id), sum(hash(*)) from {name}").collect()
            parts = spark.sql(f"show partitions {name}").collect() if spark.catalog.tableExists(name) else []
            found.append((rows, sorted(map(str, parts))))

    def run(sql: str) -> None:
        spark.sql(sql)
        holds()

    run(f"create table {name} using parquet partitioned by (b4, text) as select {columns} from some_rows")
    run(f"insert into {name} select {columns} from some_rows where id < 4")
    run(f"insert into {name} partition (b4 = 7, text) select id, d9, text from some_rows where id < 5")
    run(f"insert overwrite {name} partition (b4 = 7, text = 'a b') select id + 1000, d9 from some_rows where id = 3")
    location = folder / f"elsewhere-{name}"
    run(f"alter table {name} add partition (b4 = 1000, text = 'far') location '{location}'")
    run(f"insert into {name} partition (b4, text) select id, d9, 1000, 'far' from some_rows where id < 9")
    found.append(len(list(location.glob("part-*"))))
    with configured(spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        run(f"insert overwrite {name} select id, d9, -1, 'new' from some_rows where id < 2")
        run(f"insert overwrite {name} partition (b4 = 7, text) select id, d9, 'a b' from some_rows where id < 2")
    run(f"insert overwrite {name} select {columns} from some_rows where id = 11")
    frame.where("id < 3").select("id", "d9", "b4", "text").write.insertInto(name)
    holds()
    few = frame.where("id < 4").select("id", "d9", "b4", "text")
    few.write.mode("append").partitionBy("b4", "text").saveAsTable(name)
    holds()
    for mode in ("ignore", "overwrite"):
        few.write.mode(mode).partitionBy("text").saveAsTable(name)
        holds()
    spark.sql(f"drop table {name}")
    return found


@pytest.mark.rotates
def test_tables_are_those_of_spark(
    spark: SparkSession, rows: DataFrame, executions: Executions, tmp_path: Path
) -> None:
    found = []
    for name, enabled in (("by_spark", "false"), ("by_engine", "true")):
        executions.take()
        with configured(spark, {ENABLED: enabled}):
            found.append(_write_tables(spark, rows, name, tmp_path))
        made = executions.take()
    assert found[1] == found[0]
    assert not [reason for reason in made["reasons"] if "WriteFiles" in reason], made


def _sources(spark: SparkSession, rows: DataFrame) -> dict[str, tuple[DataFrame, tuple[str, ...]]]:
    return {
        "groups": (rows.groupBy("text", "flag").agg(F.sum("d9"), F.max("ts")), ("text", "flag")),
        "a join that is sorted in Spark": (
            rows.where("id < 30").hint("merge").join(rows.select("id", F.col("b2").alias("other")), "id"),
            ("id",),
        ),
        "sorted rows": (rows.where("id < 100").orderBy(F.desc("b4")).select("d9", "b4"), ("b4",)),
        "sorted partitions": (rows.repartition(3, "text").sortWithinPartitions("text", "id"), ("text",)),
        "a stage": (rows.repartition(2), ()),
        "a window": (rows.selectExpr("id", "row_number() over (partition by text order by id) n", "text"), ("text",)),
        "a union": (rows.select("id", "text").union(rows.select("b4", "text")), ("text",)),
        "one column": (rows.select("d9"), ()),
        "many folders": (spark.range(0, 600, 1, 1).selectExpr("id", "id % 300 AS k"), ("k",)),
    }


@pytest.mark.rotates
def test_rows_of_other_operators_are_written(
    spark: SparkSession, rows: DataFrame, executions: Executions, tmp_path: Path
) -> None:
    for place, (name, (frame, keys)) in enumerate(_sources(spark, rows).items()):
        adaptive = "true" if place % 2 else "false"
        with configured(spark, {_ADAPTIVE: adaptive, "spark.sql.autoBroadcastJoinThreshold": "-1"}):
            executions.take()
            targets = _both(spark, frame, _by(*keys), tmp_path / str(place))
            made = executions.take()
        assert not made["reasons"], (name, made)
        read = [spark.read.parquet(str(target)) for target in targets]
        with configured(spark, {ENABLED: "false"}):
            plain = [frame.withColumns(_as_text(frame)).collect() for frame in read]
        assert difference(*plain) is None, name
        folders = [{str(path.relative_to(t)) for path in t.rglob("*") if path.is_dir()} for t in targets]
        assert folders[0] == folders[1], name


_DECLINES: dict[str, tuple[Write, dict[str, str], str]] = {
    "lz4": (_by(compression="lz4"), {}, "compressed by LZ4"),
    "legacy format": (_by(), {"spark.sql.parquet.writeLegacyFormat": "true"}, "writeLegacyFormat=true"),
    "bloom filters": (_by(**{"parquet.bloom.filter.enabled#id": "true"}), {}, "parquet.bloom.filter.enabled#id=true"),
    "legacy dates": (_by(), {_REBASE: "LEGACY"}, f"{_REBASE}=LEGACY"),
    "legacy INT96": (_by(), {_INT96_REBASE: "LEGACY"}, f"{_INT96_REBASE}=LEGACY"),
    "version 2": (_by(**{"parquet.writer.version": "PARQUET_2_0"}), {}, "parquet.writer.version=PARQUET_2_0"),
    "concurrent writers": (_by("text"), {"spark.sql.maxConcurrentOutputFileWriters": "5"}, "maxConcurrentOutputFileW"),
    "doubles": (_by("d"), {}, "partition column d of type double"),
    "buckets": (lambda frame, path: frame.write.bucketBy(2, "id").saveAsTable("bucketed", path=path), {}, "buckets"),
    "JSON": (lambda frame, path: frame.select("id").write.json(path), {}, "JsonFileFormat"),
}  # fmt: skip


def test_other_writes_are_left_to_spark(
    spark: SparkSession, rows: DataFrame, executions: Executions, tmp_path: Path
) -> None:
    few = rows.where("id < 30 and not isnan(d) and d > 0").select("id", "d", "text", "ts")
    for name, (write, settings, reason) in _DECLINES.items():
        with configured(spark, settings):
            executions.take()
            write(few, str(tmp_path / name))
            made = executions.take()
            assert [r for r in made["reasons"] if r.startswith("WriteFiles: ") and reason in r], (name, made)
    spark.sql("drop table bucketed")


def _failures() -> dict[str, tuple[Callable[[DataFrame], DataFrame], dict[str, str]]]:
    ancient = {_REBASE: "EXCEPTION", _INT96_REBASE: "EXCEPTION"}
    return {
        "division": (lambda frame: frame.selectExpr("id", "1 / (id - 650) AS q", "text"), {}),
        "ancient dates": (lambda frame: frame.select("day", "text"), ancient),
        "ancient times": (lambda frame: frame.select("ts", "text"), ancient | {_TIMESTAMPS: "TIMESTAMP_MICROS"}),
        "ancient INT96 in maps": (lambda frame: frame.selectExpr("map(1, ts) AS m", "text"), ancient),
    }


def test_failed_writes_leave_nothing(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    for name, (change, settings) in _failures().items():
        keys = ("text",) if name in ("division", "ancient dates") else ()
        failures = []
        for engine in ("false", "true"):
            folder = tmp_path / f"{name}-{engine}"
            with configured(spark, {**settings, ENABLED: engine}), pytest.raises(_FAILURES) as caught:
                _by(*keys)(change(rows), str(folder))
            assert _left_in(folder) == [], (name, engine)
            failures.append(_failure(caught.value))
        assert failures[0] == failures[1], name


def test_an_interrupted_task_deletes_its_staging_folder(spark: SparkSession, tmp_path: Path) -> None:
    """Otherwise the committer does not delete the files that the task has moved already."""
    folder = tmp_path / "staging"
    folder.mkdir()
    (folder / "file").write_text("rows")
    jvm: Any = spark._jvm
    package = jvm.org.apache.spark.sql.pysparkpipeline
    hadoop = spark._jsc.hadoopConfiguration()
    staging = package.StagingFolder(jvm.java.io.File(str(folder)), jvm.scala.Option.empty(), hadoop)
    jvm.java.lang.Thread.currentThread().interrupt()
    try:
        staging.delete()
    finally:
        jvm.java.lang.Thread.interrupted()
    assert not folder.exists()


def _left_in(folder: Path) -> list[Path]:
    """Return the files that are left when the other tasks of a failed job have been killed, too.

    Files of tasks that have committed do not count: Hadoop's committer leaves them, with either engine, if it moves the
    folder of such a task while it deletes the folder of the job.
    """
    end = time.monotonic() + 30
    while (left := _uncommitted(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def _uncommitted(folder: Path) -> list[Path]:
    """Return the files of tasks that have not committed. Folders that are removed meanwhile have none."""
    found = [Path(inner) / name for inner, _, names in os.walk(folder) for name in names]
    return [path for path in found if not any(part.startswith("task_") for part in path.parts)]


def _failure(error: Exception) -> list[tuple[str, str]]:
    """Return the class and the first line of the message of an error and of its causes in the JVM."""
    if not isinstance(error, Py4JJavaError):
        return [(type(error).__name__, _without_path(str(error)))]
    found, cause = [], error.java_exception
    while cause is not None:
        found.append((cause.getClass().getName(), _without_path(cause.getMessage())))
        cause = cause.getCause()
    return found


def _without_path(message: str) -> str:
    return re.sub(r"file:.*?(?= SQLSTATE|$)", "", message.splitlines()[0])


def test_recent_days_are_written_where_old_ones_raise(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    recent = rows.where("day > '1990-01-01' and (ts is null or ts > '1990-01-01')")
    with configured(spark, {_REBASE: "EXCEPTION", _INT96_REBASE: "EXCEPTION"}):
        _assert_same(spark, _both(spark, recent, _by(), tmp_path))
