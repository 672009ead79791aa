"""Spill files: chunks written to Spark's local disks and read back in the order of writing.

A file has no name: it is unlinked when it is created (or never linked, if the system supports that), so it is gone when
it is closed, and also when the process is killed. The directories are those that Spark assigns to its worker
(``SPARK_LOCAL_DIRS``, on YARN ``LOCAL_DIRS``), used in turn, else the system's for temporary files. Compression and the
limit on an instance's total bytes: :mod:`~.spill_budget`.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

import pyarrow as pa

from pyspark_pipeline.errors import EngineBugError, ResourceExhaustedError
from pyspark_pipeline.memory.spill_budget import SpillBudget
from pyspark_pipeline.metrics import OperatorMetrics, declare_counter

SPILLED_BYTES = declare_counter("spilled_bytes", "Bytes written to spill files", unit="bytes")
SPILLED_MEMORY = declare_counter("spilled_memory", "Bytes that what was spilled had in memory", unit="bytes")
SPILL_FILES = declare_counter("spill_files", "Spill files written", unit="files")

_VARIABLES = ("SPARK_LOCAL_DIRS", "LOCAL_DIRS")
_TURN = itertools.count(os.getpid())


def spill_directories() -> list[str]:
    """Return the directories for spill files; at least one."""
    for variable in _VARIABLES:
        named = [path.strip() for path in os.environ.get(variable, "").split(",") if path.strip()]
        if named:
            return named
    return [tempfile.gettempdir()]


class SpillFile:
    """Chunks of equal column types: all are written first, then read any number of times.

    A string column is dictionary-encoded in all chunks if it is so in the first, else in none. ``nbytes`` is the size
    on disk so far, ``memory_bytes`` the size of the chunks in memory, and ``rows`` the number of rows.
    """

    def __init__(self, handle: IO[bytes], budget: SpillBudget) -> None:
        self.rows = 0
        self.nbytes = 0
        self.memory_bytes = 0
        self._handle = handle
        self._budget: SpillBudget | None = budget
        self._options = pa.ipc.IpcWriteOptions(
            compression=None if budget.codec == "none" else budget.codec, use_threads=False
        )
        self._schema: pa.Schema | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None
        self._finished = False

    def write(self, chunk: pa.RecordBatch) -> None:
        """Append a chunk; raise :class:`ResourceExhaustedError` if the disk is full or the spill budget exceeded."""
        if self._schema is None:
            self._schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(chunk.schema.types)])
        conformed = _conformed(chunk, self._schema)
        try:
            if self._writer is None:
                file = pa.PythonFile(self._handle, mode="w")
                self._writer = pa.ipc.new_stream(file, self._schema, options=self._options)
            self._writer.write_batch(conformed)
            self._count()
        except OSError as error:
            raise _refused(chunk.nbytes, error) from error
        self.rows += chunk.num_rows
        self.memory_bytes += chunk.nbytes

    def finish(self) -> None:
        """Flush buffered bytes; no chunk may be written afterwards."""
        try:
            if self._writer is not None:
                self._writer.close()
                self._handle.flush()
            self._count()
        except OSError as error:
            raise _refused(io.DEFAULT_BUFFER_SIZE, error) from error
        self._writer = None
        self._finished = True

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield the chunks in order. One reader at a time: a new call restarts and invalidates an earlier one.

        Raises :class:`ResourceExhaustedError` if the disk cannot be read.
        """
        if not self._finished:
            raise EngineBugError("a spill file is read before it is finished")
        if not self.nbytes:
            return
        options = pa.ipc.IpcReadOptions(use_threads=False)
        try:
            self._handle.seek(0)
            with pa.ipc.open_stream(pa.PythonFile(self._handle, mode="r"), options=options) as reader:
                yield from reader
        except (OSError, pa.ArrowInvalid) as error:
            raise ResourceExhaustedError(f"a spill file of {self.nbytes} bytes cannot be read back: {error}") from error

    def close(self) -> None:
        """Free the disk space. Idempotent; a failure to write buffered bytes is ignored."""
        self._writer = None
        with contextlib.suppress(OSError):
            self._handle.close()
        if self._budget is not None:
            self._budget.release(self.nbytes)
            self._budget = None

    def _count(self) -> None:
        size = self._handle.tell()
        if self._budget is not None:
            self._budget.reserve(size - self.nbytes)
        self.nbytes = size


def count_spill(metrics: OperatorMetrics, files: Sequence[SpillFile]) -> None:
    """Add finished files to the spill counters."""
    metrics.add(SPILL_FILES, len(files))
    metrics.add(SPILLED_BYTES, sum(file.nbytes for file in files))
    metrics.add(SPILLED_MEMORY, sum(file.memory_bytes for file in files))


def _refused(asked: int, error: OSError) -> ResourceExhaustedError:
    return ResourceExhaustedError(f"no spill file can be written: asked the disk for {asked} bytes: {error}")


def _conformed(chunk: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a chunk with the schema's names and dictionary encodings."""
    if not chunk.num_columns:
        return chunk
    columns = [_as(column, kind) for column, kind in zip(chunk.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
    return plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain


class SpillFiles:
    """The spill files of one operator of one task attempt; not for several threads at once."""

    def __init__(self, budget: SpillBudget) -> None:
        self._budget = budget
        self._open: list[SpillFile] = []

    def create(self) -> SpillFile:
        """Create an empty file; raise :class:`ResourceExhaustedError` if that fails in every directory."""
        directories = spill_directories()
        turn = next(_TURN)
        failure: OSError | None = None
        for i in range(len(directories)):
            try:
                handle = tempfile.TemporaryFile(dir=directories[(turn + i) % len(directories)])
            except OSError as error:
                failure = error
                continue
            made = SpillFile(handle, self._budget)
            self._open.append(made)
            return made
        raise ResourceExhaustedError(f"no spill file can be made in {', '.join(directories)}: {failure}") from failure

    def drop(self, file: SpillFile) -> None:
        """Close one file early."""
        file.close()
        if file in self._open:
            self._open.remove(file)

    def close(self) -> None:
        """Close all files. Idempotent."""
        files, self._open = self._open, []
        for file in files:
            file.close()

    def __len__(self) -> int:
        return len(self._open)
