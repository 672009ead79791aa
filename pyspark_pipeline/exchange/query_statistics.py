"""What a query has done so far, told upwards with its requests: each instance adds what it hears to what it did.

A sender tells what was added since it last told, with its requests number 1, 2, 4, 8 … and with its last end of stream:
often at first, when little is known, and never so often that it costs. What reached the root is the whole query's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStatistics:
    """Rows and bytes that scans gave, and the nanoseconds that drivers ran."""

    scan_rows: int = 0
    scan_bytes: int = 0
    active_ns: int = 0

    def __add__(self, other: QueryStatistics) -> QueryStatistics:
        return QueryStatistics(
            scan_rows=self.scan_rows + other.scan_rows,
            scan_bytes=self.scan_bytes + other.scan_bytes,
            active_ns=self.active_ns + other.active_ns,
        )

    def __sub__(self, other: QueryStatistics) -> QueryStatistics:
        return QueryStatistics(
            scan_rows=self.scan_rows - other.scan_rows,
            scan_bytes=self.scan_bytes - other.scan_bytes,
            active_ns=self.active_ns - other.active_ns,
        )


def is_told(number: int) -> bool:
    """Say whether what is sent as ``number`` (from 1) carries statistics: 1, 2, 4, 8 … do."""
    return number & (number - 1) == 0


NOTHING = QueryStatistics()


class StatisticsReport:
    """What one sender tells; ``total`` gives all that it did and heard so far. Not locked."""

    def __init__(self, total: Callable[[], QueryStatistics] = lambda: NOTHING) -> None:
        self._total = total
        self._told = NOTHING
        self._requests = 0

    def next(self, *, is_last: bool) -> QueryStatistics | None:
        """Give what to tell with one more request; None where it tells nothing."""
        self._requests += 1
        if not is_last and not is_told(self._requests):
            return None
        total = self._total()
        news, self._told = total - self._told, total
        return news if news != NOTHING else None
