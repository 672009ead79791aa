"""Tests of the soak: it detects growth, ignores noise and warm-up, and reads processes correctly."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchmarks.left_behind import descriptors
from benchmarks.memory import children_of
from benchmarks.soak.queries import KINDS
from benchmarks.soak.trend import fitted, table, trend, trends, verdict
from benchmarks.soak.watch import num_threads, sizes, sockets

QUERIES = list(range(0, 401, 20))


def test_fitted_returns_slope_and_error() -> None:
    assert fitted([0, 1, 2, 3], [1, 3, 5, 7]) == (2.0, 0.0)
    slope, error = fitted([0, 1, 2, 3], [0, 1, 0, 1])
    assert (round(slope, 6), round(error, 6)) == (0.2, 0.282843)
    assert fitted([1, 1], [3, 4])[0] == 0.0


def test_trend_detects_leak_of_one_descriptor_per_round() -> None:
    found = trend(QUERIES, [50 + number / 20 for number in QUERIES], tolerance=4)
    assert found.grew and found.per_100_queries == 5.0
    assert (found.first, found.last, found.growth) == (57.0, 70.0, 13.0)


def test_trend_ignores_warm_up() -> None:
    warming = [min(number, 120) * 10.0 for number in QUERIES]
    assert not trend(QUERIES, warming, tolerance=1).grew
    assert trend(QUERIES, [number * 10.0 for number in QUERIES], tolerance=1).grew


@pytest.mark.parametrize("noise", [[0.0, 9.0], [9.0, 0.0, 3.0]])
def test_trend_ignores_noise(noise: list[float]) -> None:
    assert not trend(QUERIES, [100 + noise[i % len(noise)] for i in range(len(QUERIES))], tolerance=1).grew


def test_trend_ignores_tolerated_growth_and_decline() -> None:
    readings = [number / 100 for number in QUERIES]
    assert trend(QUERIES, readings, tolerance=2).grew
    assert not trend(QUERIES, readings, tolerance=3).grew
    assert not trend(QUERIES, readings[::-1], tolerance=0).grew


def test_verdict_names_growing_measures() -> None:
    samples = [{"queries": number, "fds": 5.0, "heap": number / 10} for number in QUERIES]
    found = trends(samples, {"fds": 1.0, "heap": 1.0})
    assert [name for name, line in found.items() if line["grew"]] == ["heap"]
    assert verdict(found) == ["heap grew: 14 to 40, 10 a hundred queries"]
    assert verdict({"fds": found["fds"]}) == ["nothing grew"]
    assert table(samples[:2], ["fds"]) == "queries  fds\n      0    5\n     20    5"


def test_watch_counts_descriptors_sockets_and_threads() -> None:
    before, threads = len(descriptors(os.getpid())), num_threads(os.getpid())
    held, other = socket.socketpair()
    gate = threading.Event()
    thread = threading.Thread(target=gate.wait)
    thread.start()
    try:
        assert len(descriptors(os.getpid())) == before + 2
        assert f"socket:[{os.fstat(held.fileno()).st_ino}]" in sockets(os.getpid())
        assert num_threads(os.getpid()) == threads + 1
    finally:
        gate.set()
        thread.join()
        held.close()
        other.close()


def test_children_of_excludes_grandchildren_and_ended_processes() -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"1\n"
    try:
        assert process.pid in children_of(os.getpid())
        (grandchild,) = children_of(process.pid)
        assert grandchild not in children_of(os.getpid())
    finally:
        process.communicate(b"\n", timeout=20)
    assert descriptors(process.pid) == [] and num_threads(process.pid) == 0


def test_sizes_finds_files_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"123")
    (tmp_path / "file").write_bytes(b"")
    assert sorted(sizes(tmp_path)) == [0, 3]


def test_many_kinds_of_queries_run() -> None:
    assert len(KINDS) >= 20 and {"fails", "cancelled", "cached", "written", "threads"} <= set(KINDS)
