"""Metrics of one driver besides those of its operators: active time, waits by reason, yields, overruns.

Optionally a timeline: spans in which the driver ran or was blocked; between them it was ready. The first
:data:`MAX_SPANS` are kept, later ones are counted.
"""

from __future__ import annotations

import time
from typing import Any

MAX_SPANS = 10_000


class DriverMetrics:
    """Counts of one driver; times are nanoseconds here and seconds in the dict.

    A span of the timeline has a start (in the dict: since the epoch), a length, both in microseconds, and a kind,
    ``running`` or the blocking reason.
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
        """Count a slice; ``since`` and ``until`` are readings of ``perf_counter_ns``."""
        self.active_ns += until - since
        self._keep(since, until, "running")

    def add_blocked(self, reason: str, since: int, until: int) -> None:
        """Count a wait that has ended; ``since`` and ``until`` are readings of ``perf_counter_ns``."""
        nanoseconds = until - since
        self._keep(since, until, reason)
        self.blocked_ns[reason] = self.blocked_ns.get(reason, 0) + nanoseconds
        self.blocks[reason] = self.blocks.get(reason, 0) + 1

    def _keep(self, since: int, until: int, kind: str) -> None:
        if self.spans is None:
            return
        if len(self.spans) < MAX_SPANS:
            self.spans.append((since, until, kind))
        else:
            self.spans_left_out += 1

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
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
                ((since + epoch) // 1000, (until - since) // 1000, kind) for since, until, kind in self.spans
            ]
        if self.spans_left_out:
            result["timeline_left_out"] = self.spans_left_out
        return result
