"""The wire names of types."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import parse_type


@pytest.mark.parametrize(
    ("text", "arrow"),
    [
        ("bigint", pa.int64()),
        ("decimal(12,2)", pa.decimal128(12, 2)),
        ("interval day to second", pa.int64()),
        ("array<decimal(5,0)>", pa.list_(pa.decimal128(5, 0))),
        ("array<array<interval year to month>>", pa.list_(pa.list_(pa.int32()))),
        ("map<string,array<timestamp>>", pa.map_(pa.string(), pa.list_(pa.timestamp("us", "UTC")))),
        (
            'struct<"a":int,"b, c>:\\"d\\"":struct<"é":map<int,date>>,"":void>',
            pa.struct(
                [("c0", pa.int32()), ("c1", pa.struct([("c0", pa.map_(pa.int32(), pa.date32()))])), ("c2", pa.null())]
            ),
        ),
    ],
)
def test_names_are_read_and_written(text: str, arrow: pa.DataType) -> None:
    assert parse_type(text).arrow == arrow
    assert parse_type(str(parse_type(text))) == parse_type(text)


def test_children_that_are_never_null_do_not_distinguish_types() -> None:
    text = 'struct<"a":array<decimal(5,2)!>,"b":map<int,array<date!>!>!>'
    one = parse_type(text)
    assert str(one) == text and one.required == {1} and one.children[0].required == {0}
    assert one == parse_type(text.replace("!", ""))


def test_names_of_fields_do_not_distinguish_types() -> None:
    one, other = parse_type('struct<"a":int>'), parse_type('struct<"b":int>')
    assert one == other and one.names == ("a",) and other.names == ("b",)


_WRONG = ["", "array<>", "array<int", "array<int,int>", "map<int>", "struct<int>", "int>", "variant", "int!"]


@pytest.mark.parametrize("text", _WRONG)
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_type(text)
