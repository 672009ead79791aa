"""Keeps what a task got, so that its fragment instance runs again without Spark: for finding bugs, under a debugger.

A capture is a folder: ``fragment.json``, ``input.arrow`` (the chunk rows that came, the control message first) and a
``broadcast-ID.arrow`` (its messages) for every broadcast of the fragment. Files that the fragment scans are not copied.
What entered single operators may be kept besides (:mod:`~.capture_operator`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.exchange import ChunkRow, pack_rows
from pyspark_pipeline.exchange.broadcast import ReadBroadcast
from pyspark_pipeline.exchange.chunk_row import CHUNK_ROW_SCHEMA, CONTROL, unpack_rows
from pyspark_pipeline.plan.nodes import Fragment

_MESSAGES = pa.schema([("message", pa.large_binary())])


class CapturedTask(NamedTuple):
    """What a task goes on with; ``folder`` is where it is captured, None where it is not."""

    batches: Iterator[pa.RecordBatch]
    read_broadcast: ReadBroadcast
    folder: Path | None = None


def captured(
    text: str,
    fragment: Fragment,
    batches: Iterator[pa.RecordBatch],
    read_broadcast: ReadBroadcast,
    folder: Path,
    partition: int,
) -> CapturedTask:
    """Give the batches and broadcasts of a task unchanged, and keep them below ``folder``.

    Batches are kept as they are read, broadcasts at once: a worker that holds what was made of one does not read it
    again. Tasks of other partitions keep nothing. Raises :class:`CaptureError` where the folder cannot be written.
    """
    first = next(batches, None)
    rows = [] if first is None else [row for row in unpack_rows(first) if row.partition == CONTROL]
    whole = batches if first is None else chain([first], batches)
    control = json.loads(rows[0].data.to_pybytes()) if rows else {}
    if control.get("partition") != partition:
        return CapturedTask(whole, read_broadcast)
    place = folder / f"fragment-{fragment.id}-partition-{partition}-attempt-{control.get('taskAttempt', 0)}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / "fragment.json").write_text(text, encoding="utf-8")
        for broadcast_id in fragment.broadcasts:
            _keep_broadcast(place, broadcast_id, read_broadcast(broadcast_id))
    except OSError as error:
        raise CaptureError(f"a task cannot be captured in {folder}: {error}") from error
    return CapturedTask(_kept(whole, place), read_broadcast, place)


def _keep_broadcast(place: Path, broadcast_id: int, messages: Sequence[bytes]) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(messages, pa.large_binary())], schema=_MESSAGES)
    with pa.OSFile(str(_broadcast(place, broadcast_id)), "wb") as file, pa.ipc.new_stream(file, _MESSAGES) as writer:
        writer.write_batch(batch)


def _kept(batches: Iterator[pa.RecordBatch], place: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(place / "input.arrow"), "wb") as file, pa.ipc.new_stream(file, CHUNK_ROW_SCHEMA) as writer:
        for batch in batches:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=CHUNK_ROW_SCHEMA))
            yield batch


def _broadcast(place: Path, broadcast_id: int) -> Path:
    return place / f"broadcast-{broadcast_id}.arrow"


class Capture:
    """A captured task. Raises :class:`CaptureError` where ``folder`` holds none."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.text = (self.folder / "fragment.json").read_text(encoding="utf-8")
        except OSError as error:
            raise CaptureError(f"{self.folder} holds no captured task: {error}") from error

    def control(self) -> Mapping[str, Any]:
        """Give the control message of the task."""
        control, *_ = unpack_rows(next(self.batches()))
        content: Mapping[str, Any] = json.loads(control.data.to_pybytes())
        return content

    def batches(self, cpus: int | None = None) -> Iterator[pa.RecordBatch]:
        """Give the chunk rows that came; the control message with ``cpus`` instead of those of the task."""
        path = self.folder / "input.arrow"
        try:
            with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as reader:
                for number, batch in enumerate(reader):
                    yield batch if number or cpus is None else _with_cpus(batch, cpus)
        except (OSError, pa.ArrowInvalid) as error:
            raise CaptureError(f"{path} cannot be read: {error}") from error

    def read_broadcast(self, broadcast_id: int) -> Sequence[bytes]:
        """Give the messages of a broadcast."""
        path = _broadcast(self.folder, broadcast_id)
        try:
            with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as reader:
                messages: list[bytes] = reader.read_all().column(0).to_pylist()
                return messages
        except (OSError, pa.ArrowInvalid) as error:
            raise CaptureError(f"{path} cannot be read: {error}") from error


def _with_cpus(batch: pa.RecordBatch, cpus: int) -> pa.RecordBatch:
    control, *rest = unpack_rows(batch)
    changed = json.loads(control.data.to_pybytes()) | {"cpus": cpus}
    return pack_rows([ChunkRow(partition=CONTROL, rows=0, data=pa.py_buffer(json.dumps(changed).encode())), *rest])
