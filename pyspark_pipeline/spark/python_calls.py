"""Calls of Python functions through Spark's ``pyspark/worker.py``, which converts arguments and results.

Spark's worker reads the functions from the stream of a task. Here it reads them from bytes in the format of the running
Spark; Arrow batches are its input and output.
"""

from __future__ import annotations

import importlib
import io
import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark import worker
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.util import PythonEvalType

from pyspark_pipeline.operators.python_functions.calls import Evaluate
from pyspark_pipeline.plan.python_functions import PythonCall, PythonNode

_WORKER: Any = worker


def load_calls(node: PythonNode) -> Evaluate:
    """Unpickle the functions; return the function from batches of their arguments to batches of their results.

    Raises what the module of a function raises when it is imported.
    """
    return _calls_of_objects(node) if hasattr(_WORKER, "RunnerConf") else _calls_of_stream(node)


def _calls_of_objects(node: PythonNode) -> Evaluate:
    """Return the calls by the worker of Spark 4.2 and later, whose functions take and return batches."""
    info = importlib.import_module("pyspark.worker_message").UDFInfo
    conf = _WORKER.RunnerConf(dict(node.conf))
    eval_conf = _WORKER.EvalConf({"input_type": node.input_type})
    infos = [_info(info, call) for call in node.calls]
    function, *_ = _WORKER.read_udfs(_WORKER.pickleSer, infos, node.eval_type, conf, eval_conf)
    evaluate: Evaluate = function
    return evaluate


def _info(info: Any, call: PythonCall) -> Any:
    return info(
        udfs=[memoryview(command) for command in call.commands],
        args=[column for column, name in call.arguments if name is None],
        kwargs={name: column for column, name in call.arguments if name is not None},
        result_id=0,
    )


class _Batches:
    """Stands for the stream of a task: Spark's serializers read its batches, or set them, instead of bytes."""

    def __init__(self, batches: Iterator[pa.RecordBatch] | None = None) -> None:
        self.batches = batches or iter(())

    def write(self, _marker: bytes) -> None:
        """Ignore the marker before the first batch."""


def _calls_of_stream(node: PythonNode) -> Evaluate:
    """Return the calls by the worker of Spark 4.1, whose serializers read and write the stream of a task."""
    source = io.BytesIO(b"".join(_message(node)))
    function, _, deserializer, serializer = _WORKER.read_udfs(_WORKER.pickleSer, source, node.eval_type)

    def evaluate(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        output = _Batches()
        serializer.dump_stream(function(partition, deserializer.load_stream(_Batches(batches))), output)
        return output.batches

    return evaluate


def _exchange_batches(serializer: Any) -> None:
    """Replace the class's reading and writing of Arrow streams for :class:`_Batches`: without a copy, and lazily."""
    load, dump = serializer.load_stream, serializer.dump_stream

    def load_stream(self: Any, stream: Any) -> Iterator[pa.RecordBatch]:
        return stream.batches if isinstance(stream, _Batches) else load(self, stream)

    def dump_stream(self: Any, batches: Iterator[pa.RecordBatch], stream: Any) -> Any:
        if not isinstance(stream, _Batches):
            return dump(self, batches, stream)
        stream.batches = batches
        return None

    serializer.load_stream, serializer.dump_stream = load_stream, dump_stream


_exchange_batches(ArrowStreamSerializer)


def _message(node: PythonNode) -> Iterator[bytes]:
    """Yield what Spark's runner writes to a worker: settings, the type of the input, and the functions."""
    is_map = node.eval_type in (PythonEvalType.SQL_MAP_ARROW_ITER_UDF, PythonEvalType.SQL_MAP_PANDAS_ITER_UDF)
    yield _int(len(node.conf))
    for key, value in node.conf.items():
        yield _text(key) + _text(value)
    if node.eval_type == PythonEvalType.SQL_ARROW_BATCHED_UDF:
        yield _text(node.input_type)
    yield _bool(False)  # no profiler
    yield _int(len(node.calls))
    for call in node.calls:
        yield _int(len(call.arguments))
        for column, name in call.arguments:
            yield _int(column)
            if not is_map:  # a map's argument has no name
                yield _bool(name is not None)
            if name is not None:
                yield _text(name)
        yield _int(len(call.commands))
        for command in call.commands:
            yield _int(len(command)) + command


def _int(value: int) -> bytes:
    return struct.pack("!i", value)


def _bool(value: bool) -> bytes:
    return struct.pack("!?", value)


def _text(value: str) -> bytes:
    content = value.encode()
    return _int(len(content)) + content
