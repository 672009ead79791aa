"""Adaptive parallelism: small inputs narrow, large ones stay wide, no row is lost."""

from __future__ import annotations

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.adaptive_parallelism import (
    AdaptiveParallelism,
    CollectSinkFactory,
    CollectSourceFactory,
    Decision,
)
from pyspark_pipeline.exec.output_sink import OutputSinkFactory
from pyspark_pipeline.memory import MemoryTracker
from tests.exec.kit import Made, Source, Step, chunk, values


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("rows_per_driver", "counts", "decision", "drivers"),
    [
        (1000, (5, 5, 5, 5), Decision.NARROW, {0}),
        (1000, (0, 0, 0, 0), Decision.NARROW, set()),
        (25, (5, 5, 5, 5), Decision.NARROW, {0, 1}),
        (16, (50, 50, 50, 50), Decision.WIDE, {0, 1, 2, 3}),
        (16, (50, 0, 1, 0), Decision.WIDE, {0, 2}),
    ],
)
def test_decision_follows_the_number_of_rows(
    rows_per_driver: int, counts: tuple[int, ...], decision: Decision, drivers: set[int], threads: int
) -> None:
    queue, shared = OutputQueue(), AdaptiveParallelism(4, rows_per_driver=rows_per_driver)
    given = [[chunk((driver * 100 + i) * 4) for i in range(count)] for driver, count in enumerate(counts)]
    expected = sorted(value for chunks in given for value in values(chunks))
    used: set[int] = set()

    def above(driver: int) -> Step:
        def work(piece: Chunk) -> Chunk:
            used.add(driver)
            return piece

        return Step(work=work)

    into = Pipeline(id=0, factories=(Made("source", lambda i: Source(given[i])), CollectSinkFactory(shared)), dop=4)
    steps = (CollectSourceFactory(shared), Made("step", above), OutputSinkFactory(queue))
    instance = FragmentInstance([into, Pipeline(id=1, factories=steps, dop=4)], queue)
    assert sorted(values(list(execute(instance, threads)))) == expected
    assert (shared.decision, used) == (decision, drivers)
    assert instance.metrics()["missed_wakeups"] == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_sources_that_end_early_end_their_sinks(threads: int) -> None:
    queue, shared = OutputQueue(), AdaptiveParallelism(2, rows_per_driver=8)
    made = Made("source", lambda i: Source([chunk(4 * j) for j in range(500)]))
    into = Pipeline(id=0, factories=(made, CollectSinkFactory(shared)), dop=2)
    steps = (CollectSourceFactory(shared), Made("limit", lambda _: Step(limit=3)), OutputSinkFactory(queue))
    instance = FragmentInstance([into, Pipeline(id=1, factories=steps, dop=2)], queue)
    assert sorted(values(list(execute(instance, threads)))) == [0, 0, 1, 1, 2, 2]
    assert sum(driver.metrics.moves for driver in instance.drivers[:2]) < 1000


@pytest.mark.parametrize("threads", [1, 3])
def test_driver_error_before_the_decision_releases_all_memory(threads: int) -> None:
    def broken(piece: Chunk) -> Chunk:
        raise ValueError("not this chunk")

    queue, shared, memory = OutputQueue(), AdaptiveParallelism(2, rows_per_driver=8000), MemoryTracker("instance")
    given = [[chunk(4 * j) for j in range(count)] for count in (50, 1)]
    breaks = Made("step", lambda i: Step(work=broken) if i else Step())
    made = Made("source", lambda i: Source(given[i]))
    into = Pipeline(id=0, factories=(made, breaks, CollectSinkFactory(shared)), dop=2)
    steps = (CollectSourceFactory(shared), OutputSinkFactory(queue))
    instance = FragmentInstance([into, Pipeline(id=1, factories=steps, dop=2)], queue, memory=memory)
    with pytest.raises(EngineBugError, match="not this chunk"):
        list(execute(instance, threads))
    assert not memory.held, memory.holders()
