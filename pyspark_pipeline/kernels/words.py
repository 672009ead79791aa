"""Words of eight bytes in memory, at any address, numbers of several bytes in arrays, and prefetching.

A kernel that passes an array to another one counts references to it, which costs more than to load a word: in such
loops kernels pass addresses, as ``array.ctypes.data`` returns them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pyspark_pipeline.kernels.arrays import UInt8Array
from pyspark_pipeline.kernels.jit import kernel

_WORD = ir.IntType(64)
_BYTE_POINTER, _INT = ir.IntType(8).as_pointer(), ir.IntType(32)
_TO_READ, _KEEP_NEAR, _IS_DATA = 0, 3, 1


def _load_word(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()))
        word.align = 1
        return word

    return types.uint64(types.uint64), generate


def _store_word(context: Any, address: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        store = builder.store(arguments[1], builder.inttoptr(arguments[0], _WORD.as_pointer()))
        store.align = 1
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


def _load_byte(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _BYTE_POINTER))

    return types.uint8(types.uint64), generate


def _store_byte(context: Any, address: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], _BYTE_POINTER))
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint8), generate


def _prefetch(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_BYTE_POINTER, _INT, _INT, _INT])
        function = builder.module.declare_intrinsic("llvm.prefetch", (_BYTE_POINTER,), kind)
        hints = [_INT(hint) for hint in (_TO_READ, _KEEP_NEAR, _IS_DATA)]
        builder.call(function, [builder.inttoptr(arguments[0], _BYTE_POINTER), *hints])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


def _count_ones(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _swap_bytes(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


#: Return a uint64 with its bytes in the other order.
swap_bytes: Any = intrinsic(_swap_bytes)

#: Return the number of bits of a uint64 that are set, a uint64.
count_ones: Any = intrinsic(_count_ones)

#: Return the 8 bytes at an address (uint64) as a uint64, the first the lowest. The address is not checked.
load_word: Any = intrinsic(_load_word)

#: Write a uint64 to the 8 bytes at an address (uint64). The address is not checked.
store_word: Any = intrinsic(_store_word)

#: Return the byte at an address (uint64), a uint8. The address is not checked.
load_byte: Any = intrinsic(_load_byte)

#: Write a uint8 to an address (uint64). The address is not checked.
store_byte: Any = intrinsic(_store_byte)

#: Start to load the cache line at an address (uint64), which need not be valid. Lookups in a table that is larger than
#: a core's cache prefetch for :data:`ROWS_AHEAD` rows, then look these up: their cache misses overlap.
prefetch: Any = intrinsic(_prefetch)

ROWS_AHEAD = 32
#: Bytes of a table from which prefetching pays; for small ones it costs 4 ns a row.
FAR_BYTES = 1 << 20


@kernel
def read_varint(data: UInt8Array, at: int) -> tuple[int, int]:
    """Return the unsigned number at ``at`` and its end; read up to 10 bytes."""
    value = 0
    for shift in range(0, 70, 7):
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << min(shift, 63)
        if byte < 128:
            break
    return value, at
