"""Concatenation, splitting and size estimates of chunks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.exec import FragmentInstance, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.chunk_accumulate import ChunkAccumulateFactory, ChunkAccumulator
from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.output_sink import OutputSinkFactory
from tests.exec.kit import Made, Source, chunk, values


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


@pytest.mark.parametrize("threads", [1, 2])
def test_accumulate_operator_regroups_rows_and_releases_memory(threads: int) -> None:
    queue = OutputQueue()
    given = [chunk(0, 3), chunk(3, 3), chunk(6, 4), chunk(10, 25), chunk(35, 1)]
    factories = (Made("source", lambda _: Source(given)), ChunkAccumulateFactory(10), OutputSinkFactory(queue))
    instance = FragmentInstance([Pipeline(id=0, factories=factories)], queue)
    items = list(execute(instance, threads))
    assert [item.num_rows for item in items] == [10, 10, 10, 5, 1]
    assert values(items) == list(range(36))
    assert instance.memory.held == 0 and instance.memory.peak > 0


def test_chunk_bytes_are_estimated_from_a_sample() -> None:
    measure = ChunkBytes()
    assert measure.estimate(chunk(0, 10)) == 80
    assert measure.estimate(chunk(0, 3)) == 24
    assert measure.estimate(chunk(0, 0)) == 1
