"""The first row that raises.

Spark evaluates row by row, all expressions of a row together; the engine evaluates column by column. If rows
raise, the error is that of the first such row, and the rows before it are valid output.
Chunks that do not raise cost nothing here.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark_pipeline.errors import SparkConditionError


def first_failure(
    evaluate: Callable[[int, int], object], rows: int, error: SparkConditionError
) -> SparkConditionError:
    """Return the error of the first row for which ``evaluate(start, stop)`` raises, with the number of rows before it.

    ``evaluate`` treats rows independently and raised ``error`` for all ``rows``. A binary search finds the row: its
    calls together evaluate about ``rows`` rows again.
    """
    start, stop = 0, rows
    while stop - start > 1:
        middle = (start + stop) // 2
        if _raised(evaluate, start, middle) is None:
            start = middle
        else:
            stop = middle
    found = _raised(evaluate, start, stop) or error
    found.rows_before = start
    return found


def _raised(evaluate: Callable[[int, int], object], start: int, stop: int) -> SparkConditionError | None:
    try:
        evaluate(start, stop)
    except SparkConditionError as error:
        return error
    return None
