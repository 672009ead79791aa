"""With one thread every run of a query makes the same steps, whatever the speed of the machine."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pyspark_pipeline.exec.clock import Clocks, StepClock
from pyspark_pipeline.local import Conditions, LocalFragment, LocalQuery
from pyspark_pipeline.local.transport.request import Address, Request
from pyspark_pipeline.local.write import source
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Limit, RoundRobinExchange, SingleExchange
from tests.local.kit import broadcast_join, numbers, pass_on, sums_by_key

MS = 1_000_000


def with_options(fragments: list[LocalFragment], **options: str) -> list[LocalFragment]:
    """Return the fragments with other options."""

    def changed(old: LocalFragment) -> LocalFragment:
        settings = replace(old.plan.settings, options=Options({**old.plan.settings.options.given, **options}))
        return replace(old, plan=replace(old.plan, settings=settings))

    return [changed(each) for each in fragments]


def sums(time_slice_ms: str) -> list[LocalFragment]:
    options = {"timeSliceMs": time_slice_ms, "aggregate.passThroughRows": "1000"}
    return with_options(sums_by_key(40_000, 997, dop=3), **options)


def few() -> list[LocalFragment]:
    below = numbers(1, RoundRobinExchange(num_partitions=3), 10**8, instances=2, dop=2)
    middle = pass_on(2, below, SingleExchange(), instances=3, dop=2)
    all_of_them = source(middle.plan.root.output)
    limit = Limit(output=all_of_them.output, limit=1500, child=all_of_them)
    return [below, middle, replace(pass_on(3, middle), plan=replace(pass_on(3, middle).plan, root=limit))]


def steps(fragments: list[LocalFragment], disturb: random.Random, **runs: Any) -> list[Any]:
    """Run a query on one thread with random delays; return the requests, each driver's steps, and the result."""
    sent: list[Any] = []

    def sees(address: Address, request: Request) -> bool:
        sent.append((address, str(request), tuple(request.rows), tuple(request.payloads)))
        if disturb.random() < 0.05:
            time.sleep(0.003 * disturb.random())
        return False

    conditions = Conditions(latency=3, jitter=50, seed=5, loses=sees)
    query = LocalQuery(fragments, conditions=conditions, serialize=True, **runs)
    result = query.table().to_pydict()
    did = [(driver.machine.story(), driver.metrics.moves, driver.metrics.scheduled) for driver in query.group.drivers]
    return [query.transport.now, query.transport.arrived, sent, did, result]


@pytest.mark.parametrize(
    "make",
    [lambda: sums("20"), lambda: sums("1"), lambda: broadcast_join(20_000, 500, 3), few],
    ids=["sums", "sums in slices of a move", "join", "limit"],
)
def test_requests_turns_and_rows_are_deterministic(make: Callable[[], list[LocalFragment]]) -> None:
    first, *others = (steps(make(), random.Random(run)) for run in range(4))
    assert len(first[2]) > 5
    for other in others:
        assert other == first


def test_steps_depend_on_clock() -> None:
    """The steps compared above depend on the ends of slices."""
    usual = steps(sums("20"), random.Random(0))
    shorter = steps(sums("20"), random.Random(0), clocks=Clocks(slicing=StepClock(10 * MS)))
    assert shorter[3] != usual[3]
    assert [sorted(column) for column in shorter[4].values()] == [sorted(column) for column in usual[4].values()]


def test_times_are_real_with_simulated_slices() -> None:
    query = LocalQuery(sums("20"))
    began = time.perf_counter()
    query.table()
    spent = time.perf_counter() - began
    active = sum(driver.metrics.active_ns for driver in query.group.drivers) / 1e9
    assert 0.1 * spent < active <= spent
