"""``LocalQuery.cancel`` from any thread: before, while and after the query runs."""

from __future__ import annotations

import threading

import pytest

from pyspark_pipeline.errors import CancelledError
from pyspark_pipeline.local import LocalFragment, LocalQuery
from pyspark_pipeline.plan.nodes import SingleExchange
from tests.local.kit import expected_sums, no_threads_left, numbers, pass_on, sums_by_key

both = pytest.mark.parametrize("threads", [1, 2])


def one_fragment() -> list[LocalFragment]:
    return [numbers(1, SingleExchange(), 10**12, options={"batchRows": "1000"})]


def two_fragments() -> list[LocalFragment]:
    below = numbers(1, SingleExchange(), 10**12, options={"batchRows": "1000"})
    return [below, pass_on(2, below)]


@both
@pytest.mark.parametrize("fragments", [one_fragment, two_fragments])
def test_cancel_during_table_raises_and_returns_no_partial_table(fragments, threads: int) -> None:
    query = LocalQuery(fragments(), threads=threads)
    timer = threading.Timer(0.1, query.cancel)
    timer.start()
    with no_threads_left(), pytest.raises(CancelledError):
        query.table()
    timer.join()
    assert query.memory.held == 0
    assert all(driver.is_done for driver in query.group.drivers)


@both
def test_cancel_ends_blocked_read(threads: int) -> None:
    query = LocalQuery(sums_by_key(10**12, 7), threads=threads)
    rows = query.rows()
    timer = threading.Timer(0.1, query.cancel)
    timer.start()
    with no_threads_left(), pytest.raises(CancelledError):
        next(rows)
    timer.join()
    assert query.memory.held == 0


@both
def test_cancel_prevents_start_and_has_no_effect_after_end(threads: int) -> None:
    query = LocalQuery(sums_by_key(100, 7), threads=threads)
    query.cancel()
    with pytest.raises(CancelledError):
        query.table()
    ended = LocalQuery(sums_by_key(100, 7), threads=threads)
    found = ended.table()
    ended.cancel()
    assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True)) == expected_sums(100, 7)
