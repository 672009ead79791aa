"""How a micro benchmark is run: several times, the best time counts (others run on the machine too)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

Case = Callable[[], Any]
BATCH_ROWS = 65536

_CASES: dict[str, Callable[[int], tuple[Case, int]]] = {}


def micro(name: str) -> Callable[[Callable[[int], tuple[Case, int]]], Callable[[int], tuple[Case, int]]]:
    """Register a case: the function makes the data for about ``rows`` rows, gives what to time and the true rows."""

    def register(make: Callable[[int], tuple[Case, int]]) -> Callable[[int], tuple[Case, int]]:
        _CASES[name] = make
        return make

    return register


def names() -> list[str]:
    """Give the names of all cases."""
    return list(_CASES)


def nanoseconds_per_row(name: str, rows: int, runs: int) -> float:
    """Run one case once to warm up and ``runs`` times more; give the best time by row."""
    case, true_rows = _CASES[name](rows)
    case()
    best = min(_timed(case) for _ in range(runs))
    return best / true_rows


def _timed(case: Case) -> int:
    start = time.perf_counter_ns()
    case()
    return time.perf_counter_ns() - start


def cut(*columns: pa.Array) -> Iterator[list[pa.Array]]:
    """Cut columns into chunks."""
    for start in range(0, len(columns[0]), BATCH_ROWS):
        yield [column.slice(start, BATCH_ROWS) for column in columns]
