"""Conversion of a batch to a frame, and of columns of texts to Arrow, where the result is that of Spark's conversion.

Spark looks for NULLs in a column of Python objects, and converts the objects one by one. Here Arrow finds the NULLs,
and objects that occur many times are converted once. Spark 4.1 makes a frame of a batch from renamed series.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.types import StringType

#: Rows of a column in which few distinct objects are expected in the others, too.
_FIRST_ROWS = 1024
_FEW = 256


def frames_at_once(deserializer: Any) -> Callable[[Any, int], Any]:
    """Return ``arrow_to_pandas`` of a deserializer of Spark 4.1 that makes a frame of a struct without renamed series.

    It is called with a chunked array and its ordinal.
    """
    convert = deserializer.arrow_to_pandas

    def to_pandas(column: Any, i: int) -> Any:
        names = [field.name for field in column.type] if pa.types.is_struct(column.type) else []
        if not names or len(set(names)) < len(names) or deserializer._input_types is not None:
            return convert(column, i)
        if any(pa.types.is_struct(field.type) for field in column.type):
            return convert(column, i)  # of these Spark makes no frames
        return pd.DataFrame({name: convert(part, i) for name, part in zip(names, column.flatten(), strict=True)})

    return to_pandas


def text_array(series: Any, type_: Any) -> pa.Array | None:
    """Return a series of objects as an array of a string type; None if Spark is to convert it or to reject it."""
    if not (pa.types.is_string(type_) or pa.types.is_large_string(type_)):
        return None
    if not isinstance(series, pd.Series) or series.dtype != np.object_:
        return None
    objects = series.to_numpy()
    encoded = _encode(objects) if len(objects) >= _FIRST_ROWS and objects.flags.c_contiguous else None
    try:
        if encoded is None:
            array = pa.array(objects, type=type_, from_pandas=True)
        else:
            distinct = [ctypes.cast(word, ctypes.py_object).value for word in encoded.dictionary.to_pylist()]
            array = pa.array(distinct, type=type_, from_pandas=True).take(encoded.indices)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None
    return array if isinstance(array, pa.Array) else None  # too many bytes for one array are chunks


def _encode(objects: Any) -> pa.DictionaryArray | None:
    """Return the addresses of the objects with a dictionary of the distinct ones; None if these are many."""
    address = (ctypes.c_int64 * len(objects)).from_address(objects.ctypes.data)
    words = pa.array(np.ctypeslib.as_array(address))
    if len(words.slice(0, _FIRST_ROWS).unique()) > _FEW:
        return None
    encoded = words.dictionary_encode()
    return encoded if len(encoded.dictionary) <= len(objects) // 4 else None


def with_texts(create_array: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``_create_array`` of a serializer of Spark 4.1, from a series and an Arrow type to an array."""

    def create(series: Any, arrow_type: Any, spark_type: Any = None, arrow_cast: bool = False) -> Any:
        array = text_array(series, arrow_type) if spark_type is None else None
        return create_array(series, arrow_type, spark_type, arrow_cast) if array is None else array

    return create


def conversion_with_texts(conversion: Any) -> Any:
    """Return the class that converts pandas to Arrow in the worker of Spark 4.2 and later, with :func:`text_array`."""

    class Conversion(conversion):  # type: ignore[misc]
        @classmethod
        def convert(cls, data: Any, schema: Any, **options: Any) -> Any:
            columns = _columns(data, schema, by_name=options.get("assign_cols_by_name", False))
            if columns is not None:
                large = options.get("prefers_large_types", False)
                data = [_as_text(*column, large) for column in zip(columns, schema.fields, strict=True)]
            return super().convert(data, schema, **options)

    return Conversion


def _columns(data: Any, schema: Any, *, by_name: bool) -> list[Any] | None:
    """Return the columns that Spark converts to the fields of the schema; None if it treats the data as a whole."""
    if not schema.fields:
        return None
    if not isinstance(data, pd.DataFrame):
        return list(data) if len(data) == len(schema.fields) else None
    if not len(data.columns) or len(data.columns) < len(schema.fields):
        return None
    if by_name and any(isinstance(name, str) for name in data.columns):
        data = data[schema.names]
    return [data.iloc[:, i] for i in range(len(schema.fields))]


def _as_text(column: Any, field: Any, large: bool) -> Any:
    """Return a column as a series of an Arrow array if it is text for a field of strings."""
    if type(field.dataType) is not StringType:
        return column
    array = text_array(column, pa.large_string() if large else pa.string())
    return column if array is None else pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))
