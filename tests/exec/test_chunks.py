"""Concatenation, splitting and size estimates of chunks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.exec.chunk_accumulate import ChunkAccumulator, EarlyAccumulator
from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from tests.exec.kit import chunk, values


def encoded(indices: list[int | None], words: list[str]) -> pa.RecordBatch:
    column = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(words))
    return pa.record_batch([column], names=["c0"])


def plain(words: list[str | None]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(words, pa.string())], names=["other name"])


def test_concat_of_unequal_dictionaries_stays_dictionary_encoded() -> None:
    joined = concat_chunks([encoded([0, 1, None], ["a", "b"]), encoded([0, 1, 0], ["b", "c"])])
    assert joined.schema.field(0).type == pa.dictionary(pa.int32(), pa.string())
    assert joined.column(0).to_pylist() == ["a", "b", None, "b", "c", "b"]
    joined.validate(full=True)


def test_concat_of_dictionary_and_plain_strings_is_plain() -> None:
    joined = concat_chunks([encoded([0, None], ["a", "unused"]), plain(["x", None])])
    assert joined.schema.field(0).type == pa.string()
    assert joined.column(0).to_pylist() == ["a", None, "x", None]


def test_concat_decodes_dictionaries_larger_than_the_rows() -> None:
    words = [str(i) for i in range(100)]
    joined = concat_chunks([encoded([5], words), encoded([6], [*words, "more"])])
    assert joined.schema.field(0).type == pa.string() and joined.column(0).to_pylist() == ["5", "6"]


def test_concat_of_slices_and_of_chunks_without_columns() -> None:
    joined = concat_chunks([chunk(0, 10).slice(2, 3), chunk(0, 10).slice(9, 1)])
    assert joined.column(0).to_pylist() == [2, 3, 4, 9]
    nothing = pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), 5, [None]))
    assert concat_chunks([nothing, nothing.slice(0, 2)]).num_rows == 7


@settings(deadline=None)
@given(sizes=st.lists(st.integers(1, 40), max_size=30), batch_rows=st.integers(1, 16))
def test_accumulator_keeps_rows_and_order_and_bounds_chunks(sizes: list[int], batch_rows: int) -> None:
    accumulator, out, start = ChunkAccumulator(batch_rows), [], 0
    for size in sizes:
        accumulator.add(chunk(start, size))
        start += size
        while accumulator.has_chunk():
            out.append(accumulator.take())
    accumulator.flush()
    while accumulator.has_chunk():
        out.append(accumulator.take())
    assert values(out) == list(range(start)) and accumulator.is_empty()
    assert all(0 < piece.num_rows <= batch_rows for piece in out)
    if all(2 * size < batch_rows for size in sizes):  # nothing passes uncopied: neighbours never fit together
        assert all(a.num_rows + b.num_rows > batch_rows for a, b in zip(out, out[1:], strict=False))


@settings(deadline=None)
@given(sizes=st.lists(st.integers(1, 40), max_size=30), large_rows=st.integers(1, 16))
def test_early_accumulator_holds_few_rows(sizes: list[int], large_rows: int) -> None:
    accumulator, out, start = EarlyAccumulator(16, large_rows), [], 0
    for size in sizes:
        accumulator.add(chunk(start, size))
        start += size
        while accumulator.has_chunk():
            out.append(accumulator.take())
        taken = sum(piece.num_rows for piece in out)
        assert start - taken < max(1, min(taken, large_rows)) and (size < large_rows or start == taken)
    accumulator.flush()
    while accumulator.has_chunk():
        out.append(accumulator.take())
    assert values(out) == list(range(start)) and accumulator.is_empty()


@pytest.mark.parametrize("kind", [ChunkAccumulator, EarlyAccumulator])
def test_accumulator_holds_few_bytes(kind: type[ChunkAccumulator]) -> None:
    accumulator, long = kind(1000), "x" * (1 << 20)
    accumulator.add(chunk(0, 900))
    assert accumulator.take().num_rows == 900
    for _ in range(70):
        accumulator.add(plain([long]))
    accumulator.add(plain([long] * 40))
    accumulator.add(plain(["a"]))
    sizes = []
    while accumulator.has_chunk():
        sizes.append(accumulator.take().num_rows)
    assert sizes == [31, 31, 8, 40] and not accumulator.is_empty()


def test_an_error_waits_for_the_rows_before_it() -> None:
    accumulator, error = EarlyAccumulator(1000), ValueError("damaged")
    accumulator.add(chunk(0, 900))
    assert accumulator.take().num_rows == 900
    accumulator.add(chunk(0, 3))
    assert not accumulator.has_chunk()
    accumulator.fail(error)
    assert accumulator.has_failed and accumulator.take().num_rows == 3
    assert accumulator.has_chunk() and not accumulator.is_empty()
    with pytest.raises(ValueError, match="damaged"):
        accumulator.take()
    accumulator.clear()
    assert accumulator.is_empty() and not accumulator.has_chunk()


def test_chunk_bytes_are_estimated_from_a_sample() -> None:
    measure = ChunkBytes()
    assert measure.estimate(chunk(0, 10)) == 80
    assert measure.estimate(chunk(0, 3)) == 24
    assert measure.estimate(chunk(0, 0)) == 1
