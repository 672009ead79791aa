"""Replays one operator of a captured task alone, over its recorded input chunks.

The fragment is split into pipelines as in the task. The replay keeps the operator, behind a source of its recorded
chunks, and the sinks of other pipelines that it depends on (the build of a join), each behind such a source. As many
drivers as in the task share one thread, so that every run is the same.
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
from pyspark_pipeline.task.capture_operator import (
    OperatorPosition,
    file_names,
    find_operators,
    operator_positions,
    required_inputs,
)
from pyspark_pipeline.task.memory import instance_memory
from pyspark_pipeline.task.run import make_builder


class OperatorReplay:
    """One replay of the operator ``wanted`` (:func:`~.capture_operator.find_operators`).

    Raises :class:`CaptureError`, which lists the operators, unless exactly one matches, and also if the operator
    cannot run alone or its chunks were not recorded. ``fields`` are the columns of its chunks, None if unknown.
    """

    def __init__(self, capture: Capture, fragment: Fragment, wanted: str) -> None:
        queue = OutputQueue(fragment.settings.options.output_queue_chunks)
        builder = make_builder(fragment, capture.control(), queue, capture.read_broadcast)
        pipelines = builder.build()
        self.position = _find_one(wanted, pipelines, capture)
        self.fields: Sequence[Field] | None = builder.output_of(self.position.factory(pipelines))
        alone = _isolated_pipelines(self.position, pipelines, capture, queue)
        memory, room = instance_memory(), builder.spill_budget()
        self._instance = FragmentInstance(alone, queue, memory=memory, spill=room, cpu_time=True)

    def outputs(self) -> Iterator[Chunk | ChunkRow]:
        """Run the operator; yield its output chunks, or the chunk rows that an exchange's sink sends."""
        try:
            with closing(execute(self._instance)) as items:
                yield from items
        finally:
            self._instance.memory.close()

    def profile(self) -> dict[str, Any]:
        """Return the metrics of the operators."""
        return self._instance.metrics()


def _find_one(wanted: str, pipelines: Sequence[Pipeline], capture: Capture) -> OperatorPosition:
    found = find_operators(wanted, pipelines)
    if len(found) == 1:
        return found[0]
    problem = "is here more than once, say which by its number" if found else "is not here"
    message = "" if found else _missing(capture)
    names = ", ".join(map(str, found or operator_positions(pipelines)))
    raise CaptureError(f"{wanted} {problem}{message}; operators: {names}")


def _missing(capture: Capture) -> str:
    missing = capture.journal.missing_operators()
    return f" ({missing})" if missing else ""


def _isolated_pipelines(
    position: OperatorPosition, pipelines: Sequence[Pipeline], capture: Capture, queue: OutputQueue
) -> list[Pipeline]:
    """Return the pipelines that run only the operator at ``position`` and the sinks that feed it."""
    factory = position.factory(pipelines)
    inputs = required_inputs(position, pipelines)
    if factory.replay_dependencies or not inputs:
        needed = factory.replay_dependencies
        reason = f"works with {needed}" if needed else "is where chunks come from"
        raise CaptureError(f"{position} {reason}: replay the whole task")
    alone = {}
    for input_ in inputs:
        dop = pipelines[input_.pipeline].dop
        chain = (Recorded(capture, _recorded_files(capture, input_, position, pipelines)), input_.factory(pipelines))
        alone[input_] = Pipeline(id=input_.pipeline, factories=chain, dop=dop)
    whole = pipelines[position.pipeline]
    if factory is not whole.factories[-1]:
        above = alone[position].factories if position in alone else (factory,)
        alone[position] = Pipeline(id=whole.id, factories=(*above, OutputSinkFactory(queue)), dop=whole.dop)
    return list(alone.values())


def _recorded_files(
    capture: Capture, input_: OperatorPosition, position: OperatorPosition, pipelines: Sequence[Pipeline]
) -> list[str]:
    names = file_names(input_, pipelines)
    missing = [name for name in names if not capture.has(name)]
    if missing:
        option = f"{PREFIX}capture.operator={position.name}"
        message = f"{capture.folder} has no chunks of {input_} ({missing[0]}): capture with {option}"
        raise CaptureError(f"{message}{_missing(capture)}")
    return names


class RecordedOperator(Operator):
    """Emits the chunks of one file."""

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
    """Creates the sources of recorded chunks; ``files`` has one name per driver."""

    name = "Recorded"

    def __init__(self, capture: Capture, files: Sequence[str]) -> None:
        self._capture = capture
        self._files = files

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return RecordedOperator(self._capture, self._files[driver_sequence])
