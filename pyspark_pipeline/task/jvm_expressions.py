"""The client of the server that evaluates Spark's expressions for a task, in the executor's JVM.

The protocol is documented at ``ExpressionServer.scala``.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import SparkFailureError
from pyspark_pipeline.exchange.codec import decode_chunk, encode_chunk, plain_schema

#: Larger chunks are sent in parts.
_MAX_BYTES = 64 << 20
_REQUEST, _ANSWER = struct.Struct(">ii"), struct.Struct(">bi")


class JvmExpressions:
    """Requests to the server that the property ``expressions`` of a control message names: one connection a thread."""

    def __init__(self, server: Mapping[str, Any]) -> None:
        self._address = (server["host"], server["port"])
        self._secret = bytes.fromhex(server["secret"])
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []

    def evaluate(self, number: int, chunk: pa.RecordBatch, types: Sequence[DataType]) -> list[pa.Array]:
        """Return the values, of ``types``, of call ``number`` for the rows of ``chunk``, its columns.

        Raise :class:`SparkFailureError` if Spark raises for a row.
        """
        if chunk.nbytes > _MAX_BYTES and chunk.num_rows > 1:
            half = chunk.num_rows // 2
            parts = [self.evaluate(number, part, types) for part in (chunk[:half], chunk[half:])]
            return [pa.concat_arrays(columns) for columns in zip(*parts, strict=True)]
        connection = self._connection()
        message = encode_chunk(chunk)
        connection.sendall(_REQUEST.pack(number, message.size))
        connection.sendall(message)
        status, size = _ANSWER.unpack(_received(connection, _ANSWER.size))
        if status:
            raise SparkFailureError(size)
        values: list[pa.Array] = decode_chunk(_received(connection, size), plain_schema(types)).columns
        return values

    def close(self) -> None:
        """Close all connections. Repeatable."""
        with self._lock:
            for connection in self._connections:
                connection.close()

    def _connection(self) -> socket.socket:
        connection: socket.socket | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = socket.create_connection(self._address)
            with self._lock:
                self._connections.append(connection)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(self._secret)
            self._local.connection = connection
        return connection


def _received(connection: socket.socket, size: int) -> pa.Buffer:
    """Return the next ``size`` bytes; raise :class:`ConnectionError` if the server closed the connection before."""
    data = pa.allocate_buffer(size)
    view = memoryview(data).cast("B")
    while view:
        count = connection.recv_into(view)
        if not count:
            raise ConnectionError("the executor closed the connection to its expressions")
        view = view[count:]
    return data
