"""The interface to the code that calls Python functions: Spark's, which the engine itself does not import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import UnsupportedPlanError, UserFunctionError
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.python_functions import PythonFunctions

#: From batches of the functions' arguments, or groups (lists) of such batches, to batches of their results; the first
#: argument is the partition's index.
Evaluate = Callable[[int, Iterator[Any]], Iterator[pa.RecordBatch]]
LoadCalls = Callable[[PythonFunctions, Settings], Evaluate]

_loaders: list[LoadCalls] = []


def use_calls_of(load: LoadCalls) -> None:
    """Set the function that unpickles all functions in this process."""
    _loaders[:] = [load]


def load_calls(functions: PythonFunctions, settings: Settings) -> Evaluate:
    """Unpickle the functions; raise what the import of their modules raises."""
    if not _loaders:
        raise UnsupportedPlanError("Python functions run in Spark's workers only")
    return _loaders[0](functions, settings)


def spark_arrow_type(type_: DataType, time_zone: str) -> pa.DataType:
    """Return the Arrow type of an argument in Spark: its timestamps are in the time zone of the session."""
    return pa.timestamp("us", tz=time_zone) if type_.kind == "timestamp" else type_.arrow


def as_type(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return the column, cast if it has another type."""
    return column if column.type == type_ else column.cast(type_)


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a batch of ``rows`` rows, of which there may be some without columns."""
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def user_error(names: str, error: BaseException) -> UserFunctionError:
    """Return the error that the engine raises if one of the functions ``names`` raised ``error``."""
    trace = error.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith("pyspark_pipeline."):
        trace = trace.tb_next
    return UserFunctionError(f"{names}: {type(error).__name__}: {error}", error, trace)
