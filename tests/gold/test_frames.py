"""Cases that SQL files cannot express: DataFrame actions, reuse in plans, caches, writes, streams, concurrency."""

from __future__ import annotations

import json
import re
import stat
import threading
import time
from ast import literal_eval
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import LongType

import pyspark_pipeline
from pyspark_pipeline.cli.main import main
from pyspark_pipeline.spark.profile import fragments
from tests.support.compare import difference
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, configured, run
from tests.support.tables import TableShelf

Action = Callable[[SparkSession, DataFrame, Path], Any]


pytestmark = pytest.mark.usefixtures("limited_extension")


def _grouped(frame: DataFrame) -> DataFrame:
    return frame.groupBy("k").agg(F.count("*").alias("n"), F.sum("i").alias("s"), F.max("l").alias("m"))


def _plus_one(values: pd.Series) -> pd.Series:
    return values + 1


def _map_batches(batches: Iterable[pd.DataFrame]) -> Iterable[pd.DataFrame]:
    for batch in batches:
        yield batch[["id"]]


def _write_and_read(spark: SparkSession, frame: DataFrame, folder: Path) -> Any:
    frame.write.partitionBy("k").parquet(str(folder / "out"))
    return spark.read.schema("n bigint, s bigint, k string").parquet(str(folder / "out")).collect()


def _cache(_spark: SparkSession, frame: DataFrame, _folder: Path) -> Any:
    cached = frame.where("i > 0").cache()
    try:
        return [cached.count(), *_grouped(cached).collect(), *cached.select("id").collect()]
    finally:
        cached.unpersist(blocking=True)


def _stream(spark: SparkSession, frame: DataFrame, folder: Path) -> Any:
    rows: list[Any] = []
    source = str(folder / "in")
    frame.select("id", "k", "i").repartition(2).write.parquet(source)
    stream = spark.readStream.schema("id int, k string, i int").parquet(source).where("i > 0").groupBy("k").count()
    query = stream.writeStream.outputMode("complete").trigger(availableNow=True)
    started = query.foreachBatch(lambda batch, _number: rows.extend(batch.collect())).start()
    started.awaitTermination(60)
    return rows


_ACTIONS: dict[str, Action] = {
    "collect": lambda _s, frame, _f: _grouped(frame).collect(),
    "count": lambda _s, frame, _f: [frame.where("i > 0").count(), frame.count(), frame.select("k").distinct().count()],
    "is_empty": lambda _s, frame, _f: [frame.isEmpty(), frame.where("id < 0").isEmpty()],
    "take": lambda _s, frame, _f: [len(frame.where("i > 0").take(3)), len(frame.tail(2))],
    "first": lambda _s, frame, _f: [frame.where("id = 17").first(), _grouped(frame).where("k = 'x'").first()],
    "to_pandas": lambda _s, frame, _f: sorted(
        map(str, pd.DataFrame(frame.select("id", "i", "n9").toPandas()).to_numpy().tolist())
    ),
    "to_arrow": lambda _s, frame, _f: sorted(map(str, frame.select("id", "d", "n38").toArrow().to_pylist())),
    "local_iterator": lambda _s, frame, _f: list(_grouped(frame).toLocalIterator(prefetchPartitions=True)),
    "rdd": lambda _s, frame, _f: frame.where("i > 0").select("id").rdd.map(tuple).collect(),
    "checkpoint": lambda _s, frame, _f: _grouped(frame.localCheckpoint()).collect(),
    "write": lambda spark, frame, folder: _write_and_read(spark, _grouped(frame).drop("m"), folder),
    "cache": _cache,
    "stream": _stream,
    "pandas_udf": lambda _s, frame, _f: frame.where("id < 30").select(
        "id", pandas_udf(_plus_one, LongType())(F.col("id"))  # type: ignore[call-overload]
    ).collect(),
    "map_in_pandas": lambda _s, frame, _f: frame.where("i > 0").mapInPandas(_map_batches, "id int").groupBy(
        F.col("id") % 3
    ).count().collect(),
    "python_udf": lambda _s, frame, _f: frame.select(F.udf(lambda k: f"<{k}>")("k").alias("u")).groupBy("u").count(
    ).collect(),
    "sample": lambda _s, frame, _f: frame.where("i > 0").sample(fraction=0.5, seed=3).select("id").collect(),
    "metadata": lambda _s, frame, _f: frame.select("_metadata.file_name", "id").where("id < 100").groupBy(
        F.length("file_name")
    ).count().collect(),
    "repartition": lambda _s, frame, _f: frame.repartition(5, "i").select(F.spark_partition_id(), "id").collect(),
    "coalesce": lambda _s, frame, _f: _grouped(frame.repartition(7).coalesce(2)).collect(),
    "dataframe_source": lambda spark, frame, _f: _grouped(
        spark.createDataFrame(frame.collect(), frame.schema)
    ).collect(),
    "duplicate_names": lambda _s, frame, _f: frame.select("id", "i", F.col("i").alias("id")).where("i > 0").collect(),
    "no_columns": lambda _s, frame, _f: [frame.select().count(), frame.where("i > 0").select().collect()],
    "union_by_name": lambda _s, frame, _f: _grouped(frame.unionByName(frame.where("i > 0"))).collect(),
    "self_join": lambda _s, frame, _f: frame.join(_grouped(frame), "k").select("id", "n").collect(),
}


def _as_rows(result: Any) -> list[Any]:
    return result if isinstance(result, list) else [result]


@pytest.mark.parametrize("name", _ACTIONS)
def test_actions_equal_spark(spark: SparkSession, tables: TableShelf, tmp_path: Path, name: str) -> None:
    if name == "sample" and int(spark.conf.get("spark.task.cpus") or 1) > 1:
        pytest.skip("several drivers in an instance leave the order of its rows free, and sampling depends on it")
    results = []
    for engine in ("false", "true"):
        folder = tmp_path / engine
        folder.mkdir()
        with configured(spark, {ENABLED: engine}):
            frame = spark.read.parquet(str(tables.path("tame")))
            results.append(_as_rows(_ACTIONS[name](spark, frame, folder)))
    assert difference(results[0], results[1]) is None


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_exchanges_are_reused_as_in_spark(spark: SparkSession, tables: TableShelf, aqe: str) -> None:
    tables.use(["tame"])
    query = """WITH a AS (SELECT k, sum(i) AS s FROM tame GROUP BY k)
               SELECT k, s FROM a UNION ALL SELECT k, s + 1 FROM a"""
    counts = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine, "spark.sql.adaptive.enabled": aqe}):
            frame = spark.sql(query)
            frame.collect()
            plan = str(frame._jdf.queryExecution().executedPlan().toString())
            counts.append(plan.split("== Initial Plan ==")[0].count("- ReusedExchange ["))
    assert counts[0] == counts[1] >= 1


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_join_reduction_adds_semi_join_to_other_side(spark: SparkSession, tables: TableShelf, aqe: str) -> None:
    tables.use(["tame"])
    query = """SELECT a.id, g.s FROM tame a JOIN (SELECT i, sum(l) AS s FROM tame GROUP BY i) g ON a.i = g.i
               WHERE a.id < 40"""
    settings = {ENABLED: "true", "spark.sql.adaptive.enabled": aqe, "spark.sql.autoBroadcastJoinThreshold": "1"}
    joins = []
    for reduction in ("never", "always"):
        with configured(spark, settings | {"spark.pysparkPipeline.join.reduction": reduction}):
            frame = spark.sql(query)
            frame.collect()
            plan = str(frame._jdf.queryExecution().executedPlan().toString())
            joins.append(plan.split("== Initial Plan ==")[0].count("LeftSemi"))
    assert joins[0] == 0 < joins[1]


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_view_in_a_join_and_a_subquery_is_aggregated_once(spark: SparkSession, tables: TableShelf, aqe: str) -> None:
    tables.use(["tame"])
    query = """WITH v AS (SELECT i, sum(l) AS s FROM tame WHERE z > 0 GROUP BY i)
               SELECT a.id, v.s FROM tame a JOIN v ON a.i = v.i WHERE v.s > (SELECT avg(s) FROM v)"""
    settings = {"spark.sql.adaptive.enabled": aqe, "spark.sql.autoBroadcastJoinThreshold": "1"}
    reused = []
    for enabled in ("false", "true"):
        with configured(spark, settings | {ENABLED: enabled}):
            frame = spark.sql(query)
            frame.collect()
            mode = spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")  # type: ignore[union-attr]
            reused.append(frame._jdf.queryExecution().explainString(mode).count("ReusedExchange"))
    assert reused[0] == 0 < reused[1]


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_rows_are_sorted_within_partitions(spark: SparkSession, tables: TableShelf, aqe: str) -> None:
    tables.use(["numbers"])

    def partitions(enabled: str) -> tuple[list[list[Any]], list[str]]:
        with configured(spark, {ENABLED: enabled, "spark.sql.adaptive.enabled": aqe}):
            partitioned = spark.table("numbers").repartition(3, "t")
            frame = partitioned.sortWithinPartitions(F.desc("d"), F.asc_nulls_last("l"), "id")
            made = frame.rdd.mapPartitions(lambda rows: [[tuple(row) for row in rows]]).collect()
            return made, summary_of(frame).reasons

    (expected, _), (actual, reasons) = partitions("false"), partitions("true")
    assert repr(actual) == repr(expected)
    assert not reasons


@pytest.mark.parametrize("aqe", ["true", "false"])
@pytest.mark.parametrize(("most", "taken"), [(64 << 20, "SinglePartition"), (0, "rangepartitioning")])
def test_small_sort_uses_single_partition(
    spark: SparkSession, tables: TableShelf, aqe: str, most: int, taken: str
) -> None:
    tables.use(["tame"])
    settings = {ENABLED: "true", "spark.sql.adaptive.enabled": aqe}
    with configured(spark, settings | {"spark.pysparkPipeline.sort.gatherBytes": str(most)}):
        frame = spark.sql("SELECT k, count(*) AS c FROM tame GROUP BY k ORDER BY k")
        assert [row.k for row in frame.collect()] == [None, "x", "y", "z"]
        exchanges = {"SinglePartition", "rangepartitioning"}
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert {exchange for exchange in exchanges if exchange in plan} == {taken}
        assert not summary_of(frame).reasons


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_scan_applies_dynamic_partition_pruning(
    spark: SparkSession, tmp_path: Path, aqe: str
) -> None:
    facts, keys = str(tmp_path / "facts"), str(tmp_path / "keys")
    spark.range(0, 3000, 1, 2).selectExpr("id", "id % 3 AS p").write.partitionBy("p").parquet(facts)
    spark.range(10).selectExpr("id AS k", "id * 7 AS v").write.parquet(keys)
    (tmp_path / "facts" / "p=2" / "broken.parquet").write_bytes(b"PAR1 no Parquet PAR1")
    spark.read.schema("id bigint, p int").parquet(facts).createOrReplaceTempView("pruned_facts")
    spark.read.parquet(keys).createOrReplaceTempView("pruned_keys")
    query = "SELECT count(*) AS n, sum(id) AS s FROM pruned_facts JOIN pruned_keys ON p = k WHERE v < 14 AND k > 0"
    settings = {ENABLED: "true", "spark.sql.adaptive.enabled": aqe}
    with configured(spark, settings):
        frame = spark.sql(query)
        assert [tuple(row) for row in frame.collect()] == [(1000, sum(range(1, 3000, 3)))]
        assert not any("scan" in reason.lower() for reason in summary_of(frame).reasons)
    with (
        configured(spark, settings | {"spark.sql.optimizer.dynamicPartitionPruning.enabled": "false"}),
        pytest.raises(Exception, match="broken.parquet"),
    ):
        spark.sql(query).collect()


def test_queries_run_concurrently(spark: SparkSession, tables: TableShelf) -> None:
    tables.use(["tame", "keys"])
    queries = [
        "SELECT k, count(*), sum(i) FROM tame GROUP BY k",
        "SELECT str, count(*) FROM keys GROUP BY str",
        "SELECT id, i + z FROM tame WHERE i > 0",
        "SELECT count(DISTINCT d) FROM keys",
    ] * 2
    expected = [run(spark, query, pipeline=False).rows for query in queries]
    given: list[Any] = [None] * len(queries)
    with configured(spark, {ENABLED: "true"}):
        def work(index: int) -> None:
            given[index] = spark.sql(queries[index]).collect()

        threads = [threading.Thread(target=work, args=(index,)) for index in range(len(queries))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for rows, other in zip(expected, given, strict=True):
        assert difference(rows or [], other) is None


def test_session_is_usable_after_cancelled_query(spark: SparkSession) -> None:
    endless = "SELECT count(*) FROM range(0, 200000000000, 1, 2) WHERE id % 7 = 3"
    with configured(spark, {ENABLED: "true"}):
        timer = threading.Timer(2.0, spark.sparkContext.cancelAllJobs)
        timer.start()
        with pytest.raises(Exception, match="(?i)cancel"):
            spark.sql(endless).collect()
        assert spark.sql("SELECT count(*) FROM range(1000) WHERE id % 7 = 3").collect()[0][0] == 143


def test_cancelled_tasks_free_their_slots_at_once(spark: SparkSession) -> None:
    """Spark's monitor of workers waits for a configured time after it has noticed that a task is killed."""
    endless = "SELECT count(*) FROM range(0, 200000000000, 1, 2) WHERE id % 7 = 3"
    conf: Any = spark.sparkContext._jsc.sc().conf()  # type: ignore[attr-defined]
    conf.set("spark.python.task.killTimeout", "40s")
    try:
        with configured(spark, {ENABLED: "true"}):
            timer = threading.Timer(2.0, spark.sparkContext.cancelAllJobs)
            timer.start()
            with pytest.raises(Exception, match="(?i)cancel"):
                spark.sql(endless).collect()
            start = time.monotonic()
            assert spark.sql("SELECT count(*) FROM range(1000) WHERE id % 7 = 3").collect()[0][0] == 143
    finally:
        conf.remove("spark.python.task.killTimeout")
    assert time.monotonic() - start < 20


def _cancel_until(spark: SparkSession, ended: threading.Event) -> None:
    while not ended.wait(0.5):
        spark.sparkContext.cancelAllJobs()


def test_cancelled_tasks_release_arrow_memory(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    root = getattr(getattr(jvm.org.apache.spark.sql.util, "ArrowUtils$"), "MODULE$").rootAllocator()
    before = root.getAllocatedMemory()
    with configured(spark, {ENABLED: "true"}):
        for _ in range(3):
            ended = threading.Event()
            canceller = threading.Thread(target=_cancel_until, args=(spark, ended))
            canceller.start()
            with pytest.raises(Exception, match="(?i)cancel"):
                spark.sql("SELECT sum(hash(id)) FROM range(0, 200000000000, 1, 2)").collect()
            ended.set()
            canceller.join()
    deadline = time.monotonic() + 30
    while root.getAllocatedMemory() > before:
        assert time.monotonic() < deadline, root.toVerboseString()
        time.sleep(0.1)


def test_julian_calendar_file_without_time_zone_uses_jvm_time_zone(spark: SparkSession, tmp_path: Path) -> None:
    stamps = [-15_000_000_000_000_000, -3_000_000_000_000_000, None, 0]
    moments = pa.table({"ts": pa.array(stamps, pa.timestamp("us", "UTC"))})
    with pq.ParquetWriter(tmp_path / "t.parquet", moments.schema, store_schema=False) as writer:
        writer.write_table(moments)
        writer.add_key_value_metadata({"org.apache.spark.version": "2.4.8"})
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("old_moments")
    zones = spark.sparkContext._jvm.java.util.TimeZone
    before = zones.getDefault()
    seen = []
    try:
        for zone in ("Asia/Kolkata", "America/Los_Angeles"):
            zones.setDefault(zones.getTimeZone(zone))
            expected, made = (run(spark, "SELECT ts FROM old_moments", pipeline=on) for on in (False, True))
            assert made.rows and made.rows == expected.rows, made.message
            seen.append(made.rows)
    finally:
        zones.setDefault(before)
    assert seen[0] != seen[1]


_FIRST = bytes.fromhex("00000001 00000003 00000001 7fff1fff5ffff0ff")
_SECOND = bytes.fromhex("00000002 00000002 0000000b 00000002 0f0f0f0f00000000 ffff0000ffff0000")


@pytest.mark.parametrize("written", [_FIRST, _SECOND, None], ids=["version 1", "version 2", "NULL"])
def test_bloom_filter_equals_spark(spark: SparkSession, tables: TableShelf, written: bytes | None) -> None:
    """SQL has no name for ``might_contain``, which only the optimizer creates."""
    tables.use(["tame"])
    catalyst = spark.sparkContext._jvm.org.apache.spark.sql.catalyst.expressions
    columns = spark.sparkContext._jvm.org.apache.spark.sql.classic.ExpressionUtils
    given = columns.expression(F.lit(written).cast("binary")._jc)

    def answers(key: str) -> Column:
        value = columns.expression(F.expr(key)._jc)
        return Column(columns.column(catalyst.BloomFilterMightContain(given, value)))

    frame = spark.table("tame").select("id", answers("l").alias("a"), answers("xxhash64(k)").alias("b"))
    for query in (frame.select("*"), frame.where("a"), frame.where("b AND NOT coalesce(a, false)")):
        with configured(spark, {ENABLED: "false"}):
            expected = query.select("*").collect()
        assert (len({(row.a, row.b) for row in expected}) > 1) == (written is not None)
        assert sorted(query.collect(), key=repr) == sorted(expected, key=repr)
        summary = summary_of(query)
        assert summary.converted == summary.operators or not expected


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_profile_of_executed_query(
    spark: SparkSession, tables: TableShelf, tmp_path: Path, aqe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tables.use(["tame"])
    settings = {ENABLED: "true", "spark.sql.adaptive.enabled": aqe, "spark.pysparkPipeline.metrics.timeline": "true"}
    with configured(spark, settings):
        frame = spark.sql("SELECT k, count(*) AS c FROM tame WHERE id < 100 GROUP BY k")
        assert all("did not run" in line for line in str(pyspark_pipeline.profile(frame)).splitlines())
        rows = sum(row.c for row in frame.collect())
        lines = str(pyspark_pipeline.profile(frame)).splitlines()
        assert not capsys.readouterr().out
        pyspark_pipeline.profile(frame)
        assert capsys.readouterr().out.splitlines() == lines
        assert [line.split(" rows")[0].strip() for line in lines if "Filter" in line] == [f"Filter: {rows}"]
        assert [line.split(",")[0].split()[0] for line in lines if not line.startswith(" ")] == ["fragment"] * 2
        spans = pyspark_pipeline.timeline(frame, tmp_path / "trace.json")
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        assert sum(event["ph"] == "X" and event["name"] == "running" for event in events) <= spans == sum(
            event["ph"] == "X" for event in events
        )
        names = {event["args"]["name"] for event in events if event["ph"] == "M"}
        assert any("partition 0" in name for name in names) and "pipeline 0, driver 0" in names
        frame.collect()  # Spark reads the first stage's shuffle output again; AQE keeps the metrics of that stage
        assert ("was read again" in str(pyspark_pipeline.profile(frame))) == (aqe == "false")


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_profile_of_failed_frame_reports_failed_tasks(spark: SparkSession, aqe: str) -> None:
    settings = {ENABLED: "true", "spark.sql.adaptive.enabled": aqe, "spark.sql.ansi.enabled": "true"}
    with configured(spark, {**settings, "spark.pysparkPipeline.cost.enabled": "false"}):
        frame = spark.range(0, 3_000_000, 1, 2).selectExpr("sum(1 div (id - 2900000)) AS s")
        with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
            frame.collect()
        lines = str(pyspark_pipeline.profile(frame)).splitlines()
    heads = [line.split(", peak")[0] for line in lines if not line.startswith(" ")]
    assert any(re.fullmatch(r"fragment \d+, instances of failed tasks: 1", head) for head in heads), lines
    (done,) = [line for line in lines if "Range" in line][-1:]
    assert int(done.split(":")[1].split()[0].replace(",", "")) >= 1_000_000


def test_profile_of_cached_frame_reports_the_cached_plan(spark: SparkSession, tables: TableShelf) -> None:
    tables.use(["tame"])
    with configured(spark, {ENABLED: "true"}):
        cached = spark.sql("SELECT k, count(*) AS c FROM tame GROUP BY k").cache()
        try:
            cached.count()
            above = cached.where("c > 0")
            above.collect()
            for frame in (cached, above):
                operators = str(pyspark_pipeline.profile(frame))
                assert "StreamingAggregate" in operators and "did not run" not in operators
        finally:
            cached.unpersist(blocking=True)


def test_timeline_raises_if_not_recorded(spark: SparkSession, tables: TableShelf, tmp_path: Path) -> None:
    tables.use(["tame"])
    with configured(spark, {ENABLED: "true"}):
        frame = spark.sql("SELECT k, count(*) AS c FROM tame GROUP BY k")
        frame.collect()
        with pytest.raises(ValueError, match=r"metrics\.timeline=true"):
            pyspark_pipeline.timeline(frame, tmp_path / "trace.json")


def _no_other_user_can_read_broadcasts(spark: SparkSession) -> None:
    """Assert that the folder of a broadcast of chunks and its files are private."""
    if spark.version.startswith("4.3"):
        return  # py4j does not reach SparkEnv there
    jvm: Any = spark._jvm
    folder = Path(jvm.org.apache.spark.util.Utils.getLocalDir(jvm.org.apache.spark.SparkEnv.get().conf()))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    own = [path for path in folder.glob("broadcast*") if path.is_dir()]
    assert own and {stat.S_IMODE(path.stat().st_mode) for path in own} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.glob("broadcast*/*")} == {0o600}


def test_captured_task_replays_without_spark(
    spark: SparkSession, tables: TableShelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables.use(["tame"])
    capture = "spark.pysparkPipeline.capture."
    settings = {ENABLED: "true", f"{capture}folder": str(tmp_path), f"{capture}operator": "HashJoinProbe"}
    settings[f"{capture}maxBytes"] = str(8 << 30)
    with configured(spark, settings):
        frame = spark.sql("SELECT /*+ BROADCAST(b) */ a.k, count(*) c FROM tame a JOIN tame b USING (id) GROUP BY a.k")
        expected = sorted((row.k or "", row.c) for row in frame.collect())
        _no_other_user_can_read_broadcasts(spark)
    folders = sorted(tmp_path.iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")} == {0o700, 0o600}
    assert len(folders) == 3 and any(next(folder.glob("broadcast-*.arrow"), None) for folder in folders)
    replays = []
    for folder in folders:
        assert main(["replay", str(folder)]) == 0
        captured = capsys.readouterr()
        has_chunks = any(folder.glob("chunks-*"))
        assert "incomplete" not in captured.err and ("asked for HashJoinProbe" in captured.err) != has_chunks
        replays.append(captured.out)
    (result,) = (text for text in replays if "ResultSink" in text and "AggregateSource" in text)
    made = [literal_eval(line.split(": ", 1)[1]) for line in result.splitlines() if line.startswith("partition 0: {")]
    assert sorted((row["k"] or "", row["c"]) for row in made) == expected
    (probe,) = (folder for folder in folders if any(folder.glob("chunks-*")))
    assert main(["replay", str(probe), "--operator", "HashJoinProbe", "--rows", "0"]) == 0
    assert re.search(r"HashJoinProbe: ([1-9]\d*) rows in, \1 rows out, ", capsys.readouterr().out)


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_bucketed_tables_are_joined_and_grouped_without_an_exchange(
    spark: SparkSession, tmp_path: Path, aqe: str
) -> None:
    for name in ("left_buckets", "right_buckets"):
        rows = spark.range(2000).selectExpr("id * 7 % 300 - 20 AS k", "id AS v")
        writer = rows.write.bucketBy(4, "k").option("path", str(tmp_path / name))
        writer.format("parquet").saveAsTable(name)
    query = """SELECT l.k, count(*), sum(l.v + r.v) FROM left_buckets l JOIN right_buckets r USING (k)
               WHERE l.v > 5 GROUP BY l.k"""
    never = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.pysparkPipeline.join.broadcastBytes": "0"}
    try:
        with configured(spark, never | {"spark.sql.adaptive.enabled": aqe}):
            with configured(spark, {ENABLED: "false"}):
                expected = [tuple(row) for row in spark.sql(query).collect()]
            with configured(spark, {ENABLED: "true"}):
                frame = spark.sql(query)
                assert difference(expected, [tuple(row) for row in frame.collect()]) is None
                assert "Exchange" not in frame._jdf.queryExecution().executedPlan().toString()
                summary = summary_of(frame)
                assert summary.converted == summary.operators and not summary.reasons
    finally:
        for name in ("left_buckets", "right_buckets"):
            spark.sql(f"DROP TABLE {name}")


def test_task_with_several_cores_scans_several_partitions(spark: SparkSession, tables: TableShelf) -> None:
    """A task scans as many partitions as it has cores, if enough tasks remain for all cores of the session."""
    cpus = int(spark.conf.get("spark.task.cpus") or 1)
    at_once = spark.sparkContext.defaultParallelism // cpus
    path = tables.path("tame")
    largest = max(file.stat().st_size for file in path.glob("*.parquet"))
    sizes = {"spark.sql.files.maxPartitionBytes": str(largest // 2), "spark.sql.files.openCostInBytes": "1"}
    found = []
    for engine in ("false", "true"):
        with configured(spark, {**sizes, ENABLED: engine}):
            frame = spark.read.parquet(str(path)).where("i > 0").select("id", "i")
            found.append((frame.rdd.getNumPartitions(), sorted(map(tuple, frame.collect()))))
    (spark_partitions, spark_rows), (partitions, rows) = found
    assert rows == spark_rows and spark_partitions >= 3
    together = max(1, min(cpus, spark_partitions // at_once))
    assert partitions == -(-spark_partitions // together)


def _task_metrics(frame: DataFrame, enabled: str) -> dict[str, int]:
    """Collect a frame; return Spark's metrics of its tasks, summed."""
    spark, group = frame.sparkSession, f"metrics {enabled} {id(frame)}"
    spark.sparkContext.setJobGroup(group, group)
    with configured(spark, {ENABLED: enabled}):
        frame.select("*").collect()
    tracker, scala = spark.sparkContext.statusTracker(), spark.sparkContext._jsc.sc()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    scala.listenerBus().waitUntilEmpty()
    stages = [scala.statusStore().lastStageAttempt(stage) for job in jobs if job for stage in job.stageIds]
    names = ("inputRecords", "inputBytes", "peakExecutionMemory", "diskBytesSpilled", "memoryBytesSpilled")
    return {name: sum(getattr(stage, name)() for stage in stages) for name in names}


def test_tasks_update_spark_input_and_memory_metrics(spark: SparkSession, tables: TableShelf) -> None:
    table = spark.read.parquet(str(tables.path("tame")))
    frame = table.groupBy("l").agg(F.sum("id"))
    ours, theirs = _task_metrics(frame, "true"), _task_metrics(frame, "false")
    assert ours["inputRecords"] == theirs["inputRecords"] == table.count()
    assert 0 < ours["inputBytes"] <= theirs["inputBytes"]  # Spark counts footers too
    assert ours["peakExecutionMemory"] > 0
    assert ours["diskBytesSpilled"] == ours["memoryBytesSpilled"] == 0


def test_rows_that_a_scan_leaves_out_are_input_records(spark: SparkSession, tmp_path: Path) -> None:
    numbers = [number * 7919 % 10_000 for number in range(10_000)]
    pq.write_table(pa.table({"n": numbers, "id": range(10_000)}), tmp_path / "few.parquet")
    frame = spark.read.parquet(str(tmp_path)).where("n < 100").agg(F.sum("id"))
    ours, theirs = _task_metrics(frame, "true"), _task_metrics(frame, "false")
    assert ours["inputRecords"] == theirs["inputRecords"] == 10_000


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_limit_stops_the_scan_after_one_row_group_per_driver(
    spark: SparkSession, tmp_path: Path, aqe: str
) -> None:
    pq.write_table(pa.table({"id": range(60_000)}), tmp_path / "many.parquet", row_group_size=1000)
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("many_groups")
    cores = int(spark.conf.get("spark.task.cpus") or 1)
    limits = {
        "SELECT id FROM many_groups LIMIT 10": 10,
        "SELECT id + 1 FROM many_groups WHERE id > 5 LIMIT 10 OFFSET 4": 10,
        "SELECT repeat(cast(id AS string), 2) FROM many_groups LIMIT 7": 7,  # in a projection that stays in Spark
    }
    with configured(spark, {ENABLED: "true", "spark.sql.adaptive.enabled": aqe}):
        for query, rows in limits.items():
            frame = spark.sql(query)
            assert len(frame.collect()) == rows
            (fragment,) = fragments(frame)
            operators = [o for i in fragment["instances"] for p in i["pipelines"] for o in p["operators"]]
            (scan,) = (operator for operator in operators if operator["name"] == "FileScan")
            assert 1 <= scan["counters"]["row_groups_read"] <= cores
            assert scan["rows_out"] >= rows
