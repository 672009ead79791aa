"""Values of chosen rows, against Arrow's ``take``."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyspark_pipeline.kernels.take import filter_rows, take

_LISTS = [[1, None], [], None, [2, 3, 4], [5], [None]]
_VALUES: dict[pa.DataType, list[Any]] = {
    pa.int8(): [1, None, -3, 4, 5, 127],
    pa.int16(): [1, None, -3, 4, 5, 6],
    pa.int32(): [1, 2, 3, 4, 5, 6],
    pa.int64(): [2**62, None, -3, None, 5, 6],
    pa.float32(): [float("inf"), None, -0.0, 4, 5, 6],
    pa.float64(): [None, 1.5, -0.0, 4, 5, 6],
    pa.date32(): [0, None, -700_000, 3, 4, 5],
    pa.timestamp("us"): [0, None, -1, 3, 4, 5],
    pa.decimal128(38, 2): [Decimal("-1.25"), None, Decimal(10) ** 35, Decimal(1), Decimal(2), Decimal(3)],
    pa.bool_(): [True, None, False, True, False, True],
    pa.string(): ["a", None, "", "ü", "long text", "b"],
    pa.null(): [None] * 6,
    pa.list_(pa.int64()): _LISTS,
    pa.list_(pa.list_(pa.string())): [[["a"], None], [], None, [["b", None], []], [["c"]], [[]]],
    pa.map_(pa.string(), pa.int32()): [[("a", 1)], [], None, [("b", None), ("c", 2)], [("d", 3)], []],
    pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int64()))]): [
        None if items is None else {"a": place, "b": items} for place, items in enumerate(_LISTS)
    ],
}


@pytest.mark.parametrize("kind", _VALUES, ids=str)
@pytest.mark.parametrize("dtype", [np.int32, np.int64], ids=["int32", "int64"])
def test_rows_as_arrow(kind: pa.DataType, dtype: type[np.int32] | type[np.int64]) -> None:
    whole = pa.array(_VALUES[kind] * 5, kind)
    for array in (whole, whole[3:], whole[1:2], whole.drop_null()):
        for size in (0, 1, 7, 8, 33):
            rows = np.random.default_rng(size).integers(0, max(len(array), 1), size if len(array) else 0).astype(dtype)
            found = take(array, rows)
            found.validate(full=True)
            assert found.equals(pc.take(array, pa.array(rows)))
            rows[::3] = -1
            found = take(array, rows, with_missing=True)
            found.validate(full=True)
            assert found.equals(pc.take(array, pa.array(rows, mask=rows < 0)))


@pytest.mark.parametrize("kind", _VALUES, ids=str)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.7, 0.95, 1.0])
def test_rows_that_pass_as_arrow(kind: pa.DataType, share: float) -> None:
    whole = pa.array(_VALUES[kind] * 40, kind)
    for array in (whole, whole[3:], whole[5:5], whole.drop_null()):
        passed = np.random.default_rng(5).random(len(array)) < share
        chunk = pa.RecordBatch.from_arrays([array, pa.array(range(len(array)), pa.int64())], ["c0", "c1"])
        found = filter_rows(chunk, passed.view(np.uint8))
        found.validate(full=True)
        assert found.equals(chunk.filter(pa.array(passed)))


def test_missing_rows_of_nothing() -> None:
    for kind in _VALUES:
        assert take(pa.array([], kind), np.full(3, -1), with_missing=True).equals(pa.nulls(3, kind))


def test_dictionaries_stay_encoded() -> None:
    array = pa.array(["a", "b", None, "a"]).dictionary_encode()
    assert take(array, np.array([3, -1, 2, 1]), with_missing=True).equals(pc.take(array, pa.array([3, None, 2, 1])))


def test_too_many_elements() -> None:
    array = pa.array([[True] * 100_000])
    with pytest.raises(pa.ArrowCapacityError):
        take(array, np.zeros(30_000, dtype=np.int64))
