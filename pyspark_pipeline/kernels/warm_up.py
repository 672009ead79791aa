"""Load every kernel before the first query needs it: from the cache on disk, or by compiling it once.

A worker's daemon calls :func:`warm_up` before it forks, so its workers share the loaded code. Each kernel is
called on a few rows through the functions that use it, which fixes the one form it is compiled for.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels import accumulate, row_ranges, running
from pyspark_pipeline.kernels.bloom import BloomFilter
from pyspark_pipeline.kernels.buffers import Array, decimal_words, string_parts, validity, values
from pyspark_pipeline.kernels.group_table import GroupTable
from pyspark_pipeline.kernels.join_pairs import flagged_rows, mark_rows
from pyspark_pipeline.kernels.join_table import JoinProber, JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter, KeyMarker
from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows, partition_ids
from pyspark_pipeline.kernels.partition import group_rows
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.kernels.sort_order import order_rows
from pyspark_pipeline.kernels.xxhash64 import xxhash64_rows

_LONGS = pa.array([3, None, 2**40, 3], pa.int64())
_STRINGS = pa.array(["a", None, "bc", "a"])
_SMALL = pa.array([Decimal(1), None, Decimal(2), Decimal(1)], pa.decimal128(10, 0))
_WIDE = pa.array([Decimal(1), None, Decimal(10**30), Decimal(1)], pa.decimal128(38, 0))


def warm_up() -> None:
    """Load the kernels of hashing, partitioning, grouping, accumulating, joining, sorting, filtering and windows."""
    for step in (_hashes, _groups, _sums, _extremes, _joins, _orders, _ranges, _windows):
        step()


def _hashes() -> None:
    columns = [
        _LONGS,
        pa.array([1, None, 2, 1], pa.int32()),
        pa.array([True, None, False, True]),
        pa.array([1.0, None, 2.0, 1.0]),
        pa.array([1.0, None, 2.0, 1.0], pa.float32()),
        _SMALL,
        _WIDE,
        _STRINGS,
    ]
    hashes = hash_rows(columns, 4)
    group_rows(partition_ids(hashes, 3), 3)
    driver_ids(hashes, 3)
    hashed = xxhash64_rows(columns, 4, 42)
    words = np.frombuffer(bytes(8), dtype=np.uint8)
    for version in (1, 2):
        BloomFilter(version=version, functions=1, seed=0, words=words).might_contain(hashed)


def _groups() -> None:
    ints = pa.array([1, None, 2, 1], pa.int32())
    flags = pa.array([True, None, False, True])
    for keys in ([_LONGS], [_LONGS.drop_null()], [_LONGS, _WIDE, ints, flags], [_STRINGS]):
        table = GroupTable([key.type for key in keys])
        table.group_ids(keys)
        table.keys(0, table.count)
    encoded = _STRINGS.dictionary_encode()
    table = GroupTable([pa.string()])
    for _ in range(2):
        table.group_ids([encoded])
    many = pa.array([f"{i}" for i in range(2000)])
    for keys in ([pa.array(range(0, 300_000_000, 100_000), pa.int64())], [many, many]):
        GroupTable([key.type for key in keys]).group_ids(keys)


def _longs(count: int) -> Array:
    return np.zeros(count, dtype=np.int64)


def _seen() -> Array:
    return np.zeros(4, dtype=np.uint8)


def _sums() -> None:
    groups = _longs(4)
    bits, skip = validity(_LONGS)
    words = decimal_words(_WIDE)
    accumulate.count_rows(groups, _longs(4))
    accumulate.count_valid(groups, bits, skip, _longs(4))
    accumulate.add_longs(groups, _longs(4), bits, skip, _longs(4), _seen())
    accumulate.add_doubles(groups, np.zeros(4), bits, skip, np.zeros(4), _seen())
    accumulate.add_decimals(groups, words, bits, skip, _longs(8), _seen())
    accumulate.merge_decimals(groups, words, bits, skip, bits, skip, _longs(8), _seen())
    accumulate.add_limbs(words, bits, skip, _longs(4))
    accumulate.mark_exceeding(_longs(8), np.uint64(1), np.int64(0), _seen())
    accumulate.divide_sums(_longs(8), _longs(4), 10_000, _longs(4), np.zeros(4, dtype=np.bool_))


def _extremes() -> None:
    groups = _longs(4)
    bits, skip = validity(_STRINGS)
    accumulate.least_longs(groups, _longs(4), bits, skip, 1, _longs(4), _seen())
    accumulate.least_doubles(groups, np.zeros(4), bits, skip, 1, np.zeros(4), _seen())
    accumulate.least_decimals(groups, decimal_words(_WIDE), bits, skip, 1, _longs(8), _seen())
    arena = np.zeros(64, dtype=np.uint8)
    starts, ends, seen = _longs(4), _longs(4), _seen()
    accumulate.least_strings(groups, *string_parts(_STRINGS), bits, skip, 1, arena, 0, starts, ends, seen)
    accumulate.copy_live(arena, starts, ends, seen, arena.copy())


def _orders() -> None:
    order_rows([SortColumn(_STRINGS, False, True)], 4)


def _joins() -> None:
    far = pa.array([3, None, 2**62, -(2**62)], pa.int64())
    for keys in ([_LONGS], [_LONGS.drop_null()], [far], [_LONGS, _STRINGS], [far, far], [_STRINGS]):
        table = JoinTable([key.type for key in keys], [[key] for key in keys], len(keys[0]))
        entries, found = JoinProber(table).find(keys, len(keys[0]))
        KeyMarker(KeyFilter(table)).keep(keys, np.ones(len(keys[0]), dtype=np.uint8))
        for keeps in (False, True):
            for _ in table.pairs(entries, found, keeps_unmatched=keeps, most=4):
                pass
        flags = np.zeros(4, dtype=np.uint8)
        mark_rows(entries, flags)
        flagged_rows(flags, 1, 0, np.zeros(4, dtype=np.int32))
    JoinProber(JoinTable([pa.string()], [[_STRINGS]], 4)).find([_STRINGS.dictionary_encode()], 4)


def _ranges() -> None:
    ints, longs = values(pa.array([1, 2, 3, 4], pa.int32())), values(_LONGS)
    marks = np.ones(4, dtype=np.uint8)
    rows, words = np.empty(4, dtype=np.int32), _longs(8)
    row_ranges.keep_ints_between(ints, np.int32(0), np.int32(9), marks)
    row_ranges.keep_longs_between(longs, 0, 9, marks)
    row_ranges.keep_decimals_between(decimal_words(_WIDE), 0, 9, marks)
    row_ranges.keep_valid(*validity(_LONGS), marks)
    row_ranges.keep_listed(ints[:0], marks, marks[:0])
    row_ranges.keep_listed_or_null(ints, *validity(_LONGS), np.ones(5, dtype=np.uint8), marks)
    row_ranges.marked_rows(marks, marks[:0].view(np.uint64), rows)
    row_ranges.widen_ints(ints, words)
    row_ranges.widen_longs(longs, words)
    row_ranges.widen_rows_of_ints(ints, rows[:0], words)
    row_ranges.widen_rows_of_longs(longs, rows[:0], words)


def _windows() -> None:
    starts = np.zeros(4, dtype=np.bool_)
    bits, skip = validity(_LONGS)
    seen = starts.copy()
    running.run_longs(starts, _longs(4), bits, skip, 0, False, _longs(4), seen)
    running.run_doubles(starts, np.zeros(4), bits, skip, 0.0, False, np.zeros(4), seen)
    running.run_decimals(starts, decimal_words(_WIDE), bits, skip, _longs(3), np.zeros((4, 3), dtype=np.int64))
    running.run_least(starts[1:].copy(), _longs(4), bits, skip, _longs(3))
