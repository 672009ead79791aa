"""Spark reuses a worker only if the task's input was read to its end."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange import ChunkRow, encode_chunk, pack_rows
from pyspark_pipeline.plan.nodes import ExchangeSource, Node, Range
from pyspark_pipeline.task.run import run_plan
from tests.operators.kit import fields
from tests.task.kit import CPUS, control, fragment

NUMBERS = Range(output=fields("n:bigint"), input_id=0)
SOURCE = ExchangeSource(output=fields("n:bigint"), input_id=0)
CHUNK = ChunkRow(partition=0, rows=2, data=encode_chunk(pa.record_batch({"c0": [1, 2]})))


@pytest.mark.parametrize("cpus", CPUS)
@pytest.mark.parametrize(("root", "chunks"), [(NUMBERS, []), (SOURCE, []), (SOURCE, [CHUNK, CHUNK])])
def test_input_is_read_to_end(root: Node, chunks: list[ChunkRow], cpus: int) -> None:
    ended = []

    def batches() -> Iterator[pa.RecordBatch]:
        for row in (control(root, cpus, {0: [0, 10, 1]}), *chunks):
            yield pack_rows([row])
        ended.append(True)

    list(run_plan(fragment(root), batches()))
    assert ended == [True]


def test_chunks_without_input_raise_engine_bug() -> None:
    with pytest.raises(EngineBugError, match="a chunk came for input 0 of a fragment that has no input"):
        list(run_plan(fragment(NUMBERS), iter([pack_rows([control(NUMBERS, 1, {0: [0, 10, 1]})]), pack_rows([CHUNK])])))
