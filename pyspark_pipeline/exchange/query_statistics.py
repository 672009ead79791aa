"""Statistics of a query, sent to the root with its requests: each instance adds those it receives to its own.

A sender attaches the change since its last report to requests 1, 2, 4, 8 … and to its last end of stream: often at
first, when little is known, then rarely enough to cost nothing. The sum at the root is that of the whole query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStatistics:
    """Rows and bytes produced by scans, and the nanoseconds that drivers ran."""

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


def should_report(number: int) -> bool:
    """Return whether message ``number`` (from 1) carries statistics: 1, 2, 4, 8 … do."""
    return number & (number - 1) == 0


NO_STATISTICS = QueryStatistics()


class QueryStatisticsReporter:
    """Computes the deltas that one sender reports; ``total`` returns its own and received statistics. Not locked."""

    def __init__(self, total: Callable[[], QueryStatistics] = lambda: NO_STATISTICS) -> None:
        self._total = total
        self._reported = NO_STATISTICS
        self._requests = 0

    def delta(self, *, is_last: bool) -> QueryStatistics | None:
        """Return the change to report with the next request; None if that reports nothing."""
        self._requests += 1
        if not is_last and not should_report(self._requests):
            return None
        total = self._total()
        delta, self._reported = total - self._reported, total
        return delta if delta != NO_STATISTICS else None
