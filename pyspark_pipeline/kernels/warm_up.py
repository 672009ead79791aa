"""Loads every kernel before the first query needs it: from the cache on disk, or by compiling it once.

Each kernel is called on a few rows through the functions that use it, which determines its only compiled form. The
kernels of expressions and of aggregate functions are loaded by those (:mod:`pyspark_pipeline.task.warm`).
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels import (
    batch_messages,
    chunk_row_streams,
    element_places,
    parquet_pages,
    parquet_values,
    row_ranges,
    shuffled_places,
    xorshift,
)
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.bloom import BloomFilter
from pyspark_pipeline.kernels.buffers import decimal_words, validity, values
from pyspark_pipeline.kernels.chosen_elements import count_chosen, first_chosen, has_chosen
from pyspark_pipeline.kernels.day_offsets import UNKNOWN, offsets_of
from pyspark_pipeline.kernels.dependent_keys import DependentKeyTable
from pyspark_pipeline.kernels.group_table import GroupTable
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.join_pairs import flagged_rows, set_flags, set_new_flags
from pyspark_pipeline.kernels.join_table import LARGE_DIRECT, RANKED_PER_ROW, JoinProber, JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter, KeyFilterProbe
from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows, partition_ids
from pyspark_pipeline.kernels.narrow_words import long_bounds, narrow_decimals
from pyspark_pipeline.kernels.normalized_key import normalized_keys
from pyspark_pipeline.kernels.partition import group_rows
from pyspark_pipeline.kernels.sessions import merge_sessions
from pyspark_pipeline.kernels.snappy import decompress_words
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.kernels.sort_order import order_rows
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.kernels.value_frames import value_frames
from pyspark_pipeline.kernels.xxhash32 import xxhash32
from pyspark_pipeline.kernels.xxhash64 import xxhash64_rows

_LONGS = pa.array([3, None, 2**40, 3], pa.int64())
_STRINGS = pa.array(["a", None, "bc", "a"])
_SMALL = pa.array([Decimal(1), None, Decimal(2), Decimal(1)], pa.decimal128(10, 0))
_WIDE = pa.array([Decimal(1), None, Decimal(10**30), Decimal(1)], pa.decimal128(38, 0))


def warm_up() -> None:
    """Load the kernels of hashing, partitioning, grouping, joins, sorting and filters."""
    for step in (*FIRST_STEPS, *LATER_STEPS):
        step()


def _hash_columns() -> list[pa.Array]:
    return [
        _LONGS,
        _STRINGS,
        pa.array([1, None, 2, 1], pa.int32()),
        pa.array([True, None, False, True]),
        pa.array([1.0, None, 2.0, 1.0]),
        pa.array([1.0, None, 2.0, 1.0], pa.float32()),
        _SMALL,
        _WIDE,
        pa.array([[1, None], None, [], [2]], pa.list_(pa.int64())),
    ]


def _hashes() -> None:
    hashes = hash_rows(_hash_columns(), 4)
    group_rows(partition_ids(hashes, 3), 3)
    driver_ids(hashes, 3)


def _day_offsets() -> None:
    days = frozen(np.full(3, UNKNOWN, dtype=np.int32))
    offsets_of(frozen(np.zeros(2, dtype=np.int64)), days, 0, np.empty(2, dtype=np.int64))


def _messages() -> None:
    words = decimal_words(_SMALL)
    long_bounds(words)
    for width in (np.int8, np.int16, np.int32, np.int64):
        narrow_decimals(words, np.empty(len(_SMALL), dtype=width))
    xxhash32(np.zeros(5, dtype=np.uint32), np.zeros(1, dtype=np.uint8), np.uint32(0))
    longs, table, data = _longs(0), _longs(0).reshape(0, 2), np.zeros(1, dtype=np.uint8)
    batch_messages.find_metadata(0, 0, longs)
    batch_messages.write_messages(table, np.zeros(1, dtype=np.int64), data, longs, data, longs)
    batch_messages.measure_messages(longs, longs, 0, table, table)
    batch_messages.gather_messages(longs, longs, 0, table, table)
    chunk_row_streams.write_streams(data, longs, longs, 0, True, data, longs)
    chunk_row_streams.find_chunk_rows(data, True, 0, table)


def _other_hashes() -> None:
    hashed = xxhash64_rows(_hash_columns(), 4, 42)
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
    dependent = DependentKeyTable([pa.int64(), pa.string()])
    dependent.group_ids([_LONGS, _STRINGS])
    dependent.keys(0, dependent.count)
    encoded = _STRINGS.dictionary_encode()
    table = GroupTable([pa.string()])
    for _ in range(2):
        table.group_ids([encoded])
    many = pa.array([f"{i}" for i in range(2000)])
    for keys in ([pa.array(range(0, 300_000_000, 100_000), pa.int64())], [many, many]):
        GroupTable([key.type for key in keys]).group_ids(keys)


def _longs(count: int) -> Int64Array:
    return np.zeros(count, dtype=np.int64)


def _orders() -> None:
    order_rows([SortColumn(_STRINGS, False, True)], 4)


def _joins() -> None:
    sparse = pa.array([3, None, 2**62, -(2**62)], pa.int64())
    for keys in ([_LONGS], [_LONGS.drop_null()], [sparse], [_LONGS, _STRINGS], [sparse, sparse], [_STRINGS]):
        table = JoinTable([key.type for key in keys], [[key] for key in keys], len(keys[0]))
        entries, found = JoinProber(table).find(keys, len(keys[0]))
        KeyFilterProbe(KeyFilter(table)).keep(keys, np.ones(len(keys[0]), dtype=np.uint8))
        for keeps in (False, True):
            for _ in table.pairs(entries, found, keeps_unmatched=keeps, max_pairs=4):
                pass
        flags = np.zeros(4, dtype=np.uint8)
        set_flags(entries, flags)
        set_new_flags(np.zeros(2, dtype=np.int32), flags)
        flagged_rows(flags, 1, 0, np.zeros(4, dtype=np.int32))
    JoinProber(JoinTable([pa.string()], [[_STRINGS]], 4)).find([_STRINGS.dictionary_encode()], 4)
    thin = pa.array(range(0, 3 * LARGE_DIRECT, 3 * RANKED_PER_ROW // 4), pa.int64())
    table = JoinTable([pa.int64()], [[thin]], len(thin))
    JoinProber(table).find([thin], len(thin))
    table.distinct_keys()


def _elements() -> None:
    ends, chosen = np.array([0, 2], dtype=np.int64), np.array([False, True])
    for search in (has_chosen, count_chosen, first_chosen):
        search(ends, chosen)
    element_places.reversed_places(ends, ends)
    element_places.element_rows(ends)
    element_places.padded_places(ends, ends, ends)


def _taken_rows() -> None:
    words = [pa.array([1, None], kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.decimal128(9, 2))]
    for array in words:
        for rows in (np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int64)):
            take(array, rows)


def _sessions() -> None:
    times = np.zeros(1, dtype=np.int64)
    merge_sessions(frozen(np.ones(1, dtype=np.uint8)), times, times.copy(), 0, 0, np.zeros(1, dtype=np.uint8))


def _nested_keys() -> None:
    fields = [_LONGS, _STRINGS, pa.array([[1]] * len(_LONGS), pa.list_(pa.int64()))]
    normalized_keys(pa.StructArray.from_arrays(fields, names=["a", "b", "c"]))
    normalized_keys(fields[-1])


def _pages() -> None:
    data, state = np.zeros(64, dtype=np.uint8), np.zeros(parquet_values.COLUMN_STATE_SIZE, dtype=np.int64)
    parquet_pages.read_page_headers(data, 0, 0, np.zeros((1, parquet_pages.TABLE_COLUMNS), dtype=np.int64))
    table, places = np.zeros((1, parquet_pages.TABLE_COLUMNS), dtype=np.int64), np.zeros(1, dtype=np.int64)
    words, rows = np.zeros(3, dtype=np.uint64), np.zeros(1, dtype=np.int32)
    parquet_pages.form_of(table, False, False, False)
    parquet_values.place_pages(table, 0, False, 0, 0, rows[:0], True, places)
    parquet_values.decompress_pages(data, table, 1, places, words)
    for items in (words[:0], words[:0].view(np.uint32)):
        parquet_values.read_values(
            data, table, places, state, 0, 0, items, False, rows[:0], True, items, data[:0], data[:0]
        )
        parquet_values.divide_slots(data[:0], data[:0], 1, 0, items, data[:0], data[:0], rows[:0])
    parquet_values.keep_accepted(data, table, places, state, 0, 0, data[:1], data[:0])
    ends = np.zeros(1, dtype=np.int64)
    parquet_pages.text_ends(data, 0, ends)
    parquet_pages.copy_texts(data, 0, ends[:0], rows, data)
    decompress_words(data, 0, 0, words, 0)


def _ranges() -> None:
    ints, longs = values(pa.array([1, 2, 3, 4], pa.int32())), values(_LONGS)
    mask = np.ones(4, dtype=np.uint8)
    rows, words = np.empty(4, dtype=np.int32), _longs(8)
    row_ranges.keep_ints_between(ints, np.int32(0), np.int32(9), mask)
    row_ranges.keep_longs_between(longs, 0, 9, mask)
    row_ranges.keep_decimals_between(decimal_words(_WIDE), 0, 9, mask)
    row_ranges.keep_valid(*validity(_LONGS), mask)
    row_ranges.keep_codes(ints[:0], mask, mask[:0])
    row_ranges.keep_codes_or_null(ints, *validity(_LONGS), np.ones(5, dtype=np.uint8), mask)
    row_ranges.selected_rows(mask, mask[:0].view(np.uint64), rows)
    row_ranges.widen_ints(ints, words)
    row_ranges.widen_longs(longs, words)
    row_ranges.widen_rows_of_ints(ints, rows[:0], words)
    row_ranges.widen_rows_of_longs(longs, rows[:0], words)


def _samples() -> None:
    state = xorshift.initial_state(0)
    xorshift.rows_in_cell(state, 0.0, 1.0, 4, np.empty(4, dtype=np.int32))
    xorshift.draw_doubles(state, np.empty(4))
    xorshift.draw_gaussians(state, np.full(1, np.nan), np.empty(4))
    xorshift.draw_characters(state, np.empty(4, dtype=np.uint8))
    place = frozen(np.zeros(1, dtype=np.int64))
    shuffled_places.shuffle_places(place, place, frozen(np.zeros(1, dtype=np.uint32)), np.empty(1, dtype=np.int64))


def _value_frames() -> None:
    words, failed, rows = _longs(1), np.zeros(0, dtype=np.uint8), _longs(2)
    starts = np.ones(1, dtype=np.bool_)
    value_frames(starts, words, words, words, words, failed, words, words, failed, 0, 0, 0, rows[:1], rows[1:])


#: Kernels that most queries use.
FIRST_STEPS = (_groups, _hashes, _messages, _joins, _pages, _ranges, _orders)

#: Kernels that few queries use.
LATER_STEPS = (_other_hashes, _elements, _taken_rows, _nested_keys, _sessions, _samples, _value_frames, _day_offsets)

#: The modules of the kernels that a daemon loads before it forks workers: those of most queries.
COMMON_MODULES = frozenset(
    {
        "accumulate",
        "batch_messages",
        "decimal_fast",
        "group_kernels",
        "interning",
        "join_index",
        "join_pairs",
        "join_strings",
        "key_filter",
        "murmur3",
        "narrow_words",
        "parquet_pages",
        "parquet_values",
        "partition",
        "chunk_row_streams",
        "row_ranges",
        "snappy",
        "sort_text",
        "text_match",
        "xxhash32",
    }
)
