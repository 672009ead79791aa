"""Records the input of a task, so that its fragment instance can be replayed without Spark, e.g. under a debugger.

A capture is a folder: ``fragment.json``, ``input.arrow`` (the chunk rows of the task, the control message first), a
``broadcast-ID.arrow`` (its messages) for every broadcast of the fragment, and a journal with their checksums
(:mod:`~.capture_journal`). Files that the fragment scans are not copied. The input of single operators can be recorded
too (:mod:`~.capture_operator`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.exchange import ERROR, ChunkRow, pack_rows
from pyspark_pipeline.exchange.broadcast import Message, ReadBroadcast
from pyspark_pipeline.exchange.chunk_row import CHUNK_ROW_SCHEMA, CONTROL, unpack_rows
from pyspark_pipeline.plan.nodes import Fragment
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.task.capture_files import CaptureFiles, ChunkFile, read_chunks, warn
from pyspark_pipeline.task.capture_journal import Ending, check_files, read_journal

_MESSAGES = pa.schema([("message", pa.large_binary())])
_FRAGMENT = "fragment.json"
_INPUT = "input.arrow"


class CapturedTask(NamedTuple):
    """The input of a task, passed through; ``files`` are those of its capture, None if it is not captured."""

    batches: Iterator[pa.RecordBatch]
    read_broadcast: ReadBroadcast
    files: CaptureFiles | None = None

    def record_ending(self, given: Generator[pa.RecordBatch, None, None]) -> Iterator[pa.RecordBatch]:
        """Yield the output of the task; then record in the capture how it ended."""
        return given if self.files is None else _record_ending(given, self.files)


def capture_task(
    text: str, fragment: Fragment, batches: Iterator[pa.RecordBatch], read_broadcast: ReadBroadcast
) -> CapturedTask:
    """Return the batches and broadcasts of a task unchanged, and record them if the fragment's options request it.

    Batches are recorded as they are read, broadcasts at once: a worker with a cached value of a broadcast does not read
    it again. Tasks of other partitions record nothing. If the folder cannot be written, only a warning is printed.
    """
    options = fragment.settings.options
    if not options.capture_folder:
        return CapturedTask(batches, read_broadcast)
    partition = options.capture_partition
    first = next(batches, None)
    rows = [] if first is None else [row for row in unpack_rows(first) if row.partition == CONTROL]
    whole = batches if first is None else chain([first], batches)
    control = json.loads(rows[0].data.to_pybytes()) if rows else {}
    if control.get("partition") != partition:
        return CapturedTask(whole, read_broadcast)
    name = f"fragment-{fragment.id}-partition-{partition}-attempt-{control.get('taskAttempt', 0)}"
    try:
        files = CaptureFiles(Path(options.capture_folder) / name, options.capture_max_bytes)
        files.keep(_FRAGMENT, text.encode())
        for broadcast_id in fragment.broadcasts:
            _keep_broadcast(files, broadcast_id, read_broadcast(broadcast_id))
        file = files.open(_INPUT)
    except CaptureError as error:
        warn(error)
        return CapturedTask(whole, read_broadcast)
    return CapturedTask(_recorded(whole, file), read_broadcast, files)


def _keep_broadcast(files: CaptureFiles, broadcast_id: int, messages: Sequence[Message]) -> None:
    kept = [bytes(memoryview(message)) for message in messages]
    with closing(files.open(_broadcast(broadcast_id))) as file:
        file.write(pa.RecordBatch.from_arrays([pa.array(kept, pa.large_binary())], schema=_MESSAGES))


def _recorded(batches: Iterator[pa.RecordBatch], file: ChunkFile) -> Iterator[pa.RecordBatch]:
    with closing(file):
        for batch in batches:
            file.write(pa.RecordBatch.from_arrays(batch.columns, schema=CHUNK_ROW_SCHEMA))
            yield batch


def _record_ending(given: Generator[pa.RecordBatch, None, None], files: CaptureFiles) -> Iterator[pa.RecordBatch]:
    ending, reported = Ending.CANCELLED, Ending.FINISHED
    try:
        with closing(given):
            for batch in given:
                if batch.column(0)[-1].as_py() == ERROR:
                    ending = reported = Ending.FAILED
                yield batch
        ending = reported
    except Exception:
        ending = Ending.FAILED
        raise
    finally:
        files.end(ending)


def _broadcast(broadcast_id: int) -> str:
    return f"broadcast-{broadcast_id}.arrow"


class Capture:
    """A captured task. Construction reads all files to verify their checksums.

    ``journal`` shows whether the capture is complete; if not, the files hold what was recorded until then. Raises
    :class:`CaptureError`, which names the file, if ``folder`` holds no capture or a damaged one.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.journal = read_journal(self.folder)
        check_files(self.folder, self.journal)
        self._staging: tempfile.TemporaryDirectory[str] | None = None

    def fragment(self) -> Fragment:
        """Return the decoded fragment."""
        self._expect(_FRAGMENT)
        path = self.folder / _FRAGMENT
        try:
            return decode_fragment(path.read_text(encoding="utf-8"))
        except (OSError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise CaptureError(f"{path} is no fragment of this release: {type(error).__name__}: {error}") from error

    def control(self) -> Mapping[str, Any]:
        """Return the control message of the task."""
        return _control(self._first())

    def batches(self, cpus: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the recorded chunk rows; ``cpus`` replaces that of the control message.

        A task that wrote files writes them to a folder that ends with this object.
        """
        first = self._first()
        changes: dict[str, Any] = {} if cpus is None else {"cpus": cpus}
        if "staging" in _control(first):
            self._staging = tempfile.TemporaryDirectory(prefix="pyspark-pipeline-replay-")
            changes["staging"] = self._staging.name
        yield _with(first, changes) if changes else first
        for number, batch in enumerate(self.chunks(_INPUT)):
            if number:
                yield batch

    def read_broadcast(self, broadcast_id: int) -> Sequence[bytes]:
        """Return the messages of a broadcast."""
        name = _broadcast(broadcast_id)
        batch = next(self.chunks(name), None)
        if batch is None:
            raise CaptureError(f"{self.folder / name} has no messages{self._why()}")
        messages: list[bytes] = batch.column(0).to_pylist()
        return messages

    def has(self, name: str) -> bool:
        """Return whether the capture has a file ``name``."""
        return name in self.journal.checkpoints

    def chunks(self, name: str) -> Iterator[pa.RecordBatch]:
        """Yield the chunks of a file in order, up to its last checkpoint."""
        self._expect(name)
        yield from read_chunks(self.folder / name, self.journal.checkpoints[name].nbytes)

    def _first(self) -> pa.RecordBatch:
        """Return the batch with the control message."""
        batch = next(self.chunks(_INPUT), None)
        if batch is None or batch.schema != CHUNK_ROW_SCHEMA:
            raise CaptureError(f"{self.folder / _INPUT} has no control message{self._why()}")
        return batch

    def _expect(self, name: str) -> None:
        if not self.has(name):
            raise CaptureError(f"{self.folder} has no whole {name}{self._why()}")

    def _why(self) -> str:
        return "".join(f"; {note}" for note in self.journal.notes())


def _control(batch: pa.RecordBatch) -> dict[str, Any]:
    control, *_ = unpack_rows(batch)
    content: dict[str, Any] = json.loads(control.data.to_pybytes())
    return content


def _with(batch: pa.RecordBatch, changes: Mapping[str, Any]) -> pa.RecordBatch:
    """Return the first batch with ``changes`` of the control message."""
    _, *rest = unpack_rows(batch)
    message = json.dumps({**_control(batch), **changes}).encode()
    return pack_rows([ChunkRow(partition=CONTROL, rows=0, data=pa.py_buffer(message)), *rest])
