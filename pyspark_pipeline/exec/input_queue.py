"""The queues behind the task's one input stream: each input's items wait here for their source.

The feed reads ``(input id, item)`` pairs and puts each item into the queue of its input. An input ends
when the stream ends, or, where the stream is *ordered* (all items of one input before the next input's:
build sides first, the probe side last), as soon as an item of a later input comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.event import Event, Line, Waiter
from pyspark_pipeline.memory import MemoryTracker, WaitingBytes


class InputQueue:
    """Items of one input, or splits of one scan: the feed (or who adds splits) puts, any driver takes.

    Every item wakes one driver of those that :meth:`wait`. ``ended`` is notified when no more items come or are wanted,
    and again when the last of those that were still here is taken.
    """

    __slots__ = (
        "name", "ended", "bound", "taken", "_items", "_ended", "_dropped", "_wanted", "_all_have_room",
        "_line", "_memory", "_size",
    )  # fmt: skip

    def __init__(self, name: str, *, bound: int = 2) -> None:
        self.name = name
        self.ended = Event(f"{name} has ended")
        self.bound = bound
        self.taken = 0
        self._items: deque[tuple[Any, int]] = deque()
        self._ended = False
        self._dropped = False
        self._wanted: Event | None = None
        self._all_have_room: Callable[[], bool] | None = None
        self._line = Line()
        self._memory = WaitingBytes(name)
        self._size: Callable[[Any], int] | None = None

    def __len__(self) -> int:
        return len(self._items)

    def queue_of(self, _driver_sequence: int) -> InputQueue:
        """Give the queue that a driver takes from: this one."""
        return self

    def serve(self, wanted: Event, has_room: Callable[[], bool] | None = None) -> None:
        """Learn which event tells the feed that there is room, or that nothing more is wanted.

        Where this queue is one of several behind an input, ``has_room`` says whether all together have room.
        """
        self._wanted = wanted
        self._all_have_room = has_room

    def account_to(self, memory: MemoryTracker, size: Callable[[Any], int]) -> None:
        """Count the bytes of what waits, by ``size``, in a tracker below ``memory``; the first call decides."""
        if self._size is None:
            self._memory.account_to(memory)
            self._size = size

    def wait(self, wake: Waiter) -> bool:
        """Say whether an item is here; where none is, have ``wake`` called, once, when one is."""
        self._line.join(wake)
        if not self._items:
            return False
        self._line.leave(wake)
        return True

    def leave(self, wake: Waiter) -> None:
        """Have ``wake`` not called any more: whatever woke the driver, it takes items now."""
        self._line.leave(wake)

    def take(self) -> Any | None:
        """Take the oldest item, or None where there is none now (another driver may have been faster)."""
        try:
            item, nbytes = self._items.popleft()
        except IndexError:
            return None
        self.taken += 1
        self._memory.release(nbytes)
        if self._items:
            self._line.wake_one()
        elif self._ended:
            self.ended.notify()
        if self._wanted is not None and (self.has_room() or (self._all_have_room and self._all_have_room())):
            self._wanted.notify()
        return item

    def has_items(self) -> bool:
        """Say whether ``take`` would give something."""
        return bool(self._items)

    def has_room(self) -> bool:
        """Say whether the feed should read ahead for this input."""
        return not self._ended and not self._dropped and len(self._items) < self.bound

    def full_for(self, _drivers: Sequence[int]) -> int | None:
        """Name a driver whose messages find no room; None: there is room, or nobody wants them. Here −1 is any."""
        return None if self._dropped or self.has_room() else -1

    def waiting_for(self, _driver: int) -> int:
        """Count the items that wait for a driver."""
        return len(self._items)

    def is_starving(self) -> bool:
        """Say whether a driver may lack items because others do not take theirs: never, all take from here."""
        return False

    def is_finished(self) -> bool:
        """Say whether no item is here and none will come or be wanted."""
        # In this order: an item put before the end must be seen by whoever sees the end.
        return (self._ended or self._dropped) and not self._items

    def is_dropped(self) -> bool:
        """Say whether nobody wants the items any more."""
        return self._dropped

    def drop(self) -> None:
        """Learn that nobody wants the items any more; what still comes is thrown away."""
        self._dropped = True
        self._clear()
        self.ended.notify()
        if self._wanted is not None:
            self._wanted.notify()

    def put(self, item: Any) -> None:
        """Add an item and wake one who waits."""
        if self._dropped:
            return
        nbytes = self._size(item) if self._size is not None else 0
        self._memory.hold(nbytes)
        self._items.append((item, nbytes))
        if self.is_dropped():  # just now
            self._clear()
        self._line.wake_one()

    def end(self) -> None:
        """Learn that no more items come. Repeatable."""
        if not self._ended:
            self._ended = True
            self.ended.notify()

    def _clear(self) -> None:
        while self._items:
            try:
                self._memory.release(self._items.popleft()[1])
            except IndexError:  # a driver took the last one
                return


class FedQueue(Protocol):
    """What the feed needs to know of the queue, or queues, behind one input."""

    name: str

    def __len__(self) -> int:
        """Say how many items wait."""

    def serve(self, wanted: Event) -> None:
        """Learn which event tells the feed that there is room."""

    def has_room(self) -> bool:
        """Say whether the feed should read ahead for this input."""

    def full_for(self, drivers: Sequence[int]) -> int | None:
        """Name one of ``drivers`` whose messages find no room; None: there is room, or nobody wants them."""

    def waiting_for(self, driver: int) -> int:
        """Count the items that wait for a driver that :meth:`full_for` named."""

    def is_starving(self) -> bool:
        """Say whether a driver lacks items, and may because others do not take theirs."""

    def is_dropped(self) -> bool:
        """Say whether nobody wants the items any more."""

    def put(self, item: Any) -> None:
        """Add an item and wake who waits."""

    def end(self) -> None:
        """Learn that no more items come. Repeatable."""


class InputFeed:
    """A :class:`~.feed.Feed` that reads ``stream`` and serves ``queues`` (by input id).

    ``order`` lists the input ids as the stream brings them; empty means items may come interleaved, and
    every input ends with the stream. ``has_more`` says that the stream need not be waited for: such items are read
    together. An error that reading raises goes to the caller as it is.
    """

    def __init__(
        self,
        stream: Iterator[tuple[int, Any]],
        queues: Mapping[int, FedQueue],
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
        """Say whether an input that is not at its end has room."""
        return not self._ended and any(queue.has_room() for queue in self._queues.values())

    def is_due(self) -> bool:
        """Nothing is known to be here: Spark decides how long the next item takes."""
        return False

    def is_ended(self) -> bool:
        """Say whether the stream has ended."""
        return self._ended

    def pump(self) -> None:
        """Read an item, and those that came with it, and give each to its queue; or end every queue."""
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

    def relieve(self) -> bool:
        """Nothing is held back here: the stream is read on when nothing else can run."""
        return False

    def describe(self) -> str:
        """Tell what each queue holds."""
        held = ", ".join(f"{queue.name}: {len(queue)}" for queue in self._queues.values())
        return f"{self.items} items read{', ended' if self._ended else ''}; waiting {held}"
