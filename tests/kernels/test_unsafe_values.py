"""Spark's bytes of nested values: what is written is read again; the layouts of small values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.unsafe_values import of_stored, stored_type, to_stored
from tests.support.nested_tables import nests_data

_TABLE = nests_data(90)


@pytest.mark.parametrize("name", _TABLE.schema.names)
def test_stored_values_are_read_again(name: str) -> None:
    column = _TABLE[name].combine_chunks()
    pairs = pa.StructArray.from_arrays([column, pa.nulls(len(column))], names=["a", "b"])
    for values in (column, column.slice(3, 50), column.slice(0, 0), pairs):
        stored = to_stored(values)
        found = of_stored(stored, values.type)
        found.validate(full=True)
        assert stored.type == stored_type(values.type)
        assert repr(found.to_pylist()) == repr(values.to_pylist())


def _words(*words: int) -> bytes:
    return b"".join(word.to_bytes(8, "little") for word in words)


def test_layouts_of_spark() -> None:
    numbers = pa.array([[1, None, 3], [], None], pa.list_(pa.int32()))
    assert to_stored(numbers).to_pylist() == [_words(3, 2, 1, 3), _words(0), None]
    texts = pa.array([["a", None]])
    assert to_stored(texts).to_pylist() == [_words(2, 2, (32 << 32) | 1, 0, ord("a"))]
    struct = pa.array([{"a": None, "b": "xy", "c": 7}])
    assert to_stored(struct).to_pylist() == [_words(1, 0, (32 << 32) | 2, 7, ord("x") | ord("y") << 8)]
    entries = pa.array([[(1, True)]], pa.map_(pa.int64(), pa.bool_()))
    assert to_stored(entries).to_pylist() == [_words(24, 1, 0, 1, 1, 0, 1)]
