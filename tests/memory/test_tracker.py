"""The tracker tree: sums, peaks, limits at every level, named holders, releases, threads."""

from __future__ import annotations

import pickle
import threading

import pytest

from pyspark_pipeline.errors import EngineBugError, ResourceExhaustedError
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.memory.tracker import ALWAYS_GRANTED_BYTES


def test_bytes_of_children_count_in_parents() -> None:
    worker = MemoryTracker("worker")
    instance = worker.child("instance")
    scan, join = instance.child("scan"), instance.child("join")
    scan.consume(10)
    join.consume(20)
    scan.release(4)
    assert (scan.held, join.held, instance.held, worker.held) == (6, 20, 26, 26)
    assert (scan.peak, instance.peak) == (10, 30)
    join.reserve(5)
    assert worker.held == 11 and join.held == 5
    join.reserve(50)
    assert worker.peak == 56
    assert instance.holders() == [("join", 50), ("scan", 6)]


def test_request_over_a_limit_counts_nothing_and_names_the_holders() -> None:
    worker = MemoryTracker("worker", limit=100)
    instance = worker.child("instance")
    scan, join = instance.child("scan"), instance.child("join")
    join.consume(70)
    scan.consume(20)
    with pytest.raises(ResourceExhaustedError) as caught:
        scan.consume(11)
    assert str(pickle.loads(pickle.dumps(caught.value))) == (
        "scan asked for 11 bytes and holds 20; worker holds 90 of its limit 100 bytes (most held by: join 70, scan 20)"
    )
    assert worker.held == 90 and worker.peak == 90
    assert not scan.try_consume(11) and scan.try_consume(10)
    assert worker.available() == 0


def test_nearest_limit_applies() -> None:
    worker = MemoryTracker("worker", limit=1000)
    small = worker.child("small", limit=10)
    assert small.available() == 10 and worker.available() == 1000
    assert MemoryTracker("free").available() is None
    with pytest.raises(ResourceExhaustedError, match="small holds 0 of its limit 10"):
        small.consume(11)
    worker.consume(995)
    with pytest.raises(ResourceExhaustedError, match="worker holds 995"):
        small.consume(6)


def test_releasing_more_than_held_raises() -> None:
    tracker = MemoryTracker("scan")
    tracker.consume(1)
    with pytest.raises(EngineBugError, match="scan releases 2 bytes but holds 1"):
        tracker.release(2)
    with pytest.raises(EngineBugError, match="asks for -1"):
        tracker.consume(-1)


def test_close_releases_leaked_bytes() -> None:
    worker = MemoryTracker("worker")
    child = worker.child("scan")
    child.consume(7)
    assert child.close() == 7 and worker.held == 0
    assert child.close() == 0 and worker.holders() == []


def test_concurrent_counting_is_exact() -> None:
    worker = MemoryTracker("worker")

    def work() -> None:
        mine = worker.child("operator")
        for _ in range(2000):
            mine.consume(3)
            mine.release(2)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert worker.held == 8000


def test_concurrent_unchecked_counting_in_one_tracker_is_exact() -> None:
    instance = MemoryTracker("instance", limit=100)
    shared = instance.child("exchange")

    def work() -> None:
        for _ in range(2000):
            shared.consume_unchecked(3)
            shared.release(2)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.held == instance.held == 8000 and not instance.try_consume(1)


def test_unchecked_reservation_exceeds_the_limit_and_rejects_others() -> None:
    root = MemoryTracker("instance", limit=100)
    first, second = root.child("first"), root.child("second")
    first.reserve(80)
    second.reserve_unchecked(50)
    assert (root.held, root.peak, second.held) == (130, 130, 50)
    assert not first.try_reserve(81) and first.try_reserve(60)
    second.reserve_unchecked(20)
    assert root.held == 80 and first.try_reserve(80)
    first.close()
    second.close()
    assert root.held == 0


def test_minimum_reservation_exceeds_the_limit_up_to_always_granted_bytes() -> None:
    root = MemoryTracker("instance", limit=100)
    first, second = root.child("first"), root.child("second")
    first.reserve(80)
    second.reserve_minimum(ALWAYS_GRANTED_BYTES)
    assert root.held == 80 + ALWAYS_GRANTED_BYTES
    with pytest.raises(ResourceExhaustedError, match=r"second asked for 1 bytes and holds \d+; instance .*first 80"):
        second.reserve_minimum(ALWAYS_GRANTED_BYTES + 1)
    first.reserve(0)
    second.reserve_minimum(0)
    assert root.held == 0


def test_bytes_counted_after_close_do_not_count_in_parents() -> None:
    root = MemoryTracker("instance", limit=100)
    table = root.child("a table that was being made")
    table.reserve(40)
    assert table.close() == 40 and root.held == 0
    table.reserve_unchecked(90)
    table.reserve(120)
    table.release(20)
    assert root.held == 0 and root.peak == 40 and table.close() == 100
