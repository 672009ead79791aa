"""The columns of a stripe whose streams are read here: timestamps, and texts with a dictionary.

pyarrow reads nanoseconds, of which 64 bits hold only the years from 1678 to 2261, and times of a time zone as those of
UTC. It copies the text of each row, where an operator needs only those of the dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.kernels import orc_runs
from pyspark_pipeline.kernels.arrays import Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import fixed_array
from pyspark_pipeline.operators.scan.orc.blocks import padded

#: Kinds of streams.
PRESENT, DATA, LENGTH, DICTIONARY, SECONDARY = 0, 1, 2, 3, 5
#: Kinds of streams that hold no values: the index of rows and Bloom filters.
INDEXES = frozenset({6, 7, 8})

#: Encodings of a column: of integers in runs of version 1 or 2, without or with a dictionary.
_DIRECT, _DICTIONARY, _DIRECT_V2, _DICTIONARY_V2 = range(4)
DICTIONARIES = (_DICTIONARY, _DICTIONARY_V2)
_OLD = (_DIRECT, _DICTIONARY)

_TIMESTAMP = DataType("timestamp").arrow

#: The decompressed streams of a column, by their kinds.
Streams = Mapping[int, bytes]


def read_timestamps(streams: Streams, rows: int, encoding: int, base: int) -> pa.Array:
    """Return the timestamps of ``rows`` rows as the ORC library of Java reads them: those of the hybrid calendar.

    ``base`` is the number of seconds since 1970 from which the file counts. Raises ``ValueError`` for damaged streams,
    ``SparkConditionError`` for nanoseconds that are not those of a second.
    """
    if encoding in DICTIONARIES:
        raise ValueError("timestamps have no dictionary")
    valid, count = _validity(streams, rows)
    micros = _numbers(streams, DATA, count, encoding, True)
    nanos = _numbers(streams, SECONDARY, count, encoding, False)
    if not orc_runs.micros_of(micros, nanos, base):  # as pyarrow writes instants before 1970
        raise conditions.java_error("IllegalArgumentException", "nanos > 999999999 or < 0")
    return _spread(micros, valid, _TIMESTAMP)


def read_texts(streams: Streams, rows: int, encoding: int, size: int) -> pa.DictionaryArray:
    """Return the texts of ``rows`` rows, with a dictionary of ``size`` texts; raise ``ValueError`` for damage."""
    valid, count = _validity(streams, rows)
    codes = _numbers(streams, DATA, count, encoding, False)
    if count and not 0 <= int(codes.min()) <= int(codes.max()) < size:
        raise ValueError("the codes are not those of the dictionary")
    ends = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(_numbers(streams, LENGTH, size, encoding, False), out=ends[1:])
    data = streams.get(DICTIONARY, b"")
    if np.any(np.diff(ends) < 0) or ends[-1] > len(data):
        raise ValueError("the dictionary has too few bytes")
    offsets = pa.py_buffer(ends.astype(np.int32))
    texts = pa.StringArray.from_buffers(size, offsets, pa.py_buffer(data))
    return pa.DictionaryArray.from_arrays(_spread(codes, valid, pa.int32()), texts, safe=False)


def _validity(streams: Streams, rows: int) -> tuple[UInt8Array | None, int]:
    """Return whether each row has a value, None if all have one, and the number of values."""
    if PRESENT not in streams:
        return None, rows
    valid = np.empty(rows, dtype=np.uint8)
    _read(orc_runs.read_bits, streams[PRESENT], valid)
    return valid, int(np.count_nonzero(valid))


def _numbers(streams: Streams, kind: int, count: int, encoding: int, is_signed: bool) -> Int64Array:
    if not _DIRECT <= encoding <= _DICTIONARY_V2:
        raise ValueError(f"the encoding {encoding} is unknown")
    read = orc_runs.read_old_integers if encoding in _OLD else orc_runs.read_integers
    out = np.empty(count, dtype=np.int64)
    _read(lambda data, size, out: read(data, size, is_signed, out), streams.get(kind, b""), out)
    return out


def _read(kernel: Callable[..., int], data: bytes, out: UInt8Array | Int64Array) -> None:
    if out.size and kernel(padded(data), len(data), out) != out.size:
        raise ValueError("a stream of a column has too few values")


def _spread(found: Int64Array, valid: UInt8Array | None, kind: pa.DataType) -> pa.Array:
    """Return a column of the values ``found`` of the rows that are valid."""
    dtype = np.int32 if kind.bit_width == 32 else np.int64
    if valid is None:
        return fixed_array(kind, found.astype(dtype, copy=False))
    out: Array = np.empty(valid.size, dtype=dtype)
    orc_runs.spread(found, valid, out)
    return fixed_array(kind, out, valid.view(np.bool_))


def warm_up() -> None:
    """Load the kernels of streams and of blocks."""
    bit, one, old_one = bytes([0xFF, 0x80]), bytes([0x40, 0, 0]), bytes([0xFF, 0])  # runs of one value
    for encoding, numbers in ((_DIRECT, old_one), (_DIRECT_V2, one)):
        read_timestamps({PRESENT: bit, DATA: numbers, SECONDARY: numbers}, 2, encoding, 0)
    read_texts({PRESENT: bit, DATA: one, LENGTH: one}, 2, _DICTIONARY_V2, 1)
    orc_runs.lz4_size(padded(b""), 0)
