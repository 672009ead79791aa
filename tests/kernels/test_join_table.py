"""The join table finds build rows by key in every mode, yields pairs in batches, and is immutable while probed."""

from __future__ import annotations

import importlib
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.kernels import join_table
from pyspark_pipeline.kernels.join_table import JoinProber, JoinTable, max_index_bytes
from pyspark_pipeline.kernels.warm_up import warm_up

EXTREMES = [0, 1, -1, 2**63 - 1, -(2**63), 2**62, -(2**62), 7, 2**32]
LONGS = st.one_of(st.none(), st.sampled_from(EXTREMES), st.integers(-20, 20))
TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "eight by", "nine byte", "a longer text than that"]))


def table_of(types: list[pa.DataType], columns: list[pa.Array], chunk_rows: int = 5) -> JoinTable:
    rows = len(columns[0])
    chunks = [[c.slice(i, chunk_rows) for i in range(0, rows, chunk_rows)] for c in columns]
    return JoinTable(types, chunks, rows)


def expected_pairs(build: list[tuple[Any, ...]], probe: list[tuple[Any, ...]], keeps: bool) -> list[tuple[int, int]]:
    made = []
    for i, row in enumerate(probe):
        found = [j for j, other in enumerate(build) if None not in row and row == other]
        made += [(i, j) for j in found]
        made += [(i, -1)] if keeps and not found else []
    return made


def check(types: list[pa.DataType], build: list[tuple[Any, ...]], probe: list[tuple[Any, ...]], most: int) -> JoinTable:
    columns = [[pa.array([row[i] for row in side], t) for i, t in enumerate(types)] for side in (build, probe)]
    table = table_of(types, columns[0])
    plain = JoinProber(table).find(columns[1], len(probe))
    encoded = [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in columns[1]]
    again = JoinProber(table).find(encoded, len(probe))
    assert plain[0].tolist() == again[0].tolist()
    assert plain[1] == again[1] == int(np.count_nonzero(plain[0] >= 0))
    for keeps in (False, True):
        pieces = list(table.pairs(*plain, keeps_unmatched=keeps, max_pairs=most))
        pairs = [pair for left, right in pieces for pair in zip(left.tolist(), right.tolist(), strict=True)]
        assert pairs == expected_pairs(build, probe, keeps)
        assert table.is_unique or all(left.size <= most for left, _ in pieces)
    return table


@settings(max_examples=80, deadline=None)
@given(st.lists(LONGS, max_size=30), st.lists(LONGS, max_size=30), st.integers(1, 9))
def test_join_table_matches_any_longs(build: list[int | None], probe: list[int | None], most: int) -> None:
    check([pa.int64()], [(value,) for value in build], [(value,) for value in probe], most)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(0, 300)), max_size=60),
    st.lists(st.one_of(st.none(), st.integers(-200, 700)), max_size=60),
    st.sampled_from([0, -(2**63), 2**63 - 301, -150, 2**40]),
    st.integers(1, 9),
)
def test_every_mode_matches_numbers(
    build: list[int | None], probe: list[int | None], low: int, most: int
) -> None:
    def moved(side: list[int | None]) -> list[tuple[int | None]]:
        moved = [value if value is None else value + low for value in side]
        return [(value,) for value in moved if value is None or -(2**63) <= value < 2**63]

    with pytest.MonkeyPatch.context() as patch:
        for mode, direct, ranked in (("direct", 2**64, 0), ("ranked", 0, 2**64), ("word", 0, 0)):
            patch.setattr(join_table, "SMALL_DIRECT", direct)
            patch.setattr(join_table, "DIRECT_PER_ROW", direct)
            patch.setattr(join_table, "THIN_DIRECT_PER_ROW", direct)
            patch.setattr(join_table, "RANKED_PER_ROW", ranked)
            table = check([pa.int64()], moved(build), moved(probe), most)
            known = {value for value in build if value is not None}
            assert table.mode == mode or not known
            assert sorted(table.distinct_keys().tolist()) == sorted(value + low for value in known)
            bits = table.key_bits()
            if bits is not None and known:
                found = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
                assert found.tolist() == sorted(value - min(known) for value in known)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(LONGS, TEXTS, LONGS, st.one_of(st.none(), st.booleans())), max_size=25),
    st.lists(st.tuples(LONGS, TEXTS, LONGS, st.one_of(st.none(), st.booleans())), max_size=25),
    st.integers(1, 9),
)
def test_join_table_matches_any_columns(build: list[tuple[Any, ...]], probe: list[tuple[Any, ...]], most: int) -> None:
    types = [pa.int64(), pa.string(), pa.int64(), pa.bool_()]
    for chosen in ([0, 1, 2, 3], [1], [1, 3], [0, 3], [0, 2]):
        rows = [[tuple(row[i] for i in chosen) for row in side] for side in (build, probe)]
        check([types[i] for i in chosen], rows[0], rows[1], most)


def test_mode_depends_on_the_key_range() -> None:
    dense = pa.array(range(1000, 0, -1), pa.int64())
    sparse = pa.array([i * 10**9 for i in range(1000)], pa.int64())
    thin = pa.array([i * 50 for i in range(50_000)], pa.int64())
    everywhere = pa.array([i * 2**53 for i in range(1000)], pa.int64())
    assert table_of([pa.int64()], [dense]).mode == "direct"
    assert table_of([pa.int64()], [thin]).mode == "ranked"
    assert table_of([pa.int64()], [sparse]).mode == "word"
    assert table_of([pa.int64()] * 2, [dense, dense]).mode == "word"
    assert table_of([pa.int64()] * 2, [dense.slice(0, 100), dense.slice(0, 100)]).mode == "direct"
    assert table_of([pa.int64()] * 2, [sparse, everywhere]).mode == "words"
    assert JoinTable([], [], 3).mode == "all"


@pytest.mark.parametrize("step", [1, 4, 8, 64, 4096, 2**20, 2**32, 2**40])
def test_strided_keys_do_not_collide(step: int) -> None:
    """The hash keeps adjacent keys together, which must not make strided keys collide."""
    numbers = np.arange(100_000)
    keys = pa.array(numbers * step, pa.int64())
    table = JoinTable([pa.int64()], [[keys]], len(keys))
    entries, found = JoinProber(table).find([keys], len(keys))
    assert found == len(keys) and (entries == numbers).all()


def test_too_many_rows_raise_resource_exhausted_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_table, "MAX_ROWS", 2)
    with pytest.raises(ResourceExhaustedError, match="3 rows"):
        JoinTable([pa.int64()], [[pa.array([1, 2, 3])]], 3)


def test_probe_accepts_dictionaries_with_nulls_and_new_dictionaries() -> None:
    table = JoinTable([pa.string()], [[pa.array(["a", "b", None])]], 3)
    prober = JoinProber(table)
    for values, codes, entries in (
        (["b", "a"], [0, 1, None], [1, 0, -1]),
        (["c", None, "a"], [0, 1, 2], [-1, -1, 0]),
        (["a", "b"], [0, 1], [0, 1]),
        ([], [], []),
        ([], [None], [-1]),
    ):
        array = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values, pa.string()))
        assert prober.find([array], len(codes))[0].tolist() == entries


def test_threads_probe_one_table_concurrently() -> None:
    names = pa.array([f"n{i}" for i in range(5000)])
    table = JoinTable([pa.string()], [[names]], len(names))
    held = table.nbytes
    unknown = pa.array([f"u{i}" for i in range(5000)])
    results: list[bool] = []

    def probe() -> None:
        prober = JoinProber(table)
        for _ in range(20):
            found = prober.find([names], 5000)[0]
            results.append(bool((found == np.arange(5000)).all()) and prober.find([unknown], 5000)[1] == 0)

    threads = [threading.Thread(target=probe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80
    assert table.nbytes == held


def test_warm_up_loads_the_only_form_of_every_kernel() -> None:
    warm_up()

    def forms() -> dict[str, int]:
        made = {}
        for name in ("join_index", "join_pairs", "join_strings"):
            module = importlib.import_module(f"pyspark_pipeline.kernels.{name}")
            for key, value in vars(module).items():
                if hasattr(value, "signatures") and value.__module__ == module.__name__:
                    made[f"{name}.{key}"] = len(value.signatures)
        return made

    before = forms()
    assert {name for name, count in before.items() if count != 1 and not name.split(".")[1].startswith("_")} == set()
    check([pa.int64(), pa.string()], [(1, "a"), (None, "b"), (1, "a")], [(1, "a"), (2**62, "c")], 1)
    check([pa.int64()] * 2, [(-(2**62), 2**62), (2**62, -(2**62))], [(2**62, -(2**62)), (None, 1)], 1)
    check([pa.int64()], [(i * 50,) for i in range(50_000)], [(50,), (51,), (None,)], 1)
    check([pa.float64()], [(1.5,), (-1e300,), (None,)], [(1.5,), (None,)], 1)
    assert forms() == before


@pytest.mark.parametrize("rows", [0, 1, 1000, 4097])
@pytest.mark.parametrize("spread", [1, 60, 500, 10**9])
def test_table_bytes_do_not_exceed_max_index_bytes(rows: int, spread: int) -> None:
    keys = pa.array([i // 2 * spread for i in range(rows)], pa.int64())
    for columns in ([keys], [keys, pa.array([i * 2**50 for i in range(rows)], pa.int64())]):
        table = JoinTable([pa.int64()] * len(columns), [[column] for column in columns], rows)
        assert table.nbytes - table.keys.keys.nbytes <= max_index_bytes(rows)
