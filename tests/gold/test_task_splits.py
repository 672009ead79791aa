"""Scans whose partitions nothing above sees: tasks read all of every file, the last ones less than the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.compare import difference
from tests.support.conversion import plan_nodes, summary_of
from tests.support.sessions import ENABLED, configured

_ROWS = 20_000


pytestmark = pytest.mark.usefixtures("limited_extension")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write files of uneven sizes, of many small row groups."""
    made = tmp_path_factory.mktemp("task_splits")
    for number, rows in enumerate((_ROWS, 10, _ROWS // 3)):
        ids = list(range(rows))
        table = pa.table({"id": ids, "k": [i % 7 for i in ids], "t": [f"text {i}" for i in ids]})
        pq.write_table(table, made / f"{number}.parquet", row_group_size=500, compression="none")
    return made


def _partitions(spark: SparkSession, folder: Path, most_bytes: int) -> Any:
    """Return Spark's partitions of the files, as Scala has them."""
    settings = {ENABLED: "false", "spark.sql.files.maxPartitionBytes": most_bytes, "spark.sql.files.openCostInBytes": 0}
    with configured(spark, {name: str(value) for name, value in settings.items()}):
        frame: Any = spark.read.parquet(str(folder))
        plan = frame._jdf.queryExecution().sparkPlan().collectLeaves().head()
        return plan.inputRDD().filePartitions()


#: Path, start and length of a split.
_Split = tuple[str, int, int]


def _place(file: Any) -> _Split:
    return file.filePath().toString(), file.start(), file.length()


def _splits(spark: SparkSession, partitions: Any, most: int, least: int, *, can_cut: bool) -> list[list[_Split]]:
    """Return the splits of each task; two run at once."""
    jvm: Any = spark.sparkContext._jvm
    tasks = jvm.org.apache.spark.sql.pysparkpipeline.TaskSplits(partitions, 0, most, least, 2, can_cut).tasks()
    found = [tasks.apply(number) for number in range(tasks.size())]
    return [[_place(files.apply(i)) for i in range(files.size())] for files in found]


def _merged(splits: list[_Split]) -> list[_Split]:
    """Join splits that follow on each other, in their order."""
    merged: list[_Split] = []
    for path, start, length in splits:
        if merged and merged[-1][0] == path and merged[-1][1] + merged[-1][2] == start:
            merged[-1] = (path, merged[-1][1], merged[-1][2] + length)
        else:
            merged.append((path, start, length))
    return merged


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("can_cut", [True, False])
def test_last_tasks_are_shorter_and_all_bytes_are_read_in_order(
    spark: SparkSession, folder: Path, can_cut: bool, most: int
) -> None:
    size = sum(file.stat().st_size for file in folder.iterdir())
    partitions = _partitions(spark, folder, size // 20)
    expected = [_place(file) for number in range(partitions.size()) for file in partitions.apply(number).files()]
    tasks = _splits(spark, partitions, most, size // 100, can_cut=can_cut)
    assert _merged([split for task in tasks for split in task]) == _merged(expected)
    lengths = [sum(length for _, _, length in task) for task in tasks]
    assert all(lengths) and max(lengths) <= size * most / partitions.size() * 1.3
    if can_cut:
        assert lengths[-1] < lengths[0] / 2 and lengths[0] == max(lengths)
    else:
        assert {split for task in tasks for split in task} == set(expected), "no file is cut"


@pytest.mark.parametrize("most_bytes", [3_000, 17_000, 100_000])
def test_rows_and_places_are_those_of_spark(spark: SparkSession, folder: Path, most_bytes: int) -> None:
    files = {"spark.sql.files.maxPartitionBytes": str(most_bytes), "spark.sql.files.openCostInBytes": "100"}
    columns = (
        "k, count(*), sum(id), min(t), max(t)",
        "k, avg(cast(id / 4 AS decimal(7,2))), avg(cast(id AS decimal(20,2)))",
        "input_file_block_start(), input_file_block_length(), count(*)",
        "_metadata.file_block_start, _metadata.file_block_length, count(*)",
    )
    statements = [f"SELECT {chosen} FROM parquet.`{folder}` GROUP BY ALL" for chosen in columns]
    union = f"(SELECT id, k FROM parquet.`{folder}` UNION ALL SELECT k, id FROM parquet.`{folder}` WHERE k > 3)"
    for statement in (*statements, f"SELECT k, sum(id), count(*) FROM {union} GROUP BY k"):
        found = []
        for engine in ("false", "true"):
            with configured(spark, files | {ENABLED: engine}):
                made = spark.sql(statement)
                found.append(made.collect())
        assert difference(*found) is None, statement
        conversion = summary_of(made)
        assert conversion.converted == conversion.operators > 0, conversion


def _is_converted(operator: Any) -> bool:
    return bool(operator.getClass().getSimpleName() == "PipelineOperatorExec")


def _spreads_row_groups(spark: SparkSession, frame: DataFrame) -> bool:
    """Return whether the scans of ``frame``'s executed plan may read row groups in any order, all or none."""
    jvm: Any = spark.sparkContext._jvm
    found = set()
    for node in plan_nodes(frame._jdf.queryExecution().executedPlan()):
        if node.getClass().getSimpleName() == "PipelineFragmentExec":
            operators = [operator.original() for operator in plan_nodes(node.root()) if _is_converted(operator)]
            scans = [each for each in operators if each.getClass().getSimpleName() == "FileSourceScanExec"]
            found |= {jvm.org.apache.spark.sql.pysparkpipeline.JoinedSplits.inAnyOrder(scan) for scan in scans}
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize(
    ("statement", "spread"),
    [
        ("SELECT k, count(*), sum(id) FROM t GROUP BY k", True),
        ("SELECT /*+ BROADCAST(u) */ count(*) FROM t JOIN u USING (k) WHERE id > 10", True),
        ("SELECT max(id) FROM (SELECT id FROM t UNION ALL SELECT k FROM t)", True),
        ("SELECT count(*) FROM (SELECT DISTINCT k FROM t)", True),
        ("SELECT first(id) FROM t", False),
        ("SELECT k, collect_list(id) FROM t GROUP BY k", False),
        ("SELECT k, sum(cast(id AS double)) FROM t GROUP BY k", False),
        ("SELECT id FROM t WHERE k = 1", False),
        ("SELECT /*+ REPARTITION(2, k) */ * FROM t", False),
        ("SELECT max(x) FROM (SELECT monotonically_increasing_id() AS x FROM t)", False),
        ("SELECT count(*) FROM (SELECT id FROM t LIMIT 7)", False),
    ],
)
def test_row_groups_are_spread_where_nothing_sees_the_order(
    spark: SparkSession, folder: Path, statement: str, spread: bool
) -> None:
    spark.read.parquet(str(folder)).createOrReplaceTempView("t")
    spark.createDataFrame([(1,), (2,)], "k bigint").createOrReplaceTempView("u")
    files = {"spark.sql.files.maxPartitionBytes": "17000", "spark.sql.files.openCostInBytes": "100"}
    found = []
    for engine in ("false", "true"):
        with configured(spark, files | {ENABLED: engine}):
            made = spark.sql(statement)
            found.append(made.collect())
    assert difference(*found) is None
    assert _spreads_row_groups(spark, made) == spread
