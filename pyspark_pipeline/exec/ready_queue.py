"""Ready drivers in eight levels (multi-level feedback): who has run long gets its turn more rarely.

A driver sinks a level when its time exceeds 0.2, 0.6, 1.2 … 5.6 s. The next level served is the one with
the least time spent so far, where the time of a level counts 1.2 times less than that of the level below
it: short pipelines are answered fast and long ones still move (StarRocks' ``QuerySharedDriverQueue``).
What a driver runs is charged to the level it was taken from, whether it then yields, is blocked or is done.
Drivers that are asked for memory come before all levels: others have been granted what they shall give back.
Not locked: the executor that owns it does that.
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
    """Drivers in state READY; within a level first come, first served."""

    __slots__ = ("_levels", "_spent", "_taken", "_asked", "_size")

    def __init__(self) -> None:
        self._levels: tuple[deque[Driver], ...] = tuple(deque() for _ in range(LEVELS))
        self._spent = [0.0] * LEVELS
        self._taken: dict[Driver, tuple[int, int]] = {}
        self._asked: deque[Driver] = deque()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, driver: Driver) -> None:
        """Add a ready driver."""
        (self._asked if driver.is_asked else self._levels[_level(driver)]).append(driver)
        self._size += 1

    def charge(self, driver: Driver) -> None:
        """Charge the level that ``driver`` was taken from for what it ran since; nothing where it was not taken."""
        taken = self._taken.pop(driver, None)
        if taken is not None:
            level, ran_before = taken
            self._spent[level] += (driver.ran_ns - ran_before) / _WEIGHTS[level]

    def hurry(self, driver: Driver) -> None:
        """Serve a driver before all levels from now on; nothing happens where it is not here."""
        for drivers in self._levels:
            if driver in drivers:
                drivers.remove(driver)
                self._asked.append(driver)

    def take(self) -> Driver | None:
        """Take the next driver to run; None where none is ready."""
        if not self._size:
            return None
        self._size -= 1
        if self._asked:
            driver = self._asked.popleft()
            level = _level(driver)
        else:
            filled = [level for level, drivers in enumerate(self._levels) if drivers]
            level = filled[0] if len(filled) == 1 else min(filled, key=self._spent.__getitem__)
            driver = self._levels[level].popleft()
        self._taken[driver] = (level, driver.ran_ns)
        return driver

    def statistics(self) -> dict[str, list[float]]:
        """Say how many drivers wait on each level and the weighted seconds each level has spent."""
        return {
            "waiting": [float(len(drivers)) for drivers in self._levels],
            "spent_s": [spent / 1e9 for spent in self._spent],
        }


def _level(driver: Driver) -> int:
    ran = driver.ran_ns
    if ran <= _BOUNDS[0]:
        return 0
    return next((level for level, bound in enumerate(_BOUNDS) if ran <= bound), LEVELS - 1)
