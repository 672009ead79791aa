"""The threaded executor: N threads run ready drivers; the caller's thread reads the input and yields the output.

Guarantees:

* One thread at a time runs a driver; none runs a blocked one until it is woken.
* No wake-up is lost: ``Driver.woken`` is set before the lock is taken, and read under the lock when a driver is added
  to the blocked ones.
* No thread spins. Executor threads wait on a condition, the caller on an event; its timed wait only polls blocked
  drivers whose wake-up was missed (counted as ``missed_wakeups``). It polls only while no driver runs: otherwise a
  blocked driver may see the change for which another one was woken.
* No operator is called with the lock held.
* An instance that another thread stops ends in :class:`CancelledError`, after the calls in progress.
* When ``run`` ends in any way (end, error, ``close`` of the generator), no thread is left.

The lock guards ``_ready``, ``_blocked``, ``_running``, ``_stop`` and ``_error``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from pyspark_pipeline.errors import CancelledError, EngineBugError, SparkConditionError
from pyspark_pipeline.exec.background import StallDetector
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.ready_queue import ReadyQueue
from pyspark_pipeline.exec.runnable import Runnable
from pyspark_pipeline.exec.serial import STOPPED
from pyspark_pipeline.exec.states import BLOCKED, DriverState
from pyspark_pipeline.memory.address_space import require_address_space, start_thread

_FALLBACK_SECONDS = 0.1
#: Waking the caller's thread for each of many small items costs the drivers more than waking it for several.
_GATHER_SECONDS = 0.001


class ThreadedExecutor:
    """Runs an instance, or a group of them, on ``threads`` threads of its own."""

    def __init__(self, instance: Runnable, threads: int) -> None:
        self._instance = instance
        self._clock = instance.clocks.measuring
        self._num_threads = threads
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._wakeup = threading.Event()
        self._ready = ReadyQueue()
        self._blocked: set[Driver] = set()
        self._running = 0
        self._stop = False
        self._error: BaseException | None = None
        self._stall_detector = StallDetector(instance.background)

    # --- the caller's thread ----------------------------------------------------------------------

    def run(self) -> Iterator[Any]:
        """Yield the output items as they arrive; the caller closes the instance afterwards."""
        instance, output = self._instance, self._instance.output
        instance.prepare()
        self._listen()
        try:
            self._submit()
            self._start()
            while True:
                self._wakeup.clear()
                if len(output) and not output.is_full() and self._running:
                    self._wakeup.wait(_GATHER_SECONDS)
                while len(output) and not instance.cancelled:
                    item = output.pop()
                    yielded = self._clock()
                    yield item
                    instance.consumer_ns += self._clock() - yielded
                if not self._serve():
                    return
        except SparkConditionError:
            self._join()
            yield from output.drain()  # rows before the failing one: the consumer may need no more
            raise
        finally:
            self._join()

    def _submit(self) -> None:
        for driver in self._instance.drivers:
            driver.scheduler = self
        for driver in self._instance.drivers:
            state = driver.submit()
            with self._lock:
                self._place(driver, state)

    def _listen(self) -> None:
        self._instance.output.filled.subscribe(self._wakeup.set)
        if self._instance.feed is not None:
            self._instance.feed.wanted.subscribe(self._wakeup.set)

    def _serve(self) -> bool:
        """Do one step of the caller's thread: raise, read the input, or wait. Return False if all drivers are done."""
        cancelled = self._instance.cancelled  # read before the error, which also stops the instance
        with self._lock:
            if self._error is not None:
                raise self._error
            if cancelled:
                raise CancelledError(STOPPED)
            idle = not self._running and not len(self._ready)
            blocked = bool(self._blocked)
        if len(self._instance.output):
            return True
        if idle and not blocked:
            return bool(len(self._instance.output))
        if idle and self._instance.output.wake_waiters():
            return True
        feed = self._instance.feed
        if feed is not None and not feed.is_ended() and (feed.wants_input() or (idle and not self._poll_blocked())):
            start = self._clock()
            feed.pump()
            self._instance.feed_ns += self._clock() - start
        elif not idle or not self._instance.background.is_idle():
            if not idle:
                self._stall_detector.reset()
            elif self._stall_detector.is_stalled():
                raise EngineBugError(f"{self._stall_detector.message()}\n{self._instance.dump()}")
            if not self._wakeup.wait(_FALLBACK_SECONDS) and idle:
                self._poll_blocked()
        elif not self._poll_blocked() and self._is_stuck() and (feed is None or not feed.break_deadlock()):
            raise EngineBugError(f"every driver is blocked and nothing can wake one:\n{self._instance.dump()}")
        return True

    def _is_stuck(self) -> bool:
        with self._lock:
            quiet = not self._running and not len(self._ready) and bool(self._blocked) and self._error is None
        return quiet and not len(self._instance.output) and not self._poll_blocked()

    def _poll_blocked(self) -> bool:
        """Poll all blocked drivers; unblock the ready ones, counting missed wake-ups. Return whether there were any."""
        with self._lock:
            blocked = list(self._blocked)
        found = [driver for driver in blocked if driver.can_progress()]
        with self._lock:
            still = [driver for driver in found if driver in self._blocked]
            for driver in still:
                if not driver.woken:
                    self._instance.missed_wakeups += 1
                self._unblock(driver)
        return bool(found)

    def _start(self) -> None:
        names = [f"pipeline-executor-{number}" for number in range(self._num_threads)]
        require_address_space(names)
        with self._lock:  # no thread works before all have started: it might use the memory that others need to start
            for name in names:
                thread = threading.Thread(target=self._loop, name=name, daemon=True)
                start_thread(thread)
                self._threads.append(thread)

    def _join(self) -> None:
        self._instance.stop()
        with self._lock:
            self._stop = True
            self._work.notify_all()
        for thread in self._threads:
            thread.join()
        self._instance.output.filled.unsubscribe(self._wakeup.set)
        if self._instance.feed is not None:
            self._instance.feed.wanted.unsubscribe(self._wakeup.set)

    # --- any thread -------------------------------------------------------------------------------

    def driver_woken(self, driver: Driver) -> None:
        """Make a blocked driver ready, unless all must stop. A running driver checks its flag when it blocks."""
        with self._lock:
            if driver in self._blocked and not self._stop:
                self._unblock(driver)
            elif driver.reclaim_requested:
                self._ready.prioritise(driver)

    def _unblock(self, driver: Driver) -> None:
        self._blocked.remove(driver)
        driver.resume()
        self._ready.put(driver)
        self._work.notify()

    def _place(self, driver: Driver, state: DriverState) -> None:
        self._ready.charge(driver)
        if state is DriverState.READY:
            self._ready.put(driver)
        elif state in BLOCKED:
            self._blocked.add(driver)
            if driver.woken:
                self._unblock(driver)

    # --- the executor threads ---------------------------------------------------------------------

    def _loop(self) -> None:
        driver: Driver | None = None
        state = DriverState.FINISH
        while True:
            with self._lock:
                if driver is not None:
                    self._running -= 1
                    self._place(driver, state)
                driver = self._ready.take()
                if driver is None and not self._running:
                    self._wakeup.set()
                while driver is None and not self._stop:
                    self._work.wait()
                    driver = self._ready.take()
                if self._stop or driver is None:
                    return
                self._running += 1
            try:
                state = driver.process()
            except BaseException as error:
                state = self._failed(driver, error)

    def _failed(self, driver: Driver, error: BaseException) -> DriverState:
        with self._lock:
            if self._error is None:
                self._error = error
            self._stop = True
            self._work.notify_all()
        self._instance.stop()
        self._wakeup.set()
        return driver.state
