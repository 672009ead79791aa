"""What one driver did besides the calls of its operators: time active, waits by reason, yields, overruns.

Where its timeline is kept, also when: spans of running and of being blocked; between them the driver was ready.
The first :data:`MOST_SPANS` are kept, those after are counted.
"""

from __future__ import annotations

import time
from typing import Any

MOST_SPANS = 10_000


class DriverMetrics:
    """Counts of one driver; times are nanoseconds here and seconds in the dict.

    A span of the timeline is its start (in the dict: since the epoch), its length, both in microseconds, and what
    the driver did, ``running`` or the reason of its wait.
    """

    __slots__ = (
        "active_ns", "scheduled", "moves", "yields", "overruns", "overrun_ns", "blocked_ns", "blocks", "spans",
        "spans_left_out",
    )  # fmt: skip

    def __init__(self, *, timeline: bool = False) -> None:
        self.spans: list[tuple[int, int, str]] | None = [] if timeline else None
        self.spans_left_out = 0
        self.active_ns = 0
        self.scheduled = 0
        self.moves = 0
        self.yields = 0
        self.overruns = 0
        self.overrun_ns = 0
        self.blocked_ns: dict[str, int] = {}
        self.blocks: dict[str, int] = {}

    def add_active(self, since: int, until: int) -> None:
        """Count a slice, from and to a reading of ``perf_counter_ns``."""
        self.active_ns += until - since
        self._keep(since, until, "running")

    def add_blocked(self, reason: str, since: int, until: int) -> None:
        """Count one wait that has ended, from and to a reading of ``perf_counter_ns``."""
        nanoseconds = until - since
        self._keep(since, until, reason)
        self.blocked_ns[reason] = self.blocked_ns.get(reason, 0) + nanoseconds
        self.blocks[reason] = self.blocks.get(reason, 0) + 1

    def _keep(self, since: int, until: int, what: str) -> None:
        if self.spans is None:
            return
        if len(self.spans) < MOST_SPANS:
            self.spans.append((since, until, what))
        else:
            self.spans_left_out += 1

    def to_dict(self) -> dict[str, Any]:
        """Make the JSON form."""
        result: dict[str, Any] = {
            "active_s": self.active_ns / 1e9,
            "scheduled": self.scheduled,
            "moves": self.moves,
            "yields": self.yields,
        }
        if self.overruns:
            result["overruns"] = self.overruns
            result["overrun_s"] = self.overrun_ns / 1e9
        if self.blocks:
            result["blocked_s"] = {reason: ns / 1e9 for reason, ns in self.blocked_ns.copy().items()}
            result["blocks"] = dict(self.blocks)
        if self.spans is not None:
            epoch = time.time_ns() - time.perf_counter_ns()
            result["timeline"] = [
                ((since + epoch) // 1000, (until - since) // 1000, what) for since, until, what in self.spans
            ]
        if self.spans_left_out:
            result["timeline_left_out"] = self.spans_left_out
        return result
