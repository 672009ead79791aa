"""The worker's cache of values that operators build from broadcasts: each is built at most once per process.

Spark sends a broadcast's chunks to each executor and names, at the start of a task, the broadcasts that the task may
read. A value built from one (the hash table of a join) is shared by every driver, task and fragment that requests the
same key. While a task may read its broadcast, a value stays cached, whatever its size; afterwards it is *idle*, and the
least recently used idle values are evicted when all idle values together are too large. A value counts against the
instance that built it, and its memory limit, until that instance releases it: the limit does not include memory of
values that were built before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TypeAlias, cast

import pyarrow as pa

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange.codec import plain_schema, read_all
from pyspark_pipeline.memory import MemoryTracker, Sized, SizedValue
from pyspark_pipeline.plan.broadcasts import BroadcastSource

Message: TypeAlias = "bytes | pa.Buffer"
ReadBroadcast = Callable[[int], Sequence[Message]]
"""Returns the messages (one per chunk) of the broadcast with this id of Spark."""


def no_broadcast(broadcast_id: int) -> Sequence[Message]:
    """Raise :class:`EngineBugError`: the fragment has no broadcasts."""
    raise EngineBugError(f"broadcast {broadcast_id} is asked for where there are none")


class BroadcastCache:
    """Values by broadcast and key, counted in ``memory``. Thread-safe; one value is built at a time."""

    def __init__(self, idle_bytes: int, memory: MemoryTracker | None = None) -> None:
        self._idle_bytes = idle_bytes
        self._memory = memory if memory is not None else MemoryTracker("broadcasts")
        self._lock = threading.RLock()
        self._values: dict[tuple[int, Hashable], Sized] = {}
        self._users: dict[tuple[int, Hashable], MemoryTracker] = {}
        self._readable: frozenset[int] = frozenset()

    def begin_task(self, readable: Collection[int]) -> None:
        """Start a task that may read the ``readable`` broadcasts; values of all others become idle."""
        with self._lock:
            self._readable = frozenset(readable)
            self._users.clear()
            self._drop_idle()
            self._count()

    def value(
        self, broadcast_id: int, key: Hashable, make: Callable[[], SizedValue], user: MemoryTracker | None = None
    ) -> SizedValue:
        """Return the value of ``key``; build it with ``make`` if it is not cached. Errors of ``make`` propagate.

        A new value counts against ``user`` until :meth:`release_user`, or against the cache at once if that is None.
        Raises :class:`ResourceExhaustedError`, caching nothing, if the limit of ``user`` does not allow the value.
        """
        with self._lock:
            entry = (broadcast_id, key)
            held = self._values.pop(entry, None)
            value = make() if held is None else held
            if held is None and user is not None:
                user.reserve(user.held + value.nbytes)
                self._users[entry] = user
            self._values[entry] = value  # in order of last use
            if held is None:
                self._count()
            return cast(SizedValue, value)

    def release_user(self, user: MemoryTracker) -> None:
        """Move the bytes of values that count against ``user`` to the cache. Idempotent."""
        with self._lock:
            self._users = {entry: holder for entry, holder in self._users.items() if holder is not user}
            user.reserve(0)
            self._count()

    def statistics(self) -> dict[str, int]:
        """Return the number of values and their bytes, in total and of idle ones."""
        with self._lock:
            idle = [value.nbytes for (owner, _), value in self._values.items() if owner not in self._readable]
            return {
                "values": len(self._values),
                "bytes": sum(value.nbytes for value in self._values.values()),
                "idleValues": len(idle),
                "idleBytes": sum(idle),
            }

    def _count(self) -> None:
        nbytes = sum(value.nbytes for entry, value in self._values.items() if entry not in self._users)
        self._memory.reserve_unchecked(nbytes)

    def _drop_idle(self) -> None:
        left = self._idle_bytes
        for entry, value in reversed(list(self._values.items())):
            if entry[0] not in self._readable:
                if value.nbytes > left:
                    del self._values[entry]
                else:
                    left -= value.nbytes


class Broadcasts:
    """The broadcasts of one fragment in one task: ``ids[n]`` is Spark's id of the fragment's broadcast ``n``."""

    def __init__(self, ids: Sequence[int], read: ReadBroadcast, cache: BroadcastCache) -> None:
        self._ids = ids
        self._read = read
        self._cache = cache
        cache.begin_task(ids)

    def id_of(self, source: BroadcastSource) -> int:
        """Return Spark's id of a broadcast of the fragment."""
        if not 0 <= source.broadcast < len(self._ids):
            raise EngineBugError(f"a fragment of {len(self._ids)} broadcasts asks for number {source.broadcast}")
        return self._ids[source.broadcast]

    def value(
        self,
        source: BroadcastSource,
        key: Hashable,
        make: Callable[[Sequence[pa.RecordBatch]], SizedValue],
        user: MemoryTracker | None = None,
    ) -> SizedValue:
        """Return the value that ``make`` builds from the broadcast's chunks; ``key`` covers its other inputs.

        ``user`` as for :meth:`BroadcastCache.value`.
        """
        broadcast_id = self.id_of(source)
        return self._cache.value(broadcast_id, key, lambda: make(self._chunks(broadcast_id, source)), user)

    def release_user(self, user: MemoryTracker) -> None:
        """Move the bytes of values that count against ``user`` to the worker's cache. Idempotent."""
        self._cache.release_user(user)

    def _chunks(self, broadcast_id: int, source: BroadcastSource) -> list[pa.RecordBatch]:
        schema = plain_schema([field.type for field in source.output])
        chunks = read_all([pa.py_buffer(message) for message in self._read(broadcast_id)], schema)
        return [chunk for chunk in chunks if chunk.num_rows]
