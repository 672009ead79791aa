"""The serial executor: runs all drivers on the caller's thread, between one output item and the next.

It starts no thread. It runs ready drivers until the output queue has items, yields them, and continues. Between two
drivers it reads the input that is due: the output of one driver reaches the others before it sends more. If no driver
is ready, it polls the blocked ones once (a missed wake-up is counted and does not hang), then reads the input stream,
then waits for background work. If there is none, no driver can ever run again: it raises :class:`EngineBugError` with a
dump of every driver. An instance that another thread stops ends in :class:`CancelledError`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from pyspark_pipeline.errors import CancelledError, EngineBugError, SparkConditionError
from pyspark_pipeline.exec.background import StallDetector
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.feed import Feed
from pyspark_pipeline.exec.ready_queue import ReadyQueue
from pyspark_pipeline.exec.runnable import Runnable
from pyspark_pipeline.exec.states import BLOCKED, DriverState

_FALLBACK_SECONDS = 0.1
STOPPED = "the query was told to stop before it had given all its rows"


class SerialExecutor:
    """Runs an instance, or a group of them, on one thread. ``driver_woken`` may come from background threads."""

    def __init__(self, instance: Runnable) -> None:
        self._instance = instance
        self._clock = instance.clocks.measuring
        self._ready = ReadyQueue()
        self._blocked: dict[Driver, None] = {}  # polled in the order in which they were blocked
        self._woken: deque[Driver] = deque()
        self._sleeper: threading.Event | None = None
        self._stall_detector = StallDetector(instance.background)

    def driver_woken(self, driver: Driver) -> None:
        """Record a wake-up; end the wait for background work, if any."""
        self._woken.append(driver)
        sleeper = self._sleeper
        if sleeper is not None:
            sleeper.set()

    def run(self) -> Iterator[Any]:
        """Yield the output items as they arrive; the caller closes the instance afterwards."""
        instance, output = self._instance, self._instance.output
        instance.prepare()
        feed = instance.feed
        for driver in instance.drivers:
            driver.scheduler = self
            self._place(driver, driver.submit())
        while True:
            while len(output) and not instance.cancelled:
                item = output.pop()
                yielded = self._clock()
                yield item
                instance.consumer_ns += self._clock() - yielded
            if instance.cancelled:
                raise CancelledError(STOPPED)
            if feed is not None and feed.is_due():
                self._pump(feed)
            driver_to_run = self._next()
            if driver_to_run is not None:
                self._stall_detector.reset()
                try:
                    state = driver_to_run.process()
                except SparkConditionError:
                    yield from output.drain()  # rows before the failing one: the consumer may need no more
                    raise
                self._place(driver_to_run, state)
            elif not len(output) and not self._wait():
                return

    def _place(self, driver: Driver, state: DriverState) -> None:
        self._ready.charge(driver)
        if state is DriverState.READY:
            self._ready.put(driver)
        elif state in BLOCKED:
            self._blocked[driver] = None
            if driver.woken:
                self._unblock(driver)

    def _next(self) -> Driver | None:
        woken = self._woken
        while woken:
            self._unblock(woken.popleft())
        return self._ready.take()

    def _unblock(self, driver: Driver) -> None:
        if driver in self._blocked:
            del self._blocked[driver]
            driver.resume()
            self._ready.put(driver)
        elif driver.reclaim_requested:
            self._ready.prioritise(driver)

    def _wait(self) -> bool:
        """Wake a driver, read the input or wait for background work; return False if all drivers are done."""
        instance = self._instance
        if not self._blocked:
            return False
        if instance.output.wake_waiters() or self._poll_blocked():
            return True
        feed = instance.feed
        if feed is not None and not feed.is_ended():
            self._pump(feed)
        elif not instance.background.is_idle():
            if self._stall_detector.is_stalled():
                raise EngineBugError(f"{self._stall_detector.message()}\n{instance.dump()}")
            self._sleep()
        elif not self._woken and not self._poll_blocked() and (feed is None or not feed.break_deadlock()):
            raise EngineBugError(f"every driver is blocked and nothing can wake one:\n{instance.dump()}")
        return True

    def _pump(self, feed: Feed) -> None:
        start = self._clock()
        feed.pump()
        self._instance.feed_ns += self._clock() - start

    def _poll_blocked(self) -> bool:
        """Poll all blocked drivers; unblock the ready ones, counting missed wake-ups. Return whether there were any."""
        found = [driver for driver in self._blocked if driver.can_progress()]
        for driver in found:
            if not driver.woken:
                self._instance.missed_wakeups += 1
            self._unblock(driver)
        return bool(found)

    def _sleep(self) -> None:
        sleeper = self._sleeper = threading.Event()
        if not self._woken:
            sleeper.wait(_FALLBACK_SECONDS)
        self._sleeper = None
