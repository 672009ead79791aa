"""The timestamps of a stripe, as the ORC library of Java reads them: microseconds of the hybrid calendar.

pyarrow reads nanoseconds, of which 64 bits hold only the years from 1678 to 2261, and times of a time zone as those of
UTC; so the streams of these columns are read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.kernels import orc_runs
from pyspark_pipeline.kernels.arrays import Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import fixed_array
from pyspark_pipeline.operators.scan.orc.blocks import padded

PRESENT, DATA, SECONDARY = 0, 1, 5
_DIRECT, _DIRECT_V2 = 0, 2
_KIND = DataType("timestamp")


def read_timestamps(streams: Mapping[int, bytes], rows: int, encoding: int, base: int) -> pa.Array:
    """Return the column of ``rows`` rows whose decompressed streams are given by their kinds.

    ``base`` is the number of seconds since 1970 from which the file counts. Raises ``ValueError`` for damaged streams,
    ``SparkConditionError`` for nanoseconds that are not those of a second.
    """
    valid: UInt8Array | None = None
    count = rows
    if PRESENT in streams:
        valid = np.empty(rows, dtype=np.uint8)
        _read(orc_runs.read_bits, streams[PRESENT], valid)
        count = int(np.count_nonzero(valid))
    micros = _numbers(streams.get(DATA, b""), count, encoding, True)
    nanos = _numbers(streams.get(SECONDARY, b""), count, encoding, False)
    if not orc_runs.micros_of(micros, nanos, base):  # as pyarrow writes instants before 1970
        raise conditions.java_error("IllegalArgumentException", "nanos > 999999999 or < 0")
    if valid is None or count == rows:
        return fixed_array(_KIND.arrow, micros)
    out = np.empty(rows, dtype=np.int64)
    orc_runs.spread(micros, valid, out)
    return fixed_array(_KIND.arrow, out, valid.view(np.bool_))


def _numbers(data: bytes, count: int, encoding: int, is_signed: bool) -> Int64Array:
    if encoding not in (_DIRECT, _DIRECT_V2):
        raise ValueError(f"the encoding {encoding} is unknown")
    read = orc_runs.read_integers if encoding == _DIRECT_V2 else orc_runs.read_old_integers
    out = np.empty(count, dtype=np.int64)
    _read(lambda data, size, out: read(data, size, is_signed, out), data, out)
    return out


def _read(kernel: Callable[..., int], data: bytes, out: UInt8Array | Int64Array) -> None:
    if out.size and kernel(padded(data), len(data), out) != out.size:
        raise ValueError("a stream of a column has too few values")


def warm_up() -> None:
    """Load the kernels of timestamps and of blocks."""
    short_repeat, one = bytes([0, 2]), bytes([0x80])
    for encoding in (_DIRECT, _DIRECT_V2):
        read_timestamps({PRESENT: bytes([0xFF, *one]), DATA: short_repeat, SECONDARY: short_repeat}, 2, encoding, 0)
    orc_runs.lz4_size(padded(b""), 0)
