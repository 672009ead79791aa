"""Base class of operators that output at most one chunk for each input chunk.

If a row of a chunk raises, the rows before it are output first, and the next pull raises the error: a LIMIT downstream
may have enough rows by then, as in Spark, which evaluates one row after another.
"""

from __future__ import annotations

from abc import abstractmethod

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.exec.operator import Chunk, Operator


class StreamingOperator(Operator):
    """Holds one transformed chunk between ``push_chunk`` and ``pull_chunk``."""

    def __init__(self) -> None:
        self._pending: Chunk | None = None
        self._failure: SparkConditionError | None = None
        self._finishing = False

    @abstractmethod
    def transform(self, chunk: Chunk) -> Chunk | None:
        """Return the output for one chunk; None or an empty chunk if there are no rows.

        Works row by row: if it raises with ``rows_before`` above 0, the first ``rows_before`` rows raise nothing.
        """

    def need_input(self) -> bool:
        return self._pending is None and not self._finishing and self._failure is None

    def push_chunk(self, chunk: Chunk) -> None:
        try:
            made = self.transform(chunk)
        except SparkConditionError as error:
            self._failure = error
            made = self.transform(chunk.slice(0, error.rows_before)) if error.rows_before else None
        if made is not None and made.num_rows:
            self._pending = made

    def has_output(self) -> bool:
        return self._pending is not None or self._failure is not None

    def pull_chunk(self) -> Chunk | None:
        made, self._pending = self._pending, None
        if made is None and self._failure is not None:
            raise self._failure
        return made

    def is_finished(self) -> bool:
        return self._finishing and self._pending is None and self._failure is None

    def set_finishing(self) -> None:
        self._finishing = True

    def set_finished(self) -> None:
        self._finishing = True
        self._pending = self._failure = None

    def close(self) -> None:
        self._pending = None
