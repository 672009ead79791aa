"""The columns of a struct that a function returned, checked against the types that it declares."""

from __future__ import annotations

import pyarrow as pa

from pyspark_pipeline.operators.python_functions.calls import user_error
from pyspark_pipeline.operators.python_functions.spark_columns import of_spark
from pyspark_pipeline.plan.nodes import Field


def struct_columns(struct: pa.StructArray, output: tuple[Field, ...], names: str) -> list[pa.Array]:
    """Return the columns of the output; raise :func:`user_error` if ``names`` returned other types than declared."""
    try:
        return _columns(struct, output)
    except TypeError as error:
        raise user_error(names, error) from error


def _columns(struct: pa.StructArray, output: tuple[Field, ...]) -> list[pa.Array]:
    if struct.type.num_fields < len(output):
        raise TypeError(f"the function returned {struct.type.num_fields} columns, it declares {len(output)}")
    return [_column(column, field) for column, field in zip(struct.flatten(), output, strict=False)]


def _column(column: pa.Array, field: Field) -> pa.Array:
    if not len(column):
        return pa.array([], field.type.arrow)  # Spark reads the types of rows only
    if field.type.is_nested and not pa.types.is_null(column.type):
        return of_spark(column, field.type)
    wanted = field.type.arrow
    if column.type == wanted or pa.types.is_null(column.type):
        return column.cast(wanted)
    is_moment = pa.types.is_timestamp(wanted) and pa.types.is_timestamp(column.type) and column.type.unit == "us"
    if is_moment:
        return column.cast(pa.timestamp("us", tz=column.type.tz)).view(wanted)
    if column.type in (pa.large_string(), pa.large_binary()) and column.type == _large(wanted):
        return column.cast(wanted)
    raise TypeError(f"the function returned {field.name} as {column.type}, it declares {field.type}")


def _large(type_: pa.DataType) -> pa.DataType | None:
    return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(type_)
