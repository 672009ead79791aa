"""Arbitration: the holders that are reclaimed, and the requests that are granted or rejected."""

from __future__ import annotations

import threading

import pytest

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.memory import MemoryTracker, Reclaimable


class Owner:
    """Holds ``held`` reclaimable bytes; counts its wake-ups."""

    def __init__(
        self, root: MemoryTracker, held: int, reclaimable: Reclaimable | None = None, *, min_bytes: int = 1
    ) -> None:
        self.memory = root.child(f"owner of {held}")
        self.woken = 0
        self.memory.register_reclaimable(reclaimable or Reclaimable(min_bytes), self._wake)
        self.memory.reserve_unchecked(held)

    def _wake(self) -> None:
        assert not self.memory._lock.locked()
        self.woken += 1

    def reclaims(self) -> None:
        self.memory.reserve(0)
        self.memory.reclaim_done()


def requested(*owners: Owner) -> list[bool]:
    assert [bool(owner.woken) for owner in owners] == [owner.memory.reclaim_requested for owner in owners]
    return [owner.memory.reclaim_requested for owner in owners]


def test_largest_holder_is_reclaimed_and_the_request_granted_at_once() -> None:
    root = MemoryTracker("instance", limit=100)
    small, large, middle = Owner(root, 20), Owner(root, 45), Owner(root, 30)
    join = root.child("join")
    assert join.try_reserve(5) and requested(small, large, middle) == [False, False, False]
    assert join.try_reserve(6) and requested(small, large, middle) == [False, True, False]
    assert (root.held, join.held, large.memory.held) == (101, 6, 45)
    large.reclaims()
    assert root.held == 56 and requested(small, middle) == [False, False] and not large.memory.reclaim_requested


def test_excess_over_the_limit_never_exceeds_pending_reclaims() -> None:
    root = MemoryTracker("instance", limit=100)
    large, join = Owner(root, 60), root.child("join")
    assert join.try_reserve(40) and join.try_reserve(41) and join.try_reserve(100)
    assert not join.try_reserve(101) and root.held == 160
    assert large.woken == 1
    large.reclaims()
    assert root.held == 100 and not join.try_reserve(101)
    with pytest.raises(ResourceExhaustedError, match="holds 100 of its limit 100"):
        join.reserve(101)


def test_reservation_over_twice_the_limit_is_rejected_during_pending_reclaim() -> None:
    root = MemoryTracker("instance", limit=100)
    first, second, third = Owner(root, 95), Owner(root, 60), Owner(root, 0)
    assert third.memory.try_reserve(40) and requested(first, second) == [True, False]
    assert not third.memory.try_reserve(46) and requested(first, second) == [True, False], "it must spill itself"
    join = root.child("a join that cannot spill")
    assert join.try_reserve(6) and root.held == 201 and requested(first, second) == [True, True], "it cannot spill"
    first.reclaims()
    assert third.memory.try_reserve(46)


def test_reserve_requests_reclaim_like_try_reserve() -> None:
    root = MemoryTracker("instance", limit=100)
    large, join = Owner(root, 60), root.child("a join that cannot spill")
    join.reserve(90)
    assert requested(large) == [True] and root.held == 150


def test_largest_holder_itself_is_rejected_without_reclaim() -> None:
    root = MemoryTracker("instance", limit=100)
    small, large = Owner(root, 40), Owner(root, 50)
    assert not large.memory.try_reserve(61) and requested(small, large) == [False, False]
    assert small.memory.try_reserve(51) and requested(small, large) == [False, True]
    assert not large.memory.try_reserve(51), "a holder with a pending reclaim must spill itself"


def test_as_many_holders_as_needed_are_reclaimed_or_none() -> None:
    root = MemoryTracker("instance", limit=100)
    first, second, third = Owner(root, 40), Owner(root, 30), Owner(root, 20)
    join = root.child("join")
    assert not join.try_reserve(101) and requested(first, second, third) == [False, False, False]
    assert join.try_reserve(60) and requested(first, second, third) == [True, True, False]
    assert join.try_reserve(80) and requested(third) == [False]
    assert join.try_reserve(100) and requested(third) == [True]


def test_group_below_min_bytes_is_not_reclaimed() -> None:
    root = MemoryTracker("instance", limit=100)
    little, join = Owner(root, 90, min_bytes=91), root.child("join")
    assert not join.try_reserve(11) and requested(little) == [False]
    little.memory.reserve(91)
    assert join.try_reserve(11) and requested(little) == [True]


def test_holders_of_a_group_are_sized_and_reclaimed_together() -> None:
    root = MemoryTracker("instance", limit=100)
    parts = Reclaimable(1)
    builders = [Owner(root, 20, parts) for _ in range(3)]
    handed_in = root.child("parts of drivers that ended")
    handed_in.register_reclaimable(parts)
    aggregation, other = Owner(root, 35), root.child("other")
    assert not builders[0].memory.try_reserve(30), "its own join is the largest"
    assert other.try_reserve(10) and requested(*builders, aggregation) == [True, True, True, False]
    assert handed_in.reclaim_requested


def test_unregister_prevents_reclaim_and_returns_pending_request() -> None:
    root = MemoryTracker("instance", limit=100)
    first, second, join = Owner(root, 60), Owner(root, 40), root.child("join")
    assert not first.memory.unregister_reclaimable()
    assert join.try_reserve(10) and requested(first, second) == [False, True]
    assert second.memory.unregister_reclaimable() and not second.memory.unregister_reclaimable()
    assert not second.memory.reclaim_requested and not join.try_reserve(20), "no reclaim is pending any more"
    for tracker in (first.memory, second.memory, join):
        tracker.close()
    assert root.held == 0


def test_closed_holder_is_not_reclaimed() -> None:
    root = MemoryTracker("instance", limit=100)
    owner, join = Owner(root, 80), root.child("join")
    assert join.try_reserve(30) and requested(owner) == [True]
    owner.memory.close()
    assert root.held == 30 and not owner.memory.reclaim_requested
    assert join.try_reserve(100) and not join.try_reserve(101)


def test_only_holders_below_the_exceeded_limit_are_reclaimed() -> None:
    worker = MemoryTracker("worker", limit=1000)
    instance, beside = worker.child("instance", limit=100), Owner(worker, 500)
    within, join = Owner(instance, 90), instance.child("join")
    assert join.try_reserve(20) and requested(beside, within) == [False, True]
    within.reclaims()
    worker.child("more").reserve(480)
    within.woken = 0
    assert join.try_reserve(50) and requested(beside, within) == [True, False]


def test_try_reserve_without_may_reclaim_requests_no_reclaim() -> None:
    root = MemoryTracker("instance", limit=100)
    owner, sink = Owner(root, 90), root.child("sink")
    assert not sink.try_reserve(11, may_reclaim=False) and requested(owner) == [False]


def test_concurrent_requests_stay_within_limit_plus_pending_reclaims() -> None:
    root = MemoryTracker("instance", limit=1000)
    most = 0

    def work(owner: Owner) -> None:
        nonlocal most
        for _ in range(3000):
            with root._lock:
                due = sum(t.held for t in root._children if t.reclaim_requested)
                most = max(most, root.held - due)
            if owner.memory.reclaim_requested or not owner.memory.try_reserve(owner.memory.held + 7):
                owner.reclaims()
        owner.reclaims()
        owner.memory.close()

    threads = [threading.Thread(target=work, args=(Owner(root, 0),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert root.held == 0 and 900 < most <= 1000
