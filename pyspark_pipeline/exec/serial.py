"""The serial executor: all drivers on the caller's thread, between one output item and the next.

It starts no thread. It runs ready drivers until the output queue has items, gives them, and goes on. Between two
drivers it reads what is due of the input: what one sent reaches the others before it sends more.
Where no driver is ready it looks at the blocked ones once (a missed wake-up costs a count, not a hang),
then reads the input stream, then waits for background work. Where there is none of it, nothing can ever
happen again: :class:`EngineBugError` with a dump of every driver. An instance that another thread stops ends in
:class:`CancelledError`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from pyspark_pipeline.errors import CancelledError, EngineBugError
from pyspark_pipeline.exec.background import Patience
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
        self._blocked: dict[Driver, None] = {}  # looked at in the order in which they were blocked
        self._woken: deque[Driver] = deque()
        self._sleeper: threading.Event | None = None
        self._patience = Patience(instance.background)

    def driver_woken(self, driver: Driver) -> None:
        """Note a wake-up, and end the wait for background work if there is one."""
        self._woken.append(driver)
        sleeper = self._sleeper
        if sleeper is not None:
            sleeper.set()

    def run(self) -> Iterator[Any]:
        """Give the output items as they come; the caller closes the instance afterwards."""
        instance, output = self._instance, self._instance.output
        instance.prepare()
        feed = instance.feed
        for driver in instance.drivers:
            driver.scheduler = self
            self._place(driver, driver.submit())
        while True:
            while len(output) and not instance.cancelled:
                item = output.pop()
                given = self._clock()
                yield item
                instance.consumer_ns += self._clock() - given
            if instance.cancelled:
                raise CancelledError(STOPPED)
            if feed is not None and feed.is_due():
                self._pump(feed)
            driver_to_run = self._next()
            if driver_to_run is not None:
                self._patience.renew()
                self._place(driver_to_run, driver_to_run.process())
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
        elif driver.is_asked:
            self._ready.hurry(driver)

    def _wait(self) -> bool:
        """Find something to do where no driver is ready; False where all drivers are done."""
        instance = self._instance
        if not self._blocked:
            return False
        if instance.output.relieve() or self._look():
            return True
        feed = instance.feed
        if feed is not None and not feed.is_ended():
            self._pump(feed)
        elif not instance.background.is_idle():
            if self._patience.is_over():
                raise EngineBugError(f"{self._patience.complaint()}\n{instance.dump()}")
            self._sleep()
        elif not self._woken and not self._look() and (feed is None or not feed.relieve()):
            raise EngineBugError(f"every driver is blocked and nothing can wake one:\n{instance.dump()}")
        return True

    def _pump(self, feed: Feed) -> None:
        start = self._clock()
        feed.pump()
        self._instance.feed_ns += self._clock() - start

    def _look(self) -> bool:
        """Look at every blocked driver; ready ones without a wake-up are counted and unblocked."""
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
