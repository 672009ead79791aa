"""String arrays that compiled kernels write: offsets and bytes, without a Python object per string."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels import text_slices
from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.text_parse import text_of

Find: TypeAlias = Callable[[Int32Array, UInt8Array, Int32Array, Int32Array], None]
Measure: TypeAlias = Callable[[Int32Array, UInt8Array, Int64Array], None]
Fill: TypeAlias = Callable[[Int32Array, UInt8Array, UInt8Array], None]
Write: TypeAlias = Callable[[Int32Array, UInt8Array, Int32Array, UInt8Array], None]

#: The largest offset of a string in an array.
_MOST_BYTES = 2**31 - 1


def string_array(ends: Int32Array, data: UInt8Array, validity: pa.Buffer | None) -> pa.StringArray:
    """Build a string array: ``ends`` int32, shape (rows + 1,), begins with 0; ``data`` uint8."""
    return pa.Array.from_buffers(pa.string(), len(ends) - 1, [validity, pa.py_buffer(ends), pa.py_buffer(data)])


def measured(texts: pa.Array, measure: Measure, write: Fill) -> pa.StringArray:
    """Write a string for each string or binary value; raise ``ArrowCapacityError`` beyond 2 GiB.

    ``measure(offsets, bytes, ends)`` writes their ends (int64, shape (rows + 1,)), then ``write(offsets, bytes, out)``
    writes them one after the other.
    """
    offsets, data = text_of(texts)
    ends = allocate(len(texts) + 1, np.int64)
    measure(offsets, data, ends)
    if ends[-1] > _MOST_BYTES:
        raise pa.ArrowCapacityError(f"{ends[-1]} bytes of strings")
    out = allocate(int(ends[-1]), np.uint8)
    write(offsets, data, out)
    return string_array(ends.astype(np.int32), out, validity_of([texts]))


def sliced(texts: pa.Array, find: Find, validity: pa.Buffer | None) -> pa.StringArray:
    """Slice each string: ``find(offsets, bytes, starts, ends)`` writes the slices as in ``kernels/text_slices.py``."""
    offsets, data = text_of(texts)
    starts, ends = np.empty(len(texts), dtype=np.int32), np.empty(len(texts) + 1, dtype=np.int32)
    find(offsets, data, starts, ends)
    out = allocate(int(ends[-1]), np.uint8)
    text_slices.copy_slices(data, starts, ends, out)
    return string_array(ends, out, validity)


def mapped(texts: pa.Array, write: Write, growth: float = 1) -> pa.StringArray:
    """Map the bytes of each string; raise ``ArrowCapacityError`` beyond 2 GiB.

    ``write(offsets, bytes, ends, out)`` writes at most ``growth`` times as many bytes as it reads.
    """
    offsets, data = text_of(texts)
    ends = np.empty(len(texts) + 1, dtype=np.int32)
    room = math.ceil(growth * (int(offsets[-1]) - int(offsets[0])))
    if room > _MOST_BYTES:
        raise pa.ArrowCapacityError(f"{room} bytes of strings")
    out = allocate(room, np.uint8)
    write(offsets, data, ends, out)
    return string_array(ends, out[: ends[-1]], validity_of([texts]))
