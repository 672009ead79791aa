"""Words of eight bytes in memory, at any address.

A kernel that passes an array to another one counts references to it, which costs more than to load a word: in such
loops kernels pass addresses, as ``array.ctypes.data`` returns them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)


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


#: Return the 8 bytes at an address (uint64) as a uint64, the first the lowest. The address is not checked.
load_word: Any = intrinsic(_load_word)

#: Write a uint64 to the 8 bytes at an address (uint64). The address is not checked.
store_word: Any = intrinsic(_store_word)
