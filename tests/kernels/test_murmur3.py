"""Murmur3 over Arrow columns is Spark's ``hash(...)``, type by type, NULL by NULL, column after column."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows, partition_ids

UTC = datetime.timezone.utc
VALUES: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "tinyint": [0, 1, -1, 127, -128, None],
    "smallint": [0, 1, -1, 32767, -32768, None],
    "int": [0, 1, -1, 2**31 - 1, -(2**31), None],
    "bigint": [0, 1, -1, 2**63 - 1, -(2**63), 2**32, None],
    "float": [0.0, -0.0, 1.5, float("nan"), float("inf"), -3.25, None],
    "double": [0.0, -0.0, 1.5, float("nan"), float("-inf"), 1e300, None],
    "decimal(18,2)": [Decimal("0.00"), Decimal("-1.25"), Decimal("9999999999999999.99"), None],
    "decimal(38,4)": [
        Decimal("0.0000"), Decimal("-0.0001"), Decimal("0.0127"), Decimal("0.0128"), Decimal("-0.0128"),
        Decimal("-0.0129"), Decimal("1844674407370955.1615"), Decimal("-1844674407370955.1616"),
        Decimal("9999999999999999999999999999999999.9999"), Decimal("-9999999999999999999999999999999999.9999"), None,
    ],
    "string": ["", "a", "ab", "abc", "abcd", "abcdé", "日本語テキスト", "x" * 33, None],
    "binary": [b"", b"\x80", b"\xff\x01\x80\x7f\x90", b"\x00\x00\x00\x80", None],
    "date": [datetime.date(1970, 1, 1), datetime.date(1900, 2, 3), datetime.date(2030, 12, 31), None],
    "timestamp": [datetime.datetime(2020, 1, 1, 1, 2, 3, 456789, UTC), datetime.datetime(1950, 1, 1, tzinfo=UTC), None],
    "timestamp_ntz": [datetime.datetime(2020, 1, 1, 1, 2, 3, 456789), None],
}


def arrow(kind: str, data: list[Any]) -> pa.Array:
    from pyspark_pipeline.datatypes import parse_type

    return pa.array(data, parse_type(kind).arrow)


def signed(hashes: np.ndarray) -> list[int]:
    return [int(h) for h in hashes.view(np.int32)]


@pytest.mark.parametrize("kind", VALUES)
def test_one_column_is_sparks_hash(vanilla: Any, kind: str) -> None:
    frame = vanilla.createDataFrame([(i, v) for i, v in enumerate(VALUES[kind])], f"i int, v {kind}")
    expected = [row[0] for row in frame.selectExpr("hash(v)", "i").orderBy("i").collect()]
    column = arrow(kind, VALUES[kind])
    assert signed(hash_rows([column], len(column))) == expected
    sliced = pa.concat_arrays([column.slice(1, 1), column]).slice(1)
    assert signed(hash_rows([sliced], len(column))) == expected


def test_columns_fold_one_after_another(vanilla: Any) -> None:
    kinds = list(VALUES)
    rows = [(i, *(VALUES[k][(i * 7 + n) % len(VALUES[k])] for n, k in enumerate(kinds))) for i in range(40)]
    schema = "i int, " + ", ".join(f"c{n} {k}" for n, k in enumerate(kinds))
    names = ", ".join(f"c{n}" for n in range(len(kinds)))
    frame = vanilla.createDataFrame(rows, schema)
    expected = [row[0] for row in frame.selectExpr(f"hash({names})", "i").orderBy("i").collect()]
    columns = [arrow(k, [row[n + 1] for row in rows]) for n, k in enumerate(kinds)]
    assert signed(hash_rows(columns, 40)) == expected


def test_a_dictionary_column_hashes_as_its_strings() -> None:
    plain = pa.array(["a", None, "bb", "a", "日本", None] * 5)
    assert list(hash_rows([plain.dictionary_encode()], 30)) == list(hash_rows([plain], 30))
    second = pa.array(range(30), pa.int64())
    assert list(hash_rows([second, plain.dictionary_encode()], 30)) == list(hash_rows([second, plain], 30))


def test_partition_is_pmod() -> None:
    hashes = np.array([-7, -1, 0, 5, 2**31 - 1, -(2**31)], dtype=np.int32).view(np.uint32)
    assert list(partition_ids(hashes, 5)) == [int(h) % 5 for h in hashes.view(np.int32)]
    many = np.random.default_rng(5).integers(0, 2**32, 50_000).astype(np.uint32)
    for count in (1, 2, 3, 7, 200, 1000, 65_537, 2**31 - 1):
        multiples = (np.arange(-50, 50) * count).astype(np.int32).view(np.uint32)
        for some in (many, multiples, hashes):
            expected = some.view(np.int32).astype(np.int64) % count
            assert np.array_equal(partition_ids(some, count), expected)


def test_drivers_of_one_partition_are_near_uniform() -> None:
    """T2: with the second hash each partition's rows spread over the drivers; without it they fall on one."""
    hashes = hash_rows([pa.array(range(200_000), pa.int64())], 200_000)
    partitions = partition_ids(hashes, 16)
    drivers = driver_ids(hashes, 4)
    for partition in range(16):
        counts = np.bincount(drivers[partitions == partition], minlength=4)
        assert counts.min() > 0.9 * counts.mean()
        plain = np.bincount(partition_ids(hashes, 4)[partitions == partition], minlength=4)
        assert np.count_nonzero(plain) == 1
