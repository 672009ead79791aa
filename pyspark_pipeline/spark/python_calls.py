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
from pyspark.util import PythonEvalType

from pyspark_pipeline.operators.python_functions.calls import Evaluate
from pyspark_pipeline.plan.python_functions import EvalPython, PythonCall

_MARKER_BYTES = 4  # Spark's worker writes START_ARROW_STREAM before its output


_WORKER: Any = worker


def load_calls(node: EvalPython) -> Evaluate:
    """Unpickle the functions; return the function from a batch of their arguments to a batch of their results.

    Raises what the module of a function raises when it is imported.
    """
    return _calls_of_objects(node) if hasattr(_WORKER, "RunnerConf") else _calls_of_stream(node)


def _calls_of_objects(node: EvalPython) -> Evaluate:
    """Return the calls by the worker of Spark 4.2 and later, whose functions take and return batches."""
    info = importlib.import_module("pyspark.worker_message").UDFInfo
    conf = _WORKER.RunnerConf(dict(node.conf))
    eval_conf = _WORKER.EvalConf({"input_type": node.input_type})
    infos = [_info(info, call) for call in node.calls]
    function, *_ = _WORKER.read_udfs(_WORKER.pickleSer, infos, node.eval_type, conf, eval_conf)

    def evaluate(batch: pa.RecordBatch) -> pa.RecordBatch:
        (result,) = function(0, iter([batch]))
        return result

    return evaluate


def _info(info: Any, call: PythonCall) -> Any:
    return info(
        udfs=[memoryview(command) for command in call.commands],
        args=[column for column, name in call.arguments if name is None],
        kwargs={name: column for column, name in call.arguments if name is not None},
        result_id=0,
    )


def _calls_of_stream(node: EvalPython) -> Evaluate:
    """Return the calls by the worker of Spark 4.1, whose serializers read and write Arrow streams."""
    takes_rows = node.eval_type == PythonEvalType.SQL_ARROW_BATCHED_UDF
    source = io.BytesIO(b"".join(_message(node, takes_rows)))
    function, _, deserializer, serializer = _WORKER.read_udfs(_WORKER.pickleSer, source, node.eval_type)

    def evaluate(batch: pa.RecordBatch) -> pa.RecordBatch:
        arguments = pa.BufferOutputStream()
        with pa.ipc.new_stream(arguments, batch.schema) as writer:
            writer.write_batch(batch)
        results = io.BytesIO()
        serializer.dump_stream(function(0, deserializer.load_stream(arguments.getvalue())), results)
        return pa.ipc.open_stream(pa.py_buffer(results.getvalue()).slice(_MARKER_BYTES)).read_next_batch()

    return evaluate


def _message(node: EvalPython, takes_rows: bool) -> Iterator[bytes]:
    """Yield what Spark's runner writes to a worker: settings, the type of the input, and the functions."""
    yield _int(len(node.conf))
    for key, value in node.conf.items():
        yield _text(key) + _text(value)
    if takes_rows:
        yield _text(node.input_type)
    yield _bool(False)  # no profiler
    yield _int(len(node.calls))
    for call in node.calls:
        yield _int(len(call.arguments))
        for column, name in call.arguments:
            yield _int(column) + _bool(name is not None)
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
