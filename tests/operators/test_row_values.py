"""Values of Python as columns: classes, NULL for others, texts of Java."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.errors import SparkConditionError, UnsupportedValueError
from pyspark_pipeline.operators.python_functions.row_values import column_of, python_values

_CASES: list[tuple[str, list[Any], list[Any]]] = [
    ("tinyint", [1, 300, None, 2**63, "1", 1.5, True], [1, 44, None, None, None, None, None]),
    ("bigint", [-(2**63), 2**63 - 1, -(2**63) - 1], [-(2**63), 2**63 - 1, None]),
    ("double", [1.5, 1, Decimal("NaN"), Decimal(1)], [1.5, None, None, None]),
    ("boolean", [True, 1, "true"], [True, None, None]),
    ("decimal(4,1)", [Decimal("1.25"), Decimal("-1.25"), 1, 1.5], [Decimal("1.3"), Decimal("-1.3"), None, None]),
    ("binary", [b"a", bytearray(b"b"), "ü", 1], [b"a", b"b", "ü".encode(), None]),
    ("date", [0, -5, None], [datetime.date(1970, 1, 1), datetime.date(1969, 12, 27), None]),
    ("string", [True, 1e10, 1e-5, -0.0, Decimal("-0.0"), [None, "a", {}]],
     ["true", "1.0E10", "1.0E-5", "-0.0", "0.0", "[null, a, {}]"]),
    ("string", ["a\ud800b", None, {"b": 1, "a": 2}], ["a\ufffdb", None, "{a=2, b=1}"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "values", "expected"), _CASES)
def test_column_of_values(kind: str, values: list[Any], expected: list[Any]) -> None:
    made = column_of(values, parse_type(kind), 17)
    assert made.type == parse_type(kind).arrow
    found = [None if value != value else value for value in made.to_pylist()]
    assert found == expected


@pytest.mark.parametrize("kind", ["int", "string", "double"])
@pytest.mark.parametrize("value", [object(), pa.scalar(1), [object()], Decimal("Infinity")])
def test_value_that_spark_does_not_unpickle_raises(kind: str, value: Any) -> None:
    with pytest.raises(UnsupportedValueError):
        column_of([value], parse_type(kind), 17)


def test_decimal_with_too_many_digits_raises() -> None:
    with pytest.raises(SparkConditionError, match="NUMERIC_VALUE_OUT_OF_RANGE"):
        column_of([Decimal("999.95")], parse_type("decimal(4,1)"), 17)


def test_values_of_columns() -> None:
    assert python_values(pa.array([1, None, 3], pa.int8())) == [1, None, 3]
    assert python_values(pa.array([True, None])) == [True, None]
    assert python_values(pa.array([0, None], pa.timestamp("us", tz="UTC"))) == [0, None]
    assert python_values(pa.array([datetime.date(1500, 1, 1)])) == [-171664]
    assert python_values(pa.array([b"\xed\xa0\x80a", b"b"]).view(pa.string())) == ["\ufffda", "b"]
    assert all(type(value) is int for value in python_values(pa.array([1, 2])))
