"""The files of a capture, written a message at a time: each has a mark in the journal, together they have a limit.

A file of chunks is Arrow IPC streams one after another, a new one where the columns' types change (a string column may
come by dictionary or not).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa

from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.task.capture_journal import Ending, JournalWriter, Mark


class CaptureFiles:
    """The files below ``folder``, to write, of about ``max_bytes`` bytes together at most.

    A message that does not fit cuts the capture: it and all that come after are dropped, from whichever file, so that
    the files end at the same time. Drivers write their own files from any thread; ``_lock`` guards what they share.
    Raises :class:`CaptureError` where the folder cannot be written; the journal says nothing after that.
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
            folder.mkdir(parents=True, exist_ok=True)
            self._journal = JournalWriter(folder)

    def keep(self, name: str, content: bytes) -> None:
        """Write a whole file."""
        if self.reserve(len(content)):
            path = self.folder / name
            with self.writing(path):
                path.write_bytes(content)
            self.mark(name, Mark(len(content), crc32(content)))

    def open(self, name: str) -> ChunkFile:
        """Make a file for chunks."""
        file = ChunkFile(self, name)
        self._files.append(file)
        return file

    def keep_operators(self, wanted: Sequence[str], missing: Sequence[str]) -> None:
        """Note what operators were asked for, and which of them are not there."""
        with self._lock:
            self._note({"operators": list(wanted), "missing": list(missing)})

    def reserve(self, nbytes: int) -> bool:
        """Say whether a message of so many bytes may be written; the first that may not cuts the capture."""
        with self._lock:
            if self._is_cut or self._is_closed:
                return False
            if self._nbytes + nbytes > self._max_bytes:
                self._is_cut = True
                self._note({"cut": self._max_bytes})
                return False
            self._nbytes += nbytes
            return True

    def mark(self, name: str, mark: Mark, unused: int = 0) -> None:
        """Note how far a file is whole; of what was reserved for that, so many bytes were not needed."""
        with self._lock:
            self._nbytes -= unused
            self._note({"file": name, "bytes": mark.nbytes, "crc32": mark.crc})

    def end(self, ending: Ending) -> None:
        """Close all files and say how the task ended; nothing comes later. Where the disk has no room: no end."""
        for file in self._files:
            file.close()
        with suppress(CaptureError), self._lock:
            self._note({"end": ending.value})
        self._is_closed = True

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """Turn an OSError of the body into a :class:`CaptureError`, after which the journal is closed."""
        try:
            yield
        except OSError as error:
            self._is_closed = True
            raise CaptureError(f"a task cannot be captured, {path} cannot be written: {error}") from error

    def _note(self, entry: Mapping[str, Any]) -> None:
        if not self._is_closed:
            with self.writing(self.folder):
                self._journal.append(entry)


class _Summed:
    """A new file that counts and sums what is written to it."""

    def __init__(self, path: Path) -> None:
        self.mark = Mark(0, 0)
        self._file = path.open("wb")

    @property
    def closed(self) -> bool:
        return self._file.closed

    def write(self, data: Any) -> int:
        nbytes = memoryview(data).nbytes
        self.mark = Mark(self.mark.nbytes + nbytes, crc32(data, self.mark.crc))
        self._file.write(data)
        return nbytes

    def tell(self) -> int:
        return self.mark.nbytes

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class ChunkFile:
    """A file of chunks of any types, to write; made by :meth:`CaptureFiles.open`."""

    def __init__(self, files: CaptureFiles, name: str) -> None:
        self._files = files
        self._name = name
        self._path = files.folder / name
        self._writer: pa.RecordBatchStreamWriter | None = None
        self._schema: pa.Schema | None = None
        with files.writing(self._path):
            self._file = _Summed(self._path)
        files.mark(name, self._file.mark)

    def write(self, chunk: pa.RecordBatch) -> None:
        """Append a chunk, unless the capture is cut. Raises :class:`CaptureError` where the disk takes no more."""
        nbytes = max(chunk.nbytes, pa.ipc.get_record_batch_size(chunk))
        if not self._files.reserve(nbytes):
            return
        before = self._file.tell()
        with self._files.writing(self._path):
            if self._writer is None or chunk.schema != self._schema:
                self._end_stream()
                self._schema = chunk.schema
                self._writer = pa.ipc.new_stream(pa.PythonFile(self._file, mode="w"), chunk.schema)
            self._writer.write_batch(chunk)
            self._file.flush()
        self._files.mark(self._name, self._file.mark, nbytes - (self._file.tell() - before))

    def close(self) -> None:
        """End the file. Repeatable; where the disk has no room, the capture stays without an end."""
        if self._file.closed:
            return
        with suppress(CaptureError):
            with self._files.writing(self._path):
                try:
                    self._end_stream()
                finally:
                    self._file.close()
            self._files.mark(self._name, self._file.mark)

    def _end_stream(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()


def read_chunks(path: Path, nbytes: int) -> Iterator[pa.RecordBatch]:
    """Give the chunks in the first ``nbytes`` bytes of a file. Raises :class:`CaptureError` where it cannot be read."""
    try:
        with pa.OSFile(str(path), "rb") as file:
            while file.tell() < nbytes:
                for chunk in pa.ipc.open_stream(file):
                    yield chunk
                    if file.tell() >= nbytes:  # of a killed task: its stream has no end, but half a message
                        break
    except (OSError, pa.ArrowException) as error:
        raise CaptureError(f"{path} cannot be read: {error}") from error
