"""The buffer of a window's rows: order, the bytes that it reports, and spills."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from pyspark_pipeline.exec import Chunk, OperatorContext
from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.ids import DriverSequence, OperatorId, OperatorIndex, PipelineId
from pyspark_pipeline.memory import MemoryTracker, SpillBudget
from pyspark_pipeline.metrics import OperatorMetrics
from pyspark_pipeline.operators.windows.row_buffer import RowBuffer


def _context() -> OperatorContext:
    return OperatorContext(
        id=OperatorId(pipeline=PipelineId(0), driver=DriverSequence(0), index=OperatorIndex(0), name="Window"),
        dop=1,
        memory=MemoryTracker("window"),
        spill=SpillBudget(),
        metrics=OperatorMetrics("Window"),
        wake=lambda: None,
        is_cancelled=lambda: False,
        background=BackgroundWork(),
    )


@pytest.fixture
def buffer() -> Iterator[RowBuffer]:
    made = RowBuffer(_context())
    yield made
    made.close()
    assert made.nbytes == 0


def _chunk(first: int, rows: int) -> Chunk:
    return pa.record_batch({"id": pa.array(range(first, first + rows), pa.int64())})


def _take(buffer: RowBuffer, most: int) -> list[int]:
    return buffer.take(most).column(0).to_pylist()


def test_rows_leave_in_order_and_their_bytes_with_them(buffer: RowBuffer) -> None:
    buffer.add(_chunk(0, 3))
    buffer.add(_chunk(3, 2))
    assert buffer.nbytes == 5 * 8
    assert _take(buffer, 2) == [0, 1] and buffer.nbytes == 3 * 8
    buffer.add(_chunk(5, 1))
    assert _take(buffer, 9) == [2] and buffer.nbytes == 3 * 8
    assert _take(buffer, 9) == [3, 4] and _take(buffer, 9) == [5] and buffer.nbytes == 0


def test_spilled_rows_hold_no_bytes_and_keep_their_place(buffer: RowBuffer) -> None:
    buffer.add(_chunk(0, 3))
    assert _take(buffer, 1) == [0]
    buffer.add(_chunk(3, 2))
    buffer.spill()
    assert buffer.nbytes == 2 * 8  # the remainder of the chunk taken from
    buffer.add(_chunk(5, 2))  # written, too
    assert buffer.nbytes == 2 * 8
    assert _take(buffer, 9) == [1, 2] and _take(buffer, 9) == [3, 4]
    buffer.add(_chunk(7, 4))  # the file is being read: kept in memory
    assert buffer.nbytes == 4 * 8
    assert _take(buffer, 9) == [5, 6] and _take(buffer, 9) == [7, 8, 9, 10]


def test_a_second_spill_follows_the_first(buffer: RowBuffer) -> None:
    buffer.add(_chunk(0, 2))
    buffer.spill()
    assert _take(buffer, 1) == [0]
    buffer.add(_chunk(2, 2))
    buffer.spill()
    buffer.spill()
    assert [row for _ in range(2) for row in _take(buffer, 9)] == [1, 2, 3]
