"""Records the input chunks of single operators of a task, so that one of them can be replayed alone.

Every driver of a recorded operator has a file, ``chunks-PIPELINE.INDEX-driver-N.arrow``. State that an operator gets
from other pipelines (the hash table of a join) is recorded as the input chunks of their sinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.exec import Chunk, OperatorFactory, Pipeline
from pyspark_pipeline.exec.topology import operator_needs
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.task.capture_files import CaptureFiles, ChunkFile, warn


@dataclass(frozen=True, slots=True, order=True)
class OperatorPosition:
    """The position of an operator in an instance: pipeline, index there (0 is the source), and operator name."""

    pipeline: int
    index: int
    name: str

    @property
    def number(self) -> str:
        """Pipeline and index, as in ``0.1``."""
        return f"{self.pipeline}.{self.index}"

    def __str__(self) -> str:
        return f"{self.number} {self.name}"

    def factory(self, pipelines: Sequence[Pipeline]) -> OperatorFactory:
        """Return the operator factory at this position."""
        return pipelines[self.pipeline].factories[self.index]


def operator_positions(pipelines: Sequence[Pipeline]) -> list[OperatorPosition]:
    """Return the positions of all operators, pipeline by pipeline, from source to sink."""
    return [OperatorPosition(p.id, index, factory.name) for p in pipelines for index, factory in enumerate(p.factories)]


def split_names(wanted: str) -> list[str]:
    """Split the value of ``capture.operator``."""
    return [word for word in map(str.strip, wanted.split(",")) if word]


def find_operators(wanted: str, pipelines: Sequence[Pipeline]) -> list[OperatorPosition]:
    """Return the positions of the operators in ``wanted``: numbers (``0.1``) or names, separated by commas."""
    each = split_names(wanted)
    return [position for position in operator_positions(pipelines) if position.name in each or position.number in each]


def required_inputs(position: OperatorPosition, pipelines: Sequence[Pipeline]) -> list[OperatorPosition]:
    """Return the positions whose input chunks suffice to replay one operator: its own, and the sinks that feed it."""
    needed = operator_needs(pipelines[position.pipeline], pipelines).get(position.index, [])
    sinks = [OperatorPosition(p.id, len(p.factories) - 1, p.factories[-1].name) for p in pipelines if p.id in needed]
    return [*sinks, position] if position.index else sinks


class OperatorRecorder:
    """Records in ``files`` the input chunks of the operators in ``wanted``; notes those that do not exist.

    The driver calls it, on its own thread, with each chunk that moves and the operator that produced it.
    """

    def __init__(self, files: CaptureFiles, wanted: str) -> None:
        self._capture = files
        self._wanted = wanted
        self._files: dict[tuple[int, int, int], ChunkFile] = {}

    def open(self, pipelines: Sequence[Pipeline]) -> None:
        """Create the files. If the folder cannot be written, the capture ends with a warning."""
        try:
            self._open(pipelines)
        except CaptureError as error:
            warn(error)

    def _open(self, pipelines: Sequence[Pipeline]) -> None:
        wanted = split_names(self._wanted)
        self._capture.note_operators(wanted, [word for word in wanted if not find_operators(word, pipelines)])
        for operator in find_operators(self._wanted, pipelines):
            for position in required_inputs(operator, pipelines):
                for driver, name in enumerate(file_names(position, pipelines)):
                    key = (position.pipeline, position.index, driver)
                    if key not in self._files:
                        self._files[key] = self._capture.open(name)

    def __call__(self, chunk: Chunk, operator: OperatorId) -> None:
        """Record a chunk that leaves ``operator`` if the next operator is recorded."""
        file = self._files.get((operator.pipeline, operator.index + 1, operator.driver))
        if file is not None:
            file.write(chunk)

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


def file_names(position: OperatorPosition, pipelines: Sequence[Pipeline]) -> list[str]:
    """Return the file names of a position, one per driver."""
    return [f"chunks-{position.number}-driver-{n}.arrow" for n in range(pipelines[position.pipeline].dop)]
