"""Arrow buffers as numpy arrays for kernels: offset applied, never copied, always of one numba type.

Numba compiles a kernel again for read-only and for unaligned arrays. Arrow's buffers are read-only,
so views are created through the array interface and declared writable; kernels never write to
their inputs. Buffers that arrive unaligned are copied once by the exchange codec.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Array, ArrayOf, Bitmap, BoolArray, Int32Array, Int64Array, Item, UInt8Array

NO_BITS: UInt8Array = np.empty(0, dtype=np.uint8)
_TYPESTR = {1: "|i1", 2: "<i2", 4: "<i4", 8: "<i8"}


_LARGE_BYTES = 1 << 16
_HUGE_BYTES = 64 << 20
_RELEASING = Lock()


#: Whether Spark limits the address space of this process (``spark.executor.pyspark.memory``).
IS_ADDRESS_SPACE_LIMITED = int(os.environ.get("PYSPARK_EXECUTOR_MEMORY_MB", "0")) > 0


def _retaining_pool() -> pa.MemoryPool:
    """Return the pool that retains freed pages longest.

    It retains its address ranges too; if the address space is limited, return the system's pool.
    """
    if IS_ADDRESS_SPACE_LIMITED:
        return pa.system_memory_pool()
    try:
        return pa.mimalloc_memory_pool()
    except NotImplementedError:
        return pa.default_memory_pool()


RETAINING_POOL = _retaining_pool()


def allocate(size: int, dtype: type[Item] | np.dtype[Item]) -> ArrayOf[Item]:
    """Allocate an array of ``size`` undefined items; large ones from Arrow's pool, which retains touched pages.

    numpy returns large arrays to the system, and the page faults of new pages cost more than the work on them.
    Before a huge allocation the pool releases the pages it retains, such as those of arrays that have grown.
    """
    kind = np.dtype(dtype)
    if size * kind.itemsize < _LARGE_BYTES:
        return np.empty(size, dtype=kind)
    if size * kind.itemsize >= _HUGE_BYTES and not IS_ADDRESS_SPACE_LIMITED:
        _release(RETAINING_POOL)
    return np.frombuffer(pa.allocate_buffer(size * kind.itemsize, memory_pool=RETAINING_POOL), dtype=kind)


def trim_allocators() -> None:
    """Release the unused pages of all allocators to the system; half a GiB takes about 5 ms.

    The allocators are the pool of large arrays, Arrow's default pool, and the C library, which numpy uses.
    """
    _release(RETAINING_POOL)
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # of glibc alone
        ctypes.CDLL(None).malloc_trim(0)


def _release(pool: pa.MemoryPool) -> None:
    """Call the pool's ``release_unused`` while it is the default pool: pyarrow always calls that of the default."""
    with _RELEASING:
        default = pa.default_memory_pool()
        pa.set_memory_pool(pool)
        try:
            pool.release_unused()
        finally:
            pa.set_memory_pool(default)


def allocate_zeros(size: int, dtype: type[Item]) -> ArrayOf[Item]:
    """Allocate an array of ``size`` zeros; see :func:`allocate`."""
    made = allocate(size, dtype)
    made[:] = 0
    return made


def copied(array: ArrayOf[Item], dtype: type[Item] | np.dtype[Item] | None = None) -> ArrayOf[Item]:
    """Return a contiguous copy of an array of one dimension, as ``dtype`` if given; see :func:`allocate`."""
    made = allocate(array.size, dtype or array.dtype)
    made[:] = array
    return made


def grown(array: ArrayOf[Item], size: int) -> ArrayOf[Item]:
    """Return a larger array that starts with a copy of ``array``; the other items are undefined."""
    larger = allocate(size, array.dtype)
    larger[: array.size] = array
    return larger


class _View:
    """Exposes the address of a buffer to numpy and keeps the buffer alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, address: int, length: int, typestr: str, owner: Any) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": (length,), "typestr": typestr, "version": 3}
        self.owner = owner


def view(buffer: pa.Buffer | None, typestr: str, width: int, offset: int, length: int) -> Array:
    """View ``length`` items of ``width`` bytes of ``buffer`` from item ``offset`` on."""
    if buffer is None or length == 0:
        return np.empty(length, dtype=np.dtype(typestr))
    return np.asarray(_View(buffer.address + offset * width, length, typestr, buffer))


def values(array: pa.Array) -> Array:
    """View the values of a fixed-width array as its own numpy type (int8…64, float32/64; dates and timestamps
    as integers; shape (rows,)). Values of NULL rows are undefined."""
    typ = array.type
    if pa.types.is_floating(typ):
        return view(array.buffers()[1], f"<f{typ.bit_width // 8}", typ.bit_width // 8, array.offset, len(array))
    width = typ.bit_width // 8
    return view(array.buffers()[1], _TYPESTR[width], width, array.offset, len(array))


def bits(array: pa.Array) -> Bitmap:
    """View a boolean array's value bitmap: bytes and the number of bits to skip."""
    return _bitmap(array.buffers()[1], array)


def validity(array: pa.Array) -> Bitmap:
    """View the validity bitmap: bytes (none if no row is NULL) and the number of bits to skip."""
    if array.null_count == 0:
        return NO_BITS, 0
    return _bitmap(array.buffers()[0], array)


def _bitmap(buffer: pa.Buffer | None, array: pa.Array) -> Bitmap:
    first = array.offset >> 3
    skip = array.offset & 7
    return view(buffer, "|u1", 1, first, (skip + len(array) + 7) >> 3), skip


def decimal_words(array: pa.Array) -> Int64Array:
    """View a decimal128 array as int64 words, shape (2 · rows,): low word, high word, low word, …"""
    return view(array.buffers()[1], "<i8", 8, array.offset * 2, len(array) * 2)


def string_parts(array: pa.Array) -> tuple[Int32Array, UInt8Array]:
    """View a string or binary array: int32 offsets, shape (rows + 1,), and all bytes of the data buffer."""
    buffers = array.buffers()
    if len(array) == 0:
        return np.zeros(1, dtype=np.int32), NO_BITS
    offsets = view(buffers[1], "<i4", 4, array.offset, len(array) + 1)
    data = buffers[2]
    return offsets, NO_BITS if data is None else view(data, "|u1", 1, 0, data.size)


def count_nulls(columns: Iterable[pa.Array]) -> int:
    """Return the number of NULLs in all columns."""
    return sum(column.null_count for column in columns)


def rows_only(rows: int) -> pa.RecordBatch:
    """Build a chunk of ``rows`` rows and no columns."""
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))


def make_chunk(columns: list[pa.Array], rows: int) -> pa.RecordBatch:
    """Build a chunk of columns of ``rows`` rows each, or of none; their names (``c0``, ``c1``, …) have no meaning."""
    if not columns:
        return rows_only(rows)
    return pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))])


def pack_validity(valid: BoolArray) -> tuple[pa.Buffer | None, int]:
    """Pack bools, shape (rows,), to an Arrow validity bitmap; return it (None if all are true) and the null count."""
    nulls = int(valid.size - np.count_nonzero(valid))
    if nulls == 0:
        return None, 0
    return pa.py_buffer(np.packbits(valid, bitorder="little").tobytes()), nulls


def fixed_array(arrow_type: pa.DataType, data: Array, valid: BoolArray | None = None) -> pa.Array:
    """Build an Arrow array of a fixed-width type over ``data`` (its bytes are the values) without a copy."""
    rows = data.nbytes * 8 // arrow_type.bit_width
    mask, nulls = (None, 0) if valid is None else pack_validity(valid)
    return pa.Array.from_buffers(arrow_type, rows, [mask, pa.py_buffer(np.ascontiguousarray(data))], nulls)


def bool_array(data: Array, valid: BoolArray | None = None) -> pa.Array:
    """Build an Arrow boolean array from numpy bools, shape (rows,)."""
    mask, nulls = (None, 0) if valid is None else pack_validity(valid)
    packed = np.packbits(data.astype(np.bool_), bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), data.size, [mask, pa.py_buffer(packed)], nulls)


def binary_array(arrow_type: pa.DataType, offsets: Int32Array, data: UInt8Array, valid: BoolArray) -> pa.Array:
    """Build a string or binary array over ``data``; ``offsets``: shape (rows + 1,), from 0 on. Nothing is copied."""
    mask, nulls = pack_validity(valid)
    buffers = [mask, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(arrow_type, offsets.size - 1, buffers, nulls)


def with_elements(array: pa.Array, kind: pa.DataType, elements: pa.Array) -> pa.Array:
    """Return a list or map of type ``kind`` with the NULLs and the offsets of another one, and other elements."""
    validity, offsets = array.buffers()[:2]
    return pa.Array.from_buffers(kind, len(array), [validity, offsets], array.null_count, array.offset, [elements])


def last_true(flags: BoolArray) -> Int64Array:
    """Return for each row the last row at or before it whose flag is set, −1 if there is none: int64."""
    found: Int64Array = np.maximum.accumulate(np.where(flags, np.arange(flags.size), -1))
    return found
