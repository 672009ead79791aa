"""Spill files: chunks put aside on Spark's local disks and read back in the order they were written.

A file has no name: it is unlinked as it is made (or never linked, where the system can), so it is gone when it
is closed, and also when the process is killed. The directories are those Spark gives its worker
(``SPARK_LOCAL_DIRS``, on YARN ``LOCAL_DIRS``), taken in turn, else the system's for temporary files. How
files are compressed, and how many bytes all of an instance may have: :mod:`~.spill_room`.
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
from pyspark_pipeline.memory.spill_room import SpillRoom
from pyspark_pipeline.metrics import OperatorMetrics, declare_counter

SPILLED_BYTES = declare_counter("spilled_bytes", "Bytes written to spill files", unit="bytes")
SPILLED_MEMORY = declare_counter("spilled_memory", "Bytes that what was spilled had in memory", unit="bytes")
SPILL_FILES = declare_counter("spill_files", "Spill files written", unit="files")

_VARIABLES = ("SPARK_LOCAL_DIRS", "LOCAL_DIRS")
_TURN = itertools.count(os.getpid())


def spill_directories() -> list[str]:
    """List the directories for spill files; at least one."""
    for variable in _VARIABLES:
        named = [path.strip() for path in os.environ.get(variable, "").split(",") if path.strip()]
        if named:
            return named
    return [tempfile.gettempdir()]


class SpillFile:
    """Chunks of equal column types: first all are written, then they are read, once or again.

    Where chunks differ in which strings are dictionaries, all become as they are in the first. ``nbytes`` is the
    size on disk so far, ``memory_bytes`` what the chunks had in memory, and ``rows`` counts the rows.
    """

    def __init__(self, handle: IO[bytes], room: SpillRoom) -> None:
        self.rows = 0
        self.nbytes = 0
        self.memory_bytes = 0
        self._handle = handle
        self._room: SpillRoom | None = room
        self._options = pa.ipc.IpcWriteOptions(
            compression=None if room.codec == "none" else room.codec, use_threads=False
        )
        self._schema: pa.Schema | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None
        self._finished = False

    def write(self, chunk: pa.RecordBatch) -> None:
        """Append a chunk. Raises :class:`ResourceExhaustedError` where the disk takes no more, or there is no room."""
        if self._schema is None:
            self._schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(chunk.schema.types)])
        fitting = _fitted(chunk, self._schema)
        try:
            if self._writer is None:
                file = pa.PythonFile(self._handle, mode="w")
                self._writer = pa.ipc.new_stream(file, self._schema, options=self._options)
            self._writer.write_batch(fitting)
            self._count()
        except OSError as error:
            raise _refused(chunk.nbytes, error) from error
        self.rows += chunk.num_rows
        self.memory_bytes += chunk.nbytes

    def finish(self) -> None:
        """Write what is still buffered; no chunk may come after."""
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
        """Give the chunks in order. One reader at a time: a later call begins anew and ends an earlier one.

        Raises :class:`ResourceExhaustedError` where the disk does not give them back.
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
        """Give the disk space back. Repeatable; what is still buffered need not reach a disk that takes no more."""
        self._writer = None
        with contextlib.suppress(OSError):
            self._handle.close()
        if self._room is not None:
            self._room.give_back(self.nbytes)
            self._room = None

    def _count(self) -> None:
        size = self._handle.tell()
        if self._room is not None:
            self._room.take(size - self.nbytes)
        self.nbytes = size


def count_spill(metrics: OperatorMetrics, files: Sequence[SpillFile]) -> None:
    """Count files that are finished."""
    metrics.add(SPILL_FILES, len(files))
    metrics.add(SPILLED_BYTES, sum(file.nbytes for file in files))
    metrics.add(SPILLED_MEMORY, sum(file.memory_bytes for file in files))


def _refused(asked: int, error: OSError) -> ResourceExhaustedError:
    return ResourceExhaustedError(f"no spill file can be written: asked the disk for {asked} bytes: {error}")


def _fitted(chunk: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Give a chunk the schema's names, and its dictionaries."""
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

    def __init__(self, room: SpillRoom) -> None:
        self._room = room
        self._open: list[SpillFile] = []

    def create(self) -> SpillFile:
        """Make an empty file. Raises :class:`ResourceExhaustedError` where no directory takes one."""
        directories = spill_directories()
        turn = next(_TURN)
        failure: OSError | None = None
        for i in range(len(directories)):
            try:
                handle = tempfile.TemporaryFile(dir=directories[(turn + i) % len(directories)])
            except OSError as error:
                failure = error
                continue
            made = SpillFile(handle, self._room)
            self._open.append(made)
            return made
        raise ResourceExhaustedError(f"no spill file can be made in {', '.join(directories)}: {failure}") from failure

    def drop(self, file: SpillFile) -> None:
        """Close one file early."""
        file.close()
        if file in self._open:
            self._open.remove(file)

    def close(self) -> None:
        """Close all files. Repeatable."""
        files, self._open = self._open, []
        for file in files:
            file.close()

    def __len__(self) -> int:
        return len(self._open)
