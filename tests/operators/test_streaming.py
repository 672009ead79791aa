"""A streaming operator halves a chunk whose strings one Arrow array does not hold."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.operators.streaming import StreamingOperator


class AtMostRows(StreamingOperator):
    """Transforms chunks of at most ``most`` rows, and raises for the value ``wrong``."""

    def __init__(self, most: int, wrong: int = -1) -> None:
        super().__init__()
        self._most = most
        self._wrong = wrong

    def transform(self, chunk: Chunk) -> Chunk:
        if chunk.num_rows > self._most:
            raise pa.ArrowCapacityError("too many bytes")
        values = chunk.column(0).to_pylist()
        if self._wrong in values:
            error = SparkConditionError("ArithmeticException", "", {"message": "long overflow"})
            error.rows_before = values.index(self._wrong)
            raise error
        return chunk


def _run(operator: StreamingOperator, rows: int) -> list[list[int]]:
    operator.push_chunk(pa.record_batch([pa.array(range(rows))], names=["c0"]))
    found = []
    while operator.has_output():
        assert not operator.need_input()
        made = operator.pull_chunk()
        assert made is not None
        found.append(made.column(0).to_pylist())
    assert operator.need_input()
    return found


@pytest.mark.parametrize(("rows", "most"), [(1, 1), (7, 7), (7, 2), (8, 1), (100, 30)])
def test_chunk_is_halved_until_it_fits(rows: int, most: int) -> None:
    found = _run(AtMostRows(most), rows)
    assert all(0 < len(part) <= most for part in found)
    assert [value for part in found for value in part] == list(range(rows))


def test_one_row_that_does_not_fit_raises() -> None:
    with pytest.raises(pa.ArrowCapacityError):
        AtMostRows(0).push_chunk(pa.record_batch([pa.array([1])], names=["c0"]))


def test_rows_before_the_first_failure_are_output() -> None:
    operator = AtMostRows(2, wrong=5)
    with pytest.raises(SparkConditionError):
        _run(operator, 8)
    operator = AtMostRows(2, wrong=5)
    operator.push_chunk(pa.record_batch([pa.array(range(8))], names=["c0"]))
    found = []
    with pytest.raises(SparkConditionError):
        while operator.has_output():
            made = operator.pull_chunk()
            assert made is not None
            found += made.column(0).to_pylist()
    assert found == [0, 1, 2, 3, 4]
