"""The source file and row index of a row: ``_metadata`` and ``input_file_name()`` beside converted operators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from tests.support.compare import difference
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, configured

_NAMES = ("input_file_name()", "input_file_block_start()", "input_file_block_length()")
_AQE = "spark.sql.adaptive.enabled"
#: Spark reads all files in one task, or each file in several.
_SETTINGS = {
    "one task": {_AQE: "true", "spark.sql.files.minPartitionNum": "1"},
    "splits": {_AQE: "false", "spark.sql.files.maxPartitionBytes": "700", "spark.sql.files.openCostInBytes": "0"},
}
_OF_FILES = ("path", "name", "size", "block_start", "block_length", "modification_time")
_CONSTANT = tuple(f"_metadata.file_{name}" for name in _OF_FILES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three files for one partition of Spark, each with several row groups; return their folder."""
    made = tmp_path_factory.mktemp("file_names") / "of %20 jürgen#"
    made.with_name("of csv").mkdir()
    for number, name in enumerate(("p=a b", "p=100%25 +?", "p=é%23#")):
        ids = list(range(number * 100, number * 100 + 100))
        data = pa.table({"id": ids, "k": [i % 7 for i in ids]})
        (made / name).mkdir(parents=True)
        csv.write_csv(data, made.with_name("of csv") / f"part {number}.csv")
        pq.write_table(data, made / name / f"part {number}.parquet", row_group_size=30)
    return made


def _files(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder))


def _keys(spark: SparkSession) -> DataFrame:
    return spark.range(0, 300, 3)


Query = Callable[[SparkSession, Path], DataFrame]


def _query(of: Callable[[DataFrame, SparkSession], DataFrame]) -> Query:
    return lambda spark, folder: of(_files(spark, folder), spark)


def _joined_shuffled(files: DataFrame, spark: SparkSession) -> DataFrame:
    """Join with file names read below the shuffle; Spark rejects them above a join of files."""
    left = files.where("id > 5").selectExpr("id", "input_file_name() AS f")
    return left.join(files.where("k > 1").hint("merge"), "id").select("id", "f")


@F.udf(returnType=StringType(), useArrow=False)
def _upper(text: str) -> str:
    return text.upper()


@F.pandas_udf(StringType())
def _lower(texts: pd.Series) -> pd.Series:
    return texts.str.lower()


_QUERIES: dict[str, Query] = {
    "filter": _query(lambda files, _: files.where("id % 3 > 0 AND k < 6").selectExpr("id", *_NAMES)),
    "condition": _query(lambda files, _: files.where("k > 1").where("input_file_name() LIKE '%part%201%'")),
    "row index": _query(lambda files, _: files.where("k > 1").selectExpr("id", "_metadata.row_index AS r")),
    "row index alone": _query(lambda files, _: files.selectExpr("_metadata.row_index")),
    "row index summed": _query(
        lambda files, _: files.selectExpr("k", "_metadata.row_index AS r").groupBy("k").sum("r")
    ),
    "metadata": _query(lambda files, _: files.where("k > 1").selectExpr("id", *_CONSTANT)),
    "metadata condition": _query(
        lambda files, _: files.where("_metadata.file_name LIKE '%1%' AND k > 2").selectExpr("_metadata.file_size", "k")
    ),
    "metadata and name": _query(
        lambda files, _: files.where("_metadata.file_size > 0").selectExpr(*_CONSTANT, _NAMES[0], "k AS file_name")
    ),
    "metadata as a struct": _query(lambda files, _: files.where("k > 1").selectExpr("id", "_metadata")),
    "name alone": _query(lambda files, _: files.selectExpr("substr(input_file_name(), -12) f").distinct()),
    "name in two": _query(
        lambda files, _: files.withColumn("f", F.input_file_name()).where("f LIKE '%1%'").selectExpr("f", *_NAMES, "k")
    ),
    "metadata of some": _query(lambda files, _: files.where("_metadata.row_index < 40").groupBy("k").count()),
    "grouped": _query(lambda files, _: files.where("k > 1").selectExpr("input_file_name() f").groupBy("f").count()),
    "rows of each file": _query(lambda files, _: files.groupBy(F.input_file_name()).count()),
    "rows of each split": _query(
        lambda files, _: files.groupBy(F.input_file_name(), F.expr(_NAMES[1]), F.expr(_NAMES[2])).agg(F.sum("id"))
    ),
    "last of each file": _query(
        lambda files, _: files.select(
            "p", F.row_number().over(Window.partitionBy(F.input_file_name()).orderBy(F.desc("id"))).alias("n")
        ).where("n = 1")
    ),
    "ordered": _query(lambda files, _: files.orderBy(F.input_file_name(), F.desc("id")).limit(5)),
    "in a branch": _query(lambda files, _: files.selectExpr("if(k = 1, input_file_name(), p)", "p")),
    "sample": _query(lambda files, _: files.sample(fraction=0.3, seed=3).selectExpr("id", *_NAMES)),
    "coalesced": _query(lambda files, _: files.where("k > 1").coalesce(2).selectExpr("id", "p", *_NAMES)),
    "argument of a Python function": _query(
        lambda files, _: files.where("k > 1").select("id", _upper(F.input_file_name()))
    ),
    "condition on a Python function": _query(
        lambda files, _: files.where(_lower(F.input_file_name()).contains("p=a")).select("id", _lower("p"))
    ),
    "beside a Python function": _query(lambda files, _: files.where("k > 1").select(_upper("p"), F.input_file_name())),
    "in and above a Python function": _query(
        lambda files, _: files.select(_upper(F.input_file_name()), F.input_file_name())
    ),
    "below and above a union": _query(
        lambda files, _: files.selectExpr("input_file_name() f").union(files.selectExpr("p")).selectExpr("f", *_NAMES)
    ),
    "csv": lambda spark, folder: spark.read.csv(str(folder.with_name("of csv"))).selectExpr("_c0", *_NAMES),
    "no files": lambda spark, _: spark.range(5).selectExpr("id", *_NAMES),
    "union": _query(
        lambda files, spark: files.where("k = 1").union(files.where("k = 2")).selectExpr("id", *_NAMES)
    ),
    "broadcast join": _query(
        lambda files, spark: files.where("k > 1").join(_keys(spark).hint("broadcast"), "id").selectExpr("id", *_NAMES)
    ),
    "shuffled join": _query(_joined_shuffled),
    "after an exchange": _query(lambda files, _: files.where("k > 1").repartition(3, "k").selectExpr("id", *_NAMES)),
    "above an aggregation": _query(
        lambda files, _: files.groupBy("k").agg(F.sum("id").alias("s")).where("input_file_name() = ''").select("k", "s")
    ),
    "sorted": _query(
        lambda files, _: files.where("k > 1").sortWithinPartitions("k", "id").selectExpr("id", *_NAMES)
    ),
    "subquery": _query(
        lambda files, _: files.where("k > 1").selectExpr(
            "id",
            "(SELECT max(f) FROM (SELECT input_file_name() AS f FROM files WHERE k > 2)) AS f",
            "_metadata.row_index AS r",
        )
    ),
}  # fmt: skip
#: Queries that the engine runs as a whole.
_WHOLE = {
    "filter", "condition", "metadata", "metadata condition", "metadata and name", "name alone", "name in two",
    "grouped", "rows of each file", "rows of each split", "last of each file", "ordered", "in a branch", "sample",
    "coalesced", "argument of a Python function", "condition on a Python function", "no files", "after an exchange",
    "above an aggregation",
}  # fmt: skip
#: Queries of which the engine runs nothing: their functions read the thread's last file.
_KEPT = {
    "beside a Python function", "in and above a Python function", "below and above a union", "union", "sorted",
}  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("reading", _SETTINGS)
def test_file_names_and_row_indexes_equal_spark(
    spark: SparkSession, folder: Path, vanilla_only: bool, reading: str
) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    _files(spark, folder).createOrReplaceTempView("files")
    wrong, converted = [], 0
    whole, kept = set(), set()
    for name, query in _QUERIES.items():
        rows = []
        for engine in ("false", "true"):
            with configured(spark, {**_SETTINGS[reading], ENABLED: engine}):
                frame = query(spark, folder)
                rows.append(frame.collect())
        assert rows[0], name
        summary = summary_of(frame)
        converted += summary.converted
        whole |= {name} if summary.converted == summary.operators else set()
        kept |= set() if summary.converted else {name}
        wrong += [f"{name}: {difference(rows[0], rows[1])}"] if difference(rows[0], rows[1]) else []
    assert wrong == []
    assert converted > 3
    assert whole >= _WHOLE
    assert kept >= _KEPT
