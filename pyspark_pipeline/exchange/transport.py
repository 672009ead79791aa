"""The transport interface of exchange sinks, and the transport to Spark.

A sink packs a chunk and sends the payload to one destination or several (a broadcast packs once). The transport
delivers it:

* :class:`StreamTransport`: all payloads go to the instance's one output queue, which Spark drains. Only that queue
  blocks: the worker has one pipe to the JVM, so there is no window, no acknowledgement and no end-of-stream message
  (Spark's stage barrier replaces it). If the worker writes the map task's file, it drains the queue into that.
* :class:`~pyspark_pipeline.local.transport.sink_buffer.SinkBuffer`:
  requests to other instances in the same process, acknowledged one by one.

The sinks of an instance share its transport; its methods may be called from any driver's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.codec import Payload, encode_chunk, payload_bytes
from pyspark_pipeline.exchange.messages import GroupedMessages
from pyspark_pipeline.exec.event import Event, WaiterQueue
from pyspark_pipeline.exec.output_queue import OutputQueue

Pack: TypeAlias = Callable[[pa.RecordBatch], Payload]


def pack_by_reference(chunk: pa.RecordBatch) -> Payload:
    """Return the chunk itself: pass-through to an instance in the same process, without serialization."""
    return chunk


class Transport(Protocol):
    """The channel by which the sinks of one instance send their chunks."""

    @property
    def changed(self) -> Event:
        """The event that the transport ended: nothing more is wanted, or nothing is pending any more."""

    @property
    def room(self) -> WaiterQueue:
        """The drivers that wait because the transport is full."""

    @property
    def narrows(self) -> bool:
        """Whether the chunks of an exchange leave in their narrow form (:mod:`~.narrow_form`)."""

    def is_full(self) -> bool:
        """Return whether sinks should take no input now."""

    def is_abandoned(self) -> bool:
        """Return whether no destination wants anything more: sinks may end early."""

    def is_pending(self) -> bool:
        """Return whether sinks must wait because a sent payload is not acknowledged."""

    def pack(self, chunk: pa.RecordBatch) -> Payload:
        """Return the payload of a plain chunk."""

    def send(self, destination: int, driver: int, rows: int, payload: Payload) -> None:
        """Send a payload of ``rows`` rows to a destination (and a driver there; -1 is any)."""

    def takes_groups(self) -> bool:
        """Return whether :meth:`send_grouped` may be called now."""

    def send_grouped(self, messages: GroupedMessages) -> None:
        """Send a message to each partition that has rows, the first ones to all."""

    def open_sink(self) -> None:
        """Register a sink; all are registered before any is closed."""

    def close_sink(self) -> None:
        """Handle the end of a sink, which has sent its last payload."""

    def cancel_sink(self) -> None:
        """Handle the cancellation of a sink's driver, before or after the sink closed: it waits for nothing more."""


class StreamTransport:
    """Numbers payloads per destination, from 0, and puts them in the output queue in that order: one atomic step.

    ``writes_file``: the queue is drained into a :class:`~.map_output.MapOutput`, which takes grouped messages too.
    """

    def __init__(
        self,
        queue: OutputQueue,
        *,
        sender: int = 0,
        pack: Pack = encode_chunk,
        narrows: bool = False,
        writes_file: bool = False,
    ) -> None:
        self.changed = Event("output ends with its drivers")
        self.room = queue.room
        self.is_full = queue.is_full
        self.pack = pack
        self.narrows = narrows
        self._writes_file = writes_file
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

    def takes_groups(self) -> bool:
        """Return whether the output is written to a file and nothing has been sent."""
        return self._writes_file and not self._next

    def send_grouped(self, messages: GroupedMessages) -> None:
        """Push the messages as one item."""
        with self._lock:
            self._next = {partition: 1 for partition in np.flatnonzero(messages.rows).tolist()}
            self._queue.push(replace(messages, sender=self._sender), messages.nbytes)

    def is_abandoned(self) -> bool:
        """Return False: Spark reads the whole output, or closes the task."""
        return False

    def is_pending(self) -> bool:
        """Return False: the executor drains the queue."""
        return False

    def open_sink(self) -> None:
        """Do nothing: the output ends with the last driver."""

    def close_sink(self) -> None:
        """See :meth:`open_sink`."""

    def cancel_sink(self) -> None:
        """See :meth:`open_sink`."""
