"""Choose the parallelism of a pipeline from the number of rows that arrive (StarRocks' collect-stats operators).

The sinks of ``dop`` producer drivers buffer their chunks until the decision::

    COLLECTING ──a driver reaches rows_per_driver──> WIDE    source i emits the chunks of sink i, for all dop drivers
               ──memory is short────────────────────> WIDE
               ──every driver ended before that───> NARROW   d = largest power of two ≤ rows / rows_per_driver, at
                                                             least 1; sources 0 … d-1 share the chunks round-robin

so a small input does not pay for ``dop`` half-empty drivers downstream. Sources beyond the chosen parallelism
end at once. In WIDE a sink refuses input while its source has a buffered chunk. The buffered bytes are counted.

One lock guards the state; the event ``changed`` is notified after it is released.
"""

from __future__ import annotations

import threading
from collections import deque
from enum import Enum

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event, Waker
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.memory import BufferedBytes, MemoryTracker


class Decision(Enum):
    """State of the decision."""

    COLLECTING = "collecting"
    WIDE = "wide"
    NARROW = "narrow"


class AdaptiveParallelism:
    """State shared by ``dop`` sinks and ``dop`` sources."""

    def __init__(self, dop: int, *, rows_per_driver: int) -> None:
        self.dop = dop
        self.rows_per_driver = rows_per_driver
        self.decision = Decision.COLLECTING
        self.chosen = dop
        self.changed = Event("parallelism is chosen, or a chunk or room for one has come")
        self._chunks: list[deque[tuple[Chunk, int]]] = [deque() for _ in range(dop)]
        self._rows = [0] * dop
        self._ended = [False] * dop
        self._closed = [False] * dop
        self._lock = threading.Lock()
        self._memory = BufferedBytes("chunks held for the choice of parallelism")

    def account_to(self, instance_memory: MemoryTracker | None) -> None:
        """Count the buffered bytes below ``instance_memory`` (the first call decides)."""
        with self._lock:
            self._memory.account_to(instance_memory)

    def has_room(self, driver: int) -> bool:
        """Return whether sink ``driver`` accepts a chunk."""
        return self.decision is Decision.COLLECTING or not self._chunks[driver]

    def add(self, driver: int, chunk: Chunk, nbytes: int = 0) -> None:
        """Buffer a chunk of ``nbytes``; choose WIDE if the driver has enough rows or memory is short."""
        with self._lock:
            is_short = False
            if not self._closed[driver]:
                is_short = not self._memory.add_and_check(nbytes)
                self._chunks[driver].append((chunk, nbytes))
            self._rows[driver] += chunk.num_rows
            if self.decision is Decision.COLLECTING and (is_short or self._rows[driver] >= self.rows_per_driver):
                self.decision = Decision.WIDE
        if self.decision is Decision.WIDE:
            self.changed.notify()

    def end(self, driver: int) -> None:
        """Handle the end of sink ``driver``; choose NARROW if it is the last sink and nothing was chosen."""
        with self._lock:
            self._ended[driver] = True
            if all(self._ended) and self.decision is Decision.COLLECTING:
                self._narrow()
        self.changed.notify()

    def _narrow(self) -> None:
        wanted = max(1, min(self.dop, sum(self._rows) // self.rows_per_driver))
        self.chosen = 1 << (wanted.bit_length() - 1)
        held = [chunk for chunks in self._chunks for chunk in chunks]
        for driver, chunks in enumerate(self._chunks):
            chunks.clear()
            if driver < self.chosen:
                chunks.extend(held[driver :: self.chosen])
                if self._closed[driver]:
                    self._drop(driver)
        self.decision = Decision.NARROW

    def _drop(self, driver: int) -> None:
        """Drop the chunks buffered for source ``driver``."""
        self._memory.release(sum(nbytes for _, nbytes in self._chunks[driver]))
        self._chunks[driver].clear()

    def has_chunk(self, driver: int) -> bool:
        """Return whether source ``driver`` may take a chunk."""
        return self.decision is not Decision.COLLECTING and bool(self._chunks[driver])

    def take(self, driver: int) -> Chunk:
        """Remove and return the oldest chunk of source ``driver``."""
        chunk, nbytes = self._chunks[driver].popleft()
        self._memory.release(nbytes)
        if not self._chunks[driver]:
            self.changed.notify()
        return chunk

    def is_exhausted(self, driver: int) -> bool:
        """Return whether source ``driver`` has received its last chunk."""
        if self._closed[driver]:
            return True
        # In this order: a thread that sees the end must see every chunk added before the end.
        ended = self.decision is Decision.NARROW or (self.decision is Decision.WIDE and self._ended[driver])
        return ended and not self._chunks[driver]

    def close(self, driver: int) -> None:
        """Drop the chunks of source ``driver``; its sink ends once WIDE is chosen. Idempotent.

        Chunks buffered before the decision are dropped when the last source closes.
        """
        with self._lock:
            self._closed[driver] = True
            if self.decision is not Decision.COLLECTING:
                self._drop(driver)
            elif all(self._closed):
                for each in range(self.dop):
                    self._drop(each)
        self.changed.notify()

    def is_abandoned(self, driver: int) -> bool:
        """Return whether no source will take the chunks of sink ``driver``."""
        return all(self._closed) or (self.decision is Decision.WIDE and self._closed[driver])


class _Sink(Operator):
    def __init__(self, shared: AdaptiveParallelism, driver: int) -> None:
        self._shared = shared
        self._driver = driver
        self._ended = False
        self._bytes = ChunkBytes()

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._shared.account_to(context.memory.parent)

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._shared.changed)
        return None if self._shared.has_room(self._driver) else BlockingReason.CONSUMER

    def need_input(self) -> bool:
        return not self._ended and self._shared.has_room(self._driver)

    def push_chunk(self, chunk: Chunk) -> None:
        self._shared.add(self._driver, chunk, self._bytes.estimate(chunk))

    def set_finishing(self) -> None:
        self._ended = True
        self._shared.end(self._driver)

    def is_finished(self) -> bool:
        return self._ended or self._shared.is_abandoned(self._driver)


class _Source(Operator):
    def __init__(self, shared: AdaptiveParallelism, driver: int) -> None:
        self._shared = shared
        self._driver = driver

    def has_output(self) -> bool:
        return self._shared.has_chunk(self._driver)

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._shared.changed)
        return None if self.has_output() else BlockingReason.PRODUCER

    def pull_chunk(self) -> Chunk | None:
        return self._shared.take(self._driver)

    def is_finished(self) -> bool:
        return self._shared.is_exhausted(self._driver)

    def set_finished(self) -> None:
        self._shared.close(self._driver)

    def close(self) -> None:
        self._shared.close(self._driver)


class CollectSinkFactory(OperatorFactory):
    """Creates the sinks of the producing pipeline."""

    name = "CollectSink"
    replay_dependencies = "the sources of its chunks"

    def __init__(self, shared: AdaptiveParallelism) -> None:
        self._shared = self.shared_state = shared

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return _Sink(self._shared, driver_sequence)


class CollectSourceFactory(OperatorFactory):
    """Creates the sources of the consuming pipeline."""

    name = "CollectSource"

    def __init__(self, shared: AdaptiveParallelism) -> None:
        self._shared = self.shared_state = shared

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return _Source(self._shared, driver_sequence)
