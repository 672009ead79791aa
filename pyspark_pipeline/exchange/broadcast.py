"""What operators made of broadcasts, kept by the worker process: each value is made at most once a process.

Spark carries a broadcast's chunks to each executor, and tells a worker at the start of a task which broadcasts
the task may read. A value made of one (a join's table) serves every driver, task and fragment that asks for the
same thing. While a task may read its broadcast a value is held, whatever its size; afterwards it is *idle*, and
the idle ones that were used longest ago go when together they are too large.
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
        self._readable: frozenset[int] = frozenset()

    def begin_task(self, readable: Collection[int]) -> None:
        """Learn which broadcasts the task that starts may read; values of all others are idle."""
        with self._lock:
            self._readable = frozenset(readable)
            self._drop_idle()
            self._count()

    def value(self, broadcast_id: int, key: Hashable, make: Callable[[], SizedValue]) -> SizedValue:
        """Give the value of ``key``, made by ``make`` where it is not held; what ``make`` raises goes on."""
        with self._lock:
            place = (broadcast_id, key)
            held = self._values.pop(place, None)
            value = make() if held is None else held
            self._values[place] = value  # the last one is the one used last
            if held is None:
                self._count()
            return cast(SizedValue, value)

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
        self._memory.force(sum(value.nbytes for value in self._values.values()))

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
        self, source: BroadcastSource, key: Hashable, make: Callable[[Sequence[pa.RecordBatch]], SizedValue]
    ) -> SizedValue:
        """Give what ``make`` makes of the broadcast's chunks; ``key`` is all else that decides what it makes."""
        if not 0 <= source.broadcast < len(self._ids):
            raise EngineBugError(f"a fragment of {len(self._ids)} broadcasts asks for number {source.broadcast}")
        broadcast_id = self._ids[source.broadcast]
        return self._cache.value(broadcast_id, key, lambda: make(self._chunks(broadcast_id, source)))

    def _chunks(self, broadcast_id: int, source: BroadcastSource) -> list[pa.RecordBatch]:
        schema = plain_schema([field.type for field in source.output])
        chunks = [decode_chunk(pa.py_buffer(message), schema) for message in self._read(broadcast_id)]
        return [chunk for chunk in chunks if chunk.num_rows]
