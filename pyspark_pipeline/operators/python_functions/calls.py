"""The interface to the code that calls Python functions: Spark's, which the engine itself does not import."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import UnsupportedPlanError, UserFunctionError
from pyspark_pipeline.operators.python_functions.batch_limits import cut_batches
from pyspark_pipeline.operators.python_functions.calling_thread import current
from pyspark_pipeline.operators.python_functions.spark_columns import of_spark, spark_arrow_type, to_spark
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.python_functions import BatchLimits, PythonFunctions

#: From batches of the functions' arguments, or groups (:class:`Group`, :class:`Cogroup`), to batches of their results;
#: the first argument is the partition's index.
Evaluate = Callable[[int, Iterator[Any]], Iterator[pa.RecordBatch]]
LoadCalls = Callable[[PythonFunctions, Settings], Evaluate]

_loaders: list[LoadCalls] = []


@dataclass(slots=True)
class Group:
    """The rows of a group, in order: ``parts`` are batches of arguments, the first row and the one after the last."""

    parts: list[tuple[pa.RecordBatch, int, int]]

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return sum(stop - start for _, start, stop in self.parts)

    def batches(self, limits: BatchLimits) -> list[pa.RecordBatch]:
        """Return the rows in batches within ``limits``."""
        return cut_batches(self.whole(), limits)

    def whole(self) -> pa.RecordBatch:
        """Return the rows in one batch."""
        cut = [rows.slice(start, stop - start) for rows, start, stop in self.parts]
        return cut[0] if len(cut) == 1 else pa.Table.from_batches(cut).combine_chunks().to_batches()[0]


@dataclass(slots=True)
class Cogroup:
    """The rows of two groups with equal keys: ``rows`` as a :class:`Group`, those of the left input first.

    Column 0 is the number of the input, 0 or 1; the columns of the left one, ``schemas[0]``, and of the right one
    follow.
    """

    rows: Group
    schemas: tuple[pa.Schema, pa.Schema]

    def batches(self, limits: BatchLimits) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
        """Return the rows of both inputs in batches within ``limits``; of no rows, one empty batch."""
        whole = self.rows.whole()
        middle = int(np.searchsorted(whole.column(0).to_numpy(), 1))
        left, right = self.schemas
        sides = (0, middle, 1, left), (middle, whole.num_rows, 1 + len(left), right)
        made = []
        for start, stop, first, schema in sides:
            columns = [whole.column(first + i).slice(start, stop - start) for i in range(len(schema))]
            made.append(cut_batches(batch_of(columns, schema, stop - start), limits))
        return made[0], made[1]


def use_calls_of(load: LoadCalls) -> None:
    """Set the function that unpickles all functions in this process."""
    _loaders[:] = [load]


def load_calls(functions: PythonFunctions, settings: Settings) -> Evaluate:
    """Unpickle the functions; raise what the import of their modules raises. The calling thread, if any, calls them."""
    thread = current()
    if thread is None:
        return load_calls_here(functions, settings)
    load = thread.call(lambda: load_calls_here(functions, settings))
    return lambda partition, data: thread.iterate(lambda: load(partition, data))


def load_calls_here(functions: PythonFunctions, settings: Settings) -> Evaluate:
    """Unpickle the functions on the thread that will call them."""
    if not _loaders:
        raise UnsupportedPlanError("Python functions run in Spark's workers only")
    return _loaders[0](functions, settings)


def argument_schema(arguments: Sequence[Expr], time_zone: str) -> pa.Schema:
    """Return the schema of a batch of arguments, as Spark names and types its columns."""
    return pa.schema([(f"_{i}", spark_arrow_type(argument.type, time_zone)) for i, argument in enumerate(arguments)])


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a batch of ``rows`` rows, of which there may be some without columns, in the types of Spark."""
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
    cast = [to_spark(column, type_) for column, type_ in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def result_columns(results: pa.RecordBatch, functions: PythonFunctions) -> list[pa.Array]:
    """Return the columns of results as the engine's; raise :func:`user_error` if they are of other types."""
    try:
        return [
            of_spark(column, type_) for column, type_ in zip(results.columns, functions.result_types, strict=True)
        ]
    except TypeError as error:
        raise user_error(functions.names, error) from error


def user_error(names: str, error: BaseException) -> UserFunctionError:
    """Return the error that the engine raises if one of the functions ``names`` raised ``error``."""
    trace = frame = error.__traceback__
    while frame is not None:
        is_engine = str(frame.tb_frame.f_globals.get("__name__")).startswith("pyspark_pipeline.")
        trace, frame = frame.tb_next if is_engine else trace, frame.tb_next
    text = "".join(traceback.format_exception_only(error)).strip()  # also if the error's own text fails
    return UserFunctionError(f"{names}: {text}", error, trace)
