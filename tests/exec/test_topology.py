"""The drawing of an instance's pipelines, alone and in the error of a deadlock."""

from __future__ import annotations

import textwrap

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.local_distribution import round_robin
from pyspark_pipeline.exec.local_exchange import LocalExchange
from pyspark_pipeline.exec.local_exchange_operators import LocalExchangeSinkFactory, LocalExchangeSourceFactory
from pyspark_pipeline.exec.topology import dependencies, tree
from tests.exec.kit import Made, Recorded, Sink, Source, Step, chunks


class Never(Recorded):
    """A source without output that never ends."""

    def is_finished(self) -> bool:
        return False


def united(queue: OutputQueue, first: Made) -> list[Pipeline]:
    """Return two pipelines into one local exchange, its source in a third, and an independent fourth."""
    exchange = LocalExchange("gather", round_robin, num_consumers=1, max_bytes=1)
    source = Made("source", lambda _: Source(chunks(2)))
    step, sink = Made("step", lambda _: Step()), Made("sink", lambda _: Sink(queue))
    return [
        Pipeline(id=0, factories=(first, LocalExchangeSinkFactory(exchange)), dop=3),
        Pipeline(id=1, factories=(source, step, LocalExchangeSinkFactory(exchange)), dop=2),
        Pipeline(id=2, factories=(LocalExchangeSourceFactory(exchange), step, sink)),
        Pipeline(id=3, factories=(source, sink)),
    ]


DRAWN = textwrap.dedent("""\
    pipeline 2 x 1
      sink
      step
      LocalExchangeSource
        pipeline 0 x 3
          LocalExchangeSink
          first
        pipeline 1 x 2
          LocalExchangeSink
          step
          source
    pipeline 3 x 1
      sink
      source""")


def test_pipelines_are_drawn_below_the_operators_that_depend_on_them() -> None:
    pipelines = united(OutputQueue(), Made("first", lambda _: Source(chunks(2))))
    assert tree(pipelines) == DRAWN
    assert dependencies(pipelines) == {0: [], 1: [], 2: [0, 1], 3: []}


def test_pipeline_with_two_dependents_is_drawn_once() -> None:
    *below, above, _ = united(OutputQueue(), Made("first", lambda _: Source([])))
    twice = Pipeline(id=9, factories=above.factories)
    assert tree([*below, above, twice]).count("pipeline 0 x 3") == 1
    assert "    pipeline 0, see above\n    pipeline 1, see above" in tree([*below, above, twice])


@pytest.mark.parametrize("threads", [1, 3])
def test_deadlock_error_draws_the_pipelines(threads: int) -> None:
    queue = OutputQueue()
    instance = FragmentInstance(united(queue, Made("first", lambda _: Never())), queue)
    with pytest.raises(EngineBugError, match="nothing can wake one") as caught:
        list(execute(instance, threads))
    assert f"nothing can wake one:\n{DRAWN}\ndriver 0 of pipeline 0: INPUT_EMPTY" in str(caught.value)
