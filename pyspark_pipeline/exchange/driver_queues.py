"""The queues of an input whose messages name their driver: the second level of the shuffle, chosen by the sender."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.input_queue import InputQueue

#: Queued messages of all drivers together, per driver: a driver may run ahead of another that has many.
READ_AHEAD = 8


class DriverQueues:
    """One queue per driver behind one input; the feed sees a single queue.

    There is room while any driver's queue has some, since the next message may be for that driver, and all queues
    together hold fewer than ``READ_AHEAD`` messages per driver. Above that bound the input is read only when nothing
    else can run: all others may wait for the driver without messages.
    """

    def __init__(self, name: str, drivers: int) -> None:
        self.name = name
        self.bound = READ_AHEAD * drivers
        self._queues = [InputQueue(f"{name}, driver {driver}") for driver in range(drivers)]

    def __len__(self) -> int:
        return sum(map(len, self._queues))

    def queue_of(self, driver_sequence: int) -> InputQueue:
        """Return the queue of one driver."""
        return self._queues[driver_sequence]

    def serve(self, wanted: Event) -> None:
        """Set the event that notifies the feed that there is room."""
        for queue in self._queues:
            queue.serve(wanted, self._may_have_room)

    def has_room(self) -> bool:
        """Return whether the feed should read ahead for this input."""
        return len(self) < self.bound and any(queue.has_room() for queue in self._queues)

    def _may_have_room(self) -> bool:
        return len(self) < self.bound

    def full_for(self, drivers: Sequence[int]) -> int | None:
        """Return one of ``drivers`` whose queue is over its bound; None if there is none."""
        return next((driver for driver in drivers if self._queues[driver].full_for(()) is not None), None)

    def waiting_for(self, driver: int) -> int:
        """Return the number of messages queued for a driver."""
        return len(self._queues[driver])

    def is_starving(self) -> bool:
        """Return whether a driver that wants messages has none while another has queued ones."""
        return len(self) > 0 and any(queue.has_room() and not len(queue) for queue in self._queues)

    def is_dropped(self) -> bool:
        """Return whether no driver wants its messages any more."""
        return all(queue.is_dropped() for queue in self._queues)

    def put(self, item: ChunkRow) -> None:
        """Add a message to the queue of its driver; raise :class:`EngineBugError` if it names none."""
        if not 0 <= item.driver < len(self._queues):
            raise EngineBugError(f"{self.name}: a message names driver {item.driver} of {len(self._queues)}")
        self._queues[item.driver].put(item)

    def end(self) -> None:
        """Handle the end of the input. Idempotent."""
        for queue in self._queues:
            queue.end()
