"""xxHash64 over Arrow columns is Spark's ``xxhash64(...)``, type by type, NULL by NULL, column after column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.xxhash64 import xxhash64_rows
from tests.kernels.hash_values import VALUES, arrow, mixed_rows, vanilla_hashes


@pytest.mark.parametrize("kind", VALUES)
def test_one_column_is_sparks_hash(vanilla: Any, kind: str) -> None:
    expected = vanilla_hashes(vanilla, "xxhash64", [kind], [(value,) for value in VALUES[kind]])
    column = arrow(kind, VALUES[kind])
    assert list(xxhash64_rows([column], len(column), 42)) == expected
    sliced = pa.concat_arrays([column.slice(1, 1), column]).slice(1)
    assert list(xxhash64_rows([sliced], len(column), 42)) == expected


def test_columns_fold_one_after_another(vanilla: Any) -> None:
    rows = mixed_rows()
    expected = vanilla_hashes(vanilla, "xxhash64", list(VALUES), rows)
    columns = [arrow(kind, [row[n] for row in rows]) for n, kind in enumerate(VALUES)]
    assert list(xxhash64_rows(columns, 40, 42)) == expected


def test_long_strings_are_hashed_by_stripes(vanilla: Any) -> None:
    texts = [chr(97 + n % 26) * n + "é" for n in range(200)]
    expected = vanilla_hashes(vanilla, "xxhash64", ["string"], [(text,) for text in texts])
    assert list(xxhash64_rows([pa.array(texts)], 200, 42)) == expected


def test_a_dictionary_column_hashes_as_its_strings() -> None:
    plain = pa.array(["a", None, "bb", "a", "日本", None] * 5)
    expected = list(xxhash64_rows([plain], 30, 42))
    assert expected[1] == 42
    assert list(xxhash64_rows([plain.dictionary_encode()], 30, 42)) == expected


def test_a_seed_of_either_sign_is_a_bigint() -> None:
    nothing = pa.array([None], pa.int64())
    assert [xxhash64_rows([nothing], 1, seed)[0] for seed in (-1, 0, 2**62)] == [-1, 0, 2**62]
