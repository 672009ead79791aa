"""Thousands of drivers on two threads: they finish, no wake-up is late, memory grows linearly."""

from __future__ import annotations

import tracemalloc

from pyspark_pipeline.local import LocalQuery
from pyspark_pipeline.plan.nodes import HashExchange, SingleExchange
from tests.local.kit import N, no_threads_left, numbers, pass_on

OPTIONS = {"batchRows": "100"}


def query(dop: int, instances: int = 2) -> LocalQuery:
    """Return a query with 2 × ``instances`` × ``dop`` + 1 drivers, each with some hundred rows."""
    by_n = HashExchange(keys=(N,), num_partitions=instances)
    below = numbers(1, by_n, 100 * instances * dop, instances=instances, dop=dop, options=OPTIONS)
    middle = pass_on(2, below, SingleExchange(), instances=instances, dop=dop, options=OPTIONS)
    return LocalQuery([below, middle, pass_on(3, middle, options=OPTIONS)], threads=2)


def test_thousands_of_drivers_finish_on_two_threads() -> None:
    many = query(750)
    assert len(many.group.drivers) == 3001
    with no_threads_left():
        found = many.table().column(0).to_pylist()
    assert sorted(found) == list(range(150_000))
    assert {driver.state.value for driver in many.group.drivers} == {"finished"}
    assert many.group.missed_wakeups == 0 and many.memory.held == 0


def peak(dop: int) -> int:
    tracemalloc.start()
    try:
        query(dop).table()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_linearly_with_drivers() -> None:
    peak(10)
    few, many = peak(100), peak(400)
    assert many < 4 * few * 1.2
