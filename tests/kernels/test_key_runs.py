"""Runs of equal keys, of every flat type, with NULLs."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.key_runs import have_runs, run_starts

KEYS: list[tuple[pa.DataType, Any, Any]] = [
    (pa.int8(), 1, 2),
    (pa.int64(), 1, -(2**63)),
    (pa.float64(), 1.5, -1.5),
    (pa.bool_(), True, False),
    (pa.string(), "", "a"),
    (pa.binary(), b"", b"a"),
    (pa.decimal128(38, 2), Decimal("1.25"), Decimal("-1.25")),
    (pa.date32(), datetime.date(1, 1, 1), datetime.date(2020, 1, 1)),
    (pa.timestamp("us", "UTC"), datetime.datetime(1, 1, 1), datetime.datetime(2020, 1, 1)),
]


@pytest.mark.parametrize(("kind", "first", "second"), KEYS, ids=str)
@pytest.mark.parametrize("encoded", [False, True])
def test_runs_begin_where_the_key_changes(kind: pa.DataType, first: Any, second: Any, encoded: bool) -> None:
    for values, starts in (
        ([first, first, second, second, first], [1, 0, 1, 0, 1]),
        ([None, None, first, None, second, second], [1, 0, 1, 1, 1, 0]),
        ([None, None], [1, 0]),
        ([first], [1]),
        ([], []),
    ):
        key = pa.array([second, *values, first], kind)
        key = (key.dictionary_encode() if encoded else key).slice(1, len(values))
        assert run_starts([key]).tolist() == starts
        assert run_starts([pa.nulls(len(values)), key]).tolist() == starts


def test_a_run_ends_where_any_key_changes() -> None:
    assert run_starts([pa.array([1, 1, 1, 2, 2]), pa.array(["a", "a", "b", "b", "b"])]).tolist() == [1, 0, 1, 1, 0]


def test_nan_is_a_run_of_its_own_and_zeros_are_one() -> None:
    assert run_starts([pa.array([float("nan"), float("nan"), 0.0, -0.0])]).tolist() == [1, 1, 1, 0]


def test_nested_keys_have_no_runs() -> None:
    assert have_runs([pa.int64(), pa.string()]) and not have_runs([pa.int64(), pa.list_(pa.int64())])
