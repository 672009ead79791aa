import itertools
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.kernels import normalized_key
from pyspark_pipeline.kernels.normalized_key import normalized_keys

_NUMBERS = [None, -(2**31), -1, 0, 1, 2**31 - 1]
_TEXTS = [None, "", "a", "a\0", "a\0b", "ab", "b", "é"]
_DOUBLES = [None, -math.inf, -2.5, -1.5, -1e-300, 0.0, 1e-300, 1.5, math.inf, math.nan]
_DECIMALS = [None, *map(Decimal, ("-123456789012345678.67", "-1.00", "0.00", "123456789012345678.67"))]


def _in_order(values: list[Any], kind: pa.DataType) -> None:
    """Check that the keys of ``values``, of which each is less than the next, ascend; also in a slice."""
    keys = normalized_keys(pa.concat_arrays([pa.nulls(3, kind), pa.array(values, kind)]).slice(3)).to_pylist()
    assert keys[0] is None
    assert all(key is not None for key in keys[1:])
    assert all(left < right for left, right in itertools.pairwise(keys[1:]))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (_NUMBERS, pa.int32()),
        (_NUMBERS, pa.int64()),
        ([None, -128, -1, 0, 127], pa.int8()),
        ([None, False, True], pa.bool_()),
        (_TEXTS, pa.string()),
        ([None, b"", b"\0", b"\0\0", b"\0\1", b"\1", b"\xff"], pa.binary()),
        (_DOUBLES, pa.float64()),
        (_DECIMALS, pa.decimal128(20, 2)),
    ],
)
def test_keys_order_as_their_values(values: list[Any], kind: pa.DataType) -> None:
    _in_order(values, kind)
    _in_order([None, *({"a": value, "b": 1} for value in values)], pa.struct([("a", kind), ("b", pa.int8())]))
    lists = [None, [], *(found for value in values for found in ([value], [value, None], [value, values[-1]]))]
    _in_order(lists, pa.list_(kind))


def test_fields_compare_in_order() -> None:
    pairs = itertools.product(_TEXTS, _NUMBERS)
    _in_order([None, *({"a": a, "b": b} for a, b in pairs)], pa.struct([("a", pa.string()), ("b", pa.int64())]))


def test_zeros_are_equal_and_nans_are_equal() -> None:
    bits = pa.array([0x7FF8000000000000, 0x7FF0000000000001, -1], pa.int64()).view(pa.float64())
    keys = normalized_keys(pa.ListArray.from_arrays([0, 1, 2, 3], bits)).to_pylist()
    assert keys[0] == keys[1] == keys[2]
    zero, negative = normalized_keys(pa.array([[0.0], [-0.0]], pa.list_(pa.float32()))).to_pylist()
    assert zero == negative


def test_void_elements_are_null() -> None:
    keys = normalized_keys(pa.array([[None], [None, None], []], pa.list_(pa.null()))).to_pylist()
    assert keys[2] < keys[0] < keys[1]


def test_no_rows() -> None:
    for kind in (pa.list_(pa.string()), pa.struct([("a", pa.list_(pa.int64()))])):
        assert normalized_keys(pa.array([], kind)).to_pylist() == []
        assert normalized_keys(pa.nulls(2, kind)).to_pylist() == [None, None]


def test_too_many_bytes_for_one_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalized_key, "_MOST_BYTES", 10)
    with pytest.raises(pa.ArrowCapacityError, match="the normalized keys of 2 rows have 18 bytes"):
        normalized_keys(pa.array([["abcd"], ["efgh"]]))
