"""The distributions of a local exchange: by hash, round-robin by chunk, at random in even runs, or broadcast.

A distribution creates one partitioner per producer driver (partitioners have state, so they are not shared); the
partitioner splits a chunk into ``(consumer, rows)`` pieces. The caller supplies the hash function.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array

Partitioner = Callable[[Chunk], Iterable[tuple[int, Chunk]]]
Distribution = Callable[[int, int], Partitioner]
Destinations = Callable[[Chunk, int], Int32Array]
Grouping = Callable[[Int32Array, int], tuple[Int32Array, Int64Array]]


def stable_grouping(destinations: Int32Array, count: int) -> tuple[Int32Array, Int64Array]:
    """Return row numbers grouped by destination: (rows by destination then position, ``count + 1`` start offsets)."""
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(destinations, minlength=count), out=starts[1:])
    # numpy sorts 8 and 16 bit integers stably by radix, in linear time
    narrow = destinations.astype(np.uint8 if count <= 256 else np.uint16 if count <= 65536 else np.int32)
    return np.argsort(narrow, kind="stable").astype(np.int32), starts


def by_hash(destinations: Destinations, grouping: Grouping = stable_grouping) -> Distribution:
    """Send each row to ``destinations(chunk, consumers)[row]``; rows keep their order within a consumer.

    ``grouping`` may be a faster kernel equivalent to :func:`stable_grouping`.
    """

    def partitioner(_producer: int, consumers: int) -> Partitioner:
        def partition(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
            if consumers == 1:
                yield 0, chunk
                return
            rows, starts = grouping(destinations(chunk, consumers), consumers)
            taken = None
            for consumer in range(consumers):
                start, end = int(starts[consumer]), int(starts[consumer + 1])
                if end - start == chunk.num_rows:
                    yield consumer, chunk
                elif end > start:
                    taken = chunk.take(pa.array(rows)) if taken is None else taken
                    yield consumer, taken.slice(start, end - start)

        return partition

    return partitioner


def round_robin(producer: int, consumers: int) -> Partitioner:
    """Send whole chunks to the consumers in turn; with one consumer this is a gather."""
    turn = producer % consumers

    def partition(chunk: Chunk) -> list[tuple[int, Chunk]]:
        nonlocal turn
        consumer, turn = turn, (turn + 1) % consumers
        return [(consumer, chunk)]

    return partition


def at_random(producer: int, consumers: int) -> Partitioner:
    """Split each chunk into equal runs of rows, one a consumer, in random order (repeatable per producer)."""
    chance = random.Random(producer)
    order = list(range(consumers))

    def partition(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
        chance.shuffle(order)
        rows = chunk.num_rows
        for place, consumer in enumerate(order):
            start, end = rows * place // consumers, rows * (place + 1) // consumers
            if end > start:
                yield consumer, chunk.slice(start, end - start)

    return partition


def broadcast(_producer: int, consumers: int) -> Partitioner:
    """Send every chunk to every consumer; zero-copy."""
    return lambda chunk: [(consumer, chunk) for consumer in range(consumers)]
