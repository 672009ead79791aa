"""Chunk validation: the faults found, the operator named, and no validation when disabled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.chunk_check import ChunkChecker, ColumnForm
from tests.exec.kit import Sink, Source, Step, chunks, pipeline

LONG = ColumnForm(types=frozenset({pa.int64()}), nullable=False)
STRING = ColumnForm(types=frozenset({pa.string(), pa.dictionary(pa.int32(), pa.string())}))


def record(*columns: Any) -> Chunk:
    return pa.RecordBatch.from_arrays(list(columns), [f"c{i}" for i in range(len(columns))])


def dictionary(indices: list[int], values: list[str | None]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values, pa.string()), safe=False)


NUMBERS = pa.array([1, 2])
OFFSETS = pa.py_buffer(np.array([0, 5, 2], dtype=np.int32).tobytes())
CROOKED = pa.Array.from_buffers(pa.string(), 2, [None, OFFSETS, pa.py_buffer(b"abcde")])


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (record(NUMBERS), "it has 1 columns instead of 2"),
        (record(NUMBERS, pa.array([1, 2])), r"column 1 is int64, allowed is dictionary<.*> or string"),
        (record(pa.array([1, None]), pa.array(["a", "b"])), "column 0 holds 1 NULLs and may hold none"),
        (record(NUMBERS, CROOKED), "Offset invariant failure"),
        (record(NUMBERS, dictionary([0, 7], ["a"])), "indices|index"),
        (record(NUMBERS, dictionary([0, 1], ["a", None])), "column 1 has a NULL in its dictionary"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_invalid_chunk_raises_and_names_its_producer(made: Chunk, fault: str, threads: int) -> None:
    queue = OutputQueue()
    step = Step(work=lambda _: made)
    checker = ChunkChecker({(3, 1): [LONG, STRING]})
    moved = [pipeline(Source(chunks(2)), step, Sink(queue), number=3)]
    with pytest.raises(EngineBugError, match=fault) as caught:
        list(execute(FragmentInstance(moved, queue, check=checker), threads))
    assert "operator 1 (step) of pipeline 3, driver 0 gave a chunk of 2 rows that is wrong" in str(caught.value)
    assert step.log[-1] == "close" and not len(queue)


def test_every_allowed_column_type_passes() -> None:
    queue = OutputQueue()
    no_text = pa.array([b"\xff", b"a"]).view(pa.string())
    given = [
        record(NUMBERS, pa.array(["a", None])),
        record(NUMBERS, dictionary([0, 0], ["a"])),
        record(NUMBERS, no_text),
        record(NUMBERS, no_text.dictionary_encode()),
    ]
    checker = ChunkChecker({(0, 0): [LONG, STRING]})
    assert list(execute(FragmentInstance([pipeline(Source(given), Sink(queue))], queue, check=checker))) == given


def test_undeclared_operator_is_checked_for_general_rules_only() -> None:
    checker = ChunkChecker({})
    queue = OutputQueue()
    with pytest.raises(EngineBugError, match="Offset invariant failure"):
        list(execute(FragmentInstance([pipeline(Source([record(CROOKED)]), Sink(queue))], queue, check=checker)))


def test_without_a_check_an_invalid_chunk_passes() -> None:
    queue = OutputQueue()
    given = record(NUMBERS, CROOKED)
    assert list(execute(FragmentInstance([pipeline(Source([given]), Sink(queue))], queue)))[0] is given
