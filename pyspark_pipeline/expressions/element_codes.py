"""The elements of arrays as integers that kernels compare: equal as Spark's values are, or in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.values import flags
from pyspark_pipeline.kernels import buffers
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.normalized_key import normalized_keys

#: The decimal digits that an int64 holds.
_SHORT_DIGITS = 18


def valid_flags(values: pa.Array) -> BoolArray:
    """Return for each value whether it is not NULL."""
    return flags(values.is_valid()) if values.null_count else np.ones(len(values), dtype=np.bool_)


def equality_codes(parts: Sequence[pa.Array]) -> list[Int64Array]:
    """Return integers that are equal if values are, for several arrays of one flat type; undefined for NULL.

    NaN equals NaN, and −0.0 equals 0.0.
    """
    if _is_number(parts[0].type):
        return [_numbers(part) for part in parts]
    encoded = pa.concat_arrays(list(parts)).dictionary_encode()
    codes = buffers.values(encoded.indices).astype(np.int64)
    return np.split(codes, np.cumsum([len(part) for part in parts])[:-1])


def order_keys(values: pa.Array) -> Int64Array:
    """Return integers that have the order of the values of a type, which ends with NaN; undefined for NULL.

    −0.0 equals 0.0. The type is none of maps.
    """
    if pa.types.is_nested(values.type):
        values = normalized_keys(values)
    if pa.types.is_floating(values.type):
        keys = _numbers(values)
        found: Int64Array = keys ^ ((keys >> 63) & np.int64(2**63 - 1))
        return found
    if _is_number(values.type):
        return _numbers(values)
    encoded = values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank: Int64Array = np.empty(order.size + 1, dtype=np.int64)
    rank[order] = np.arange(order.size)
    ranks: Int64Array = rank[np.asarray(encoded.indices.fill_null(order.size))]
    return ranks


def _is_number(kind: pa.DataType) -> bool:
    if pa.types.is_decimal(kind):
        return bool(kind.precision <= _SHORT_DIGITS)
    return bool(pa.types.is_boolean(kind) or pa.types.is_primitive(kind))


def _numbers(values: pa.Array) -> Int64Array:
    kind = values.type
    if pa.types.is_boolean(kind):
        return np.asarray(values.fill_null(False)).astype(np.int64)
    if pa.types.is_decimal(kind):
        return np.ascontiguousarray(buffers.decimal_words(values)[::2])
    data: Any = buffers.values(values)
    if not pa.types.is_floating(kind):
        return np.asarray(data.astype(np.int64, copy=False))
    data = np.where(np.isnan(data), np.nan, data + data.dtype.type(0)).astype(np.float64)
    return np.asarray(data.view(np.int64))


def without_signed_zeros(values: pa.Array) -> pa.Array:
    """Return the values with 0.0 for −0.0."""
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values
