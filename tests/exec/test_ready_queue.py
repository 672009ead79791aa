"""The ready queue: short drivers first, no starvation, run time charged to the right level."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.ready_queue import LEVELS, ReadyQueue

MS = 1_000_000


def driver_that_ran(seconds: float) -> Driver:
    driver = Driver("driver", [], slice_ns=1)
    driver.ran_ns = int(seconds * 1e9)
    return driver


def run(ready: ReadyQueue, driver: Driver, ns: int) -> None:
    """Account a run of ``ns`` of a driver that was taken."""
    driver.ran_ns += ns
    ready.charge(driver)


def test_short_driver_overtakes_a_long_one() -> None:
    ready = ReadyQueue()
    long, short = driver_that_ran(3.5), driver_that_ran(0.0)
    ready.put(long)
    ready.put(short)
    assert ready.take() is short and ready.take() is long and ready.take() is None


def test_drivers_of_a_level_run_round_robin() -> None:
    ready = ReadyQueue()
    drivers = [driver_that_ran(0.0) for _ in range(3)]
    for driver in drivers:
        ready.put(driver)
    turns = []
    for _ in range(9):
        taken = ready.take()
        assert taken is not None
        turns.append(drivers.index(taken))
        run(ready, taken, 20 * MS)
        ready.put(taken)
    assert turns == [0, 1, 2] * 3


def test_yielding_driver_does_not_starve_a_long_one() -> None:
    ready = ReadyQueue()
    long, short = driver_that_ran(8.0), driver_that_ran(0.0)
    ready.put(long)
    ready.put(short)
    assert turns_until(ready, long, ready.put) == 1


@pytest.mark.parametrize("seconds", [3.5, 8.0])
def test_short_drivers_that_end_do_not_starve_a_long_one(seconds: float) -> None:
    """Each short driver runs 100 ms once; its time is charged although it is never put back."""
    ready = ReadyQueue()
    long = driver_that_ran(seconds)
    ready.put(long)
    ready.put(driver_that_ran(0.0))
    assert turns_until(ready, long, lambda _: ready.put(driver_that_ran(0.0)), ns=100 * MS) == 1
    run(ready, long, 500 * MS)
    ready.put(long)
    turns = turns_until(ready, long, lambda _: ready.put(driver_that_ran(0.0)), ns=100 * MS)
    level = {3.5: 5, 8.0: 7}[seconds]
    assert turns == pytest.approx(5 * 1.2**level - 1, abs=1)


def turns_until(ready: ReadyQueue, wanted: Driver, then: Callable[[Driver], None], ns: int = 20 * MS) -> int:
    """Return the number of runs of other drivers before ``wanted``; call ``then`` with each of them."""
    for turns in range(10_000):
        taken = ready.take()
        assert taken is not None
        if taken is wanted:
            return turns
        run(ready, taken, ns)
        then(taken)
    pytest.fail("the long driver never ran")


def test_run_time_is_charged_to_the_level_the_driver_was_taken_from() -> None:
    ready = ReadyQueue()
    driver = driver_that_ran(0.19)
    ready.put(driver)
    assert ready.take() is driver
    run(ready, driver, 1000 * MS)
    ready.put(driver)
    spent = ready.statistics()["spent_s"]
    assert spent[0] == pytest.approx(1.0 / 1.2**7) and spent[1:] == [0.0] * (LEVELS - 1)
    assert ready.statistics()["waiting"][2] == 1.0
    ready.charge(driver)
    assert ready.statistics()["spent_s"] == spent


def test_level_bounds() -> None:
    ready = ReadyQueue()
    for seconds in (0.2, 0.6, 1.2, 2.0, 3.0, 4.2, 5.6, 5.7):
        ready.put(driver_that_ran(seconds))
    assert ready.statistics()["waiting"] == [1.0] * LEVELS
