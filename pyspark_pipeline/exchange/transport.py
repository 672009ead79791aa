"""What the sinks of an instance send through, and the transport that Spark carries.

A sink packs a chunk and sends the payload to one destination or several (a broadcast packs once). What happens
then is the transport's business:

* :class:`StreamTransport`: everything leaves by the instance's one output queue, which Spark drains. There is
  nothing to wait for but that queue: the worker has one pipe to the JVM, so there is no window, no acknowledgement
  and no end-of-stream message (Spark's stage barrier is it).
* :class:`~.sink_buffer.SinkBuffer`: requests to other instances in the same process, acknowledged one by one.

The sinks of an instance share its transport; any of its methods may be called from any driver's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeAlias

import pyarrow as pa

from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.codec import Payload, encode_chunk, payload_bytes
from pyspark_pipeline.exec.event import Event, Waiter
from pyspark_pipeline.exec.output_queue import OutputQueue

Pack: TypeAlias = Callable[[pa.RecordBatch], Payload]


def hand_over(chunk: pa.RecordBatch) -> Payload:
    """Give the chunk itself: pass-through to an instance in the same process, without serialization."""
    return chunk


class Transport(Protocol):
    """Where the sinks of one instance send their chunks."""

    @property
    def changed(self) -> Event:
        """The event that all is over: nothing more is wanted, or nothing is pending any more."""

    def wait(self, wake: Waiter) -> bool:
        """Say whether sinks may take input; where they may not, have ``wake`` called, once, when they may."""

    def is_full(self) -> bool:
        """Say whether sinks should take no input now."""

    def is_abandoned(self) -> bool:
        """Say whether no destination wants anything more: sinks may end early."""

    def is_pending(self) -> bool:
        """Say whether something sent is still on its way, where the sinks must wait for that."""

    def pack(self, chunk: pa.RecordBatch) -> Payload:
        """Make what is sent of a plain chunk."""

    def send(self, destination: int, driver: int, rows: int, payload: Payload) -> None:
        """Send a payload of ``rows`` rows to a destination (and a driver there; -1 is any)."""

    def open_sink(self) -> None:
        """Learn of one more sink; all are opened before any is closed."""

    def close_sink(self) -> None:
        """Learn that a sink has sent its last payload."""

    def cancel_sink(self) -> None:
        """Learn that the driver of a sink was cancelled, before or after it closed: it waits for nothing more."""


class StreamTransport:
    """Numbers payloads per destination, from 0, and puts them in the output queue in that order: one atomic step."""

    def __init__(self, queue: OutputQueue, *, sender: int = 0, pack: Pack = encode_chunk) -> None:
        self.changed = Event("output ends with its drivers")
        self.wait = queue.wait
        self.is_full = queue.is_full
        self.pack = pack
        self._next: dict[int, int] = {}
        self._queue = queue
        self._sender = sender
        self._lock = threading.Lock()

    def send(self, destination: int, driver: int, rows: int, payload: Payload) -> None:
        """Push one chunk row."""
        with self._lock:
            sequence = self._next.get(destination, 0)
            self._next[destination] = sequence + 1
            row = ChunkRow(
                partition=destination,
                driver=driver,
                sender=self._sender,
                sequence=sequence,
                rows=rows,
                data=payload,
            )
            self._queue.push(row, payload_bytes(payload))

    def is_abandoned(self) -> bool:
        """Spark wants all it asked for, or closes the task."""
        return False

    def is_pending(self) -> bool:
        """What is in the queue is the executor's to give."""
        return False

    def open_sink(self) -> None:
        """The output ends with the last driver; nothing is counted."""

    def close_sink(self) -> None:
        """See :meth:`open_sink`."""

    def cancel_sink(self) -> None:
        """See :meth:`open_sink`."""
