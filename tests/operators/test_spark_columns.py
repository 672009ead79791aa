"""Columns of the engine in the types of Spark, and back."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.operators.python_functions.java_maps import map_order, unpickled_keys
from pyspark_pipeline.operators.python_functions.row_values import column_of, python_values
from pyspark_pipeline.operators.python_functions.spark_columns import of_spark, spark_arrow_type, to_spark

_TYPES = {
    "array<timestamp>": [[0, None], None, []],
    "array<array<int!>>": [[[1], None], None, [[]]],
    'struct<"a b":int,"ü":array<string>>': [{"c0": 1, "c1": ["x", None]}, None, {"c0": None, "c1": None}],
    "map<string,map<int,double!>>": [[("a", [(1, 1.5)]), ("b", None)], None, []],
}


@pytest.mark.parametrize("text", _TYPES)
@pytest.mark.parametrize(("start", "stop"), [(0, 3), (1, 3), (1, 2), (3, 3)])
def test_columns_change_their_type_there_and_back(text: str, start: int, stop: int) -> None:
    type_ = parse_type(text)
    column = pa.array(_TYPES[text], type_.arrow)[start:stop]
    there = to_spark(column, spark_arrow_type(type_, "Asia/Kathmandu"))
    there.validate(full=True)
    back = of_spark(there, type_)
    assert back.type == type_.arrow and back.equals(column)


def test_types_have_the_names_of_spark() -> None:
    found = spark_arrow_type(parse_type('struct<"a b":array<timestamp!>!,"m":map<int,string>>'), "Asia/Kathmandu")
    assert str(found) == (
        "struct<a b: list<element: timestamp[us, tz=Asia/Kathmandu] not null> not null, m: map<int32, string>>"
    )


def test_nothing_is_below_a_null() -> None:
    type_ = parse_type('array<struct<"a":int>>')
    structs = pa.StructArray.from_arrays([pa.array([1, 2, 3], pa.int32())], ["c0"], mask=pa.array([False, True, False]))
    column = pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), structs, mask=pa.array([False, True]))
    found = to_spark(column, spark_arrow_type(type_, "UTC"))
    assert len(found.flatten()) == 2 and found.values.field(0).to_pylist() == [1, None]


@pytest.mark.parametrize(
    ("declared", "column"),
    [
        ("array<int>", pa.array([[1]])),
        ("array<string>", pa.array([[1]])),
        ('struct<"a":int>', pa.array([[1]], pa.list_(pa.int32()))),
        ("array<int!>", pa.array([[None]], pa.list_(pa.int32()))),
        ('array<struct<"a":int!>>', pa.array([[{"a": None}, None]], pa.list_(pa.struct([("a", pa.int32())])))),
    ],
)
def test_other_types_are_refused(declared: str, column: pa.Array) -> None:
    with pytest.raises(TypeError):
        of_spark(column, parse_type(declared))


def test_large_strings_are_narrowed() -> None:
    column = pa.array([["a"], None], pa.list_(pa.large_string()))
    assert of_spark(column, parse_type("array<string>")).to_pylist() == [["a"], None]


def test_maps_have_the_order_of_java() -> None:
    floats = {1.5: 1, -2.25: 2, float("inf"): 3, 1e300: 4, 0.1: 5}
    assert unpickled_keys(floats) == [float("inf"), 1.5, -2.25, 0.1, 1e300]
    assert len(set(unpickled_keys({f"key{i}": i for i in range(3000)}))) == 3000
    assert map_order([4, 1, 2], lambda key: key) == [0, 1, 2]


def test_values_of_nested_columns() -> None:
    type_ = parse_type('struct<"a":array<date>,"b":map<int,string>>')
    rows = [([1, None], {2: "x", 1: None}), None, (None, {})]
    column = column_of(rows, type_, 17)
    assert python_values(column) == rows and python_values(column[1:]) == rows[1:]
    assert list(python_values(column)[0][1]) == [1, 2]
