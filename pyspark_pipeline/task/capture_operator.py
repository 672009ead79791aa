"""Keeps the chunks that enter single operators of a task, so that one of them runs again alone.

A file for every driver of such a place, ``chunks-PIPELINE.INDEX-driver-N.arrow``. What an operator goes on with from
other pipelines (the table of a join) is kept as the chunks that entered their sinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark_pipeline.exec import Chunk, OperatorFactory, Pipeline
from pyspark_pipeline.exec.topology import operator_needs
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.task.capture_files import CaptureFiles, ChunkFile


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """An operator of an instance: its pipeline, its place in that (0 is the source), its name."""

    pipeline: int
    index: int
    name: str

    @property
    def number(self) -> str:
        """Pipeline and place, as in ``0.1``."""
        return f"{self.pipeline}.{self.index}"

    def __str__(self) -> str:
        return f"{self.number} {self.name}"

    def factory(self, pipelines: Sequence[Pipeline]) -> OperatorFactory:
        """Give the factory that stands here."""
        return pipelines[self.pipeline].factories[self.index]


def places(pipelines: Sequence[Pipeline]) -> list[Place]:
    """List the places of all operators, pipeline by pipeline, each from its source on."""
    return [Place(p.id, index, factory.name) for p in pipelines for index, factory in enumerate(p.factories)]


def words(wanted: str) -> list[str]:
    """Split what ``capture.operator`` says."""
    return [word for word in map(str.strip, wanted.split(",")) if word]


def named(wanted: str, pipelines: Sequence[Pipeline]) -> list[Place]:
    """Give the places that ``wanted`` means: a number (``0.1``), a name, which several may have; commas between."""
    each = words(wanted)
    return [place for place in places(pipelines) if place.name in each or place.number in each]


def inputs_of(place: Place, pipelines: Sequence[Pipeline]) -> list[Place]:
    """Give the places whose chunks let the operator at ``place`` run alone: its own, and sinks that it goes on from."""
    needed = operator_needs(pipelines[place.pipeline], pipelines).get(place.index, [])
    sinks = [Place(p.id, len(p.factories) - 1, p.factories[-1].name) for p in pipelines if p.id in needed]
    return [*sinks, place] if place.index else sinks


class OperatorRecorder:
    """Keeps among ``files`` what enters the operators that ``wanted`` means; notes which of them are not there.

    It is called with each chunk that moves and with the operator that gave it, on the thread of that driver.
    """

    def __init__(self, files: CaptureFiles, wanted: str) -> None:
        self._capture = files
        self._wanted = wanted
        self._files: dict[tuple[int, int, int], ChunkFile] = {}

    def open(self, pipelines: Sequence[Pipeline]) -> None:
        """Make the files. Raises :class:`CaptureError` where the folder takes none."""
        wanted = words(self._wanted)
        self._capture.keep_operators(wanted, [word for word in wanted if not named(word, pipelines)])
        for operator in named(self._wanted, pipelines):
            for place in inputs_of(operator, pipelines):
                for driver, name in enumerate(file_names(place, pipelines)):
                    key = (place.pipeline, place.index, driver)
                    if key not in self._files:
                        self._files[key] = self._capture.open(name)

    def __call__(self, chunk: Chunk, operator: OperatorId) -> None:
        """Keep a chunk that leaves ``operator`` where what it enters is among the kept."""
        file = self._files.get((operator.pipeline, operator.index + 1, operator.driver))
        if file is not None:
            file.write(chunk)

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


def file_names(place: Place, pipelines: Sequence[Pipeline]) -> list[str]:
    """Name the files of a place, by driver."""
    return [f"chunks-{place.number}-driver-{n}.arrow" for n in range(pipelines[place.pipeline].dop)]
