"""What one driver did besides the calls of its operators: time active, waits by reason, yields, overruns."""

from __future__ import annotations

from typing import Any


class DriverMetrics:
    """Counts of one driver; times are nanoseconds here and seconds in the dict."""

    __slots__ = ("active_ns", "scheduled", "moves", "yields", "overruns", "overrun_ns", "blocked_ns", "blocks")

    def __init__(self) -> None:
        self.active_ns = 0
        self.scheduled = 0
        self.moves = 0
        self.yields = 0
        self.overruns = 0
        self.overrun_ns = 0
        self.blocked_ns: dict[str, int] = {}
        self.blocks: dict[str, int] = {}

    def add_blocked(self, reason: str, nanoseconds: int) -> None:
        """Count one wait that has ended."""
        self.blocked_ns[reason] = self.blocked_ns.get(reason, 0) + nanoseconds
        self.blocks[reason] = self.blocks.get(reason, 0) + 1

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
            result["blocked_s"] = {reason: ns / 1e9 for reason, ns in self.blocked_ns.items()}
            result["blocks"] = dict(self.blocks)
        return result
