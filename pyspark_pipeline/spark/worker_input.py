"""The input of Spark's worker: values of arguments, and the stream of a task.

In the stream Arrow batches are objects; settings, calls, numbers and texts are bytes, as Spark 4.1 sends them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark import worker
from pyspark.sql.pandas.serializers import ArrowStreamSerializer

from pyspark_pipeline.operators.python_functions.calls import Cogroup, Group
from pyspark_pipeline.operators.python_functions.row_values import python_values
from pyspark_pipeline.plan.python_functions import BatchLimits, PythonCall

#: Spark's worker, whose functions differ between versions.
WORKER: Any = worker
#: Whether it reads functions and settings from objects, as since Spark 4.2.
TAKES_OBJECTS = hasattr(WORKER, "RunnerConf")


def values_of(column: pa.Array, type_: Any) -> list[Any]:
    """Return the values that a function gets for a column of a type of Spark, rows for structs."""
    values = python_values(column)
    return list(map(type_.fromInternal, values)) if type_.needConversion() else values


class Batches:
    """Stands for the stream of a task: Spark's serializers read its batches, or set them, instead of bytes."""

    def __init__(self, batches: Iterator[pa.RecordBatch] | None = None) -> None:
        self.batches = batches or iter(())

    def next_batches(self) -> Iterator[pa.RecordBatch]:
        """Return the batches of the next Arrow stream."""
        return self.batches

    def write(self, _marker: bytes) -> None:
        """Ignore the marker before the first batch."""


class Groups(Batches):
    """Stands for the stream of a task whose data is in groups: before each one, the number of its tables."""

    def __init__(self, groups: Iterator[Group | Cogroup], limits: BatchLimits) -> None:
        super().__init__()
        self._groups = groups
        self._limits = limits
        self._tables: Iterator[Iterator[pa.RecordBatch]] = iter(())

    def next_batches(self) -> Iterator[pa.RecordBatch]:
        """Return the batches of the next table of the group."""
        return next(self._tables)

    def read(self, _length: int) -> bytes:
        """Begin the next group and return the number of its tables; return 0 if there is none."""
        group = next(self._groups, None)
        found = () if group is None else group.batches(self._limits)
        tables = [found] if isinstance(group, Group) else found
        self._tables = iter([iter(table) for table in tables])
        return write_int(len(tables))


def _exchange_batches(serializer: Any) -> None:
    """Replace the class's reading and writing of Arrow streams for :class:`Batches`: without a copy, and lazily."""
    load, dump = serializer.load_stream, serializer.dump_stream

    def load_stream(self: Any, stream: Any) -> Iterator[pa.RecordBatch]:
        return stream.next_batches() if isinstance(stream, Batches) else load(self, stream)

    def dump_stream(self: Any, batches: Iterator[pa.RecordBatch], stream: Any) -> Any:
        if not isinstance(stream, Batches):
            return dump(self, batches, stream)
        stream.batches = batches
        return None

    serializer.load_stream, serializer.dump_stream = load_stream, dump_stream


_exchange_batches(ArrowStreamSerializer)


def write_int(value: int) -> bytes:
    """Return an integer of 32 bits."""
    return struct.pack("!i", value)


def write_bool(value: bool) -> bytes:
    """Return a truth value."""
    return struct.pack("!?", value)


def write_bytes(content: bytes) -> bytes:
    """Return bytes, after their number."""
    return write_int(len(content)) + content


def write_text(value: str) -> bytes:
    """Return a text, after its length in bytes."""
    return write_bytes(value.encode())


def write_settings(settings: Mapping[str, str]) -> bytes:
    """Return settings, after their number."""
    pairs = (write_text(key) + write_text(value) for key, value in settings.items())
    return write_int(len(settings)) + b"".join(pairs)


def write_arguments(call: PythonCall, *, may_have_names: bool = True) -> bytes:
    """Return the ordinals of a call's arguments, each with its name if the form may have names, after their number."""
    made = [write_int(len(call.arguments))]
    for column, name in call.arguments:
        made.append(write_int(column))
        if may_have_names:
            made.append(write_bool(name is not None))
        if name is not None:
            made.append(write_text(name))
    return b"".join(made)
