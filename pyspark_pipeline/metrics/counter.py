"""Declared counters: each has a name, description and unit, declared once per process beside the code that counts.

An operator file writes ``PRUNED = declare_counter("row_groups_pruned", "Row groups skipped by statistics",
unit="row groups")`` at module level and ``context.metrics.add(PRUNED, 3)`` to count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """One declared counter; ``combine`` is the function that merges the values of several drivers: sum or max."""

    name: str
    description: str
    unit: str
    combine: str = "sum"

    def combined(self, left: int, right: int) -> int:
        """Return the combination of two values of this counter."""
        return max(left, right) if self.combine == "max" else left + right


_DECLARED: dict[str, Counter] = {}


def declare_counter(name: str, description: str, *, unit: str, combine: str = "sum") -> Counter:
    """Declare a counter; raise ValueError if the name is already declared differently."""
    if combine not in ("sum", "max"):
        raise ValueError(f"counter {name}: combine is {combine!r}, allowed are 'sum' and 'max'")
    counter = Counter(name=name, description=description, unit=unit, combine=combine)
    known = _DECLARED.setdefault(name, counter)
    if known != counter:
        raise ValueError(f"counter {name} is already declared as {known}")
    return known


def declared_counters() -> Mapping[str, Counter]:
    """Return all counters declared so far, by name, for reference pages."""
    return MappingProxyType(_DECLARED)
