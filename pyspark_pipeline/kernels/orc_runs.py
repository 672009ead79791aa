"""The runs of numbers, bytes and bits in the streams of an ORC file, and the size of a block of LZ4.

The format is the specification of ORC v1 (https://orc.apache.org/specification/ORCv1/): runs of version 1 and 2 of
integers, of bytes, and of bits, the highest first. A stream is the bytes of the file and :data:`PADDING` zeros; a
kernel returns −1 for a stream that ends too early.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.words import read_varint

#: Zeros that follow the bytes of a stream: more than a header and a number take.
PADDING = 32

_SHORT_REPEAT, _DIRECT, _PATCHED = 0, 1, 2
_SHORTEST_RUN = 3
_SKIPPED_GAP = 255
_SECOND_NS = 1_000_000_000


@kernel
def _unzigzag(value: int) -> int:
    return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1)


@kernel
def _width(code: int) -> int:
    """Return the number of bits that a code of 5 bits means."""
    if code < 24:
        return code + 1
    if code < 28:
        return 26 + 2 * (code - 24)
    return 40 + 8 * (code - 28)


@kernel
def _fitting_width(bits: int) -> int:
    """Return the least width with a code that has at least ``bits`` bits."""
    for code in range(32):
        if _width(code) >= bits:
            return _width(code)
    return 64


@kernel
def _big_endian(data: UInt8Array, at: int, count: int) -> int:
    value = 0
    for place in range(at, at + count):
        value = (value << 8) | np.int64(data[place])
    return value


@kernel
def _packed(data: UInt8Array, bit: int, width: int) -> int:
    """Return the number of ``width`` bits from the bit number ``bit`` on, the highest first."""
    value = 0
    left = width
    while left > 0:
        free = 8 - (bit & 7)
        taken = min(free, left)
        part = (np.int64(data[bit >> 3]) >> (free - taken)) & ((1 << taken) - 1)
        value = (value << taken) | part
        bit += taken
        left -= taken
    return value


@kernel
def _read_patches(
    data: UInt8Array, at: int, end: int, width: int, patch: int, gap: int, count: int, out: Int64Array
) -> int:
    """Add the high bits of the patches at ``at`` to the numbers of ``width`` bits in ``out``."""
    entry_width = _fitting_width(gap + patch)
    if at + ((count * entry_width + 7) >> 3) > end:
        return -1
    place = 0
    for number in range(count):
        entry = _packed(data, at * 8 + number * entry_width, entry_width)
        bits = entry & ((1 << patch) - 1)
        step = (entry >> patch) & ((1 << gap) - 1)
        place += step
        if step == _SKIPPED_GAP and bits == 0:
            continue
        if place >= out.shape[0]:
            return -1
        out[place] |= bits << width
    return at + ((count * entry_width + 7) >> 3)


@kernel
def read_integers(data: UInt8Array, size: int, is_signed: bool, out: Int64Array) -> int:
    """Read as many numbers as ``out`` has from runs of version 2; return their number or −1."""
    at = done = 0
    wanted = out.shape[0]
    while done < wanted:
        if at >= size:
            return -1
        head = np.int64(data[at])
        kind = head >> 6
        if kind == _SHORT_REPEAT:
            width, count = ((head >> 3) & 7) + 1, (head & 7) + _SHORTEST_RUN
            value = _big_endian(data, at + 1, width)
            if is_signed:
                value = _unzigzag(value)
            count = min(count, wanted - done)
            out[done : done + count] = value
            at += 1 + width
        else:
            code = (head >> 1) & 31
            full = ((head & 1) << 8 | np.int64(data[at + 1])) + 1
            count = min(full, wanted - done)
            run = out[done : done + count]
            at += 2
            if kind == _DIRECT:
                width = _width(code)
                if at + ((full * width + 7) >> 3) > size:
                    return -1
                for place in range(count):
                    value = _packed(data, at * 8 + place * width, width)
                    run[place] = _unzigzag(value) if is_signed else value
                at += (full * width + 7) >> 3
            elif kind == _PATCHED:
                width = _width(code)
                third, fourth = np.int64(data[at]), np.int64(data[at + 1])
                base_bytes = (third >> 5) + 1
                base = _big_endian(data, at + 2, base_bytes)
                sign = 1 << (base_bytes * 8 - 1)
                if base & sign:
                    base = -(base & ~sign)
                at += 2 + base_bytes
                if at + ((full * width + 7) >> 3) > size or full > wanted - done:
                    return -1
                for place in range(count):
                    run[place] = _packed(data, at * 8 + place * width, width)
                at += (full * width + 7) >> 3
                at = _read_patches(data, at, size, width, _width(third & 31), (fourth >> 5) + 1, fourth & 31, run)
                if at < 0:
                    return -1
                for place in range(count):
                    run[place] += base
            else:
                width = _width(code) if code else 0
                value, at = read_varint(data, at)
                if is_signed:
                    value = _unzigzag(value)
                step, at = read_varint(data, at)
                step = _unzigzag(step)
                if at + ((max(full - 2, 0) * width + 7) >> 3) > size:
                    return -1
                run[0] = value
                for place in range(1, count):
                    if place == 1 or width == 0:
                        value += step
                    else:
                        delta = _packed(data, at * 8 + (place - 2) * width, width)
                        value += -delta if step < 0 else delta
                    run[place] = value
                at += (max(full - 2, 0) * width + 7) >> 3
        if at > size:
            return -1
        done += count
    return done


@kernel
def read_old_integers(data: UInt8Array, size: int, is_signed: bool, out: Int64Array) -> int:
    """Read as many numbers as ``out`` has from runs of version 1; return their number or −1."""
    at = done = 0
    wanted = out.shape[0]
    while done < wanted:
        if at >= size:
            return -1
        head = np.int64(data[at])
        at += 1
        if head < 128:
            step = np.int64(np.int8(data[at]))
            value, at = read_varint(data, at + 1)
            if is_signed:
                value = _unzigzag(value)
            count = min(head + _SHORTEST_RUN, wanted - done)
            for place in range(count):
                out[done + place] = value + step * place
        else:
            count = min(256 - head, wanted - done)
            for place in range(count):
                if at >= size:
                    return -1
                value, at = read_varint(data, at)
                out[done + place] = _unzigzag(value) if is_signed else value
        if at > size:
            return -1
        done += count
    return done


@kernel
def read_bits(data: UInt8Array, size: int, out: UInt8Array) -> int:
    """Read as many bits as ``out`` has items, each 0 or 1, from runs of bytes; return their number or −1."""
    at = done = 0
    wanted = out.shape[0]
    while done < wanted:
        if at + 1 >= size:
            return -1
        head = np.int64(data[at])
        at += 1
        repeats = head < 128
        count = head + _SHORTEST_RUN if repeats else 256 - head
        for number in range(count):
            place = at if repeats else at + number
            if place >= size:
                return -1
            byte = data[place]
            for bit in range(min(8, wanted - done)):
                out[done] = (byte >> (7 - bit)) & 1
                done += 1
            if done == wanted:
                return done
        at += 1 if repeats else count
    return done


@kernel
def micros_of(seconds: Int64Array, nanos: Int64Array, base: int) -> bool:
    """Turn the stored ``seconds`` since ``base`` and the stored ``nanos`` into microseconds since 1970, in place.

    The lowest three bits of stored nanoseconds are the number of zeros cut off less one, if it is not 0; the others are
    an int. Writers round the seconds of an instant before 1970 to 0, from one millisecond on. Return whether all
    nanoseconds are those of a second.
    """
    for row in range(seconds.shape[0]):
        zeros, part = nanos[row] & 7, np.int32(nanos[row] >> 3)
        if zeros:
            for _ in range(zeros + 1):
                part = np.int32(part * 10)
        if part < 0 or part >= _SECOND_NS:
            return False
        second = seconds[row] + base
        if second < 0 and part > 999_999:
            second -= 1
        seconds[row] = second * 1_000_000 + part // 1000
    return True


@kernel
def spread(found: Int64Array, valid: UInt8Array, out: Int64Array) -> None:
    """Write the values ``found`` to the rows of ``out`` that are valid, 0 to the others."""
    at = 0
    for row in range(valid.shape[0]):
        if valid[row]:
            out[row] = found[at]
            at += 1
        else:
            out[row] = 0


@kernel
def lz4_size(data: UInt8Array, size: int) -> int:
    """Return the number of bytes of a block of LZ4 when decompressed; −1 if it is damaged."""
    at = total = 0
    while at < size:
        token = np.int64(data[at])
        at += 1
        literals = token >> 4
        if literals == 15:
            more = 255
            while more == 255:
                if at >= size:
                    return -1
                more = np.int64(data[at])
                at += 1
                literals += more
        at += literals
        total += literals
        if at >= size:
            return total if at == size else -1
        at += 2
        match = token & 15
        if match == 15:
            more = 255
            while more == 255:
                if at >= size:
                    return -1
                more = np.int64(data[at])
                at += 1
                match += more
        total += match + 4
    return -1
