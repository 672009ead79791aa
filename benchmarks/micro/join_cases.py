"""Join cases: looking up keys in a table of each form, and building one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.micro.measure import Case, cut, micro
from pyspark_pipeline.kernels.join_table import JoinProber, JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter, KeyFilterProbe

_RANDOM = np.random.default_rng(7)


def _longs(values: Any) -> pa.Array:
    return pa.array(np.asarray(values), pa.int64())


def _probing(build: Sequence[pa.Array], probe: Sequence[pa.Array]) -> tuple[Case, int]:
    table = JoinTable([key.type for key in build], [[key] for key in build], len(build[0]))
    prober = JoinProber(table)
    chunks = list(cut(*probe))

    def run() -> None:
        for chunk in chunks:
            prober.find(chunk, len(chunk[0]))

    return run, len(probe[0])


def _building(values: Any) -> tuple[Case, int]:
    keys = _longs(values)
    return lambda: JoinTable([pa.int64()], [[keys]], len(keys)), len(keys)


def _filtering(build: pa.Array, probe: pa.Array) -> tuple[Case, int]:
    marker = KeyFilterProbe(KeyFilter(JoinTable([build.type], [[build]], len(build), lists=False)))
    chunks = list(cut(probe))

    def run() -> None:
        for chunk in chunks:
            marker.keep(chunk, np.ones(len(chunk[0]), dtype=np.uint8))

    return run, len(probe)


def _orders(count: int) -> Any:
    """Return order keys as the TPC-H generator does: eight of 32 numbers are used."""
    numbers = np.arange(count)
    return numbers // 8 * 32 + numbers % 8


@micro("probe 10 thousand dense bigints")
def probe_dense(rows: int) -> tuple[Case, int]:
    return _probing([_longs(range(10_000))], [_longs(_RANDOM.integers(0, 12_000, rows))])


@micro("probe 10 thousand sparse bigints")
def probe_sparse(rows: int) -> tuple[Case, int]:
    step = 1_000_003
    return _probing([_longs(np.arange(10_000) * step)], [_longs(_RANDOM.integers(0, 12_000, rows) * step)])


@micro("probe a quarter of the rows' orders, in order")
def probe_orders(rows: int) -> tuple[Case, int]:
    orders = _orders(rows // 4)
    return _probing([_longs(orders)], [_longs(np.sort(_RANDOM.choice(orders, rows)))])


#: Distances of keys: of those of a ranked table, and of those of a hash table.
_THIN, _SPARSE = 40, 1_000_003


def _probing_multiples(rows: int, step: int, share: int, *, in_order: bool) -> tuple[Case, int]:
    """Probe a quarter of the rows' multiples of ``step``; one row in ``share`` has a match."""
    keys, probe = np.arange(rows // 4), _RANDOM.integers(0, rows // 4 * share, rows)
    wanted = np.sort(probe) if in_order else probe
    return _probing([_longs(keys * step)], [_longs(wanted * step // share)])


@micro("probe a quarter of the rows' thin bigints, at random")
def probe_thin(rows: int) -> tuple[Case, int]:
    return _probing_multiples(rows, _THIN, 1, in_order=False)


@micro("probe a quarter of the rows' thin bigints, in order, a match in eight rows")
def probe_thin_in_order(rows: int) -> tuple[Case, int]:
    return _probing_multiples(rows, _THIN, 8, in_order=True)


@micro("probe a quarter of the rows' sparse bigints, in order, a match in eight rows")
def probe_sparse_in_order(rows: int) -> tuple[Case, int]:
    return _probing_multiples(rows, _SPARSE, 8, in_order=True)


@micro("probe a quarter of the rows' sparse bigints, at random")
def probe_random(rows: int) -> tuple[Case, int]:
    return _probing_multiples(rows, _SPARSE, 1, in_order=False)


@micro("build a table of a quarter of the rows' thin bigints")
def build_thin(rows: int) -> tuple[Case, int]:
    return _building(np.arange(rows // 4) * _THIN)


@micro("build a table of a quarter of the rows' sparse bigints")
def build_sparse(rows: int) -> tuple[Case, int]:
    return _building(np.arange(rows // 4) * _SPARSE)


@micro("probe pairs of bigints, an eighth of the rows' many")
def probe_pairs(rows: int) -> tuple[Case, int]:
    numbers = np.arange(rows // 8)
    chosen = _RANDOM.choice(numbers, rows)
    return _probing(
        [_longs(numbers // 4), _longs(numbers % 10_007)], [_longs(chosen // 4), _longs(chosen % 10_007)]
    )


@micro("probe 18-byte strings, a tenth of the rows' many")
def probe_names(rows: int) -> tuple[Case, int]:
    rows //= 4
    names = pa.array([f"Customer#{i:09d}" for i in range(rows // 10)])
    return _probing([names], [names.take(pa.array(_RANDOM.integers(0, rows // 10, rows)))])


@micro("build a table of orders, a quarter of the rows' many")
def build_orders(rows: int) -> tuple[Case, int]:
    return _building(_orders(rows // 4))


@micro("build a table of keys that occur four times")
def build_repeated(rows: int) -> tuple[Case, int]:
    return _building(np.sort(_RANDOM.choice(_orders(rows // 4), rows)))


@micro("filter rows by 10 thousand dense bigints (a bitmap)")
def filter_dense(rows: int) -> tuple[Case, int]:
    return _filtering(_longs(range(10_000)), _longs(_RANDOM.integers(0, 50_000, rows)))


@micro("filter rows by 10 thousand sparse bigints (a bloom filter)")
def filter_sparse(rows: int) -> tuple[Case, int]:
    step = 1_000_003
    return _filtering(_longs(np.arange(10_000) * step), _longs(_RANDOM.integers(0, 50_000, rows) * step))


@micro("filter rows by a quarter as many sparse bigints (a bloom filter)")
def filter_random(rows: int) -> tuple[Case, int]:
    keys = np.arange(rows // 4) * 1_000_003
    return _filtering(_longs(_RANDOM.permutation(keys)), _longs(_RANDOM.integers(0, rows, rows) * 1_000_003))
