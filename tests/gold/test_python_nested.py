"""The user's Python functions of arrays, maps and structs: rows and errors are those of Spark."""

from __future__ import annotations

import array
import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, GroupedData, Row, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.functions import arrow_udf, pandas_udf, udf, udtf
from pyspark.sql.types import ArrayType, LongType, StringType, StructType

from tests.support.conversion import summary_of
from tests.support.python_functions import errors_of_both, python_error, rows_of_both
from tests.support.sessions import ENABLED, configured

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]

FREE = {"spark.pysparkPipeline.cost.minScanBytes": "0", "spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
#: Columns of nested types, with NULLs at each level.
COLUMNS = {
    "a": (
        "array<double>",
        "CASE id % 5 WHEN 0 THEN NULL WHEN 1 THEN array() "
        "ELSE array(id / 3D, IF(id % 2 = 0, NULL, double('NaN')), -0.0D) END",
    ),
    "i": ("array<int>", "IF(id % 7 = 3, array(NULL), sequence(1, CAST(id % 4 AS INT)))"),
    "t": (
        "array<timestamp>",
        "IF(id % 6 = 5, NULL, array(timestamp_micros(id * 123456789012345), "
        "IF(id % 3 = 0, NULL, TIMESTAMP'2024-03-31 02:30:00')))",
    ),
    "s": (
        "struct<x:decimal(12,3),`y z`:string,`ü`:boolean>",
        "IF(id % 4 = 1, NULL, named_struct('x', CAST(IF(id % 3 = 0, NULL, id / 7) AS DECIMAL(12,3)), 'y z', "
        "IF(id % 8 = 2, NULL, concat('ü𝄞', id)), 'ü', id % 2 = 0))",
    ),
    "m": (
        "map<string,int>",
        "CASE id % 5 WHEN 2 THEN NULL WHEN 3 THEN map() ELSE map(concat('k', id), CAST(id AS INT), "
        "'ä', IF(id % 2 = 0, NULL, 1), 'third', 3, 'b', 4, 'fifth', 5) END",
    ),
    "n": (
        "array<struct<k:string,v:array<date>,w:map<int,timestamp_ntz>>>",
        "IF(id % 6 = 0, NULL, array(NULL, named_struct('k', CAST(id AS STRING), "
        "'v', IF(id % 5 = 1, NULL, array(DATE'1969-12-31' + CAST(id AS INT), NULL)), "
        "'w', map(CAST(id AS INT), TIMESTAMP_NTZ'2000-01-01 00:00:00.000001'))))",
    ),
    "c": (
        "struct<inner:struct<d:date,b:binary>,f:array<float>>",
        "named_struct('inner', IF(id % 3 = 1, NULL, named_struct('d', DATE'2020-02-29', "
        "'b', CAST(concat('a', id) AS BINARY))), 'f', array(CAST(id AS FLOAT) / 3, NULL))",
    ),
    "l": ("array<array<string>>", "array(array('a', NULL, concat('é', id)), NULL, array())"),
}


def _frame(spark: SparkSession, rows: int = 40) -> DataFrame:
    made = [f"{text} AS {name}" for name, (_, text) in COLUMNS.items()]
    return spark.range(0, rows, 1, 2).where("id >= 0").selectExpr("id", *made)


def _rows(spark: SparkSession, make: Callable[[], DataFrame], settings: dict[str, str] | None = None) -> list[Any]:
    return rows_of_both(spark, make, "EvalPython", settings)


FORMS: dict[str, Callable[[str], Any]] = {
    "pandas": lambda kind: pandas_udf(lambda a: a, kind),
    "arrow": lambda kind: arrow_udf(lambda a: a, kind),
    "rows by Arrow": lambda kind: udf(lambda a: a, kind, useArrow=True),
    "pickled rows": lambda kind: udf(lambda a: a, kind, useArrow=False),
}


def _shown_in_pandas(a: Any) -> pd.Series:
    values = a.to_dict("records") if isinstance(a, pd.DataFrame) else a
    return pd.Series([f"{type(a).__name__} {value!r}" for value in values], index=a.index, dtype=object)


SHOWN = {
    "pandas": pandas_udf(lambda a: _shown_in_pandas(a), StringType()),
    "arrow": arrow_udf(lambda a: pa.array([f"{a.type} {v!r}" for v in a.to_pylist()], pa.string()), StringType()),
    "rows by Arrow": udf(repr, StringType(), useArrow=True),
    "pickled rows": udf(repr, StringType(), useArrow=False),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_values_equal_spark(spark: SparkSession, form: str) -> None:
    calls = {name: FORMS[form](kind) for name, (kind, _) in COLUMNS.items()}
    for zone, rows in (("Asia/Kathmandu", "7"), ("UTC", "10000")):
        settings = {"spark.sql.session.timeZone": zone, "spark.sql.execution.arrow.maxRecordsPerBatch": rows}
        made = [column for name, call in calls.items() for column in (name, SHOWN[form](name), call(name))]
        assert len(_rows(spark, lambda made=made: _frame(spark).select("id", *made), settings)) == 40


@pytest.mark.parametrize("form", FORMS)
def test_functions_in_all_places_equal_spark(spark: SparkSession, form: str) -> None:
    array, struct, mapped = (FORMS[form](COLUMNS[name][0]) for name in "asm")
    frame = lambda: _frame(spark, 3000)  # noqa: E731
    _rows(spark, lambda: frame().where(f.size(array("a")) > 1).select("id", "n", f.explode(array(array("a")))))
    _rows(spark, lambda: frame().groupBy(struct("s")["y z"]).agg(f.sum(mapped("m")["third"]), f.count(array("a"))))
    made = [f.lit(1.5).cast("decimal(12,3)").alias("x"), f.col("l")[0][2].alias("y z"), (f.col("id") > 3).alias("ü")]
    _rows(spark, lambda: frame().select(struct(f.struct(*made))))
    _rows(spark, lambda: frame().select("id", array(f.array(f.col("id").cast("double"), f.lit(None).cast("double")))))
    _rows(spark, lambda: frame().where("id % 3 = 4").select(array("a"), mapped("m")))


def test_functions_over_iterators_equal_spark(spark: SparkSession) -> None:
    def halves(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for batch in batches:
            yield batch.iloc[:3]
            yield batch.iloc[3:]

    def arrow_halves(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for batch in batches:
            yield batch[:3]
            yield batch[3:]

    halves.__annotations__ = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
    arrow_halves.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    small = {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
    in_pandas = {name: pandas_udf(halves, kind) for name, (kind, _) in COLUMNS.items() if not kind.startswith("struct")}
    in_arrow = {name: arrow_udf(arrow_halves, kind) for name, (kind, _) in COLUMNS.items()}
    _rows(spark, lambda: _frame(spark).select("id", "m", *(call(name) for name, call in in_pandas.items())), small)
    _rows(spark, lambda: _frame(spark).select("id", "m", *(call(name) for name, call in in_arrow.items())), small)


_KEYS = ["zeta", "alpha", "ü", "beta", "gamma", *(f"k{i}" for i in range(9))]
#: Values that a function of pickled rows returns; an array of Java's is text that differs from run to run.
RETURNED: dict[str, Any] = {
    "list": [1, 2, None], "tuple": (1, "x"), "dict": {"a": 1, "b": "x"}, "row": Row(a=1, b="x"), "none": None,
    "long": (1, "x", 3), "short": [1], "nothing": {}, "text": "abc", "bytes": b"\x01\xff", "number": 5, "set": {1},
    "bytearray": bytearray(b"\x01\xfe"), "array": array.array("i", [1, 2]), "doubles": array.array("d", [1.0, 2.0]),
    "nested": [[1], [None], None, []], "mixed": [1, "a", 2.5, True, None, Decimal("1.50"), [1], {"a": 1}],
    "keys": {1: 2, "1": 3}, "texts": {key: i for i, key in enumerate(_KEYS)}, "few": {1.5: 1, -2.25: 2, 0.1: 3},
    "many": {f"key{i}": i for i in range(3000)}, "floats": {1.5: 1, -2.25: 2, float("inf"): 3, 1e300: 4, 0.1: 5},
    "decimals": {Decimal("1.5"): 1, Decimal("-123456789012345678901.25"): 2, Decimal(7): 3, Decimal("0.001"): 5},
    "large": {10**20: 1, -(10**25): 2, 2**40: 3, -(2**40): 4, 5: 5}, "dates": [datetime.date(2020, 1, 1), None],
    "rows": [(1, "x"), None, {"a": 3}], "short rows": [(1,), None],
}  # fmt: skip
#: The declared types of results for which Spark reads each of these values without an error.
READ = [
    "array<int>", "array<double>", "array<tinyint>", "array<array<int>>", "array<decimal(10,2)>", "array<binary>",
    "map<string,int>", "map<int,string>", "map<bigint,array<double>>",
]  # fmt: skip


PARTS = [f.map_keys, f.map_values]


def test_returned_values_are_read_as_by_spark(spark: SparkSession) -> None:
    for kind in READ:
        values = [value for name, value in RETURNED.items() if name != "row"]
        made = [udf(lambda _, value=value: value, kind, useArrow=False)("id") for value in values]
        columns = [part(one) for one in made for part in (PARTS if kind.startswith("map") else [f.coalesce])]
        rows = _rows(spark, lambda columns=columns: spark.range(0, 3, 1, 1).where("id > 0").select(*columns))
        assert len(rows) == 2


@pytest.mark.parametrize("kind", ["struct<a:int,b:string>", "array<struct<a:int,b:date>>"])
def test_returned_structs_are_read_as_by_spark(spark: SparkSession, kind: str) -> None:
    for name, value in RETURNED.items():
        function = udf(lambda _, value=value: value, kind, useArrow=False)
        _compare(spark, lambda call=function: spark.range(0, 3, 1, 1).where("id > 0").select(call("id")), name)


def test_maps_of_batches_equal_spark(spark: SparkSession) -> None:
    def made(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            structs = [{"p": i, "q": "x"} for i in frame["id"]]
            yield pd.DataFrame({"s": structs, "n": [[{"z": [1.5, None]}, None]] * len(frame)})

    schema, small = _frame(spark).schema, {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
    for zone in ("UTC", "Asia/Kathmandu"):
        settings = {**small, "spark.sql.session.timeZone": zone}
        rows_of_both(spark, lambda: _frame(spark).mapInArrow(lambda b: b, schema), "MapIn", settings)
        rows_of_both(spark, lambda: _frame(spark).mapInPandas(lambda b: b, schema), "MapIn", settings)
    result = "s struct<p:bigint,q:string>, n array<struct<z:array<double>>>"
    rows_of_both(spark, lambda: _frame(spark).mapInPandas(made, result), "MapIn", small)
    renamed = "n array<struct<a:string,b:array<date>,c:map<int,timestamp_ntz>>>"
    rows_of_both(spark, lambda: _frame(spark).select("n").mapInArrow(lambda b: b, renamed), "MapIn", small)


def _grouped(spark: SparkSession) -> GroupedData:
    return _frame(spark, 100).withColumn("k", f.col("id") % 5).groupBy("k")


def test_functions_of_groups_equal_spark(spark: SparkSession) -> None:
    def shown(group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"t": [repr(group.sort_values("id").to_dict("list"))]})

    schema = _frame(spark).withColumn("k", f.col("id") % 5).schema
    compared = lambda make: rows_of_both(spark, make, "Python", FREE)  # noqa: E731
    compared(lambda: _grouped(spark).applyInPandas(lambda group: group, schema))
    compared(lambda: _grouped(spark).applyInPandas(shown, "t string"))
    compared(lambda: _grouped(spark).applyInArrow(lambda group: group, schema))
    of_key = lambda key, _: pd.DataFrame({"t": [repr(key)]})  # noqa: E731
    compared(lambda: _frame(spark).groupBy("s").applyInPandas(of_key, "t string"))
    both = lambda: _grouped(spark).cogroup(_grouped(spark))  # noqa: E731
    compared(lambda: both().applyInArrow(lambda left, right: pa.concat_tables([left, right]), schema))


def test_aggregates_and_windows_equal_spark(spark: SparkSession) -> None:
    @pandas_udf("double")
    def sizes(a: pd.Series) -> float:
        return float(sum(len(v) for v in a if v is not None))

    @pandas_udf("array<double>")
    def listed(a: pd.Series) -> list:
        return [1.5, None, float(len(a))]

    @arrow_udf("struct<p:bigint,q:array<string>>")
    def struct(a: pa.Array) -> dict:
        return {"p": len(a), "q": ["x", None, str(a[0].as_py())]}

    compared = lambda make: rows_of_both(spark, make, "Python", FREE)  # noqa: E731
    compared(lambda: _grouped(spark).agg(sizes("a"), sizes("i"), listed("l")))
    compared(lambda: _grouped(spark).agg(struct("n"), struct("c")))
    windows = [Window.partitionBy("k"), Window.partitionBy("k").orderBy("id").rowsBetween(-2, 1)]
    keyed = lambda: _frame(spark, 60).withColumn("k", f.col("id") % 5)  # noqa: E731
    for window in windows:
        compared(lambda window=window: keyed().select("id", "s", sizes("a").over(window)))
    compared(lambda: keyed().select("id", "m", struct("s").over(windows[1])))


class _Shown:
    def eval(self, a: Any, s: Any, m: Any) -> Iterator[tuple[Any, ...]]:
        yield repr((a, s, m)), a, s, m


class _OfTable:
    def eval(self, row: Any) -> Iterator[tuple[Any, ...]]:
        yield repr(row), row["a"], row["s"], row["m"]


@pytest.mark.parametrize("arrow", [False, True], ids=["rows", "arrow"])
def test_table_functions_equal_spark(spark: SparkSession, arrow: bool) -> None:
    schema = f"t string, {', '.join(f'{name} {COLUMNS[name][0]}' for name in 'asm')}"
    called, of_table = (udtf(made, returnType=schema, useArrow=arrow) for made in (_Shown, _OfTable))
    arguments = [f.col(name).outer() for name in "asm"]
    compared = lambda make: rows_of_both(spark, make, "Python", FREE)  # noqa: E731
    compared(lambda: _frame(spark).lateralJoin(called(*arguments)))
    compared(lambda: of_table(_frame(spark).asTable().partitionBy("id")))


def test_errors_have_the_text_of_spark(spark: SparkSession) -> None:
    functions = [
        arrow_udf(lambda a: pa.array([["x"]] * len(a)), "array<int>"),
        pandas_udf(lambda a: a.map(lambda _: "x"), "array<int>"),
        pandas_udf(lambda a: pd.DataFrame({"b": a}), "struct<a:bigint>"),
        udf(lambda a: ["x"], "array<int>", useArrow=True),
        udf(lambda a: 1, "struct<a:int>", useArrow=False),
    ]
    for function in functions:
        frame = lambda call=function: spark.range(9).where("id > 2").select(call("id"))  # noqa: E731
        vanilla, engine = errors_of_both(spark, frame)
        assert vanilla.splitlines()[-1] == engine.splitlines()[-1]


def test_null_within_a_part_that_is_never_null_fails(spark: SparkSession) -> None:
    def made(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.DataFrame({"a": [[None]] * len(frame)})

    kind = ArrayType(LongType(), containsNull=False)
    with configured(spark, {ENABLED: "true"}):
        mapped = spark.range(9).where("id > 2").mapInPandas(made, StructType().add("a", kind))
        assert "never NULL" in python_error(mapped)
        for function in (udf(lambda a: [a], kind, useArrow=False), pandas_udf(lambda a: a.map(lambda v: [v]), kind)):
            frame = spark.range(9).where("id > 2").select(function("id"))
            assert len(frame.collect()) == 6
            assert "never NULL" in str(summary_of(frame).reasons)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("array(make_dt_interval(1))", "of times, intervals"),
        ("array(NULL)", "or of the type void"),
        ("map(CAST(string(id) AS BINARY), id)", "of maps with keys of bytes or nested types"),
    ],
)
def test_other_functions_stay_in_spark(spark: SparkSession, column: str, reason: str) -> None:
    function = udf(lambda _: 1, "bigint", useArrow=False)
    with configured(spark, {ENABLED: "true"}):
        frame = spark.range(10).where("id > 3").selectExpr(f"{column} AS c").select(function("c"))
        assert len(frame.collect()) == 6
        assert reason in str(summary_of(frame).reasons)


def _compare(spark: SparkSession, make: Callable[[], DataFrame], name: str) -> None:
    """Assert that both engines return the same rows, or fail with the same condition."""
    found = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            frame = make()
            try:
                found.append(sorted(map(repr, frame.collect())))
            except Exception as error:
                condition = error.getCondition() if isinstance(error, PySparkException) else None
                found.append(["an error", condition])
    assert found[0] == found[1], name
    if found[1][0] != "an error":
        assert summary_of(frame).converted > 1, name
