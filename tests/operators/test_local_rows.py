"""Rows of the plan are cut into chunks; each driver finishes only when its own request finds none."""

from __future__ import annotations

import pyarrow as pa

from pyspark_pipeline.operators.local_rows import LocalRowsFactory
from tests.exec.kit import values


def _chunk(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64())], ["c0"])


def test_rows_come_in_chunks_of_the_batch_size() -> None:
    operator = LocalRowsFactory([_chunk(1, 2, 3, 4, 5), _chunk(), _chunk(6)], 2).create(1, 0)
    taken = []
    while (chunk := operator.pull_chunk()) is not None:
        taken.append(values([chunk]))
    assert taken == [[1, 2], [3, 4], [5], [6]]
    assert operator.is_finished() and not operator.has_output()


def test_driver_finishes_only_by_its_own_request() -> None:
    factory = LocalRowsFactory([_chunk(1)], 2)
    first, second = factory.create(2, 0), factory.create(2, 1)
    assert first.pull_chunk() is not None
    assert second.has_output() and not second.is_finished()
    assert second.pull_chunk() is None
    assert second.is_finished() and not second.has_output()
    first.set_finished()
    assert first.is_finished()


def test_a_row_without_columns_is_a_row() -> None:
    row = pa.RecordBatch.from_struct_array(pa.array([{}], pa.struct([])))
    chunk = LocalRowsFactory([row], 8).create(1, 0).pull_chunk()
    assert chunk is not None and chunk.num_rows == 1 and chunk.num_columns == 0
