"""A counter declares its name, meaning and unit where it is born, once per process.

An operator file writes ``PRUNED = declare_counter("row_groups_pruned", "Row groups skipped by statistics",
unit="row groups")`` at module level and ``context.metrics.add(PRUNED, 3)`` where it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """One declared counter; ``combine`` says how values of several drivers become one: sum or max."""

    name: str
    description: str
    unit: str
    combine: str = "sum"

    def combined(self, left: int, right: int) -> int:
        """Combine two values of this counter."""
        return max(left, right) if self.combine == "max" else left + right


_DECLARED: dict[str, Counter] = {}


def declare_counter(name: str, description: str, *, unit: str, combine: str = "sum") -> Counter:
    """Declare a counter; raise ValueError where the name already means something else."""
    if combine not in ("sum", "max"):
        raise ValueError(f"counter {name}: combine is {combine!r}, allowed are 'sum' and 'max'")
    counter = Counter(name=name, description=description, unit=unit, combine=combine)
    known = _DECLARED.setdefault(name, counter)
    if known != counter:
        raise ValueError(f"counter {name} is already declared as {known}")
    return known


def declared_counters() -> Mapping[str, Counter]:
    """Give every counter declared so far by name, for reference pages."""
    return MappingProxyType(_DECLARED)
