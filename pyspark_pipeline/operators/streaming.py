"""Base class of operators that output a chunk for each input chunk, or several if one cannot hold the strings.

If a row of a chunk raises, the rows before it are output first, and the next pull raises the error: a LIMIT downstream
may have enough rows by then, as in Spark, which evaluates one row after another.
"""

from __future__ import annotations

from abc import abstractmethod

import pyarrow as pa

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.exec.operator import Chunk, Operator


class StreamingOperator(Operator):
    """Holds one transformed chunk between ``push_chunk`` and ``pull_chunk``."""

    def __init__(self) -> None:
        self._pending: Chunk | None = None
        self._waiting: list[Chunk] = []  # parts of the input that are not transformed yet, the first one last
        self._failure: SparkConditionError | None = None
        self._finishing = False

    @abstractmethod
    def transform(self, chunk: Chunk) -> Chunk | None:
        """Return the output for one chunk; None or an empty chunk if there are no rows.

        Works row by row: if it raises with ``rows_before`` above 0, the first ``rows_before`` rows raise nothing. Raise
        ``ArrowCapacityError`` if strings of the chunk have more bytes than an Arrow array holds (2 GiB).
        """

    def need_input(self) -> bool:
        return self._pending is None and not self._finishing and self._failure is None

    def push_chunk(self, chunk: Chunk) -> None:
        self._waiting.append(chunk)
        self._transform_next()

    def _transform_next(self) -> None:
        """Transform waiting parts until there is output; halve one whose strings exceed an array."""
        while self._waiting and self._pending is None:
            chunk = self._waiting.pop()
            try:
                made = self._transformed(chunk)
            except pa.ArrowCapacityError:
                if chunk.num_rows <= 1:
                    raise
                middle = chunk.num_rows // 2
                self._waiting += [chunk.slice(middle), chunk.slice(0, middle)]
                continue
            if made is not None and made.num_rows:
                self._pending = made

    def _transformed(self, chunk: Chunk) -> Chunk | None:
        """Transform a chunk, or the rows before the first that raises; then no further row is read."""
        try:
            return self.transform(chunk)
        except SparkConditionError as error:
            made = self.transform(chunk.slice(0, error.rows_before)) if error.rows_before else None
            self._failure = error
            self._waiting.clear()
            return made

    def has_output(self) -> bool:
        return self._pending is not None or self._failure is not None

    def pull_chunk(self) -> Chunk | None:
        made, self._pending = self._pending, None
        if made is None and self._failure is not None:
            raise self._failure
        self._transform_next()
        return made

    def is_finished(self) -> bool:
        return self._finishing and self._pending is None and self._failure is None

    def set_finishing(self) -> None:
        self._finishing = True

    def set_finished(self) -> None:
        self._finishing = True
        self._pending = self._failure = None
        self._waiting.clear()

    def close(self) -> None:
        self._pending = None
        self._waiting.clear()
