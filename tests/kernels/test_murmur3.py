"""Murmur3 over Arrow columns equals Spark's ``hash(...)`` for every type, for NULLs and for several columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows, partition_ids
from tests.kernels.hash_values import VALUES, arrow, mixed_rows, vanilla_hashes


def signed(hashes: np.ndarray) -> list[int]:
    return [int(h) for h in hashes.view(np.int32)]


@pytest.mark.parametrize("kind", VALUES)
def test_hash_of_one_column_equals_spark(vanilla: Any, kind: str) -> None:
    expected = vanilla_hashes(vanilla, "hash", [kind], [(value,) for value in VALUES[kind]])
    column = arrow(kind, VALUES[kind])
    assert signed(hash_rows([column], len(column))) == expected
    sliced = pa.concat_arrays([column.slice(1, 1), column]).slice(1)
    assert signed(hash_rows([sliced], len(column))) == expected


def test_hash_folds_columns_in_order(vanilla: Any) -> None:
    rows = mixed_rows()
    expected = vanilla_hashes(vanilla, "hash", list(VALUES), rows)
    columns = [arrow(kind, [row[n] for row in rows]) for n, kind in enumerate(VALUES)]
    assert signed(hash_rows(columns, 40)) == expected


def test_dictionary_column_hashes_as_its_values() -> None:
    plain = pa.array(["a", None, "bb", "a", "日本", None] * 5)
    assert list(hash_rows([plain.dictionary_encode()], 30)) == list(hash_rows([plain], 30))
    second = pa.array(range(30), pa.int64())
    assert list(hash_rows([second, plain.dictionary_encode()], 30)) == list(hash_rows([second, plain], 30))


def test_partition_ids_equal_pmod() -> None:
    hashes = np.array([-7, -1, 0, 5, 2**31 - 1, -(2**31)], dtype=np.int32).view(np.uint32)
    assert list(partition_ids(hashes, 5)) == [int(h) % 5 for h in hashes.view(np.int32)]
    many = np.random.default_rng(5).integers(0, 2**32, 50_000).astype(np.uint32)
    for count in (1, 2, 3, 7, 200, 1000, 65_537, 2**31 - 1):
        multiples = (np.arange(-50, 50) * count).astype(np.int32).view(np.uint32)
        for some in (many, multiples, hashes):
            expected = some.view(np.int32).astype(np.int64) % count
            assert np.array_equal(partition_ids(some, count), expected)


def test_driver_ids_of_one_partition_are_near_uniform() -> None:
    """T2: the second hash distributes each partition's rows over the drivers; without it all go to one driver."""
    hashes = hash_rows([pa.array(range(200_000), pa.int64())], 200_000)
    partitions = partition_ids(hashes, 16)
    drivers = driver_ids(hashes, 4)
    for partition in range(16):
        counts = np.bincount(drivers[partitions == partition], minlength=4)
        assert counts.min() > 0.9 * counts.mean()
        plain = np.bincount(partition_ids(hashes, 4)[partitions == partition], minlength=4)
        assert np.count_nonzero(plain) == 1


def test_list_of_longs_folds_its_elements() -> None:
    lists = pa.array([[7], None, [1, -2], [], [None, 2**63 - 1], [None, None], None], pa.list_(pa.int64()))
    for array in (lists, lists[1:6], lists.drop_null()):
        pairs = [(*(values or []), None, None)[:2] for values in array.to_pylist()]
        columns = [pa.array(column, pa.int64()) for column in zip(*pairs, strict=True)]
        assert hash_rows([array], len(array)).tolist() == hash_rows(columns, len(array)).tolist()
