"""The first row that raises determines the error, and the number of rows before it is reported."""

from __future__ import annotations

import pytest

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import first_failure


def _raising(bad: dict[int, str]) -> tuple[list[int], object]:
    evaluated: list[int] = []

    def evaluate(start: int, stop: int) -> None:
        evaluated.append(stop - start)
        # as in the engine, column by column: a later row may raise first
        for row, condition in sorted(bad.items(), key=lambda item: item[1]):
            if start <= row < stop:
                raise SparkConditionError("SparkArithmeticException", condition)

    return evaluated, evaluate


@pytest.mark.parametrize("rows", [1, 2, 7, 1000])
@pytest.mark.parametrize("position", [0.0, 0.3, 0.999])
def test_first_failure_returns_the_error_of_the_first_row(rows: int, position: float) -> None:
    first = int(rows * position)
    evaluated, evaluate = _raising({first: "B", rows - 1: "A"} if first < rows - 1 else {first: "B"})
    error = SparkConditionError("SparkArithmeticException", "A")
    found = first_failure(evaluate, rows, error)  # type: ignore[arg-type]
    assert (found.condition, found.rows_before) == ("B", first)
    assert sum(evaluated) <= 2 * rows


def test_first_failure_keeps_the_error_if_no_single_row_raises() -> None:
    error = SparkConditionError("SparkArithmeticException", "A")
    assert first_failure(lambda start, stop: None, 9, error) is error
