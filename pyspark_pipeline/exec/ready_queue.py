"""A multi-level feedback queue of ready drivers, with eight levels: long-running drivers run less often.

A driver moves down a level when its run time exceeds 0.2, 0.6, 1.2 … 5.6 s. The next level served is the one with the
least time spent so far, and the time of a level is divided by 1.2 more than that of the level below it: short pipelines
have low latency and long ones still make progress (StarRocks' ``QuerySharedDriverQueue``). Run time is charged to the
level from which the driver was taken, whether it then yields, blocks or ends. Drivers that must reclaim memory precede
all levels: their memory has been granted to others already. Not thread-safe: the executor that owns the queue locks.
"""

from __future__ import annotations

from collections import deque

from pyspark_pipeline.exec.driver import Driver

LEVELS = 8
_LEVEL_NS = 200_000_000
_RATIO = 1.2
_BOUNDS = tuple(_LEVEL_NS * (level + 1) * (level + 2) // 2 for level in range(LEVELS - 1))
_WEIGHTS = tuple(_RATIO ** (LEVELS - 1 - level) for level in range(LEVELS))


class ReadyQueue:
    """Drivers in state READY; FIFO within a level."""

    __slots__ = ("_levels", "_spent", "_taken", "_reclaiming", "_size")

    def __init__(self) -> None:
        self._levels: tuple[deque[Driver], ...] = tuple(deque() for _ in range(LEVELS))
        self._spent = [0.0] * LEVELS
        self._taken: dict[Driver, tuple[int, int]] = {}
        self._reclaiming: deque[Driver] = deque()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, driver: Driver) -> None:
        """Add a ready driver."""
        (self._reclaiming if driver.reclaim_requested else self._levels[_level(driver)]).append(driver)
        self._size += 1

    def charge(self, driver: Driver) -> None:
        """Charge the time that ``driver`` ran to the level from which it was taken; no effect if it was not taken."""
        taken = self._taken.pop(driver, None)
        if taken is not None:
            level, ran_before = taken
            self._spent[level] += (driver.ran_ns - ran_before) / _WEIGHTS[level]

    def prioritise(self, driver: Driver) -> None:
        """Move a driver before all levels; no effect if it is not in the queue."""
        for drivers in self._levels:
            if driver in drivers:
                drivers.remove(driver)
                self._reclaiming.append(driver)

    def take(self) -> Driver | None:
        """Remove and return the next driver to run; None if none is ready."""
        if not self._size:
            return None
        self._size -= 1
        if self._reclaiming:
            driver = self._reclaiming.popleft()
            level = _level(driver)
        else:
            filled = [level for level, drivers in enumerate(self._levels) if drivers]
            level = filled[0] if len(filled) == 1 else min(filled, key=self._spent.__getitem__)
            driver = self._levels[level].popleft()
        self._taken[driver] = (level, driver.ran_ns)
        return driver

    def statistics(self) -> dict[str, list[float]]:
        """Return the number of drivers on each level and the weighted seconds spent by each level."""
        return {
            "waiting": [float(len(drivers)) for drivers in self._levels],
            "spent_s": [spent / 1e9 for spent in self._spent],
        }


def _level(driver: Driver) -> int:
    ran = driver.ran_ns
    if ran <= _BOUNDS[0]:
        return 0
    return next((level for level, bound in enumerate(_BOUNDS) if ran <= bound), LEVELS - 1)
