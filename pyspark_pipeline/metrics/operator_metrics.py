"""Metrics of one operator, written by its driver; declared counters are written by the operator.

Plain integers without a lock: one thread at a time uses an operator. Times are nanoseconds here and seconds in the
dict. ``cpu_ns`` is the CPU time of the driver's thread in all calls, if measured.
"""

from __future__ import annotations

from typing import Any

from pyspark_pipeline.metrics.counter import Counter

_SUMS = (
    "chunks_in", "rows_in", "bytes_in", "chunks_out", "rows_out", "bytes_out",
    "prepare_ns", "push_ns", "pull_ns", "reclaim_ns", "finishing_ns", "finished_ns", "close_ns",
    "cpu_ns",
)  # fmt: skip
_TIMES = ("prepare_ns", "push_ns", "pull_ns", "reclaim_ns", "finishing_ns", "finished_ns", "close_ns")


class OperatorMetrics:
    """Metrics of one operator, or of the same operator in all drivers after :meth:`merge`."""

    __slots__ = (*_SUMS, "name", "detail", "longest_call_ns", "peak_bytes", "blocked_ns", "_counters")

    chunks_in: int
    rows_in: int
    bytes_in: int
    chunks_out: int
    rows_out: int
    bytes_out: int
    prepare_ns: int
    push_ns: int
    pull_ns: int
    reclaim_ns: int
    finishing_ns: int
    finished_ns: int
    close_ns: int
    cpu_ns: int

    def __init__(self, name: str, detail: str = "") -> None:
        self.name = name
        self.detail = detail
        for key in _SUMS:
            setattr(self, key, 0)
        self.longest_call_ns = 0
        self.peak_bytes = 0
        self.blocked_ns: dict[str, int] = {}
        self._counters: dict[Counter, int] = {}

    @property
    def total_ns(self) -> int:
        """Time spent in all calls of the operator."""
        return sum(getattr(self, key) for key in _TIMES)

    def add(self, counter: Counter, value: int = 1) -> None:
        """Combine ``value`` into a declared counter, by sum or max."""
        held = self._counters.get(counter)
        self._counters[counter] = value if held is None else counter.combined(held, value)

    def value(self, counter: Counter) -> int:
        """Return the value of a declared counter; 0 if it was never counted."""
        return self._counters.get(counter, 0)

    def add_blocked(self, reason: str, nanoseconds: int) -> None:
        """Count time for which this operator blocked its driver."""
        self.blocked_ns[reason] = self.blocked_ns.get(reason, 0) + nanoseconds

    def merge(self, other: OperatorMetrics) -> None:
        """Add the metrics of the same operator in another driver. Peaks add: both may be held at once."""
        for key in _SUMS:
            setattr(self, key, getattr(self, key) + getattr(other, key))
        self.longest_call_ns = max(self.longest_call_ns, other.longest_call_ns)
        self.peak_bytes += other.peak_bytes
        for reason, nanoseconds in other.blocked_ns.copy().items():  # its thread may be adding
            self.add_blocked(reason, nanoseconds)
        for counter, value in other._counters.copy().items():
            self.add(counter, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: rows, chunks, bytes and seconds; zeros are omitted."""
        result: dict[str, Any] = {"name": self.name, **({"detail": self.detail} if self.detail else {})}
        for key in _SUMS:
            value = getattr(self, key)
            if value:
                result.update({key[:-3] + "_s": value / 1e9} if key.endswith("_ns") else {key: value})
        result["total_s"] = self.total_ns / 1e9
        result["longest_call_s"] = self.longest_call_ns / 1e9
        if self.peak_bytes:
            result["peak_bytes"] = self.peak_bytes
        if self.blocked_ns:
            result["blocked_s"] = {reason: ns / 1e9 for reason, ns in self.blocked_ns.items()}
        if self._counters:
            result["counters"] = {counter.name: value for counter, value in self._counters.items()}
        return result
