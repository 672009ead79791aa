"""The broadcast cache of a worker: values are built once per key, kept while readable, and evicted when idle."""

from __future__ import annotations

import json
import pickle
import struct
import threading
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.core.broadcast import Broadcast, _broadcastRegistry

from pyspark_pipeline.errors import EngineBugError, ResourceExhaustedError
from pyspark_pipeline.exchange import encode_chunk
from pyspark_pipeline.exchange.broadcast import BroadcastCache, Broadcasts, no_broadcast
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.plan.wire import decode_fragment, decode_node
from pyspark_pipeline.spark.broadcasts import read_broadcast
from tests.operators.kit import fields

CHUNKS = [pa.record_batch({"c0": [1, None], "c1": ["a", None]}), pa.record_batch({"c0": [3], "c1": ["größer"]})]
EMPTY = CHUNKS[0].slice(0, 0)
SOURCE = BroadcastSource(output=fields("n:bigint, s:string"), broadcast=0)


def messages(chunks: Sequence[pa.RecordBatch]) -> list[bytes]:
    return [encode_chunk(chunk).to_pybytes() for chunk in chunks]


def pickled(chunks: Sequence[pa.RecordBatch]) -> bytes:
    """Return the file contents as the JVM writes them."""
    records = b"".join(b"\x8e" + struct.pack("<Q", len(data)) + data for data in messages(chunks))
    return b"\x80\x04](" + records + b"e."


class Made:
    """A value with the size ``nbytes``."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class Reader:
    """Records the broadcasts that are read."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, broadcast_id: int) -> Sequence[bytes]:
        self.asked.append(broadcast_id)
        return messages([*CHUNKS, EMPTY])


@pytest.mark.parametrize("chunks", [[], CHUNKS])
def test_broadcast_file_is_pickled_list(chunks: list[pa.RecordBatch]) -> None:
    assert pickle.loads(pickled(chunks)) == messages(chunks)


def test_read_broadcast_reads_registered_file_without_caching(tmp_path: Path) -> None:
    file = tmp_path / "broadcast"
    file.write_bytes(pickled(CHUNKS))
    _broadcastRegistry[7] = Broadcast(path=str(file))
    try:
        assert read_broadcast(7) == messages(CHUNKS)
        assert not hasattr(_broadcastRegistry[7], "_value")
    finally:
        del _broadcastRegistry[7]


def test_read_broadcast_maps_the_files_that_the_list_names(tmp_path: Path) -> None:
    sent = messages(CHUNKS)
    (tmp_path / "part").write_bytes(b"".join(message + bytes(-len(message) % 64) for message in sent))
    parts = [{"path": str(tmp_path / "part"), "lengths": list(map(len, sent))}, {"path": "no file", "lengths": []}]
    (tmp_path / "list").write_bytes(pickle.dumps([json.dumps(part) for part in parts], protocol=4))
    _broadcastRegistry[7] = Broadcast(path=str(tmp_path / "list"))
    try:
        found = read_broadcast(7)
    finally:
        del _broadcastRegistry[7]
    assert len(found) > 1 and [bytes(memoryview(message)) for message in found] == sent
    assert all(message.address % 64 == 0 for message in found)


def test_read_broadcast_reads_decrypted_stream(tmp_path: Path) -> None:
    file = tmp_path / "decrypted"
    file.write_bytes(pickled(CHUNKS))
    with file.open("rb") as stream:
        _broadcastRegistry[8] = Broadcast(sock_file=stream)  # type: ignore[arg-type,unused-ignore]
    try:
        assert read_broadcast(8) == messages(CHUNKS)
    finally:
        del _broadcastRegistry[8]


def test_read_broadcast_raises_for_unregistered_broadcast() -> None:
    with pytest.raises(EngineBugError, match="broadcast 9 has not come"):
        read_broadcast(9)


def test_value_is_built_once_from_nonempty_chunks() -> None:
    read = Reader()
    cache = BroadcastCache(0)
    tables = []
    for _ in range(2):  # two tasks
        broadcasts = Broadcasts([41], read, cache)
        for _ in range(2):
            tables.append(broadcasts.value(SOURCE, "table", pa.Table.from_batches))
    assert read.asked == [41]
    assert len({id(table) for table in tables}) == 1
    assert tables[0].equals(pa.Table.from_batches(CHUNKS))


def test_each_key_and_broadcast_has_its_own_value() -> None:
    read = Reader()
    broadcasts = Broadcasts([4, 5], read, BroadcastCache(0))
    other = BroadcastSource(output=SOURCE.output, broadcast=1)
    values = [broadcasts.value(source, key, lambda _: Made(1)) for source in (SOURCE, other) for key in ("a", "b")]
    assert read.asked == [4, 4, 5, 5]
    assert len({id(value) for value in values}) == 4


def test_value_raises_for_unknown_broadcast_number() -> None:
    with pytest.raises(EngineBugError, match="a fragment of 0 broadcasts asks for number 0"):
        Broadcasts((), no_broadcast, BroadcastCache(0)).value(SOURCE, "k", lambda _: Made(1))
    with pytest.raises(EngineBugError, match="where there are none"):
        Broadcasts((3,), no_broadcast, BroadcastCache(0)).value(SOURCE, "k", lambda _: Made(1))


def test_cache_keeps_values_of_readable_broadcasts_of_any_size() -> None:
    cache = BroadcastCache(10)
    cache.begin_task([1, 2])
    values = [cache.value(i, "k", lambda: Made(1000)) for i in (1, 2)]
    cache.begin_task([1, 2])
    assert [cache.value(i, "k", lambda: Made(1)) for i in (1, 2)] == values
    assert cache.statistics() == {"values": 2, "bytes": 2000, "idleValues": 0, "idleBytes": 0}


def test_cache_evicts_least_recently_used_idle_values() -> None:
    cache = BroadcastCache(10)
    cache.begin_task([1, 2, 3])
    for i in (1, 2, 3, 1):
        cache.value(i, "k", lambda: Made(5))
    cache.begin_task([])
    assert cache.statistics() == {"values": 2, "bytes": 10, "idleValues": 2, "idleBytes": 10}
    made = []

    def make() -> Made:
        made.append(True)
        return Made(5)

    for i in (1, 3, 2):
        cache.value(i, "k", make)
    assert len(made) == 1, "only the one used longest ago was dropped"


def test_failed_build_is_not_cached() -> None:
    cache = BroadcastCache(0)
    with pytest.raises(MemoryError):
        cache.value(1, "k", lambda: (_ for _ in ()).throw(MemoryError()))
    assert cache.value(1, "k", lambda: Made(3)).nbytes == 3


def test_concurrent_threads_share_one_value() -> None:
    cache = BroadcastCache(0)
    cache.begin_task([1])
    inside = threading.Event()
    go = threading.Event()
    made: list[Made] = []
    got: list[Made] = []

    def make() -> Made:
        inside.set()
        go.wait(10)
        made.append(Made(1))
        return made[-1]

    threads = [threading.Thread(target=lambda: got.append(cache.value(1, "k", make))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert inside.wait(10)
    go.set()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert all(value is made[0] for value in got)
    assert len(got) == 4


def test_decode_fragment_reads_broadcasts() -> None:
    output = [{"id": 5, "name": "n", "type": "bigint", "nullable": True}]
    node = decode_node({"op": "Broadcast", "output": output, "broadcast": 2})
    assert isinstance(node, BroadcastSource)
    assert (node.broadcast, node.children, [field.id for field in node.output]) == (2, (), [5])
    text = {
        "version": WIRE_VERSION,
        "id": 1,
        "root": {"op": "Input", "output": output, "input": 0},
        "sink": {"kind": "result"},
        "settings": {"ansi": True, "timeZone": "UTC", "options": {}},
    }
    assert decode_fragment(json.dumps(text)).broadcasts == ()
    assert decode_fragment(json.dumps({**text, "broadcasts": [9, 4, 9]})).broadcasts == (9, 4, 9)


def test_value_counts_against_its_user_until_released() -> None:
    tables, instance = MemoryTracker("tables"), MemoryTracker("instance", limit=100)
    cache = BroadcastCache(1000, tables)
    cache.begin_task([1, 2])
    first, second = instance.child("first"), instance.child("second")
    cache.value(1, "a", lambda: Made(30), first)
    cache.value(1, "b", lambda: Made(20), first)
    cache.value(1, "a", lambda: Made(30), second)
    assert (first.held, second.held, tables.held) == (50, 0, 0)
    with pytest.raises(ResourceExhaustedError, match="second asked for 60 bytes"):
        cache.value(2, "a", lambda: Made(60), second)
    assert cache.statistics()["values"] == 2
    for _ in range(2):
        cache.release_user(first)
        assert (instance.held, tables.held) == (0, 50)
    cache.value(2, "a", lambda: Made(60), second)
    assert (second.held, tables.held) == (60, 50)
    cache.begin_task([])  # drops users that have not released their values
    assert tables.held == 110
