"""Random queries over random networks, read to the end, limited or closed early: rows, wake-ups, bytes, threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.local import Conditions, LocalFragment, LocalQuery
from pyspark_pipeline.local.transport.request import Address, Request
from pyspark_pipeline.local.write import fragment, source
from pyspark_pipeline.operators.filter import FilterOperator
from pyspark_pipeline.operators.project import ProjectOperator
from pyspark_pipeline.operators.shared_source import SharedSourceOperator
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Limit, RoundRobinExchange, SingleExchange
from tests.local.kit import (
    NUMBERS,
    SMALL,
    broadcast_join,
    engine_threads,
    expected_sums,
    numbers,
    pass_on,
    sums_by_key,
)

RUNS = st.fixed_dictionaries(
    {
        "threads": st.integers(1, 4),
        "window": st.sampled_from([1, 2, 64]),
        "queue_length": st.sampled_from([0, 1, 64]),
        "serialize": st.booleans(),
        "conditions": st.builds(
            Conditions, latency=st.integers(0, 3), jitter=st.integers(0, 20), seed=st.integers(0, 99)
        ),
    }
)
TIGHT = st.fixed_dictionaries(
    {
        "batchRows": st.sampled_from(["7", "100", "131072"]),
        "exchange.chunkBytes": st.sampled_from(["1", "4096", "262144"]),
        "exchange.bufferBytes": st.sampled_from(["1", "5000", "67108864"]),
        "localExchange.bufferBytes": st.sampled_from(["1", "1000", "33554432"]),
        "output.queueChunks": st.sampled_from(["1", "2", "16"]),
        "timeSliceMs": st.sampled_from(["1", "20"]),
    }
)
INSTANCES, DOP, PARTITIONS = st.integers(1, 4), st.integers(1, 3), st.integers(1, 5)
COUNTS = st.sampled_from([0, 1, 99, 5000])
many = settings(deadline=None, max_examples=40)


def rows(table: pa.Table) -> list[tuple[int, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def nothing_left(query: LocalQuery) -> None:
    assert query.memory.held == 0, query.memory.holders()
    assert not engine_threads()
    assert query.group.missed_wakeups == 0


def with_options(fragments: list[LocalFragment], options: dict[str, str]) -> list[LocalFragment]:
    """Return the fragments with other options."""
    plans = [replace(each.plan, settings=replace(each.plan.settings, options=Options(options))) for each in fragments]
    return [replace(each, plan=plan) for each, plan in zip(fragments, plans, strict=True)]


def limited(limit: int, instances: int, dop: int, partitions: int) -> list[LocalFragment]:
    below = numbers(1, RoundRobinExchange(num_partitions=partitions), 10**8, instances=instances, dop=dop)
    middle = pass_on(2, below, SingleExchange(), instances=partitions, dop=dop)
    few = source(NUMBERS.output)
    return [below, middle, fragment(3, Limit(output=few.output, limit=limit, child=few), inputs={0: 2}, options=SMALL)]


@many
@given(RUNS, TIGHT, COUNTS, INSTANCES, DOP, PARTITIONS)
def test_random_sums_by_key(
    runs: dict[str, object], tight: dict[str, str], count: int, instances: int, dop: int, partitions: int
) -> None:
    fragments = sums_by_key(count, 7, instances=instances, dop=dop, partitions=partitions)
    query = LocalQuery(with_options(fragments, tight), **runs)
    assert rows(query.table()) == [(k, total) for k, total in expected_sums(count, 7) if k < count]
    nothing_left(query)


@many
@given(RUNS, TIGHT, COUNTS, INSTANCES)
def test_random_broadcast_joins(
    runs: dict[str, object], tight: dict[str, str], count: int, instances: int
) -> None:
    query = LocalQuery(with_options(broadcast_join(count, 20, instances), tight), **runs)
    assert rows(query.table()) == sorted((n % 20, n, n % 20) for n in range(count) if n % 20 < 10)
    nothing_left(query)


@many
@given(RUNS, TIGHT, st.sampled_from([0, 1, 100, 3000]), INSTANCES, DOP, PARTITIONS)
def test_random_limits(
    runs: dict[str, object], tight: dict[str, str], limit: int, instances: int, dop: int, partitions: int
) -> None:
    query = LocalQuery(with_options(limited(limit, instances, dop, partitions), tight), **runs)
    assert query.table().num_rows == limit
    assert {driver.state.value for driver in query.group.drivers} == {"finished"}
    nothing_left(query)


@many
@given(RUNS, st.integers(0, 3), INSTANCES, DOP, PARTITIONS)
def test_random_early_close(runs: dict[str, object], read: int, instances: int, dop: int, partitions: int) -> None:
    query = LocalQuery(limited(10**7, instances, dop, partitions), **runs)
    chunks = query.rows()
    for _ in range(read):
        next(chunks)
    chunks.close()
    nothing_left(query)


@pytest.fixture
def fuse(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Make operators raise after a given number of calls; count their closes."""
    state = {"left": 0, "closed": 0}
    for operator, call in (
        (SharedSourceOperator, "pull_chunk"), (ProjectOperator, "transform"), (FilterOperator, "transform"),
    ):  # fmt: skip
        original = getattr(operator, call)

        def burning(self: object, *given: object, original: object = original) -> object:
            state["left"] -= 1
            if not state["left"]:
                raise RuntimeError("told to fail")
            return original(self, *given)  # type: ignore[operator]

        monkeypatch.setattr(operator, call, burning)
    closing = SharedSourceOperator.close
    monkeypatch.setattr(
        SharedSourceOperator, "close", lambda self: state.update(closed=state["closed"] + 1) or closing(self)
    )
    yield state


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("calls", [1, 2, 7, 40, 90])
def test_fault_in_any_call_closes_every_operator_once(fuse: dict[str, int], calls: int, threads: int) -> None:
    fuse["left"] = calls
    query = LocalQuery(sums_by_key(20_000, 7, dop=2), threads=threads)
    with pytest.raises(PipelineError, match=r"RuntimeError: told to fail\nin .* of fragment 1"):
        query.table()
    assert fuse["closed"] == 6
    nothing_left(query)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("number", [0, 1, 5, 11])
def test_loss_of_any_request_closes_every_operator_once(fuse: dict[str, int], number: int, threads: int) -> None:
    seen: list[Address] = []

    def nth(address: Address, request: Request) -> bool:
        seen.append(address)
        return len(seen) - 1 == number

    query = LocalQuery(sums_by_key(20_000, 7, dop=2), threads=threads, conditions=Conditions(loses=nth, timeout=1000))
    with pytest.raises(PipelineError, match="within 1000 steps"):
        query.table()
    assert fuse["closed"] == 6
    nothing_left(query)
