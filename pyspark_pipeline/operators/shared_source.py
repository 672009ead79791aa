"""The operator of a source whose chunks the drivers of an instance share: the factory holds what remains."""

from __future__ import annotations

from typing import Protocol

from pyspark_pipeline.exec.operator import Chunk, Operator


class SharedChunks(Protocol):
    """The remaining chunks of a source. For several threads."""

    def next_chunk(self) -> Chunk | None:
        """Return the next chunk; None if none is left."""


class SharedSourceOperator(Operator):
    """Takes the next chunk until none is left.

    It finishes only when its own request finds none: no event would wake its driver if another driver took the last
    one.
    """

    def __init__(self, chunks: SharedChunks) -> None:
        self._chunks = chunks
        self._done = False

    def has_output(self) -> bool:
        return not self._done

    def pull_chunk(self) -> Chunk | None:
        chunk = self._chunks.next_chunk()
        self._done = chunk is None
        return chunk

    def is_finished(self) -> bool:
        return self._done

    def set_finished(self) -> None:
        self._done = True
