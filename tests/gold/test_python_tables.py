"""Python table functions: rows and errors are those of Spark."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.functions import arrow_udtf, lit, udtf
from pyspark.sql.types import IntegerType, Row, StringType, StructType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, SkipRestOfInputTableException

from tests.support.conversion import summary_of
from tests.support.python_functions import errors_of_both, rows_of_both
from tests.support.sessions import ENABLED, configured

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]

_BATCH = {"spark.sql.execution.arrow.maxRecordsPerBatch": "70"}
_FORMS = pytest.mark.parametrize("arrow", [False, True], ids=["rows", "arrow"])


class _Repeat:
    """Returns `i % 3` rows for each row, and a row with their number at the end."""

    def __init__(self) -> None:
        self._rows = 0

    def eval(self, i: int, s: str = "none") -> Iterator[tuple[int, str]]:
        self._rows += 1
        for n in range((i or 0) % 3):
            yield n, f"{s}{i}"

    def terminate(self) -> Iterator[tuple[int, str]]:
        yield self._rows, "end"


class _Below:
    def eval(self, i: int) -> Iterator[tuple[int, str]]:
        yield from ((n, "x") for n in range(i or 0))


class _Table:
    """Returns each row of a table as text, and the number of rows at the end of its partition."""

    def __init__(self) -> None:
        self._rows = 0

    def eval(self, row: Row, suffix: str = "") -> Iterator[tuple[int, str]]:
        self._rows += 1
        yield self._rows, f"{row!r} {suffix}"

    def terminate(self) -> Iterator[tuple[int, str]]:
        yield -self._rows, "end"


class _Skip:
    def __init__(self) -> None:
        self._last: Any = None

    def eval(self, row: Row) -> Iterator[tuple[Any]]:
        if row.id % 20 > 11:
            raise SkipRestOfInputTableException
        self._last = row.id
        yield (row.id,)

    def terminate(self) -> Iterator[tuple[Any]]:
        yield (self._last,)


@pytest.fixture(scope="module")
def source(spark: SparkSession) -> str:
    """Return the name of a view of 400 rows in two partitions."""
    columns = [
        "id", "IF(id % 11 = 3, NULL, CAST(id % 7 AS INT)) AS k", "IF(id % 13 = 2, NULL, concat('ü', id % 5)) AS s",
        "CAST(id / 3 AS DECIMAL(12,2)) AS d", "DATE'1960-01-01' + CAST(id AS INT) AS day",
        "timestamp_seconds(id * 100000) AS at",
    ]  # fmt: skip
    spark.range(0, 400, 1, 2).selectExpr(*columns).createOrReplaceTempView("udtf_source")
    return "udtf_source"


def _rows(
    spark: SparkSession, query: str | Callable[[], DataFrame], settings: dict[str, str] | None = None
) -> list[Any]:
    make = query if callable(query) else lambda: spark.sql(query)
    return rows_of_both(spark, make, "UDTF", {**_BATCH, **(settings or {})})


def _one_row(spark: SparkSession, make: Callable[[], DataFrame]) -> None:
    """Compare the rows of a function over one row, which Spark sends to the engine."""
    rows = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            frame = make()
            rows.append(frame.collect())
    assert rows[0] == rows[1]
    assert "UDTF" not in str(summary_of(frame).reasons)


def _register(spark: SparkSession, arrow: bool, returns: str, **classes: type) -> None:
    for name, class_ in classes.items():
        spark.udtf.register(name, udtf(class_, returnType=returns, useArrow=arrow))


def test_values_of_all_types_equal_spark(spark: SparkSession) -> None:
    settings = {"spark.sql.session.timeZone": "Asia/Kathmandu", "spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
    types = {
        "b": "boolean", "i": "int", "l": "bigint", "f": "float", "d": "double", "n": "decimal(38,18)", "s": "string",
        "x": "binary", "day": "date", "at": "timestamp", "local": "timestamp_ntz", "y": "tinyint", "h": "smallint",
    }  # fmt: skip
    columns = [
        "id % 2 = 0 AS b", "CAST(id AS INT) AS i", "id - 9223372036854775807 AS l", "CAST(id AS FLOAT) / 3 AS f",
        "CASE id WHEN 3 THEN double('NaN') WHEN 4 THEN -0.0D WHEN 5 THEN double('-Infinity') ELSE id / 7D END AS d",
        "CAST(id * 1e17 AS DECIMAL(38,18)) / 3 AS n", "CASE id WHEN 6 THEN '' ELSE concat('ü', id % 4, '𝄞') END AS s",
        "CAST(concat('a', id) AS BINARY) AS x", "DATE'1901-01-01' + CAST(id * 1000 AS INT) AS day",
        "timestamp_micros(id * 45678901234567 - 999999999999) AS at",
        "TIMESTAMP_NTZ'1971-01-01 00:00:00.123456' + make_dt_interval(CAST(id * 365 AS INT)) AS local",
        "CAST(id AS TINYINT) AS y", "CAST(id AS SMALLINT) AS h",
    ]  # fmt: skip

    class Same:
        def eval(self, *values: Any) -> Iterator[tuple[Any, ...]]:
            yield values
            yield (None,) * len(values)

    class OfTable:
        def eval(self, row: Row, key: int) -> Iterator[tuple[Any, ...]]:
            yield (*row[1:],)

    spark.range(0, 40, 1, 2).selectExpr("id", *columns).selectExpr(
        "id", *(f"IF(id % 9 = 8, NULL, {name}) AS {name}" for name in types)
    ).createOrReplaceTempView("udtf_types")
    returns = ", ".join(f"r_{name} {type_}" for name, type_ in types.items())
    for arrow in (False, True):
        _register(spark, arrow, returns, same=Same, of_table=OfTable)
        query = f"SELECT * FROM udtf_types, LATERAL same({', '.join(types)})"
        assert len(_rows(spark, query, settings)) == 80
        assert len(_rows(spark, "SELECT * FROM of_table(TABLE(udtf_types), 3)", settings)) == 40


@_FORMS
def test_functions_in_all_places_equal_spark(spark: SparkSession, source: str, arrow: bool) -> None:
    _register(spark, arrow, "a INT, b STRING", repeated=_Repeat, as_text=_Table, below=_Below)
    for query in [
        f"SELECT * FROM {source}, LATERAL repeated(k)",
        f"SELECT id, b FROM {source}, LATERAL repeated(k, s) WHERE id % 4 > 0 AND a < 5",
        f"SELECT a, count(*) FROM {source}, LATERAL repeated(s => s, i => k + 1) GROUP BY a",
        f"SELECT * FROM {source} LEFT JOIN LATERAL below(k) r ON r.a > 0",
        f"SELECT r.*, q.a FROM {source}, LATERAL repeated(k) r, LATERAL repeated(a) q",
        f"SELECT * FROM as_text(TABLE({source}))",
        f"SELECT * FROM as_text(TABLE({source}), 'x')",
        f"SELECT * FROM as_text(suffix => 'x', row => TABLE(SELECT id + 1, s FROM {source} WHERE k > 2)) WHERE a > 3",
        f"SELECT * FROM as_text(TABLE({source}) PARTITION BY (s, k + 1) ORDER BY d DESC)",
        f"SELECT * FROM as_text(TABLE(SELECT id, s FROM {source}) WITH SINGLE PARTITION ORDER BY id)",
    ]:
        _rows(spark, query)
    _one_row(spark, lambda: spark.sql("SELECT * FROM repeated(5, 'x')"))
    few = f"SELECT id FROM {source}, LATERAL repeated(k) LIMIT 5"
    with configured(spark, {**_BATCH, ENABLED: "true"}):
        assert len(spark.sql(few).collect()) == 5


@_FORMS
def test_functions_of_data_frames_equal_spark(spark: SparkSession, source: str, arrow: bool) -> None:
    repeat = udtf(_Repeat, returnType="a INT, b STRING", useArrow=arrow)
    as_text = udtf(_Table, returnType="a INT, b STRING", useArrow=arrow)
    table = lambda: spark.table(source)  # noqa: E731
    _one_row(spark, lambda: repeat(lit(4), lit("x")))
    _rows(spark, lambda: table().lateralJoin(repeat(f.col("k").outer(), s=f.col("s").outer())))
    _rows(spark, lambda: as_text(table().select("id", "k").asTable().partitionBy("k").orderBy(f.desc("id"))))
    _rows(spark, lambda: as_text(table().asTable().withSinglePartition(), lit("y")))


@_FORMS
def test_partitions_end_where_keys_change(spark: SparkSession, source: str, arrow: bool) -> None:
    _register(spark, arrow, "last BIGINT", skipping=_Skip)
    rows = _rows(spark, f"SELECT * FROM skipping(TABLE({source}) PARTITION BY k ORDER BY id)")
    assert len(rows) == 22
    _rows(spark, f"SELECT * FROM skipping(TABLE(SELECT id % 200 AS id FROM {source}))")

    class FirstOnly:
        def eval(self, i: int) -> Iterator[tuple[int]]:
            if i > 230:
                raise SkipRestOfInputTableException
            if i % 3 == 0:
                yield (i,)

        def terminate(self) -> Iterator[tuple[int]]:
            yield (-1,)

    _register(spark, arrow, "r BIGINT", first_only=FirstOnly)
    _rows(spark, f"SELECT * FROM {source}, LATERAL first_only(id)")


@_FORMS
def test_analyze_and_cleanup_run_as_in_spark(spark: SparkSession, source: str, arrow: bool, tmp_path: Any) -> None:
    class Analyzed:
        def __init__(self, result: AnalyzeResult) -> None:
            self._names = result.schema.fieldNames()

        @staticmethod
        def analyze(row: AnalyzeArgument, names: AnalyzeArgument) -> AnalyzeResult:
            assert isinstance(row.dataType, StructType)
            schema = StructType().add("n", IntegerType())
            for name in names.value.split():
                schema = schema.add(name, StringType())
            return AnalyzeResult(schema)

        def eval(self, row: Row, names: str) -> Iterator[tuple[Any, ...]]:
            yield (len(self._names), *(f"{name}{row[0]}" for name in names.split()))

    class Cleaned:
        def eval(self, i: int) -> Iterator[tuple[int]]:
            yield (i,)

        def cleanup(self) -> None:
            with (tmp_path / "cleaned").open("a") as file:
                file.write(".")

    spark.udtf.register("analyzed", udtf(Analyzed, useArrow=arrow))
    assert len(_rows(spark, f"SELECT * FROM analyzed(TABLE({source}), 'x y z')")) == 400
    _register(spark, arrow, "r BIGINT", cleaned=Cleaned)
    _rows(spark, f"SELECT * FROM {source}, LATERAL cleaned(id)")
    assert (tmp_path / "cleaned").read_text() == "...."


@_FORMS
def test_functions_without_arguments_or_results_equal_spark(spark: SparkSession, source: str, arrow: bool) -> None:
    class Two:
        def eval(self) -> Iterator[tuple[int]]:
            yield (1,)
            yield (2,)

    class Nothing:
        def eval(self, i: int) -> None:
            return None

    class Ends:
        def eval(self, i: int) -> None:
            return None

        def terminate(self) -> Iterator[tuple[int]]:
            yield from [(7,), (8,)]

    _register(spark, arrow, "r INT", two=Two, nothing=Nothing, ends=Ends)
    assert len(_rows(spark, f"SELECT * FROM {source}, LATERAL two()")) == 800
    _one_row(spark, lambda: spark.sql("SELECT * FROM two()"))
    assert _rows(spark, f"SELECT * FROM {source}, LATERAL nothing(k)") == []
    assert _rows(spark, f"SELECT * FROM {source}, LATERAL nothing(k) WHERE id < 0") == []
    assert len(_rows(spark, f"SELECT * FROM {source}, LATERAL ends(k)")) == 4


@_FORMS
def test_large_results_equal_spark(spark: SparkSession, source: str, arrow: bool) -> None:
    class Many:
        def eval(self, i: int) -> Iterator[tuple[int]]:
            yield from ((n,) for n in range(20_000 if i % 100 == 7 else 1))

    _register(spark, arrow, "r INT", many=Many)
    (row,) = _rows(spark, f"SELECT count(*), sum(r), sum(id) FROM {source}, LATERAL many(id)")
    assert row[0] == 4 * 20_000 + 396


def test_values_of_other_classes_are_those_of_spark(spark: SparkSession, source: str) -> None:
    class Others:
        def eval(self, i: int) -> Iterator[Any]:
            values = [1, 2.5, "x", True, Decimal("1.25"), datetime.date(2020, 1, 2), b"b", [1], {"a": 1}]
            value = values[i % len(values)]
            yield (value, value, value if i % 9 not in (5, 6) else None, value)
            yield Row(i=value, f=value, t=str(value), n=None)
            yield [i, float(i), None, Decimal(i)]
            yield {"i": i, "f": None, "t": "x", "n": Decimal("0.5")}

    _register(spark, False, "i INT, f DOUBLE, t STRING, n DECIMAL(10,2)", others=Others)
    _rows(spark, f"SELECT * FROM {source}, LATERAL others(id)")

    class NoRow:
        def eval(self, i: int) -> Iterator[Any]:
            yield None
            yield (i, "x") if i else None

    _register(spark, False, "i INT, s STRING", no_row=NoRow)
    _rows(spark, f"SELECT * FROM {source}, LATERAL no_row(k)")


def test_arrow_functions_equal_spark(spark: SparkSession, source: str) -> None:
    @arrow_udtf(returnType="n BIGINT, schema STRING")
    class Described:
        def __init__(self) -> None:
            self._rows = 0

        def eval(self, table: pa.RecordBatch) -> Iterator[pa.Table]:
            self._rows += table.num_rows
            yield pa.table({"n": pa.array([table.num_rows], pa.int32()), "schema": [str(table.schema)]})
            yield pa.table({"n": table.column(0).slice(0, 2), "schema": ["x"] * min(2, table.num_rows)})

        def terminate(self) -> Iterator[pa.Table]:
            yield pa.table({"n": pa.array([-self._rows], pa.int64()), "schema": ["end"]})

    @arrow_udtf(returnType="a BIGINT")
    class Plain:
        def eval(self, a: pa.Array, b: pa.Array) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_arrays([pa.array([len(a) + b[0].as_py()], pa.int64())], ["a"])

    spark.udtf.register("described", Described)
    spark.udtf.register("plain", Plain)
    rows = _rows(spark, f"SELECT * FROM described(TABLE({source}))")
    assert {row[0] for row in rows if row[1].startswith("id")} == {70, 60}
    _rows(spark, f"SELECT * FROM described(TABLE({source}) PARTITION BY k ORDER BY id DESC)")
    _rows(spark, f"SELECT * FROM described(TABLE(SELECT id, k FROM {source}) PARTITION BY (k, id % 3)) WHERE n > 5")
    _one_row(spark, lambda: spark.sql("SELECT * FROM plain(1, 2)"))

    @arrow_udtf(returnType="n BIGINT")
    class Endless:
        def eval(self, table: pa.RecordBatch) -> Iterator[pa.Table]:
            while True:
                yield pa.table({"n": table.column(0)})

    spark.udtf.register("endless", Endless)
    assert len(_rows(spark, f"SELECT * FROM endless(TABLE({source})) LIMIT 10")) == 10

    @arrow_udtf(returnType="n BIGINT")
    class Wrong:
        def eval(self, table: pa.RecordBatch) -> Iterator[pa.Table]:
            yield pa.table({"n": table.column(2)})

    spark.udtf.register("wrong", Wrong)
    vanilla, engine = errors_of_both(spark, lambda: spark.sql(f"SELECT * FROM wrong(TABLE({source}))"))
    assert vanilla.splitlines()[-2:] == engine.splitlines()[-2:]


def test_conversion_by_pandas_equals_spark(spark: SparkSession, source: str) -> None:
    _register(spark, True, "a INT, b STRING", repeated=_Repeat, as_text=_Table)
    pandas = {"spark.sql.legacy.execution.pythonUDTF.pandas.conversion.enabled": "true"}
    _rows(spark, f"SELECT * FROM {source}, LATERAL repeated(CAST(id AS INT), s)", pandas)
    _rows(spark, f"SELECT * FROM as_text(TABLE(SELECT id, s, at FROM {source}))", pandas)


class _Fails:
    def eval(self, i: int) -> Iterator[Any]:
        yield (1,)
        if i == 123:
            raise ValueError(f"the user's text for {i}")


class _FailsAtEnd:
    def eval(self, i: int) -> Iterator[Any]:
        yield (i,)

    def terminate(self) -> Iterator[Any]:
        return iter([(1 // 0,)])


class _TooWide:
    def eval(self, i: int) -> Iterator[Any]:
        yield i, i


class _NotIterable:
    def eval(self, i: int) -> Any:
        return i


class _NoRow:
    def eval(self, i: int) -> Any:
        yield i


class _Text:
    def eval(self, i: int) -> Any:
        yield ("x",)


class _OtherArguments:
    def eval(self, i: int, j: int) -> Any:
        yield (i,)


class _NoObject:
    def __init__(self) -> None:
        raise KeyError("no object")

    def eval(self, i: int) -> Any:
        yield (i,)


@_FORMS
def test_errors_have_the_text_of_spark(spark: SparkSession, arrow: bool) -> None:
    cases = [_Fails, _FailsAtEnd, _TooWide, _NotIterable, _OtherArguments, _NoObject, _Text if arrow else _NoRow]
    spark.range(0, 300, 1, 1).createOrReplaceTempView("udtf_one")
    query = "SELECT * FROM udtf_one, LATERAL failing(id)"
    for case in cases:
        _register(spark, arrow, "r BIGINT", failing=case)
        vanilla, engine = errors_of_both(spark, lambda: spark.sql(query))
        assert vanilla.splitlines()[-2:] == engine.splitlines()[-2:], case
        assert "pyspark_pipeline" not in engine
    _register(spark, arrow, "r BIGINT NOT NULL", failing=_Missing)
    vanilla, engine = errors_of_both(spark, lambda: spark.sql(query))
    assert vanilla.splitlines()[-2:] == engine.splitlines()[-2:]


class _Missing:
    def eval(self, i: int) -> Any:
        yield (None if i == 250 else i,)


@_FORMS
def test_rows_at_the_end_of_no_rows_fail_as_in_spark(spark: SparkSession, source: str, arrow: bool) -> None:
    _register(spark, arrow, "a INT, b STRING", repeated=_Repeat)
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            frame = spark.sql(f"SELECT * FROM (SELECT * FROM {source} WHERE k > 100), LATERAL repeated(k)")
            with pytest.raises(Exception, match="NullPointerException") as caught:
                frame.collect()
            assert engine == "false" or isinstance(caught.value, PySparkException)


@pytest.mark.parametrize(
    ("arrow", "returns", "setting", "reason"),
    [
        (True, "a INT, b STRING", {"spark.sql.execution.arrow.useLargeVarTypes": "true"}, "useLargeVarTypes"),
        (True, "a INT, b STRING", {"spark.sql.execution.arrow.maxRecordsPerOutputBatch": "10"}, "OutputBatch"),
        (True, "a INT, b STRING", {"spark.sql.execution.arrow.maxRecordsPerBatch": "0"}, "without a limit"),
        (False, "a INT, b STRING", {"spark.sql.pyspark.udf.profiler": "perf"}, "are profiled by Spark"),
        (False, "a INT, b ARRAY<INTERVAL MONTH>", {}, "of times, intervals"),
        (False, "a INT, b INTERVAL DAY TO SECOND", {}, "of times, intervals"),
    ],
    ids=["large types", "output batches", "no limit", "profiler", "array of intervals", "interval"],
)
def test_other_functions_stay_in_spark(
    spark: SparkSession, source: str, arrow: bool, returns: str, setting: dict[str, str], reason: str
) -> None:
    class Stays:
        def eval(self, i: int) -> Iterator[tuple[Any, ...]]:
            yield i, None

    _register(spark, arrow, returns, stays=Stays)
    with configured(spark, {**setting, ENABLED: "true"}):
        frame = spark.sql(f"SELECT * FROM {source}, LATERAL stays(k)")
        assert len(frame.collect()) == 400
        assert reason in str(summary_of(frame).reasons)
