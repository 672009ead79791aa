"""xxHash64 over Arrow columns equals Spark's ``xxhash64(...)`` for every type, for NULLs and for several columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.xxhash64 import xxhash64_rows
from tests.kernels.hash_values import VALUES, arrow, mixed_rows, vanilla_hashes


@pytest.mark.parametrize("kind", VALUES)
def test_hash_of_one_column_equals_spark(vanilla: Any, kind: str) -> None:
    expected = vanilla_hashes(vanilla, "xxhash64", [kind], [(value,) for value in VALUES[kind]])
    column = arrow(kind, VALUES[kind])
    assert list(xxhash64_rows([column], len(column), 42)) == expected
    sliced = pa.concat_arrays([column.slice(1, 1), column]).slice(1)
    assert list(xxhash64_rows([sliced], len(column), 42)) == expected


def test_hash_folds_columns_in_order(vanilla: Any) -> None:
    rows = mixed_rows()
    expected = vanilla_hashes(vanilla, "xxhash64", list(VALUES), rows)
    columns = [arrow(kind, [row[n] for row in rows]) for n, kind in enumerate(VALUES)]
    assert list(xxhash64_rows(columns, 40, 42)) == expected


def test_hash_of_long_strings_equals_spark(vanilla: Any) -> None:
    texts = [chr(97 + n % 26) * n + "é" for n in range(200)]
    expected = vanilla_hashes(vanilla, "xxhash64", ["string"], [(text,) for text in texts])
    assert list(xxhash64_rows([pa.array(texts)], 200, 42)) == expected


def test_dictionary_column_hashes_as_its_values() -> None:
    plain = pa.array(["a", None, "bb", "a", "日本", None] * 5)
    expected = list(xxhash64_rows([plain], 30, 42))
    assert expected[1] == 42
    assert list(xxhash64_rows([plain.dictionary_encode()], 30, 42)) == expected


def test_seed_may_be_negative() -> None:
    nothing = pa.array([None], pa.int64())
    assert [xxhash64_rows([nothing], 1, seed)[0] for seed in (-1, 0, 2**62)] == [-1, 0, 2**62]


def test_list_of_longs_folds_its_elements() -> None:
    lists = pa.array([[7], None, [1, -2], [], [None, 2**63 - 1], [None, None], None], pa.list_(pa.int64()))
    for array in (lists, lists[1:6], lists.drop_null()):
        pairs = [(*(values or []), None, None)[:2] for values in array.to_pylist()]
        columns = [pa.array(column, pa.int64()) for column in zip(*pairs, strict=True)]
        assert xxhash64_rows([array], len(array), 42).tolist() == xxhash64_rows(columns, len(array), 42).tolist()
