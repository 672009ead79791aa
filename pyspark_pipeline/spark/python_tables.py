"""Calls of table functions through Spark's ``pyspark/worker.py``, which converts arguments and results.

Their results are batches of one column: a list of rows for each row of the input, and others for the end of the input.
"""

from __future__ import annotations

import importlib
import io
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import _parse_datatype_json_string
from pyspark.util import PythonEvalType

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.operators.python_functions.calls import Evaluate
from pyspark_pipeline.operators.python_functions.row_values import spark_column_of
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.python_functions import PythonFunctions, TableForm
from pyspark_pipeline.spark.worker_input import (
    TAKES_OBJECTS,
    WORKER,
    Batches,
    values_of,
    write_arguments,
    write_bool,
    write_bytes,
    write_int,
    write_settings,
    write_text,
)

#: The most rows, lists and seconds of a batch of results: an operator above may need no more.
_MOST_ROWS, _MOST_LISTS, _SECONDS = 8192, 1000, 0.1


def load_table(functions: PythonFunctions, form: TableForm, settings: Settings) -> Evaluate:
    """Unpickle a table function and make its object; return the function from batches of arguments to lists of rows.

    Raises what the import of its module and its constructor raise.
    """
    read = _read_objects if TAKES_OBJECTS else _read_stream
    function, _, deserializer, serializer = read(functions, form)
    if functions.eval_type == PythonEvalType.SQL_TABLE_UDF:
        return _calls_of_rows(function, functions, settings)

    def evaluate(partition: int, data: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if TAKES_OBJECTS:
            return _lists_of_structs(function(partition, data))
        output = Batches()
        serializer.dump_stream(function(partition, deserializer.load_stream(Batches(data))), output)
        return _lists_of_structs(output.batches)

    return evaluate


def _read_objects(functions: PythonFunctions, form: TableForm) -> Any:
    """Return the function by the worker of Spark 4.2 and later, and its serializers."""
    (call,) = functions.calls
    info = importlib.import_module("pyspark.worker_message").UDTFInfo(
        args=call.positional,
        kwargs=call.named,
        partition_child_indexes=list(form.keys),
        pickled_analyze_result=None if form.analyzed is None else memoryview(form.analyzed),
        handler=memoryview(call.commands[0]),
        return_type=form.result,
        name=call.name,
    )
    tables = ",".join(map(str, form.tables))
    eval_conf = WORKER.EvalConf({"input_type": functions.input_type, "table_arg_offsets": tables})
    conf = WORKER.RunnerConf(dict(functions.conf))
    return WORKER.read_udtf(WORKER.pickleSer, info, functions.eval_type, conf, eval_conf)


def _read_stream(functions: PythonFunctions, form: TableForm) -> Any:
    """Return the function by the worker of Spark 4.1, and its serializers."""
    source = io.BytesIO(b"".join(_message(functions, form)))
    return WORKER.read_udtf(WORKER.pickleSer, source, functions.eval_type)


def _message(functions: PythonFunctions, form: TableForm) -> Iterator[bytes]:
    """Yield what Spark's runner writes to a worker: settings, the type of the input, and the function."""
    if functions.eval_type != PythonEvalType.SQL_TABLE_UDF:
        yield write_settings(functions.conf)
    if functions.eval_type == PythonEvalType.SQL_ARROW_TABLE_UDF:
        yield write_text(functions.input_type)
    elif functions.eval_type == PythonEvalType.SQL_ARROW_UDTF:
        yield from _numbers(form.tables)
    (call,) = functions.calls
    yield write_arguments(call)
    yield from _numbers(form.keys)
    yield write_bool(form.analyzed is not None)
    if form.analyzed is not None:
        yield write_bytes(form.analyzed)
    (command,) = call.commands
    yield write_bytes(command)
    yield write_text(form.result) + write_text(call.name)


def _numbers(values: Sequence[int]) -> Iterator[bytes]:
    yield write_int(len(values))
    yield from map(write_int, values)


def _calls_of_rows(function: Any, functions: PythonFunctions, settings: Settings) -> Evaluate:
    """Return the calls of a function that Spark pickles the rows for: it gets and returns values of Python."""
    schema: Any = _parse_datatype_json_string(functions.input_type)

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
        for batch in batches:
            columns = [values_of(column, f.dataType) for column, f in zip(batch.columns, schema.fields, strict=True)]
            yield from zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)

    def structs(results: list[tuple[Any, ...]]) -> pa.Array:
        return _struct([row for result in results for row in result], functions.result_types, settings.java)

    def evaluate(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for results in _parts(function(partition, rows(batches))):
            yield _lists(results, structs(results))

    return evaluate


def _struct(rows: list[Any], types: tuple[DataType, ...], java: int) -> pa.StructArray:
    """Return the column of rows of internal values; a row that is None has NULLs."""
    empty = (None,) * len(types)
    values = zip(*(empty if row is None else row for row in rows), strict=True) if rows else [()] * len(types)
    columns = [spark_column_of(list(column), type_, java) for column, type_ in zip(values, types, strict=True)]
    return pa.StructArray.from_arrays(columns, names=[f"_{i}" for i in range(len(columns))])


def _lists_of_structs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the batches, each of a struct column with the rows for one row of the input, joined to larger ones."""
    for results in _parts(batch.column(0) for batch in batches):
        while results:
            types = [result.type for result in results if len(result)]
            end = next((i for i, r in enumerate(results) if len(r) and r.type != types[0]), len(results))
            filled = [result for result in results[:end] if len(result)]
            yield _lists(results[:end], pa.concat_arrays(filled) if filled else results[0])
            del results[:end]


def _lists(results: Sequence[Any], values: pa.Array) -> pa.RecordBatch:
    """Return the ``values`` as lists as long as the ``results``."""
    ends = np.cumsum([0, *map(len, results)], dtype=np.int32)
    return pa.RecordBatch.from_arrays([pa.ListArray.from_arrays(pa.array(ends), values)], ["rows"])


def _parts(results: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the results in lists; if the function fails, first those before."""
    part: list[Any] = []
    rows, start = 0, time.monotonic()
    try:
        for result in results:
            part.append(result)
            rows += len(result)
            if rows >= _MOST_ROWS or len(part) >= _MOST_LISTS or time.monotonic() - start > _SECONDS:
                yield part
                part, rows, start = [], 0, time.monotonic()
    except Exception:
        if part:
            yield part
        raise
    if part:
        yield part
