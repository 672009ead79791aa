"""Runs of rows with equal keys: where a key differs from that of the row before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.kernels.arrays import BoolArray
from pyspark_pipeline.kernels.buffers import values


def differs(key: pa.Array) -> BoolArray:
    """Return for every row but the first whether it differs from the previous row: bool, shape (rows − 1,).

    NULL equals NULL; numbers are compared as IEEE 754 does. The array is of a flat type, or a dictionary of one, whose
    codes are compared.
    """
    if pa.types.is_null(key.type):
        return np.zeros(len(key) - 1, dtype=np.bool_)
    plain = key.indices if pa.types.is_dictionary(key.type) else key
    made: BoolArray
    if not plain.null_count and _is_one_word(plain.type):
        data = values(plain)
        made = data[1:] != data[:-1]
        return made
    made = np.asarray(pc.fill_null(pc.not_equal(plain.slice(1), plain.slice(0, len(plain) - 1)), False))
    if plain.null_count:
        valid = np.asarray(plain.is_valid())
        made = made | (valid[1:] != valid[:-1])
    return made


def _is_one_word(kind: pa.DataType) -> bool:
    """Return whether values of a type are equal if and only if their words are."""
    return bool((pa.types.is_integer(kind) or pa.types.is_temporal(kind)) and kind.bit_width <= 64)


def run_starts(keys: Sequence[pa.Array]) -> BoolArray:
    """Return which rows begin a run of rows that are equal in all keys (see :func:`differs`): bool, shape (rows,)."""
    starts = np.ones(len(keys[0]), dtype=np.bool_)
    if len(starts) > 1:
        starts[1:] = differs(keys[0])
        for key in keys[1:]:
            starts[1:] |= differs(key)
    return starts


def have_runs(types: Sequence[pa.DataType]) -> bool:
    """Return whether runs of keys of these types can be found."""
    return not any(pa.types.is_nested(kind) for kind in types)
