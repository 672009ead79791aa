"""Tests of the bookkeeping cost, computed from the counters of drivers."""

from __future__ import annotations

import pytest

from benchmarks.micro import moves


def test_moves_cost_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "_MOVES", 4000)
    assert moves.bare(4) > 0 and moves.driven(4) > 0
    assert moves.driven(1) > 0 and moves.driven(3, cpu_time=True) > 0


def test_counted_sums_drivers_and_operators() -> None:
    driver = {"moves": 3, "scheduled": 2, "active_s": 0.5}
    pipeline = {"drivers": [driver, driver], "operators": [{"cpu_s": 0.25}, {}]}
    found = moves.counted([{"pipelines": [pipeline, pipeline]}, {"pipelines": []}])
    assert found == {"moves": 12, "scheduled": 8, "active_s": 2.0, "operators_cpu_s": 0.5}


def test_share_is_in_percent_and_zero_without_task_time() -> None:
    counts = {"moves": 1000.0, "operators_cpu_s": 0.4, "task_s": 0.8}
    expected = {"cost_s": 0.004, "percent_of_operators_cpu": 1.0, "percent_of_tasks": 0.5}
    assert moves.share(counts, 4.0) == expected
    assert moves.share(counts | {"task_s": 0.0}, 4.0)["percent_of_tasks"] == 0.0
