"""Unpacking of numbers of a few bits each, eight at once by the processor's vectors."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as numba_code
from numba.extending import intrinsic
from numba.np import arrayobj

#: The most bits of a number: four bytes hold them from any bit of the first byte on.
MOST_BITS = 25

#: Bytes that are read from the beginning of a group on.
GROUP_BYTES = 32

_code: Any = numba_code
_arrays: Any = arrayobj
_BYTE, _WORD = ir.IntType(8), ir.IntType(32)
_LANES, _LOADED = 4, 16


def _lanes(builder: Any, start: Any, width: int, first: int) -> Any:
    """Return the four numbers of a group from ``first`` on, as a vector of 32-bit numbers."""
    bits = [number * width for number in range(first, first + _LANES)]
    base = bits[0] >> 3
    address = builder.gep(start, [ir.IntType(64)(base)])
    loaded = builder.load(builder.bitcast(address, ir.VectorType(_BYTE, _LOADED).as_pointer()))
    loaded.align = 1
    chosen = [(bit >> 3) - base + byte for bit in bits for byte in range(4)]
    places = ir.Constant(ir.VectorType(_WORD, _LOADED), chosen)
    words = builder.shuffle_vector(loaded, ir.Constant(loaded.type, ir.Undefined), places)
    lanes = ir.VectorType(_WORD, _LANES)
    shifted = builder.lshr(builder.bitcast(words, lanes), ir.Constant(lanes, [bit & 7 for bit in bits]))
    return builder.and_(shifted, ir.Constant(lanes, [(1 << width) - 1] * _LANES))


def _unpack_groups(context: Any, source: Any, groups: Any, width: Any, out: Any, place: Any) -> Any:
    item = ir.IntType(out.dtype.bitwidth)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, groups, width, array, place = arguments
        data = _arrays.make_array(signature.args[3])(context, builder, array).data
        data = builder.gep(data, [place])
        begin = builder.inttoptr(source, _BYTE.as_pointer())
        lanes = ir.VectorType(_WORD, _LANES)
        found = _code.alloca_once_value(builder, ir.Constant(lanes, [0] * _LANES))
        end = builder.append_basic_block("unpacked")
        choice = builder.switch(width, end)
        for bits in range(1, min(MOST_BITS, item.width) + 1):
            block = builder.append_basic_block(f"bits{bits}")
            choice.add_case(bits, block)
            builder.position_at_end(block)
            with _code.for_range(builder, groups, intp=ir.IntType(64)) as loop:
                start = builder.gep(begin, [builder.mul(loop.index, ir.IntType(64)(bits))])
                target = builder.gep(data, [builder.mul(loop.index, ir.IntType(64)(2 * _LANES))])
                for half in range(2):
                    numbers = _lanes(builder, start, bits, half * _LANES)
                    builder.store(builder.or_(builder.load(found), numbers), found)
                    narrow = numbers if item.width == 32 else builder.trunc(numbers, ir.VectorType(item, _LANES))
                    address = builder.gep(target, [ir.IntType(64)(half * _LANES)])
                    store = builder.store(narrow, builder.bitcast(address, narrow.type.as_pointer()))
                    store.align = 1
            builder.branch(end)
        builder.position_at_end(end)
        vector = builder.load(found)
        each = [builder.extract_element(vector, _WORD(lane)) for lane in range(_LANES)]
        return builder.or_(builder.or_(each[0], each[1]), builder.or_(each[2], each[3]))

    return types.uint32(types.uint64, types.int64, types.int64, out, types.int64), generate


#: Unpack ``groups`` groups of eight numbers of ``width`` bits, 1 to :data:`MOST_BITS`, the lowest first, that lie from
#: the address ``source`` (uint64) on, to ``out`` (uint32 or uint8) from the item ``place`` on. Return all bits of the
#: numbers together, a uint32. :data:`GROUP_BYTES` bytes from the beginning of the last group on are read; neither they
#: nor ``out`` is checked.
unpack_groups: Any = intrinsic(_unpack_groups)
