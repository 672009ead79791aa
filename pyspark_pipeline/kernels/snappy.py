"""Snappy's decompression of numbers of eight bytes.

In such a page most values are a copy of the high bytes of another value and a literal of one to three bytes. A
decompressor that copies memory reads bytes that two of its last stores wrote, and a processor waits for both of them.
This one reads and writes whole words only, so that each word comes from one store: three times as fast for such pages.
Format: ``format_description.txt`` of Snappy.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import UInt8Array, UInt16Array, UInt64Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.words import load_word, read_varint, store_word

#: Bytes that must follow the compressed ones.
SLACK = 16

_LITERAL, _LONG = 0, 3
_LONGEST_SHORT_LITERAL = 60
_LONG_LITERAL = 128  # bytes from which a literal is copied as memory is
_LONGEST_SIZE = 5  # bytes of the size before the compressed ones
_MOST_PAIR_BYTES = 16  # at least the bytes of a literal and a copy that are eight bytes together


def _pair_tables() -> tuple[UInt16Array, UInt16Array, UInt16Array]:
    """Return what the tag of a copy says, by tag, each uint16, shape (256,).

    That is twice the tag of a literal, of at most four bytes, with which the copy is eight bytes, or 65535, if there is
    none; the bits of the offset that follow the tag; the other bits of the offset.
    """
    doubled, following, high = (np.zeros(256, dtype=np.uint16) for _ in range(3))
    doubled[:] = 0xFFFF
    for tag in range(256):
        kind = tag & 3
        count = (tag >> 2 & 7) + 4 if kind == 1 else (tag >> 2) + 1
        if kind in (1, 2) and 4 <= count < 8:
            doubled[tag] = 2 * ((8 - count - 1) << 2)
            following[tag] = 0xFF if kind == 1 else 0xFFFF
            high[tag] = (tag >> 5) << 8 if kind == 1 else 0
    return doubled, following, high


_DOUBLED_TAGS, _FOLLOWING_BITS, _HIGH_BITS = _pair_tables()


@kernel
def _low_bytes(word: int, count: int) -> int:
    """Return a word without its bytes from ``count``, 1 to 8, on."""
    unused = np.uint64(64) - (count << np.uint64(3))
    return (word << unused) >> unused


@kernel
def _append(to: int, last: int, word: int, count: int) -> int:
    """Write ``count`` bytes, 1 to 8, of a word whose other bytes are 0, to address ``to``; return the last word.

    ``last`` holds the bytes of the aligned word at ``to`` that are before it.
    """
    used = (to & np.uint64(7)) << np.uint64(3)
    start = to & ~np.uint64(7)
    last |= word << used
    rest = (word >> np.uint64(1)) >> (np.uint64(63) - used)
    store_word(start, last)
    store_word(start + np.uint64(8), rest)
    crosses = np.uint64(0) - (((to & np.uint64(7)) + count) >> np.uint64(3))
    return (rest & crosses) | (last & ~crosses)


@kernel
def _word_at(address: int) -> int:
    """Return the 8 bytes at an address, from two aligned words."""
    skipped = (address & np.uint64(7)) << np.uint64(3)
    start = address & ~np.uint64(7)
    high = (load_word(start + np.uint64(8)) << np.uint64(1)) << (np.uint64(63) - skipped)
    return (load_word(start) >> skipped) | high


@kernel
def _short_copy(word: int, near: int) -> tuple[int, int]:
    """Return the count and the offset of a copy with an offset of up to two bytes, whose tag is the lowest byte.

    ``near``: all bits for an offset of one byte, else none. The processor guesses wrong between the two too often.
    """
    count = (word >> np.uint64(2)) & np.uint64(63)
    count = ((count + np.uint64(1)) & ~near) | (((count & np.uint64(7)) + np.uint64(4)) & near)
    offset = (word >> np.uint64(8)) & (np.uint64(0xFFFF) ^ (np.uint64(0xFF00) & near))
    return count, offset | (((word & np.uint64(0xE0)) << np.uint64(3)) & near)


@kernel
def _decompress_pairs(at: int, to: int, begin: int, steps: int) -> tuple[int, int]:
    """Decompress at most ``steps`` numbers of a literal and a copy each, of the same bytes of another number.

    ``to``: the address of an aligned word; ``begin``: that of the first one. Return the addresses after the last.
    """
    one, eight = np.uint64(1), np.uint64(8)
    for _ in range(steps):
        word = load_word(at)
        tag = word & np.uint64(255)
        doubled = tag << one
        copy = word >> ((doubled + np.uint64(16)) & np.uint64(63))
        kind = copy & np.uint64(255)
        if np.uint64(_DOUBLED_TAGS[kind]) != doubled:
            break
        offset = ((copy >> eight) & np.uint64(_FOLLOWING_BITS[kind])) | np.uint64(_HIGH_BITS[kind])
        if offset & np.uint64(7) != np.uint64(0) or offset == np.uint64(0) or offset > to - begin:
            break
        copied = ~np.uint64(0) << (doubled + eight)
        store_word(to, ((word >> eight) & ~copied) | (load_word(to - offset) & copied))
        at += ((tag >> np.uint64(2)) + np.uint64(5)) - (kind & one)
        to += eight
    return at, to


@kernel
def decompress_words(data: UInt8Array, first: int, stop: int, out: UInt64Array, size: int) -> bool:
    """Decompress the bytes from ``first`` to ``stop`` of ``data``; return whether they are ``size`` bytes of Snappy.

    :data:`SLACK` bytes follow ``stop`` in ``data``. ``out``: shape (at least size / 8 + 3,).
    """
    declared, begun = read_varint(data, first)
    if declared != size or begun > min(stop, first + _LONGEST_SIZE):
        return False
    one, eight = np.uint64(1), np.uint64(8)
    at = np.uint64(data.ctypes.data) + np.uint64(begun)
    end = np.uint64(data.ctypes.data) + np.uint64(stop)
    begin = np.uint64(out.ctypes.data)
    to, to_end, last = begin, begin + np.uint64(size), np.uint64(0)
    while at < end:
        if to & np.uint64(7) == np.uint64(0):
            steps = min((to_end - to) >> np.uint64(3), (end - at) // np.uint64(_MOST_PAIR_BYTES))
            if steps > np.uint64(0):
                at, to = _decompress_pairs(at, to, begin, steps)
        word = load_word(at)
        tag = word & np.uint64(255)
        kind = tag & np.uint64(3)
        if kind == np.uint64(_LITERAL):
            count = (tag >> np.uint64(2)) + one
            at += one
            if count > np.uint64(_LONGEST_SHORT_LITERAL):
                num_bytes = count - np.uint64(_LONGEST_SHORT_LITERAL)
                count = _low_bytes(word >> eight, num_bytes) + one
                at += num_bytes
            if count > to_end - to or at + count > end:
                return False
            if count >= np.uint64(_LONG_LITERAL):
                whole = count & ~np.uint64(7)
                for done in range(np.uint64(0), whole, eight):
                    store_word(to + done, load_word(at + done))
                at += whole
                to += whole
                count -= whole
                used = to & np.uint64(7)
                last = _low_bytes(load_word(to - used), used) if used else np.uint64(0)
                if count == np.uint64(0):
                    continue
            while count > eight:
                last = _append(to, last, load_word(at), eight)
                at += eight
                to += eight
                count -= eight
            last = _append(to, last, _low_bytes(load_word(at), count), count)
            at += count
            to += count
            continue
        if kind == np.uint64(_LONG):
            count = (tag >> np.uint64(2)) + one
            offset = (word >> eight) & np.uint64(0xFFFFFFFF)
            at += np.uint64(5)
        else:
            near = np.uint64(0) - (tag & one)
            count, offset = _short_copy(word, near)
            at += np.uint64(3) + near
        if offset == np.uint64(0) or offset > to - begin or count > to_end - to or at > end:
            return False
        step = min(offset, eight)  # a copy may repeat bytes that it writes
        while count > step:
            last = _append(to, last, _low_bytes(_word_at(to - offset), step), step)
            to += step
            count -= step
        last = _append(to, last, _low_bytes(_word_at(to - offset), count), count)
        to += count
    return to == to_end and at == end
