"""The files of a capture: each message adds a checkpoint to the journal, and all files share a size limit.

A file of chunks is a sequence of Arrow IPC streams, a new one whenever the column types change (a string column may be
dictionary-encoded or not). Captures hold the user's data: files are 0600 in a private folder. A capture that cannot be
written any further ends with a warning; the task continues.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa

from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.private_folder import UnsafePathError
from pyspark_pipeline.task.capture_folder import make_folder, open_private
from pyspark_pipeline.task.capture_journal import Checkpoint, Ending, JournalWriter


class CaptureFiles:
    """Writes the files below ``folder``, together at most about ``max_bytes`` bytes.

    A message that does not fit truncates the capture: it and all later messages of any file are dropped, so that all
    files end at the same time. Drivers write their own files from any thread; ``_lock`` guards the shared state.
    Raises :class:`CaptureError` if the folder cannot be written, or is another user's; the journal ends there.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self._nbytes = 0
        self._is_cut = False
        self._is_closed = False
        self._files: list[ChunkFile] = []
        self._lock = threading.Lock()
        with self.writing(folder):
            make_folder(folder)
            self._journal = JournalWriter(folder)

    def keep(self, name: str, content: bytes) -> None:
        """Write a whole file."""
        if self.reserve(len(content)):
            path = self.folder / name
            with self.writing(path), open_private(path) as file:
                file.write(content)
            self.checkpoint(name, Checkpoint(len(content), crc32(content)))

    def open(self, name: str) -> ChunkFile:
        """Create a file for chunks."""
        file = ChunkFile(self, name)
        self._files.append(file)
        return file

    def note_operators(self, wanted: Sequence[str], missing: Sequence[str]) -> None:
        """Record the requested operators and those of them that the fragment lacks."""
        with self._lock:
            self._note({"operators": list(wanted), "missing": list(missing)})

    def reserve(self, nbytes: int) -> bool:
        """Reserve ``nbytes`` for a message; return False if the capture has ended or is truncated by this message."""
        with self._lock:
            if self._is_cut or self._is_closed:
                return False
            if self._nbytes + nbytes > self._max_bytes:
                self._is_cut = True
                self._note({"cut": self._max_bytes})
                return False
            self._nbytes += nbytes
            return True

    def checkpoint(self, name: str, checkpoint: Checkpoint, unused: int = 0) -> None:
        """Record a file's checkpoint in the journal and return ``unused`` reserved bytes."""
        with self._lock:
            self._nbytes -= unused
            self._note({"file": name, "bytes": checkpoint.nbytes, "crc32": checkpoint.crc})

    def end(self, ending: Ending) -> None:
        """Close all files and record the task's ending as the last entry; omitted if the disk is full."""
        for file in self._files:
            file.close()
        with suppress(CaptureError), self._lock:
            self._note({"end": ending.value})
        self._is_closed = True

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """Convert an OSError of the body to a :class:`CaptureError` and close the journal."""
        try:
            yield
        except OSError as error:
            self._is_closed = True
            why = error.strerror if isinstance(error, UnsafePathError) else error
            raise CaptureError(f"a task cannot be captured, {path} cannot be written: {why}") from error

    def _note(self, entry: Mapping[str, Any]) -> None:
        if not self._is_closed:
            with self.writing(self.folder):
                self._journal.append(entry)


class _ChecksummedFile:
    """A new file that tracks the length and the checksum of the written bytes."""

    def __init__(self, path: Path) -> None:
        self.checkpoint = Checkpoint(0, 0)
        self._file = open_private(path)

    @property
    def closed(self) -> bool:
        return self._file.closed

    def write(self, data: Any) -> int:
        nbytes = memoryview(data).nbytes
        self.checkpoint = Checkpoint(self.checkpoint.nbytes + nbytes, crc32(data, self.checkpoint.crc))
        self._file.write(data)
        return nbytes

    def tell(self) -> int:
        return self.checkpoint.nbytes

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class ChunkFile:
    """Writes a file of chunks of any types; created by :meth:`CaptureFiles.open`."""

    def __init__(self, files: CaptureFiles, name: str) -> None:
        self._files = files
        self._name = name
        self._path = files.folder / name
        self._writer: pa.RecordBatchStreamWriter | None = None
        self._schema: pa.Schema | None = None
        with files.writing(self._path):
            self._file = _ChecksummedFile(self._path)
        files.checkpoint(name, self._file.checkpoint)

    def write(self, chunk: pa.RecordBatch) -> None:
        """Append a chunk, unless the capture has ended. If the disk is full, the capture ends with a warning."""
        nbytes = max(chunk.nbytes, pa.ipc.get_record_batch_size(chunk))
        try:
            if self._files.reserve(nbytes):
                self._write(chunk, nbytes)
        except CaptureError as error:
            warn(error)

    def _write(self, chunk: pa.RecordBatch, nbytes: int) -> None:
        before = self._file.tell()
        with self._files.writing(self._path):
            if self._writer is None or chunk.schema != self._schema:
                self._end_stream()
                self._schema = chunk.schema
                self._writer = pa.ipc.new_stream(pa.PythonFile(self._file, mode="w"), chunk.schema)
            self._writer.write_batch(chunk)
            self._file.flush()
        self._files.checkpoint(self._name, self._file.checkpoint, nbytes - (self._file.tell() - before))

    def close(self) -> None:
        """Close the file. Idempotent; if the disk is full, the capture has no end."""
        if self._file.closed:
            return
        with suppress(CaptureError):
            with self._files.writing(self._path):
                try:
                    self._end_stream()
                finally:
                    self._file.close()
            self._files.checkpoint(self._name, self._file.checkpoint)

    def _end_stream(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()


def warn(error: CaptureError) -> None:
    """Print a warning to the worker's standard error: the task is not, or no longer, captured; the task continues."""
    print(f"pyspark_pipeline: WARN {error}; the query goes on without it", file=sys.stderr)


def read_chunks(path: Path, nbytes: int) -> Iterator[pa.RecordBatch]:
    """Yield the chunks in the first ``nbytes`` bytes of a file. Raises :class:`CaptureError` if it cannot be read."""
    try:
        with pa.OSFile(str(path), "rb") as file:
            while file.tell() < nbytes:
                for chunk in pa.ipc.open_stream(file):
                    yield chunk
                    if file.tell() >= nbytes:  # after a kill the stream ends with a partial message
                        break
    except (OSError, pa.ArrowException) as error:
        raise CaptureError(f"{path} cannot be read: {error}") from error
