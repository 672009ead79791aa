"""Data sources in Python: rows, pushed filters and errors are those of Spark."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, InputPartition
from pyspark.sql.types import StructType

from tests.support.conversion import summary_of
from tests.support.python_functions import FREE, errors_of_both, rows_of_both
from tests.support.sessions import ENABLED, configured

_TYPES = (
    "id bigint, i int, s string, d double, n decimal(20,4), day date, at timestamp, local timestamp_ntz, x binary,"
    " b boolean, t tinyint, h smallint, f float"
)

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]


@pytest.fixture(autouse=True)
def _sources(spark: SparkSession) -> None:
    if spark.conf.get("spark.task.cpus", "1") != "1":
        pytest.skip("stays in Spark with several drivers")
    for source in (Numbers, ArrowNumbers, Failing):
        spark.dataSource.register(source)


def test_a_source_without_statistics_converts_under_the_cost_rule(spark: SparkSession) -> None:
    with configured(spark, {ENABLED: "true", "spark.pysparkPipeline.cost.enabled": "true"}):
        frame = spark.read.format("numbers").load().groupBy("i").count()
        frame.collect()
    made = summary_of(frame)
    assert made.converted == made.operators


class Reader(DataSourceReader):
    """Reads ``rows`` rows of each of ``partitions`` partitions."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self.key: Any = None

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(i) for i in range(int(self.options.get("partitions", "3")))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        for i in range(int(self.options.get("rows", "50"))):
            number = ((partition and partition.value) or 0) * 1000 + i  # of no partitions Spark reads one of no value
            if self.key is None or number % 7 == self.key:
                yield self.row(number)

    def row(self, number: int) -> Any:
        at = datetime.datetime(1999, 12, 31, 23, 59, 59, 123456) + datetime.timedelta(days=number)
        values = [
            number, number % 7, f"ü{number % 5}", number / 3, decimal.Decimal(number) / 8, at.date(), at, at,
            bytes([number % 256]), number % 2 == 0, number % 100, number, number / 7,
        ]  # fmt: skip
        return tuple(None if number % 11 == j else value for j, value in enumerate(values))


class FilteringReader(Reader):
    """Filters by an equality of ``i`` itself."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        for pushed in filters:
            if isinstance(pushed, EqualTo) and pushed.attribute == ("i",):
                self.key = pushed.value
            else:
                yield pushed


class Numbers(DataSource):
    """Rows as tuples."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return _TYPES

    def reader(self, schema: StructType) -> DataSourceReader:
        return FilteringReader(self.options) if "filters" in self.options else Reader(self.options)


class ArrowReader(Reader):
    """Reads Arrow batches."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        partition_of_task = TaskContext.get().partitionId()
        for batch in range(2):
            ids = [partition.value * 10 + batch, None, partition_of_task]
            yield pa.RecordBatch.from_pydict({"id": pa.array(ids, pa.int64()), "s": ["a", None, "ß"]})


class ArrowNumbers(DataSource):
    """Arrow batches of two columns."""

    @classmethod
    def name(cls) -> str:
        return "arrow_numbers"

    def schema(self) -> str:
        return "id bigint, s string"

    def reader(self, schema: StructType) -> DataSourceReader:
        return ArrowReader(self.options)


class FailingReader(DataSourceReader):
    """Fails where the option ``where`` says."""

    def __init__(self, where: str) -> None:
        self.where = where

    def partitions(self) -> list[InputPartition]:
        if self.where == "partitions":
            raise ValueError("no partitions today")
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        yield (1, "a")
        if self.where == "columns":
            yield (1,)
        if self.where == "types":
            yield Row(id="x", s=3)
        if self.where == "read":
            raise ValueError("no rows today")


class Failing(DataSource):
    """A source that fails."""

    @classmethod
    def name(cls) -> str:
        return "failing"

    def schema(self) -> str:
        return "id bigint, s string"

    def reader(self, schema: StructType) -> DataSourceReader:
        return FailingReader(self.options["where"])


def _rows(spark: SparkSession, make: Callable[[], DataFrame], settings: dict[str, str] | None = None) -> list[Any]:
    return rows_of_both(spark, make, "BatchScan", {**FREE, **(settings or {})})


def _read(spark: SparkSession, source: str, **options: Any) -> DataFrame:
    return spark.read.format(source).options(**options).load()


@pytest.mark.parametrize("settings", [{}, {"spark.sql.session.timeZone": "Asia/Kathmandu"}], ids=["UTC", "Kathmandu"])
def test_rows_of_all_types_equal_spark(spark: SparkSession, settings: dict[str, str]) -> None:
    assert len(_rows(spark, lambda: _read(spark, "numbers").where("id >= 0 OR id IS NULL"), settings)) == 150
    _rows(spark, lambda: _read(spark, "numbers", rows=1).select("at", "x", f.expr("id + 1")), settings)


def test_operators_above_convert(spark: SparkSession) -> None:
    _rows(spark, lambda: _read(spark, "numbers", rows=500).groupBy("i").agg(f.sum("d").cast("float"), f.count("*")))
    _rows(spark, lambda: _read(spark, "arrow_numbers", partitions=4).groupBy("s").agg(f.max("id"), f.count("id")))
    _rows(spark, lambda: _read(spark, "numbers").join(_read(spark, "arrow_numbers"), "id").select("id", "at"))


def test_filters_are_pushed(spark: SparkSession) -> None:
    frame = lambda: _read(spark, "numbers", filters=1).where("i = 3 AND s = 'ü1'")  # noqa: E731
    with configured(spark, {"spark.sql.python.filterPushdown.enabled": "true"}):
        assert _rows(spark, frame)


def test_sources_without_rows_or_partitions(spark: SparkSession) -> None:
    plain = {"spark.sql.adaptive.enabled": "false"}
    assert not _rows(spark, lambda: _read(spark, "numbers", rows=0).where("id > 3"), plain)
    assert _rows(spark, lambda: _read(spark, "numbers", partitions=0).where("id > 3"), plain)


def test_a_limit_stops_the_reader(spark: SparkSession) -> None:
    with configured(spark, {**FREE, ENABLED: "true"}):
        frame = _read(spark, "numbers", rows=10**9, partitions=1).where("id >= 0").limit(5)
        assert len(frame.collect()) == 5
        assert summary_of(frame).converted > 1


@pytest.mark.parametrize("where", ["read", "columns", "types"])
def test_errors_while_reading_equal_spark(spark: SparkSession, where: str) -> None:
    vanilla, engine = errors_of_both(spark, lambda: _read(spark, "failing", where=where).where("id > 0"))
    assert vanilla.splitlines()[-1] == engine.splitlines()[-1]
    assert "pyspark_pipeline" not in engine


def test_errors_while_planning_equal_spark(spark: SparkSession) -> None:
    texts = []
    for engine in ("false", "true"):
        with configured(spark, {**FREE, ENABLED: engine}), pytest.raises(AnalysisException) as error:
            _read(spark, "failing", where="partitions").where("id > 0").collect()
        texts.append(str(error.value).splitlines()[0])
    assert texts[0] == texts[1]
