"""Who is asked to give memory back, what is granted meanwhile, and when a request is refused."""

from __future__ import annotations

import threading

import pytest

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.memory import MemoryTracker, Revocable


class Owner:
    """Holds ``held`` bytes that it offers; notes how often it is woken."""

    def __init__(self, root: MemoryTracker, held: int, revocable: Revocable | None = None, *, least: int = 1) -> None:
        self.memory = root.child(f"owner of {held}")
        self.woken = 0
        self.memory.offer(revocable or Revocable(least), self._wake)
        self.memory.force(held)

    def _wake(self) -> None:
        assert not self.memory._lock.locked()
        self.woken += 1

    def gives_back(self) -> None:
        self.memory.hold(0)
        self.memory.answer()


def asked(*owners: Owner) -> list[bool]:
    assert [bool(owner.woken) for owner in owners] == [owner.memory.is_asked for owner in owners]
    return [owner.memory.is_asked for owner in owners]


def test_the_largest_is_asked_and_who_asks_goes_on() -> None:
    root = MemoryTracker("instance", limit=100)
    small, large, middle = Owner(root, 20), Owner(root, 45), Owner(root, 30)
    join = root.child("join")
    assert join.try_hold(5) and asked(small, large, middle) == [False, False, False]
    assert join.try_hold(6) and asked(small, large, middle) == [False, True, False]
    assert (root.held, join.held, large.memory.held) == (101, 6, 45)
    large.gives_back()
    assert root.held == 56 and asked(small, middle) == [False, False] and not large.memory.is_asked


def test_what_goes_over_the_limit_is_never_more_than_is_given_back_soon() -> None:
    root = MemoryTracker("instance", limit=100)
    large, join = Owner(root, 60), root.child("join")
    assert join.try_hold(40) and join.try_hold(41) and join.try_hold(100)
    assert not join.try_hold(101) and root.held == 160
    assert large.woken == 1
    large.gives_back()
    assert root.held == 100 and not join.try_hold(101)
    with pytest.raises(ResourceExhaustedError, match="holds 100 of its limit 100"):
        join.hold(101)


def test_who_offers_is_refused_what_goes_over_twice_the_limit_while_others_are_slow_to_give_back() -> None:
    root = MemoryTracker("instance", limit=100)
    first, second, third = Owner(root, 95), Owner(root, 60), Owner(root, 0)
    assert third.memory.try_hold(40) and asked(first, second) == [True, False]
    assert not third.memory.try_hold(46) and asked(first, second) == [True, False], "it makes room itself"
    join = root.child("a join that cannot spill")
    assert join.try_hold(6) and root.held == 201 and asked(first, second) == [True, True], "it has none to make"
    first.gives_back()
    assert third.memory.try_hold(46)


def test_requests_that_raise_ask_as_well() -> None:
    root = MemoryTracker("instance", limit=100)
    large, join = Owner(root, 60), root.child("a join that cannot spill")
    join.hold(90)
    assert asked(large) == [True] and root.held == 150


def test_the_largest_itself_is_refused_and_nobody_is_asked() -> None:
    root = MemoryTracker("instance", limit=100)
    small, large = Owner(root, 40), Owner(root, 50)
    assert not large.memory.try_hold(61) and asked(small, large) == [False, False]
    assert small.memory.try_hold(51) and asked(small, large) == [False, True]
    assert not large.memory.try_hold(51), "who has been asked makes room itself"


def test_several_are_asked_where_one_is_not_enough_and_none_where_all_are_not() -> None:
    root = MemoryTracker("instance", limit=100)
    first, second, third = Owner(root, 40), Owner(root, 30), Owner(root, 20)
    join = root.child("join")
    assert not join.try_hold(101) and asked(first, second, third) == [False, False, False]
    assert join.try_hold(60) and asked(first, second, third) == [True, True, False]
    assert join.try_hold(80) and asked(third) == [False]
    assert join.try_hold(100) and asked(third) == [True]


def test_nobody_is_asked_for_little() -> None:
    root = MemoryTracker("instance", limit=100)
    little, join = Owner(root, 90, least=91), root.child("join")
    assert not join.try_hold(11) and asked(little) == [False]
    little.memory.hold(91)
    assert join.try_hold(11) and asked(little) == [True]


def test_those_that_give_back_together_count_together_and_are_all_asked() -> None:
    root = MemoryTracker("instance", limit=100)
    parts = Revocable(1)
    builders = [Owner(root, 20, parts) for _ in range(3)]
    handed_in = root.child("parts of drivers that ended")
    handed_in.offer(parts)
    aggregation, other = Owner(root, 35), root.child("other")
    assert not builders[0].memory.try_hold(30), "its own join is the largest"
    assert other.try_hold(10) and asked(*builders, aggregation) == [True, True, True, False]
    assert handed_in.is_asked


def test_an_offer_that_is_withdrawn_is_not_asked_for_and_says_whether_it_was() -> None:
    root = MemoryTracker("instance", limit=100)
    first, second, join = Owner(root, 60), Owner(root, 40), root.child("join")
    assert not first.memory.withdraw()
    assert join.try_hold(10) and asked(first, second) == [False, True]
    assert second.memory.withdraw() and not second.memory.withdraw()
    assert not second.memory.is_asked and not join.try_hold(20), "nothing is to be given back any more"
    for tracker in (first.memory, second.memory, join):
        tracker.close()
    assert root.held == 0


def test_a_closed_holder_is_neither_asked_nor_counted_on() -> None:
    root = MemoryTracker("instance", limit=100)
    owner, join = Owner(root, 80), root.child("join")
    assert join.try_hold(30) and asked(owner) == [True]
    owner.memory.close()
    assert root.held == 30 and not owner.memory.is_asked
    assert join.try_hold(100) and not join.try_hold(101)


def test_only_those_below_the_limit_that_is_reached_are_asked() -> None:
    worker = MemoryTracker("worker", limit=1000)
    instance, beside = worker.child("instance", limit=100), Owner(worker, 500)
    within, join = Owner(instance, 90), instance.child("join")
    assert join.try_hold(20) and asked(beside, within) == [False, True]
    within.gives_back()
    worker.child("more").hold(480)
    within.woken = 0
    assert join.try_hold(50) and asked(beside, within) == [True, False]


def test_who_makes_room_easily_asks_nobody() -> None:
    root = MemoryTracker("instance", limit=100)
    owner, sink = Owner(root, 90), root.child("sink")
    assert not sink.try_hold(11, may_ask=False) and asked(owner) == [False]


def test_threads_keep_within_the_limit_and_what_is_asked_for() -> None:
    root = MemoryTracker("instance", limit=1000)
    most = 0

    def work(owner: Owner) -> None:
        nonlocal most
        for _ in range(3000):
            with root._lock:
                due = sum(t.held for t in root._children if t.is_asked)
                most = max(most, root.held - due)
            if owner.memory.is_asked or not owner.memory.try_hold(owner.memory.held + 7):
                owner.gives_back()
        owner.gives_back()
        owner.memory.close()

    threads = [threading.Thread(target=work, args=(Owner(root, 0),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert root.held == 0 and 900 < most <= 1000
