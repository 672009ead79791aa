"""Runner of micro benchmarks: several runs per case, of which the best counts, as the machine may be shared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

Case = Callable[[], Any]
BATCH_ROWS = 65536

_CASES: dict[str, Callable[[int], tuple[Case, int]]] = {}


def micro(name: str) -> Callable[[Callable[[int], tuple[Case, int]]], Callable[[int], tuple[Case, int]]]:
    """Register a case: a function that makes about ``rows`` rows and returns the call to time and the exact rows."""

    def register(make: Callable[[int], tuple[Case, int]]) -> Callable[[int], tuple[Case, int]]:
        _CASES[name] = make
        return make

    return register


def names() -> list[str]:
    """Return the names of all cases."""
    return list(_CASES)


def nanoseconds_per_row(name: str, rows: int, runs: int) -> float:
    """Run one case once to warm up and ``runs`` times more; return the best time per row."""
    case, true_rows = _CASES[name](rows)
    case()
    best = min(_timed(case) for _ in range(runs))
    return best / true_rows


def _timed(case: Case) -> int:
    start = time.perf_counter_ns()
    case()
    return time.perf_counter_ns() - start


def cut(*columns: pa.Array) -> Iterator[list[pa.Array]]:
    """Yield slices of the columns of ``BATCH_ROWS`` rows."""
    for start in range(0, len(columns[0]), BATCH_ROWS):
        yield [column.slice(start, BATCH_ROWS) for column in columns]
