"""Table functions: the cases of Spark's ``test_udtf`` and ``test_arrow_udtf``."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.functions import arrow_udtf, udtf
from pyspark.sql.types import IntegerType, StructType
from pyspark.sql.udtf import AnalyzeResult, OrderingColumn, PartitioningColumn

from tests.support.python_functions import FREE, same_outcome

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]

_FORMS = pytest.mark.parametrize("is_arrow", [False, True], ids=["rows", "arrow"])


@pytest.fixture(autouse=True)
def _views(spark: SparkSession) -> None:
    if spark.conf.get("spark.task.cpus", "1") != "1":
        pytest.skip("stays in Spark with several drivers")
    columns = ["CAST(id % 5 AS INT) AS k", "CAST(id AS INT) AS i",
        "IF(id % 7 = 3, NULL, CAST(id * 3 % 11 AS INT)) AS x"]
    spark.range(0, 60, 1, 2).where("id >= 0").selectExpr(*columns).createOrReplaceTempView("udtf_rows")
    spark.range(0, 3, 1, 1).where("id > 0").createOrReplaceTempView("udtf_few")


def _register(spark: SparkSession, function: type, returns: str | None, is_arrow: bool) -> None:
    spark.udtf.register("called", udtf(function, returnType=returns, useArrow=is_arrow))


class _Empty:
    def eval(self, i: int) -> Any:
        yield


class _Returned:
    def eval(self, i: int) -> Any:
        return [(i,), (i + 1,), (None,)] if i % 2 else None


class _Sums:
    def __init__(self) -> None:
        self.count = self.total = 0

    def eval(self, i: int) -> Any:
        self.count += 1
        self.total += i
        if i > 55:
            yield (i,)

    def terminate(self) -> Any:
        yield (self.count,)
        yield (self.total,)


class _Tuple:
    def eval(self, i: int) -> Any:
        return (i,)


class _NoTuple:
    def eval(self, i: int) -> Any:
        yield ()


class _EndsWithArgument:
    def eval(self, i: int) -> Any:
        yield (i,)

    def terminate(self, more: int) -> Any:
        yield (more,)


class _EndsWithNumber:
    def eval(self, i: int) -> Any:
        yield (i,)

    def terminate(self) -> Any:
        return 1


class _EndsTooWide:
    def eval(self, i: int) -> Any:
        yield (i,)

    def terminate(self) -> Any:
        yield 1, 2


ROWS = {
    "an empty yield": _Empty, "returned lists": _Returned, "sums at the end": _Sums, "a tuple": _Tuple,
    "an empty row": _NoTuple,
    "an end with an argument": _EndsWithArgument, "an end with a number": _EndsWithNumber,
    "an end that is too wide": _EndsTooWide,
}  # fmt: skip


@_FORMS
@pytest.mark.parametrize("name", ROWS)
def test_rows_and_errors_equal_spark(spark: SparkSession, name: str, is_arrow: bool) -> None:
    _register(spark, ROWS[name], "r INT", is_arrow)
    same_outcome(spark, lambda: spark.sql("SELECT * FROM udtf_few, LATERAL called(id)"), "UDTF", FREE)


_VALUES: list[Any] = [1, "1", "hello", 1.5, [0, 1.1, 2], {"a": 0, "b": 1.1}, True, Decimal("1.25"), None]
_TYPES = [
    "boolean", "int", "bigint", "string", "binary", "double", "decimal(10,2)", "array<int>", "array<string>",
    "map<string,int>",
]  # fmt: skip


class _Values:
    def eval(self, i: int) -> Any:
        for value in _VALUES:
            yield (value,) * len(_TYPES)


def test_values_of_other_types_are_those_of_spark(spark: SparkSession) -> None:
    _register(spark, _Values, ", ".join(f"c{n} {kind}" for n, kind in enumerate(_TYPES)), is_arrow=False)
    same_outcome(spark, lambda: spark.sql("SELECT * FROM udtf_few, LATERAL called(id)"), "UDTF", FREE)


class _Named:
    def eval(self, a: int, b: int = 100, **others: Any) -> Any:
        yield (f"{a} {b} {sorted(others.items())}",)


@_FORMS
def test_arguments_by_name_equal_spark(spark: SparkSession, is_arrow: bool) -> None:
    _register(spark, _Named, "r STRING", is_arrow)
    for arguments in ("id", "a => id", "b => 'x', a => id", "id, c => 1, b => id"):
        query = f"SELECT * FROM udtf_few, LATERAL called({arguments})"
        same_outcome(spark, lambda query=query: spark.sql(query), "UDTF", FREE)
    for arguments in ("id, a => 100", "b => 'x'"):
        query = f"SELECT * FROM udtf_few, LATERAL called({arguments})"
        assert isinstance(same_outcome(spark, lambda query=query: spark.sql(query), "UDTF", FREE), str)


class _OfTable:
    """Returns the numbers of rows of a partition, the sum and the last value."""

    def __init__(self) -> None:
        self.count = self.total = 0
        self.names: list[str] = []
        self.last: int | None = None

    def eval(self, row: Row) -> None:
        self.count += 1
        self.total += row["x"] or 0
        self.names, self.last = list(row.asDict()), row["x"]

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        if self.count:
            yield self.count, self.total, self.last, str(self.names)


class _Analyzed(_OfTable):
    @staticmethod
    def analyze(row: Any) -> AnalyzeResult:
        schema = StructType().add("n", IntegerType()).add("t", IntegerType()).add("l", IntegerType()).add("s", "string")
        order = [OrderingColumn("x", ascending=False, overrideNullsFirst=True), OrderingColumn("i")]
        return AnalyzeResult(schema, partitionBy=[PartitioningColumn("k")], orderBy=order)


class _Single(_OfTable):
    @staticmethod
    def analyze(row: Any) -> AnalyzeResult:
        schema = StructType().add("n", IntegerType()).add("t", IntegerType()).add("l", IntegerType()).add("s", "string")
        return AnalyzeResult(schema, withSinglePartition=True, orderBy=[OrderingColumn("i")])


@_FORMS
def test_functions_of_tables_equal_spark(spark: SparkSession, is_arrow: bool) -> None:
    _register(spark, _OfTable, "n INT, t INT, l INT, s STRING", is_arrow)
    tables = [
        "TABLE(udtf_rows) PARTITION BY k ORDER BY i",
        "row => TABLE(udtf_rows) PARTITION BY (k - 1, i % 2) ORDER BY (x + 1 DESC, i)",
        "TABLE(udtf_rows) WITH SINGLE PARTITION ORDER BY (x, i)",
        "TABLE(WITH t AS (SELECT * FROM udtf_rows WHERE i > 3) SELECT x, i FROM t) PARTITION BY x",
    ]  # fmt: skip
    for table in tables:
        same_outcome(spark, lambda table=table: spark.sql(f"SELECT * FROM called({table})"), "UDTF", FREE)
    for function in (_Analyzed, _Single):
        _register(spark, function, None, is_arrow)
        same_outcome(spark, lambda: spark.sql("SELECT * FROM called(TABLE(udtf_rows))"), "UDTF", FREE)


@arrow_udtf(returnType="k INT, n BIGINT")
class _ArrowSums:
    def __init__(self) -> None:
        self.keys: set[int] = set()
        self.count = 0

    def eval(self, rows: pa.RecordBatch) -> Iterator[pa.Table]:
        self.keys |= set(rows.column("k").to_pylist())
        self.count += rows.num_rows
        return iter(())

    def terminate(self) -> Iterator[pa.Table]:
        yield pa.table({"k": pa.array(sorted(self.keys), pa.int64()), "n": pa.array([self.count] * len(self.keys))})


@arrow_udtf(returnType="k INT, n BIGINT")
class _ArrowOtherNames:
    def eval(self, rows: pa.RecordBatch) -> Iterator[pa.Table]:
        yield pa.table({"other": rows.column("k"), "n": rows.column("i")})


@arrow_udtf(returnType="k INT, n BIGINT")
class _ArrowNoTable:
    def eval(self, rows: pa.RecordBatch) -> Iterator[pa.Table]:
        yield {"k": [1], "n": [2]}  # type: ignore[misc]


def test_arrow_functions_equal_spark(spark: SparkSession) -> None:
    for function in (_ArrowSums, _ArrowOtherNames, _ArrowNoTable):
        spark.udtf.register("called", function)
        make = lambda: spark.sql("SELECT * FROM called(TABLE(udtf_rows) PARTITION BY k ORDER BY i)")  # noqa: E731
        same_outcome(spark, make, "UDTF", FREE)
