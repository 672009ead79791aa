"""Functions of groups as the worker of the running Spark reads them, to be called by :mod:`.group_functions`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructField, StructType
from pyspark.util import PythonEvalType

from pyspark_pipeline.plan.python_functions import PythonFunctions
from pyspark_pipeline.spark.group_functions import (
    GroupFunctions,
    MapFunction,
    Results,
    WrappedFunctions,
    aggregate_arrays,
    aggregate_series,
)
from pyspark_pipeline.spark.pandas_groups import PandasGroups
from pyspark_pipeline.spark.worker_input import WORKER

_MAP, _AGGREGATE_SERIES, _AGGREGATE_ARRAYS = (
    PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF,
    PythonEvalType.SQL_GROUPED_AGG_PANDAS_UDF,
    PythonEvalType.SQL_GROUPED_AGG_ARROW_UDF,
)
_WRAPPERS = "wrap_grouped_map_pandas_udf", "wrap_grouped_agg_pandas_udf", "wrap_grouped_agg_arrow_udf"

#: From results to a batch in the types that Spark's worker returns.
ToBatch = Callable[[Results], pa.RecordBatch]


@contextmanager
def read_arguments_of_wrappers() -> Iterator[list[tuple[Any, ...]]]:
    """Collect the arguments with which the worker of Spark 4.1 wraps functions of groups that it reads meanwhile."""
    found: list[tuple[Any, ...]] = []
    kept = {name: getattr(WORKER, name) for name in _WRAPPERS}

    def collecting(wrap: Callable[..., Any]) -> Callable[..., Any]:
        def collect(*arguments: Any) -> Any:
            found.append(arguments)
            return wrap(*arguments)

        return collect

    for name, wrap in kept.items():
        setattr(WORKER, name, collecting(wrap))
    try:
        yield found
    finally:
        for name, wrap in kept.items():
            setattr(WORKER, name, wrap)


def wrapped_functions(
    functions: PythonFunctions, wrapped: Sequence[tuple[Any, ...]], function: Any, deserializer: Any
) -> GroupFunctions | None:
    """Return the functions that the worker of Spark 4.1 read; None if its serializer reads their groups.

    ``wrapped`` is what Spark wrapped (:func:`read_arguments_of_wrappers`), ``function`` what it made of that,
    ``deserializer`` its conversion to pandas.
    """
    eval_type = functions.eval_type
    if eval_type == _AGGREGATE_ARRAYS:
        return aggregate_arrays(functions.limits, *_calls(wrapped))
    if eval_type not in (_MAP, _AGGREGATE_SERIES, PythonEvalType.SQL_WINDOW_AGG_PANDAS_UDF):
        return None
    groups = PandasGroups(lambda table, i: deserializer.arrow_to_pandas(table.column(i), i), functions.limits)
    if eval_type == _AGGREGATE_SERIES:
        return aggregate_series(groups, *_calls(wrapped))
    if eval_type != _MAP:
        return WrappedFunctions(groups, function)
    ((called, return_type, argspec, conf),) = wrapped
    return MapFunction(
        groups,
        functions.calls[0].positional,
        called,
        takes_keys=len(argspec.args) == 2,
        verify=_verify(return_type, WORKER.assign_cols_by_name(conf)),
        arrow_type=WORKER.to_arrow_type(return_type, WORKER.use_large_var_types(conf)),
    )


def _calls(wrapped: Sequence[tuple[Any, ...]]) -> tuple[list[Any], list[Any]]:
    """Return the functions with the ordinals of their arguments, and the Arrow types of their results."""
    calls = [WORKER.wrap_kwargs_support(*arguments[:3]) for arguments in wrapped]
    return calls, [WORKER.to_arrow_type(type_, WORKER.use_large_var_types(conf)) for *_, type_, conf in wrapped]


def _verify(return_type: Any, by_name: bool) -> Callable[[Any], None]:
    def verify(result: Any) -> None:
        WORKER.verify_pandas_result(result, return_type, by_name, truncate_return_schema=False)

    return verify


def object_functions(
    functions: PythonFunctions, infos: Sequence[Any], conf: Any
) -> tuple[GroupFunctions, ToBatch] | None:
    """Return the functions as the worker of Spark 4.2 and later reads them, and the conversion of their results.

    None if Spark's worker calls the functions of this form.
    """
    eval_type = functions.eval_type
    if eval_type not in (_MAP, _AGGREGATE_SERIES, _AGGREGATE_ARRAYS):
        return None
    read = [
        WORKER.read_single_udf(WORKER.pickleSer, info, eval_type, conf, udf_index=i) for i, info in enumerate(infos)
    ]
    groups = PandasGroups(partial(_to_pandas, conf), functions.limits)
    if eval_type == _MAP:
        ((called, offsets, return_type, arguments),) = read
        verify = _verify(return_type, conf.assign_cols_by_name)
        mapping = MapFunction(groups, offsets, called, takes_keys=arguments == 2, verify=verify)
        return mapping, partial(_from_pandas, conf, _schema([return_type]))
    calls = [WORKER.wrap_kwargs_support(*parts[:3]) for parts in read]
    schema = _schema([parts[3] for parts in read])
    if eval_type == _AGGREGATE_SERIES:
        return aggregate_series(groups, calls, [None] * len(calls)), partial(_from_pandas, conf, schema)
    types = WORKER.to_arrow_schema(schema, timezone="UTC", prefers_large_types=conf.use_large_var_types)
    return aggregate_arrays(functions.limits, calls, [None] * len(calls)), partial(_from_arrays, types)


def _schema(types: Sequence[Any]) -> StructType:
    return StructType([StructField(f"_{i}", type_) for i, type_ in enumerate(types)])


def _to_pandas(conf: Any, table: pa.Table, i: int) -> Any:
    column = table.select([i]).combine_chunks()
    made = WORKER.ArrowBatchTransformer.to_pandas(
        column, timezone=conf.timezone, prefer_int_ext_dtype=conf.prefer_int_ext_dtype
    )
    return made[0]


def _from_pandas(conf: Any, schema: StructType, results: Results) -> pa.RecordBatch:
    return WORKER.PandasToArrowConversion.convert(
        [value for value, _ in results],
        schema,
        timezone=conf.timezone,
        safecheck=conf.safecheck,
        arrow_cast=True,
        prefers_large_types=conf.use_large_var_types,
        assign_cols_by_name=conf.assign_cols_by_name,
        int_to_decimal_coercion_enabled=conf.int_to_decimal_coercion_enabled,
    )


def _from_arrays(schema: pa.Schema, results: Results) -> pa.RecordBatch:
    batch = pa.RecordBatch.from_arrays([value for value, _ in results], schema.names)
    return WORKER.ArrowBatchTransformer.enforce_schema(batch, schema)
