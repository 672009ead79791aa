"""Calls of Python functions through Spark's ``pyspark/worker.py``, which converts arguments and results.

Spark's worker reads the functions from the stream of a task. Here it reads them from bytes in the format of the running
Spark; Arrow batches are its input and output.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas import serializers
from pyspark.sql.types import _parse_datatype_json_string
from pyspark.util import PythonEvalType

from pyspark_pipeline.operators.python_functions.calls import Evaluate
from pyspark_pipeline.operators.python_functions.row_values import spark_column_of
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.python_functions import PythonCall, PythonFunctions
from pyspark_pipeline.spark.pandas_batches import conversion_with_texts, frames_at_once, with_texts
from pyspark_pipeline.spark.python_tables import load_table
from pyspark_pipeline.spark.read_groups import object_functions, read_arguments_of_wrappers, wrapped_functions
from pyspark_pipeline.spark.worker_input import (
    TAKES_OBJECTS,
    WORKER,
    Batches,
    Groups,
    values_of,
    write_arguments,
    write_bool,
    write_bytes,
    write_int,
    write_settings,
    write_text,
)

SERIALIZERS: Any = serializers

#: The forms whose arguments have no names.
_WITHOUT_NAMES = (
    PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
    PythonEvalType.SQL_MAP_PANDAS_ITER_UDF,
    PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF,
    PythonEvalType.SQL_GROUPED_MAP_PANDAS_ITER_UDF,
    PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF,
    PythonEvalType.SQL_GROUPED_MAP_ARROW_ITER_UDF,
    PythonEvalType.SQL_COGROUPED_MAP_PANDAS_UDF,
    PythonEvalType.SQL_COGROUPED_MAP_ARROW_UDF,
)
#: The forms that get groups of batches.
_OF_GROUPS = (
    PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF,
    PythonEvalType.SQL_GROUPED_AGG_PANDAS_UDF,
    PythonEvalType.SQL_WINDOW_AGG_PANDAS_UDF,
    PythonEvalType.SQL_GROUPED_MAP_PANDAS_ITER_UDF,
    PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF,
    PythonEvalType.SQL_GROUPED_MAP_ARROW_ITER_UDF,
    PythonEvalType.SQL_GROUPED_AGG_ARROW_UDF,
    PythonEvalType.SQL_WINDOW_AGG_ARROW_UDF,
    PythonEvalType.SQL_COGROUPED_MAP_PANDAS_UDF,
    PythonEvalType.SQL_COGROUPED_MAP_ARROW_UDF,
    getattr(PythonEvalType, "SQL_GROUPED_AGG_PANDAS_ITER_UDF", None),  # since Spark 4.2
    getattr(PythonEvalType, "SQL_GROUPED_AGG_ARROW_ITER_UDF", None),
)

if TAKES_OBJECTS:
    WORKER.PandasToArrowConversion = conversion_with_texts(WORKER.PandasToArrowConversion)

#: The ordinals of a function's arguments, and the function of their values.
RowCall = tuple[Sequence[int], Callable[..., Any]]


def load_calls(functions: PythonFunctions, settings: Settings) -> Evaluate:
    """Unpickle the functions; return the function from batches of their arguments to batches of their results.

    Raises what the module of a function raises when it is imported.
    """
    if functions.table is not None:
        return load_table(functions, functions.table, settings)
    if functions.eval_type == PythonEvalType.SQL_BATCHED_UDF:
        return _calls_of_rows(functions, settings)
    return _calls_of_objects(functions) if TAKES_OBJECTS else _calls_of_stream(functions)


def _calls_of_rows(functions: PythonFunctions, settings: Settings) -> Evaluate:
    """Return the calls of functions that Spark pickles the rows for: they get and return values of Python."""
    calls = _read_single_objects(functions) if TAKES_OBJECTS else _read_single_stream(functions)
    schema: Any = _parse_datatype_json_string(functions.input_type)
    types = [field.dataType for field in schema.fields]

    def evaluate(_partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arguments = [values_of(column, type_) for column, type_ in zip(batch.columns, types, strict=True)]
            results = [_called(function, [arguments[i] for i in read], batch.num_rows) for read, function in calls]
            rows = zip(*results, strict=True)  # calls all functions with a row before the next one
            columns = zip(zip(*rows, strict=True), functions.result_types, strict=True)
            made = [spark_column_of(values, type_, settings.java) for values, type_ in columns]
            yield pa.RecordBatch.from_arrays(made, [f"_{i}" for i in range(len(made))])

    return evaluate


def _called(function: Callable[..., Any], arguments: list[list[Any]], rows: int) -> Iterator[Any]:
    """Return an iterator that calls the function with each row in turn."""
    return map(function, *arguments) if arguments else (function() for _ in range(rows))


def _calls_of_objects(functions: PythonFunctions) -> Evaluate:
    """Return the calls by the worker of Spark 4.2 and later, whose functions take and return batches."""
    conf, eval_conf = WORKER.RunnerConf(dict(functions.conf)), WORKER.EvalConf({"input_type": functions.input_type})
    of_groups = object_functions(functions, _infos(functions), conf)
    if of_groups is not None:
        calls, to_batch = of_groups
        return lambda partition, data: map(to_batch, calls.results(partition, data))
    function, *_ = WORKER.read_udfs(WORKER.pickleSer, _infos(functions), functions.eval_type, conf, eval_conf)

    def evaluate(partition: int, data: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        groups = (group.batches(functions.limits) for group in data) if functions.eval_type in _OF_GROUPS else data
        results: Iterator[pa.RecordBatch] = function(partition, groups)
        return results

    return evaluate


def _read_single_objects(functions: PythonFunctions) -> list[RowCall]:
    """Return each function, as the worker of Spark 4.2 and later wraps it, with the ordinals of its arguments."""
    conf = WORKER.RunnerConf(dict(functions.conf))
    return [
        WORKER.read_single_udf(WORKER.pickleSer, info, functions.eval_type, conf, udf_index=i)
        for i, info in enumerate(_infos(functions))
    ]


def _infos(functions: PythonFunctions) -> list[Any]:
    made = importlib.import_module("pyspark.worker_message").UDFInfo
    return [_info(made, call) for call in functions.calls]


def _info(info: Any, call: PythonCall) -> Any:
    return info(
        udfs=[memoryview(command) for command in call.commands],
        args=call.positional,
        kwargs=call.named,
        result_id=0,
    )


def _calls_of_stream(functions: PythonFunctions) -> Evaluate:
    """Return the calls by the worker of Spark 4.1, whose serializers read and write the stream of a task."""
    source = io.BytesIO(b"".join(_message(functions)))
    with read_arguments_of_wrappers() as wrapped:
        function, _, deserializer, serializer = WORKER.read_udfs(WORKER.pickleSer, source, functions.eval_type)
    if getattr(type(serializer), "_create_array", None) is SERIALIZERS.ArrowStreamPandasSerializer._create_array:
        serializer._create_array = with_texts(serializer._create_array)
    if functions.eval_type == PythonEvalType.SQL_MAP_PANDAS_ITER_UDF:
        deserializer.arrow_to_pandas = frames_at_once(deserializer)
    limits = functions.limits
    of_groups = wrapped_functions(functions, wrapped, function, deserializer)

    def evaluate(partition: int, data: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        output = Batches()
        if of_groups is not None:
            results = of_groups.results(partition, data)
        elif functions.eval_type in _OF_GROUPS:
            results = function(partition, deserializer.load_stream(Groups(data, limits)))
        else:
            results = function(partition, deserializer.load_stream(Batches(data)))
        serializer.dump_stream(results, output)
        return output.batches

    return evaluate


def _read_single_stream(functions: PythonFunctions) -> list[RowCall]:
    """Return each function, as the worker of Spark 4.1 wraps it, with the ordinals of its arguments."""
    eval_type = functions.eval_type
    return [
        WORKER.read_single_udf(
            WORKER.pickleSer, io.BytesIO(b"".join(_call_message(call, eval_type))), eval_type, {}, i, None
        )
        for i, call in enumerate(functions.calls)
    ]


def _message(functions: PythonFunctions) -> Iterator[bytes]:
    """Yield what Spark's runner writes to a worker: settings, the type of the input, and the functions."""
    yield write_settings(functions.conf)
    if functions.eval_type == PythonEvalType.SQL_ARROW_BATCHED_UDF:
        yield write_text(functions.input_type)
    yield write_bool(False)  # no profiler
    yield write_int(len(functions.calls))
    for call in functions.calls:
        yield from _call_message(call, functions.eval_type)


def _call_message(call: PythonCall, eval_type: int) -> Iterator[bytes]:
    yield write_arguments(call, may_have_names=eval_type not in _WITHOUT_NAMES)
    yield write_int(len(call.commands))
    yield from map(write_bytes, call.commands)
