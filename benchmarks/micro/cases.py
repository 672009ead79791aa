"""The cases: hashing, partitioning, grouping, accumulating."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.micro.measure import BATCH_ROWS, Case, cut, micro
from pyspark_pipeline.kernels import accumulate
from pyspark_pipeline.kernels.buffers import NO_BITS, decimal_words
from pyspark_pipeline.kernels.group_table import GroupTable
from pyspark_pipeline.kernels.murmur3 import hash_rows, partition_ids
from pyspark_pipeline.kernels.partition import group_rows

_RANDOM = np.random.default_rng(42)


def _longs(rows: int, distinct: int) -> pa.Array:
    return pa.array(_RANDOM.integers(0, distinct, rows), pa.int64())


def _letters(rows: int, values: Sequence[str]) -> pa.Array:
    codes = pa.array(_RANDOM.integers(0, len(values), rows).astype(np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array(values, pa.string()))


def _each(chunks: list[list[pa.Array]], action: Any) -> Case:
    def run() -> None:
        for chunk in chunks:
            action(chunk)

    return run


@micro("murmur3 of a bigint")
def murmur_long(rows: int) -> tuple[Case, int]:
    chunks = list(cut(_longs(rows, 1 << 40)))
    return _each(chunks, lambda chunk: hash_rows(chunk, len(chunk[0]))), rows


@micro("murmur3 of an 18-byte string")
def murmur_string(rows: int) -> tuple[Case, int]:
    rows //= 4
    chunks = list(cut(pa.array([f"Customer#{i:09d}" for i in range(rows)])))
    return _each(chunks, lambda chunk: hash_rows(chunk, len(chunk[0]))), rows


@micro("murmur3 of a bigint and prefix-sum grouping into 200")
def partition(rows: int) -> tuple[Case, int]:
    column = _longs(rows, 1 << 40)
    return lambda: group_rows(partition_ids(hash_rows([column], rows), 200), 200), rows


def _grouping(types: list[pa.DataType], chunks: list[list[pa.Array]], rows: int) -> tuple[Case, int]:
    def run() -> None:
        table = GroupTable(types)
        for chunk in chunks:
            table.group_ids(chunk)

    return run, rows


@micro("group by two dictionary columns, 6 groups")
def group_letters(rows: int) -> tuple[Case, int]:
    chunks = list(cut(_letters(rows, ["A", "N", "R"]), _letters(rows, ["F", "O"])))
    return _grouping([pa.string(), pa.string()], chunks, rows)


@micro("group by two string columns, 6 groups")
def group_strings(rows: int) -> tuple[Case, int]:
    letters = (_letters(rows, ["A", "N", "R"]), _letters(rows, ["F", "O"]))
    return _grouping([pa.string(), pa.string()], list(cut(*(a.dictionary_decode() for a in letters))), rows)


@micro("group by a bigint, runs of 4")
def group_runs(rows: int) -> tuple[Case, int]:
    chunks = list(cut(pa.array(np.arange(rows, dtype=np.int64) // 4)))
    return _grouping([pa.int64()], chunks, rows)


@micro("group by a random bigint, a quarter distinct")
def group_random(rows: int) -> tuple[Case, int]:
    return _grouping([pa.int64()], list(cut(_longs(rows, rows // 4))), rows)


@micro("group by bigint, date, int, runs of 4")
def group_three(rows: int) -> tuple[Case, int]:
    numbers = np.arange(rows, dtype=np.int64) // 4
    dates = pa.array((numbers % 2500).astype(np.int32)).cast(pa.date32())
    zeros = pa.array(np.zeros(rows, dtype=np.int32))
    return _grouping([pa.int64(), pa.date32(), pa.int32()], list(cut(pa.array(numbers), dates, zeros)), rows)


@micro("group by an 18-byte string, a tenth distinct")
def group_names(rows: int) -> tuple[Case, int]:
    rows //= 4
    names = pa.array([f"Customer#{i:09d}" for i in _RANDOM.integers(0, rows // 10, rows)])
    return _grouping([pa.string()], list(cut(names)), rows)


def _adding(rows: int, groups: int) -> tuple[Case, int]:
    numbers = pa.array(_RANDOM.integers(0, 10**7, BATCH_ROWS)).cast(pa.decimal128(19, 0))
    words = decimal_words(numbers)
    ids = _RANDOM.integers(0, groups, BATCH_ROWS)
    sums, seen = np.zeros(2 * groups, dtype=np.int64), np.zeros(groups, dtype=np.uint8)
    times = max(1, rows // BATCH_ROWS)

    def run() -> None:
        for _ in range(times):
            accumulate.add_decimals(ids, words, NO_BITS, 0, sums, seen)

    return run, times * BATCH_ROWS


@micro("sum of decimals, 4 groups")
def sum_few(rows: int) -> tuple[Case, int]:
    return _adding(rows, 4)


@micro("sum of decimals, 1 Mi groups")
def sum_many(rows: int) -> tuple[Case, int]:
    return _adding(rows, 1 << 20)
