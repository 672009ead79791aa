"""The worker's side of the protocol by which Spark evaluates expressions for a task."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.errors import SparkFailureError
from pyspark_pipeline.exchange.codec import decode_chunk, encode_chunk, plain_schema
from pyspark_pipeline.task.jvm_expressions import JvmExpressions

_BIGINT, _SECRET = parse_type("bigint"), bytes(range(32))
_CHUNK = pa.RecordBatch.from_arrays([pa.array([1, None, 3])], schema=plain_schema([_BIGINT]))

Answer = Callable[[int, pa.RecordBatch], bytes]


def _negated(number: int, chunk: pa.RecordBatch) -> bytes:
    values = pa.array([None if v is None else -v * number for v in chunk.column(0).to_pylist()], pa.int64())
    message = encode_chunk(pa.RecordBatch.from_arrays([values], schema=plain_schema([_BIGINT]))).to_pybytes()
    return struct.pack(">bi", 0, len(message)) + message


@contextmanager
def _server(answer: Answer, served: list[str]) -> Iterator[JvmExpressions]:
    """Serve every connection with ``answer``, in pieces of a few bytes; ``served`` has an item for each connection."""

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as received:
            assert received.read(32) == _SECRET
            served.append("connected")
            while header := received.read(8):
                number, size = struct.unpack(">ii", header)
                sent = answer(number, decode_chunk(pa.py_buffer(received.read(size)), plain_schema([_BIGINT])))
                for start in range(0, len(sent), 7):
                    connection.sendall(sent[start : start + 7])
                if not sent:
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        port = listening.getsockname()[1]
        client = JvmExpressions({"host": "127.0.0.1", "port": port, "secret": _SECRET.hex()})
        try:
            yield client
        finally:
            client.close()
            client.close()


def test_values_return() -> None:
    served: list[str] = []
    with _server(_negated, served) as client:
        assert client.evaluate(2, _CHUNK, [_BIGINT])[0].to_pylist() == [-2, None, -6]
        assert client.evaluate(1, _CHUNK.slice(2), [_BIGINT])[0].to_pylist() == [-3]
    assert served == ["connected"]


def test_large_chunks_are_sent_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark_pipeline.task.jvm_expressions._MAX_BYTES", 100)
    sizes: list[int] = []

    def counted(number: int, chunk: pa.RecordBatch) -> bytes:
        sizes.append(chunk.num_rows)
        return _negated(number, chunk)

    values = pa.array(range(50), pa.int64())
    with _server(counted, []) as client:
        chunk = pa.RecordBatch.from_arrays([values], schema=plain_schema([_BIGINT]))
        assert client.evaluate(1, chunk, [_BIGINT])[0].to_pylist() == [-value for value in range(50)]
    assert sum(sizes) == 50
    assert max(sizes) <= 12


def test_a_call_has_several_results() -> None:
    def both(number: int, chunk: pa.RecordBatch) -> bytes:
        values = chunk.column(0)
        answer = pa.RecordBatch.from_arrays([values, values[::-1]], schema=plain_schema([_BIGINT, _BIGINT]))
        message = encode_chunk(answer).to_pybytes()
        return struct.pack(">bi", 0, len(message)) + message

    with _server(both, []) as client:
        results = client.evaluate(0, _CHUNK, [_BIGINT, _BIGINT])
        assert [values.to_pylist() for values in results] == [[1, None, 3], [3, None, 1]]


def test_each_thread_has_a_connection() -> None:
    served: list[str] = []
    found: list[list[int | None]] = []
    with _server(_negated, served) as client:
        threads = [
            threading.Thread(target=lambda n=n: found.append(client.evaluate(n, _CHUNK, [_BIGINT])[0].to_pylist()))
            for n in (1, 2, 3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(values[0] or 0 for values in found) == [-3, -2, -1]
    assert len(served) == 3


def test_failures_have_numbers() -> None:
    with _server(lambda number, chunk: struct.pack(">bi", 1, 7), []) as client:
        with pytest.raises(SparkFailureError) as raised:
            client.evaluate(0, _CHUNK, [_BIGINT])
        assert raised.value.number == 7


def test_a_closed_connection_is_an_error() -> None:
    with _server(lambda number, chunk: b"", []) as client, pytest.raises(ConnectionError, match="executor closed"):
        client.evaluate(0, _CHUNK, [_BIGINT])
