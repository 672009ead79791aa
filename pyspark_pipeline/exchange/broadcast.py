"""What operators made of broadcasts, kept by the worker process: each value is made at most once a process.

Spark carries a broadcast's chunks to each executor, and tells a worker at the start of a task which broadcasts
the task may read. A value made of one (a join's table) serves every driver, task and fragment that asks for the
same thing. While a task may read its broadcast a value is held, whatever its size; afterwards it is *idle*, and
the idle ones that were used longest ago go when together they are too large. A value counts below the instance that
made it, and its limit, until that has done with it: what was made before is memory that the limit does not include.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import cast

import pyarrow as pa

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange.codec import decode_chunk, plain_schema
from pyspark_pipeline.memory import MemoryTracker, Sized, SizedValue
from pyspark_pipeline.plan.broadcasts import BroadcastSource

ReadBroadcast = Callable[[int], Sequence[bytes]]
"""Gives the messages (one a chunk) of the broadcast that Spark knows by this id."""


def no_broadcast(broadcast_id: int) -> Sequence[bytes]:
    """Raise :class:`EngineBugError`: nobody brought broadcasts."""
    raise EngineBugError(f"broadcast {broadcast_id} is asked for where there are none")


class BroadcastCache:
    """Values by broadcast and key, counted in ``memory``. Any thread may ask; one value is made at a time."""

    def __init__(self, idle_bytes: int, memory: MemoryTracker | None = None) -> None:
        self._idle_bytes = idle_bytes
        self._memory = memory if memory is not None else MemoryTracker("broadcasts")
        self._lock = threading.RLock()
        self._values: dict[tuple[int, Hashable], Sized] = {}
        self._users: dict[tuple[int, Hashable], MemoryTracker] = {}
        self._readable: frozenset[int] = frozenset()

    def begin_task(self, readable: Collection[int]) -> None:
        """Learn which broadcasts the task that starts may read; values of all others are idle."""
        with self._lock:
            self._readable = frozenset(readable)
            self._users.clear()
            self._drop_idle()
            self._count()

    def value(
        self, broadcast_id: int, key: Hashable, make: Callable[[], SizedValue], user: MemoryTracker | None = None
    ) -> SizedValue:
        """Give the value of ``key``, made by ``make`` where it is not held; what ``make`` raises goes on.

        What is made now is held by ``user`` until that leaves (:meth:`leave`); None: by the cache, at once. Raises
        :class:`ResourceExhaustedError`, keeping nothing, where ``user`` may not hold it.
        """
        with self._lock:
            place = (broadcast_id, key)
            held = self._values.pop(place, None)
            value = make() if held is None else held
            if held is None and user is not None:
                user.hold(user.held + value.nbytes)
                self._users[place] = user
            self._values[place] = value  # the last one is the one used last
            if held is None:
                self._count()
            return cast(SizedValue, value)

    def leave(self, user: MemoryTracker) -> None:
        """Count what ``user`` holds of broadcasts as the cache's. Repeatable."""
        with self._lock:
            self._users = {place: holder for place, holder in self._users.items() if holder is not user}
            user.hold(0)
            self._count()

    def statistics(self) -> dict[str, int]:
        """Count values and their bytes, all and idle ones."""
        with self._lock:
            idle = [value.nbytes for (owner, _), value in self._values.items() if owner not in self._readable]
            return {
                "values": len(self._values),
                "bytes": sum(value.nbytes for value in self._values.values()),
                "idleValues": len(idle),
                "idleBytes": sum(idle),
            }

    def _count(self) -> None:
        self._memory.force(sum(value.nbytes for place, value in self._values.items() if place not in self._users))

    def _drop_idle(self) -> None:
        left = self._idle_bytes
        for place, value in reversed(list(self._values.items())):
            if place[0] not in self._readable:
                if value.nbytes > left:
                    del self._values[place]
                else:
                    left -= value.nbytes


class Broadcasts:
    """The broadcasts of one fragment in one task: ``ids[n]`` is what Spark calls the fragment's number ``n``."""

    def __init__(self, ids: Sequence[int], read: ReadBroadcast, cache: BroadcastCache) -> None:
        self._ids = ids
        self._read = read
        self._cache = cache
        cache.begin_task(ids)

    def value(
        self,
        source: BroadcastSource,
        key: Hashable,
        make: Callable[[Sequence[pa.RecordBatch]], SizedValue],
        user: MemoryTracker | None = None,
    ) -> SizedValue:
        """Give what ``make`` makes of the broadcast's chunks; ``key`` is all else that decides what it makes.

        ``user`` as for :meth:`BroadcastCache.value`.
        """
        if not 0 <= source.broadcast < len(self._ids):
            raise EngineBugError(f"a fragment of {len(self._ids)} broadcasts asks for number {source.broadcast}")
        broadcast_id = self._ids[source.broadcast]
        return self._cache.value(broadcast_id, key, lambda: make(self._chunks(broadcast_id, source)), user)

    def leave(self, user: MemoryTracker) -> None:
        """Count what ``user`` holds of broadcasts as the worker's. Repeatable."""
        self._cache.leave(user)

    def _chunks(self, broadcast_id: int, source: BroadcastSource) -> list[pa.RecordBatch]:
        schema = plain_schema([field.type for field in source.output])
        chunks = [decode_chunk(pa.py_buffer(message), schema) for message in self._read(broadcast_id)]
        return [chunk for chunk in chunks if chunk.num_rows]
