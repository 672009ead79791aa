"""Keeps the chunks that enter single operators of a task, so that one of them runs again alone.

A file for every driver of such a place, ``chunks-PIPELINE.INDEX-driver-N.arrow``: Arrow IPC streams one after another,
a new one where the columns' types change (a string column may come by dictionary or not). What an operator goes on
with from other pipelines (the table of a join) is kept as the chunks that entered their sinks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.exec import Chunk, OperatorFactory, Pipeline
from pyspark_pipeline.exec.topology import operator_needs
from pyspark_pipeline.ids import OperatorId


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


def named(wanted: str, pipelines: Sequence[Pipeline]) -> list[Place]:
    """Give the places that ``wanted`` means: a number (``0.1``), a name, which several may have; commas between."""
    each = {word.strip() for word in wanted.split(",")}
    return [place for place in places(pipelines) if place.name in each or place.number in each]


def inputs_of(place: Place, pipelines: Sequence[Pipeline]) -> list[Place]:
    """Give the places whose chunks let the operator at ``place`` run alone: its own, and sinks that it goes on from."""
    needed = operator_needs(pipelines[place.pipeline], pipelines).get(place.index, [])
    sinks = [Place(p.id, len(p.factories) - 1, p.factories[-1].name) for p in pipelines if p.id in needed]
    return [*sinks, place] if place.index else sinks


class OperatorRecorder:
    """Keeps, below ``folder``, what enters the operators that ``wanted`` means; an instance without them keeps nothing.

    It is called with each chunk that moves and with the operator that gave it, on the thread of that driver.
    """

    def __init__(self, folder: Path, wanted: str) -> None:
        self._folder = folder
        self._wanted = wanted
        self._files: dict[tuple[int, int, int], ChunkFile] = {}

    def open(self, pipelines: Sequence[Pipeline]) -> None:
        """Make the files. Raises :class:`CaptureError` where the folder takes none."""
        for wanted in named(self._wanted, pipelines):
            for place in inputs_of(wanted, pipelines):
                for driver, path in enumerate(paths(self._folder, place, pipelines)):
                    key = (place.pipeline, place.index, driver)
                    if key not in self._files:
                        self._files[key] = ChunkFile(path)

    def __call__(self, chunk: Chunk, operator: OperatorId) -> None:
        """Keep a chunk that leaves ``operator`` where what it enters is among the kept."""
        file = self._files.get((operator.pipeline, operator.index + 1, operator.driver))
        if file is not None:
            file.write(chunk)

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


def paths(folder: Path, place: Place, pipelines: Sequence[Pipeline]) -> list[Path]:
    """Name the files of a place, by driver."""
    return [folder / f"chunks-{place.number}-driver-{n}.arrow" for n in range(pipelines[place.pipeline].dop)]


class ChunkFile:
    """A file of chunks of any types, to write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pa.RecordBatchStreamWriter | None = None
        self._schema: pa.Schema | None = None
        try:
            self._file = pa.OSFile(str(path), "wb")
        except OSError as error:
            raise CaptureError(f"{path} cannot be written: {error}") from error

    def write(self, chunk: Chunk) -> None:
        """Append a chunk. Raises :class:`CaptureError` where the disk takes no more."""
        try:
            if self._writer is None or chunk.schema != self._schema:
                if self._writer is not None:
                    self._writer.close()
                self._schema = chunk.schema
                self._writer = pa.ipc.new_stream(self._file, chunk.schema)
            self._writer.write_batch(chunk)
        except OSError as error:
            raise CaptureError(f"{self._path} cannot be written: {error}") from error

    def close(self) -> None:
        """End the file. Repeatable."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        self._file.close()


def read_chunks(path: Path) -> Iterator[Chunk]:
    """Give the chunks of a file in their order. Raises :class:`CaptureError` where it cannot be read."""
    try:
        with pa.OSFile(str(path), "rb") as file:
            end = file.size()
            while file.tell() < end:
                yield from pa.ipc.open_stream(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise CaptureError(f"{path} cannot be read: {error}") from error
