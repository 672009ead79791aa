"""Runs one operator of a captured task alone, over the chunks that entered it then.

The fragment is cut into pipelines as in the task. Of them are left: the operator behind a source of its recorded
chunks, and, where it goes on from other pipelines (a join's probe from its build), their sinks, each behind such
a source. As many drivers as in the task take turns on one thread, so that every run is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.exchange import ChunkRow
from pyspark_pipeline.exec import Chunk, FragmentInstance, Operator, OperatorFactory, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.output_sink import OutputSinkFactory
from pyspark_pipeline.options import PREFIX
from pyspark_pipeline.plan.nodes import Field, Fragment
from pyspark_pipeline.task.capture import Capture
from pyspark_pipeline.task.capture_operator import Place, file_names, inputs_of, named, places
from pyspark_pipeline.task.memory import instance_memory
from pyspark_pipeline.task.run import make_builder


class OperatorReplay:
    """One run of the operator that ``wanted`` means (:func:`~.capture_operator.named`).

    Raises :class:`CaptureError`, which tells the operators there are, where that is none or not one, and where
    the operator cannot run alone or its chunks were not kept. ``fields`` are the columns of its chunks, where known.
    """

    def __init__(self, capture: Capture, fragment: Fragment, wanted: str) -> None:
        queue = OutputQueue(fragment.settings.options["output.queueChunks"])
        builder = make_builder(fragment, capture.control(), queue, capture.read_broadcast)
        pipelines = builder.build()
        self.place = _one(wanted, pipelines, capture)
        self.fields: Sequence[Field] | None = builder.output_of(self.place.factory(pipelines))
        alone = _alone(self.place, pipelines, capture, queue)
        memory, room = instance_memory(), builder.spill_room()
        self._instance = FragmentInstance(alone, queue, memory=memory, spill=room, cpu_time=True)

    def outputs(self) -> Iterator[Chunk | ChunkRow]:
        """Run it; give the chunks that leave it, or, of an exchange's sink, the chunk rows that it sends."""
        try:
            with closing(execute(self._instance)) as items:
                yield from items
        finally:
            self._instance.memory.close()

    def profile(self) -> dict[str, Any]:
        """Give what the operators counted."""
        return self._instance.metrics()


def _one(wanted: str, pipelines: Sequence[Pipeline], capture: Capture) -> Place:
    found = named(wanted, pipelines)
    if len(found) == 1:
        return found[0]
    problem = "is here more than once, say which by its number" if found else "is not here"
    told = "" if found else _missing(capture)
    raise CaptureError(f"{wanted} {problem}{told}; operators: {', '.join(map(str, found or places(pipelines)))}")


def _missing(capture: Capture) -> str:
    missing = capture.journal.missing_operators()
    return f" ({missing})" if missing else ""


def _alone(place: Place, pipelines: Sequence[Pipeline], capture: Capture, queue: OutputQueue) -> list[Pipeline]:
    """Give the pipelines that run only the operator at ``place`` and the sinks that it goes on from."""
    factory = place.factory(pipelines)
    inputs = inputs_of(place, pipelines)
    if factory.works_with or not inputs:
        reason = f"works with {factory.works_with}" if factory.works_with else "is where chunks come from"
        raise CaptureError(f"{place} {reason}: replay the whole task")
    alone = {}
    for input_ in inputs:
        dop = pipelines[input_.pipeline].dop
        chain = (Recorded(capture, _kept(capture, input_, place, pipelines)), input_.factory(pipelines))
        alone[input_] = Pipeline(id=input_.pipeline, factories=chain, dop=dop)
    whole = pipelines[place.pipeline]
    if factory is not whole.factories[-1]:
        above = alone[place].factories if place in alone else (factory,)
        alone[place] = Pipeline(id=whole.id, factories=(*above, OutputSinkFactory(queue)), dop=whole.dop)
    return list(alone.values())


def _kept(capture: Capture, input_: Place, place: Place, pipelines: Sequence[Pipeline]) -> list[str]:
    names = file_names(input_, pipelines)
    missing = [name for name in names if not capture.has(name)]
    if missing:
        option = f"{PREFIX}capture.operator={place.name}"
        told = f"{capture.folder} has no chunks of {input_} ({missing[0]}): capture with {option}"
        raise CaptureError(f"{told}{_missing(capture)}")
    return names


class RecordedOperator(Operator):
    """Gives the chunks of one file."""

    def __init__(self, capture: Capture, name: str) -> None:
        self._capture = capture
        self._name = name
        self._chunks: Iterator[Chunk] = iter(())
        self._next: Chunk | None = None

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._chunks = self._capture.chunks(self._name)
        self._next = next(self._chunks, None)

    def has_output(self) -> bool:
        return self._next is not None

    def pull_chunk(self) -> Chunk | None:
        chunk, self._next = self._next, next(self._chunks, None)
        return chunk

    def is_finished(self) -> bool:
        return self._next is None

    def set_finished(self) -> None:
        self._chunks, self._next = iter(()), None

    def close(self) -> None:
        self.set_finished()


class Recorded(OperatorFactory):
    """Makes the sources of recorded chunks; ``files`` has one for every driver."""

    name = "Recorded"

    def __init__(self, capture: Capture, files: Sequence[str]) -> None:
        self._capture = capture
        self._files = files

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return RecordedOperator(self._capture, self._files[driver_sequence])
