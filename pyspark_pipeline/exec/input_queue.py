"""The queues between the task's one input stream and its sources: one per input.

The feed reads ``(input id, item)`` pairs and puts each item into the queue of its input. An input ends when the stream
ends, or, if the stream is *ordered* (all items of one input before the next input's: build sides first, the probe side
last), as soon as an item of a later input arrives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.event import Event, WaiterQueue
from pyspark_pipeline.memory import BufferedBytes, MemoryTracker


class InputQueue:
    """Items of one input, or splits of one scan: the feed (or the scan) puts, any driver takes.

    Every item wakes one waiter of ``filled``. ``ended`` is notified at the end of the input, when the queue is dropped,
    and when the last item is taken after the end.
    """

    __slots__ = (
        "name", "ended", "filled", "bound", "taken", "_items", "_ended", "_dropped", "_wanted", "_all_have_room",
        "_memory", "_size",
    )  # fmt: skip

    def __init__(self, name: str, *, bound: int = 2) -> None:
        self.name = name
        self.ended = Event(f"{name} has ended")
        self.filled = WaiterQueue(f"{name} has items")
        self.bound = bound
        self.taken = 0
        self._items: deque[tuple[Any, int]] = deque()
        self._ended = False
        self._dropped = False
        self._wanted: Event | None = None
        self._all_have_room: Callable[[], bool] | None = None
        self._memory = BufferedBytes(name)
        self._size: Callable[[Any], int] | None = None

    def __len__(self) -> int:
        return len(self._items)

    def queue_of(self, _driver_sequence: int) -> InputQueue:
        """Return the queue that a driver takes from: this one."""
        return self

    def serve(self, wanted: Event, has_room: Callable[[], bool] | None = None) -> None:
        """Set the event that tells the feed of new capacity, or that the items are no longer needed.

        If this queue is one of several of an input, ``has_room`` returns whether they together have capacity.
        """
        self._wanted = wanted
        self._all_have_room = has_room

    def account_to(self, memory: MemoryTracker, size: Callable[[Any], int]) -> None:
        """Count the bytes of the queued items, by ``size``, in a tracker below ``memory``; the first call decides."""
        if self._size is None:
            self._memory.account_to(memory)
            self._size = size

    def pass_on(self) -> None:
        """Wake a waiter if items are queued: the caller cannot take them now, perhaps another driver can."""
        if self._items:
            self.filled.wake()

    def take(self) -> Any | None:
        """Remove and return the oldest item, or None if the queue is empty (another driver may have been faster)."""
        try:
            item, nbytes = self._items.popleft()
        except IndexError:
            return None
        self.taken += 1
        self._memory.release(nbytes)
        if self._items:
            self.filled.wake()
        elif self._ended:
            self.ended.notify()
        if self._wanted is not None and (self.has_room() or (self._all_have_room and self._all_have_room())):
            self._wanted.notify()
        return item

    def has_items(self) -> bool:
        """Return whether ``take`` would return an item."""
        return bool(self._items)

    def has_room(self) -> bool:
        """Return whether the feed should read ahead for this input."""
        return not self._ended and not self._dropped and len(self._items) < self.bound

    def full_for(self, _drivers: Sequence[int]) -> int | None:
        """Return a driver whose queue is full; None if there is capacity or the queue is dropped. Here −1 for any."""
        return None if self._dropped or self.has_room() else -1

    def waiting_for(self, _driver: int) -> int:
        """Return the number of items queued for a driver."""
        return len(self._items)

    def is_starving(self) -> bool:
        """Return whether a driver may lack items because others do not take theirs: never, as all share one queue."""
        return False

    def is_finished(self) -> bool:
        """Return whether no item is queued and none will be."""
        # In this order: a thread that sees the end must see every item put before the end.
        return (self._ended or self._dropped) and not self._items

    def is_dropped(self) -> bool:
        """Return whether the items are no longer needed."""
        return self._dropped

    def drop(self) -> None:
        """Discard all items, queued and future: they are no longer needed."""
        self._dropped = True
        self._clear()
        self.ended.notify()
        if self._wanted is not None:
            self._wanted.notify()

    def put(self, item: Any) -> None:
        """Add an item and wake one waiter."""
        if self._dropped:
            return
        nbytes = self._size(item) if self._size is not None else 0
        self._memory.add(nbytes)
        self._items.append((item, nbytes))
        if self.is_dropped():  # just now
            self._clear()
        self.filled.wake()

    def end(self) -> None:
        """Handle the end of the input. Idempotent."""
        if not self._ended:
            self._ended = True
            self.ended.notify()

    def _clear(self) -> None:
        while self._items:
            try:
                self._memory.release(self._items.popleft()[1])
            except IndexError:  # a driver took the last one
                return


class FeedQueue(Protocol):
    """The queue, or queues, of one input as the feed sees them."""

    name: str

    def __len__(self) -> int:
        """Return the number of queued items."""

    def serve(self, wanted: Event) -> None:
        """Set the event that tells the feed of new capacity."""

    def has_room(self) -> bool:
        """Return whether the feed should read ahead for this input."""

    def full_for(self, drivers: Sequence[int]) -> int | None:
        """Return one of ``drivers`` whose queue is full; None if there is capacity or the queue is dropped."""

    def waiting_for(self, driver: int) -> int:
        """Return the number of items queued for a driver that :meth:`full_for` returned."""

    def is_starving(self) -> bool:
        """Return whether a driver lacks items, possibly because others do not take theirs."""

    def is_dropped(self) -> bool:
        """Return whether the items are no longer needed."""

    def put(self, item: Any) -> None:
        """Add an item and wake a waiter."""

    def end(self) -> None:
        """Handle the end of the input. Idempotent."""


class InputFeed:
    """A :class:`~.feed.Feed` that reads ``stream`` and serves ``queues`` (by input id).

    ``order`` lists the input ids in stream order; empty: items may be interleaved, and every input ends with the
    stream. ``has_more`` returns whether the next read would not block: such items are read together. Errors of the
    stream propagate unchanged.
    """

    def __init__(
        self,
        stream: Iterator[tuple[int, Any]],
        queues: Mapping[int, FeedQueue],
        *,
        order: Sequence[int] = (),
        has_more: Callable[[], bool] = lambda: False,
    ) -> None:
        self.wanted = Event("the input stream should be read")
        self.items = 0
        self._stream = stream
        self._queues = dict(queues)
        self._order = list(order)
        self._has_more = has_more
        self._ended = False
        for queue in self._queues.values():
            queue.serve(self.wanted)

    def wants_input(self) -> bool:
        """Return whether an unfinished input has capacity."""
        return not self._ended and any(queue.has_room() for queue in self._queues.values())

    def is_due(self) -> bool:
        """Return False: any read may block, since Spark decides when the next item arrives."""
        return False

    def is_ended(self) -> bool:
        """Return whether the stream has ended."""
        return self._ended

    def pump(self) -> None:
        """Read an item and those available with it, and put each into its queue; at the end, end every queue."""
        self._pump_one()
        while self._has_more():
            self._pump_one()

    def _pump_one(self) -> None:
        pair = next(self._stream, None)
        if pair is None:
            self._ended = True
            for ending in self._queues.values():
                ending.end()
            return
        input_id, item = pair
        self.items += 1
        queue = self._queues.get(input_id)
        if queue is None:
            raise EngineBugError(f"an item for input {input_id} came; there are {sorted(self._queues)}")
        while self._order and self._order[0] != input_id:
            if input_id not in self._order:
                raise EngineBugError(f"an item for input {input_id} came after that input had ended")
            self._queues[self._order.pop(0)].end()
        queue.put(item)

    def break_deadlock(self) -> bool:
        """Return False: no item is withheld, the stream is read whenever nothing else can run."""
        return False

    def describe(self) -> str:
        """Describe the queues."""
        held = ", ".join(f"{queue.name}: {len(queue)}" for queue in self._queues.values())
        return f"{self.items} items read{', ended' if self._ended else ''}; waiting {held}"
