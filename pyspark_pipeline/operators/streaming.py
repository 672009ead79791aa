"""The shape of operators that give at most one chunk for each they take."""

from __future__ import annotations

from abc import abstractmethod

from pyspark_pipeline.exec.operator import Chunk, Operator


class StreamingOperator(Operator):
    """Holds one transformed chunk between ``push_chunk`` and ``pull_chunk``."""

    def __init__(self) -> None:
        self._pending: Chunk | None = None
        self._finishing = False

    @abstractmethod
    def transform(self, chunk: Chunk) -> Chunk | None:
        """Give the output for one chunk; None or no rows where there is none."""

    def need_input(self) -> bool:
        return self._pending is None and not self._finishing

    def push_chunk(self, chunk: Chunk) -> None:
        made = self.transform(chunk)
        if made is not None and made.num_rows:
            self._pending = made

    def has_output(self) -> bool:
        return self._pending is not None

    def pull_chunk(self) -> Chunk | None:
        made, self._pending = self._pending, None
        return made

    def is_finished(self) -> bool:
        return self._finishing and self._pending is None

    def set_finishing(self) -> None:
        self._finishing = True

    def set_finished(self) -> None:
        self._finishing = True
        self._pending = None

    def close(self) -> None:
        self._pending = None
