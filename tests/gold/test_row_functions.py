"""Functions of rows that Spark pickles (``udf``): arguments, results of any class, errors are those of Spark."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import udf

from tests.support.python_functions import errors_of_both, rows_of_both
from tests.support.sessions import ENABLED, configured
from tests.support.tables import TableShelf

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]


def _rows(spark: SparkSession, make: Callable[[], DataFrame], settings: dict[str, str] | None = None) -> list[Any]:
    return rows_of_both(spark, make, "EvalPython", settings)


_VALUES: list[Any] = [
    None, True, False, 5, -129, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 1.5, -0.0, 0.0, 1e10, 1e-5, 1e23,
    float("nan"), float("inf"), "é𝄞", "", "a\ud800b", "\ud83d\ude00", b"ab\xff", bytearray(b"xy"),
    Decimal("1.25"), Decimal("-0.00"), Decimal("1E-9"), Decimal("NaN"), [1, "a", None, 2.5, [True]], [],
    {"b": 1, "a": None}, {},
    {f"k{i}": i for i in range(20)}, {*range(10), 16, 11}, frozenset([*range(10), 16, 11]),
    dict.fromkeys([*range(10), 16, 11]),
    {1.5: "x", -1: "y", 2**40: "z", True: "t", None: [{}]}, {3, 17}, frozenset([2]),
]  # fmt: skip
_ONLY_NULLS: list[Any] = [
    (1, 2), 1j, datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3), datetime.time(1, 2), datetime.timedelta(1)
]  # fmt: skip
_TYPES = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal(4,1)",
    "decimal(38,18)",
    "binary",
]


@pytest.mark.parametrize("kind", [*_TYPES, "string"])
def test_results_of_all_classes_equal_spark(spark: SparkSession, kind: str) -> None:
    values = [v for v in _VALUES if kind != "string" or not isinstance(v, (bytes, bytearray))]
    values += [] if kind == "string" else _ONLY_NULLS
    values += [Decimal("999.94"), Decimal("1E+3")] if kind == "decimal(38,18)" else []
    whole = udf(lambda i: values[i], kind, useArrow=False)
    single = [udf(lambda _, value=value: value, kind, useArrow=False)("id") for value in values]
    _rows(spark, lambda: spark.range(len(values)).select("id", whole("id")))
    if kind in ("decimal(4,1)", "string"):
        _rows(spark, lambda: spark.range(2).select("id", *single))


class _Letter(enum.IntEnum):
    A = 1


@pytest.mark.parametrize(
    "value",
    [
        np.float64(1.5),
        np.int64(1),
        [np.int64(1)],
        {"a": np.bool_(True)},
        _Letter.A,
        Decimal("-Infinity"),
        Row(a=1),
        range(3),
    ],
)
def test_classes_that_spark_does_not_unpickle_fail(spark: SparkSession, value: Any) -> None:
    for engine in ("false", "true"):
        with (
            configured(spark, {ENABLED: engine}),
            pytest.raises(Exception, match=r"PickleException|which Spark does not read"),
        ):
            spark.range(1).select(udf(lambda _: value, "int", useArrow=False)("id")).collect()


def test_errors_equal_spark(spark: SparkSession) -> None:
    def inverse(a: int) -> float:
        return 1 / a

    def stopped(a: int) -> int:
        raise StopIteration

    for function in (
        udf(inverse, "double", useArrow=False),
        udf(stopped, "int", useArrow=False),
        udf(lambda a: a, "date", useArrow=False),
    ):
        vanilla, engine = errors_of_both(spark, lambda function=function: spark.range(3).select(function("id")))
        assert vanilla.splitlines()[-2:] == engine.splitlines()[-2:]


def test_decimal_with_too_many_digits_has_the_error_of_spark(spark: SparkSession) -> None:
    texts = []
    for engine in ("false", "true"):
        with (
            configured(spark, {ENABLED: engine}),
            pytest.raises(Exception, match="NUMERIC_VALUE_OUT_OF_RANGE") as caught,
        ):
            spark.range(1).select(udf(lambda _: Decimal("999.95"), "decimal(4,1)", useArrow=False)("id")).collect()
        (text,) = {
            line
            for line in str(caught.value).splitlines()
            if "NUMERIC_VALUE_OUT_OF_RANGE" in line and "Caused" not in line
        }
        texts.append(text[text.index("[NUMERIC") :])
    assert texts[0] == texts[1]


def test_functions_without_arguments_and_by_keyword_equal_spark(spark: SparkSession, tables: TableShelf) -> None:
    tables.use(["tame"])
    constant = udf(lambda: 7, "int", useArrow=False)
    joined = udf(lambda a, b=0: f"{a}/{b}", "string", useArrow=False)
    length = udf(len, "int", useArrow=False)
    _rows(spark, lambda: spark.table("tame").select("id", constant(), joined(b="id", a="i"), length(joined("i"))))
    _rows(spark, lambda: spark.table("tame").where(constant() == 7).groupBy(joined("i")).count())
    _rows(spark, lambda: spark.table("tame").where("id < 0").select(constant(), joined("id")))


def test_strings_that_are_not_utf8_equal_spark(spark: SparkSession) -> None:
    shown = udf(lambda a: a.encode().hex(), "string", useArrow=False)
    texts = "CAST(unhex(hex(id * 7919 + 12345678901)) AS STRING)"
    _rows(spark, lambda: spark.range(0, 300, 1, 2).selectExpr("id", f"{texts} AS t").select("id", shown("t")))
