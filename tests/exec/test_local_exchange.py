"""Local exchanges: every fan-in, fan-out and distribution, tiny caps, early closing, accounting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from pyspark_pipeline.exec import Chunk, FragmentInstance, Operator, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.local_distribution import (
    Distribution,
    at_random,
    broadcast,
    by_hash,
    round_robin,
    stable_grouping,
)
from pyspark_pipeline.exec.local_exchange import LocalExchange
from pyspark_pipeline.exec.local_exchange_operators import LocalExchangeSinkFactory, LocalExchangeSourceFactory
from pyspark_pipeline.exec.output_sink import OutputSinkFactory
from pyspark_pipeline.memory import MemoryTracker
from tests.exec.kit import Made, Source, Step, chunk, values

BY_HASH = by_hash(lambda given, n: (given.column(0).to_numpy() % n).astype(np.int32))


def parts(dop: int, count: int, rows: int = 3) -> list[list[Chunk]]:
    """Return the chunks of each driver, with distinct values."""
    return [[chunk((driver * count + i) * rows, rows) for i in range(count)] for driver in range(dop)]


def exchange_run(
    distribution: Distribution,
    producers: int,
    consumers: int,
    threads: int,
    *,
    cap: int = 1,
    count: int = 50,
    above: Callable[[int], Operator] = lambda _: Step(),
    batch_rows: int = 65536,
) -> tuple[list[Chunk], FragmentInstance, LocalExchange, MemoryTracker]:
    queue, memory = OutputQueue(2), MemoryTracker("instance")
    exchange = LocalExchange("exchange", distribution, num_consumers=consumers, max_bytes=cap, batch_rows=batch_rows)
    given = parts(producers, count)
    sources = Made("source", lambda i: Source(given[i]))
    into = Pipeline(id=0, factories=(sources, LocalExchangeSinkFactory(exchange)), dop=producers)
    out_of = Pipeline(
        id=1,
        factories=(LocalExchangeSourceFactory(exchange), Made("step", above), OutputSinkFactory(queue)),
        dop=consumers,
    )
    instance = FragmentInstance([into, out_of], queue, memory=memory)
    items = list(execute(instance, threads))
    return items, instance, exchange, memory


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("producers", "consumers"), [(1, 1), (3, 1), (1, 3), (3, 2), (2, 3)])
@pytest.mark.parametrize("cap", [1, 200, 1 << 20])
@pytest.mark.parametrize("name", ["hash", "round robin", "random", "broadcast"])
def test_every_distribution_delivers_every_row(
    name: str, producers: int, consumers: int, threads: int, cap: int
) -> None:
    distributions = {"hash": BY_HASH, "round robin": round_robin, "random": at_random, "broadcast": broadcast}
    distribution = distributions[name]
    items, instance, exchange, memory = exchange_run(distribution, producers, consumers, threads, cap=cap)
    copies = consumers if name == "broadcast" else 1
    assert Counter(values(items)) == Counter(list(range(producers * 50 * 3)) * copies)
    assert exchange.peak_bytes <= cap + producers * copies * 3 * 8
    assert exchange.statistics()["bytes"] == 0 and memory.held == 0
    assert memory.peak > 0
    assert instance.metrics()["missed_wakeups"] == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_hash_distribution_sends_rows_to_their_destination(threads: int) -> None:
    seen: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}

    def above(driver: int) -> Step:
        def work(given: Chunk) -> Chunk:
            seen[driver] |= {value % 3 for value in values([given])}
            return given

        return Step(work=work)

    exchange_run(BY_HASH, 2, 3, threads, above=above)
    assert seen == {0: {0}, 1: {1}, 2: {2}}


@pytest.mark.parametrize("threads", [1, 3])
def test_consumer_that_ends_early_unblocks_the_producers(threads: int) -> None:
    items, _, exchange, memory = exchange_run(
        BY_HASH, 2, 2, threads, above=lambda i: Step(limit=2) if i == 0 else Step(), batch_rows=4
    )
    odd = [value for value in values(items) if value % 2]
    assert len(items) and sorted(odd) == [value for value in range(300) if value % 2]
    assert len(values(items)) == len(odd) + 2
    assert memory.held == 0 and exchange.statistics()["consumers_open"] == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_producers_end_after_all_consumers(threads: int) -> None:
    items, instance, exchange, _ = exchange_run(
        round_robin, 2, 1, threads, above=lambda _: Step(limit=4), count=2000, batch_rows=4
    )
    assert len(values(items)) == 4 and exchange.is_abandoned()
    moves = [driver.metrics.moves for driver in instance.drivers[:2]]
    assert sum(moves) < 100


@pytest.mark.parametrize("threads", [1, 3])
def test_several_pipelines_feed_one_exchange(threads: int) -> None:
    queue = OutputQueue()
    exchange = LocalExchange("union", round_robin, num_consumers=1, max_bytes=1)
    pipelines = [
        Pipeline(
            id=i, factories=(Made("source", lambda _, i=i: Source([chunk(i * 10)])), LocalExchangeSinkFactory(exchange))
        )
        for i in range(3)
    ]
    pipelines.append(Pipeline(id=9, factories=(LocalExchangeSourceFactory(exchange), OutputSinkFactory(queue))))
    items = list(execute(FragmentInstance(pipelines, queue), threads))
    assert sorted(values(items)) == [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]


def test_take_joins_small_pieces_and_keeps_large_ones() -> None:
    exchange = LocalExchange("x", round_robin, num_consumers=1, max_bytes=1 << 20, batch_rows=10)
    exchange.add_producer()
    large = chunk(0, 8)
    for piece in (chunk(0, 3), chunk(3, 3), chunk(6, 5), large, chunk(0, 1)):
        exchange.put(0, piece, 10)
    assert [[piece.num_rows for piece in exchange.take(0)] for _ in range(4)] == [[3, 3], [5], [8], [1]]


def test_stable_grouping_sorts_by_destination_then_position() -> None:
    for count in (1, 3, 300, 70000):
        destinations = np.random.default_rng(1).integers(0, count, 1000).astype(np.int32)
        rows, starts = stable_grouping(destinations, count)
        assert starts[0] == 0 and starts[-1] == 1000
        expected = sorted(range(1000), key=lambda row: (destinations[row], row))
        assert rows.tolist() == expected
        assert all((destinations[rows[starts[i] : starts[i + 1]]] == i).all() for i in range(min(count, 300)))
    rows, starts = stable_grouping(np.zeros(0, np.int32), 2)
    assert len(rows) == 0 and starts.tolist() == [0, 0, 0]


@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_pass_one_by_one_over_the_memory_limit(threads: int) -> None:
    queue = OutputQueue()
    exchange = LocalExchange("exchange", round_robin, num_consumers=1, max_bytes=1 << 20)
    sources = Made("source", lambda _: Source([chunk(i, 100) for i in range(100)]))
    into = Pipeline(id=0, factories=(sources, LocalExchangeSinkFactory(exchange)))
    out_of = Pipeline(id=1, factories=(LocalExchangeSourceFactory(exchange), OutputSinkFactory(queue)))
    memory = MemoryTracker("instance", limit=700)
    assert sum(c.num_rows for c in execute(FragmentInstance([into, out_of], queue, memory=memory), threads)) == 10_000
    assert memory.held == 0 and memory.peak <= 700 + (threads + 1) * 800
