"""MD5, SHA-1, SHA-224 and SHA-256 of byte strings (RFC 1321, FIPS 180-4), as hexadecimal digits.

All of them hash blocks of 64 bytes; the last block ends with the number of the message's bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, sin

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array, UInt32Array
from pyspark_pipeline.kernels.jit import frozen, kernel
from pyspark_pipeline.kernels.xxhash32 import rotated

_BLOCK = 64
_ROUNDS = 64
_DIGITS = frozen(np.frombuffer(b"0123456789abcdef", dtype=np.uint8).copy())


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found


def _root_of_cube(cube: int) -> int:
    root = round(cube ** (1 / 3))
    while root**3 > cube:
        root -= 1
    while (root + 1) ** 3 <= cube:
        root += 1
    return root


def _words(numbers: list[int]) -> UInt32Array:
    return frozen(np.array([number & 0xFFFFFFFF for number in numbers], dtype=np.uint32))


_MD5_START = _words([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476])
_MD5_WORDS = _words([int(abs(sin(number + 1)) * 2**32) for number in range(_ROUNDS)])
_SHA1_START = _words([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0])
# The first 32 bits after the point of the cube roots of the first primes, and of the square roots.
_SHA256_WORDS = _words([_root_of_cube(prime << 96) for prime in _primes(_ROUNDS)])
_SHA256_START = _words([isqrt(prime << 64) for prime in _primes(8)])
# The second 32 bits of the square roots of the next primes.
_SHA224_START = _words([isqrt(prime << 128) for prime in _primes(16)[8:]])


@kernel(forceinline=True)
def _swapped(word: np.uint32) -> np.uint32:
    return np.uint32((rotated(word, 8) & np.uint32(0x00FF00FF)) | (rotated(word, 24) & np.uint32(0xFF00FF00)))


@kernel
def _fill(block: UInt8Array, data: UInt8Array, first: np.uint64, stop: np.uint64, has_end: bool) -> None:
    """Write the bytes from ``first`` to ``stop`` to a block, after them a bit if ``has_end``, and zeros."""
    count = stop - first
    for place in range(count):
        block[place] = data[first + np.uint64(place)]
    for place in range(count, _BLOCK):
        block[place] = 0
    if has_end:
        block[count] = 0x80


@kernel
def _write(state: UInt32Array, words: int, swaps: bool, digits: UInt8Array, out: UInt8Array, at: int) -> None:
    """Write the first ``words`` of a digest at ``out[at]``; ``swaps``: the first byte of a word is its highest."""
    for number in range(words):
        word = _swapped(state[number]) if swaps else state[number]
        for byte in range(4):
            value = (word >> np.uint32(8 * byte)) & np.uint32(0xFF)
            out[at + 8 * number + 2 * byte] = digits[value >> np.uint32(4)]
            out[at + 8 * number + 2 * byte + 1] = digits[value & np.uint32(15)]


@kernel
def _md5_block(state: UInt32Array, w: UInt32Array, k: UInt32Array) -> None:
    a, b, c, d = state[0], state[1], state[2], state[3]
    for i in range(0, 16, 4):
        a = np.uint32(b + rotated(np.uint32(a + (d ^ (b & (c ^ d))) + k[i] + w[i]), 7))
        d = np.uint32(a + rotated(np.uint32(d + (c ^ (a & (b ^ c))) + k[i + 1] + w[i + 1]), 12))
        c = np.uint32(d + rotated(np.uint32(c + (b ^ (d & (a ^ b))) + k[i + 2] + w[i + 2]), 17))
        b = np.uint32(c + rotated(np.uint32(b + (a ^ (c & (d ^ a))) + k[i + 3] + w[i + 3]), 22))
    for i in range(16, 32, 4):
        a = np.uint32(b + rotated(np.uint32(a + (c ^ (d & (b ^ c))) + k[i] + w[(5 * i + 1) & 15]), 5))
        d = np.uint32(a + rotated(np.uint32(d + (b ^ (c & (a ^ b))) + k[i + 1] + w[(5 * i + 6) & 15]), 9))
        c = np.uint32(d + rotated(np.uint32(c + (a ^ (b & (d ^ a))) + k[i + 2] + w[(5 * i + 11) & 15]), 14))
        b = np.uint32(c + rotated(np.uint32(b + (d ^ (a & (c ^ d))) + k[i + 3] + w[(5 * i) & 15]), 20))
    for i in range(32, 48, 4):
        a = np.uint32(b + rotated(np.uint32(a + (b ^ c ^ d) + k[i] + w[(3 * i + 5) & 15]), 4))
        d = np.uint32(a + rotated(np.uint32(d + (a ^ b ^ c) + k[i + 1] + w[(3 * i + 8) & 15]), 11))
        c = np.uint32(d + rotated(np.uint32(c + (d ^ a ^ b) + k[i + 2] + w[(3 * i + 11) & 15]), 16))
        b = np.uint32(c + rotated(np.uint32(b + (c ^ d ^ a) + k[i + 3] + w[(3 * i + 14) & 15]), 23))
    for i in range(48, 64, 4):
        a = np.uint32(b + rotated(np.uint32(a + (c ^ np.uint32(b | ~d)) + k[i] + w[(7 * i) & 15]), 6))
        d = np.uint32(a + rotated(np.uint32(d + (b ^ np.uint32(a | ~c)) + k[i + 1] + w[(7 * i + 7) & 15]), 10))
        c = np.uint32(d + rotated(np.uint32(c + (a ^ np.uint32(d | ~b)) + k[i + 2] + w[(7 * i + 14) & 15]), 15))
        b = np.uint32(c + rotated(np.uint32(b + (d ^ np.uint32(c | ~a)) + k[i + 3] + w[(7 * i + 5) & 15]), 21))
    state[0] = np.uint32(state[0] + a)
    state[1] = np.uint32(state[1] + b)
    state[2] = np.uint32(state[2] + c)
    state[3] = np.uint32(state[3] + d)


@kernel
def _sha1_block(state: UInt32Array, w: UInt32Array) -> None:
    for i in range(16, 80):
        w[i] = rotated(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1)
    a, b, c, d, e = state[0], state[1], state[2], state[3], state[4]
    for i in range(80):
        if i < 20:
            mixed = np.uint32((d ^ (b & (c ^ d))) + np.uint32(0x5A827999))
        elif i < 40:
            mixed = np.uint32((b ^ c ^ d) + np.uint32(0x6ED9EBA1))
        elif i < 60:
            mixed = np.uint32(((b & c) | (d & (b | c))) + np.uint32(0x8F1BBCDC))
        else:
            mixed = np.uint32((b ^ c ^ d) + np.uint32(0xCA62C1D6))
        mixed = np.uint32(rotated(a, 5) + mixed + e + w[i])
        a, b, c, d, e = mixed, a, rotated(b, 30), c, d
    state[0] = np.uint32(state[0] + a)
    state[1] = np.uint32(state[1] + b)
    state[2] = np.uint32(state[2] + c)
    state[3] = np.uint32(state[3] + d)
    state[4] = np.uint32(state[4] + e)


@kernel
def _sha256_block(state: UInt32Array, w: UInt32Array, k: UInt32Array) -> None:
    for i in range(16, 64):
        low, high = w[i - 15], w[i - 2]
        low = rotated(low, 25) ^ rotated(low, 14) ^ (low >> np.uint32(3))
        high = rotated(high, 15) ^ rotated(high, 13) ^ (high >> np.uint32(10))
        w[i] = np.uint32(w[i - 16] + low + w[i - 7] + high)
    a, b, c, d = state[0], state[1], state[2], state[3]
    e, f, g, h = state[4], state[5], state[6], state[7]
    for i in range(64):
        mixed = np.uint32(h + (rotated(e, 26) ^ rotated(e, 21) ^ rotated(e, 7)) + (g ^ (e & (f ^ g))) + k[i] + w[i])
        other = np.uint32((rotated(a, 30) ^ rotated(a, 19) ^ rotated(a, 10)) + ((a & b) | (c & (a | b))))
        h, g, f, e = g, f, e, np.uint32(d + mixed)
        d, c, b, a = c, b, a, np.uint32(mixed + other)
    state[0] = np.uint32(state[0] + a)
    state[1] = np.uint32(state[1] + b)
    state[2] = np.uint32(state[2] + c)
    state[3] = np.uint32(state[3] + d)
    state[4] = np.uint32(state[4] + e)
    state[5] = np.uint32(state[5] + f)
    state[6] = np.uint32(state[6] + g)
    state[7] = np.uint32(state[7] + h)


_MD5, _SHA1, _SHA256 = 0, 1, 2


@kernel
def _digests(
    offsets: Int32Array, data: UInt8Array, kind: int, start: UInt32Array, k: UInt32Array, words: int,
    digits: UInt8Array, out: UInt8Array,
) -> None:  # fmt: skip
    """Write ``words`` words of the digest of each byte string as hexadecimal digits."""
    block = np.empty(_BLOCK, dtype=np.uint8)
    block_words = block.view(np.uint32)
    w = np.empty(80, dtype=np.uint32)
    state = np.empty(8, dtype=np.uint32)
    width = np.uint64(_BLOCK)
    for row in range(offsets.shape[0] - 1):
        at, stop = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        size = stop - at
        count = (size + np.uint64(8)) // width + np.uint64(1)
        for i in range(start.shape[0]):
            state[i] = start[i]
        for number in range(count):
            first = at + number * width
            end = first + width
            _fill(block, data, min(first, stop), min(end, stop), first <= stop < end)
            if number + np.uint64(1) == count:
                low, high = np.uint32(size << np.uint64(3)), np.uint32(size >> np.uint64(29))
                block_words[14] = low if kind == _MD5 else _swapped(high)
                block_words[15] = high if kind == _MD5 else _swapped(low)
            if kind == _MD5:
                _md5_block(state, block_words, k)
            else:
                for i in range(16):
                    w[i] = _swapped(block_words[i])
                if kind == _SHA1:
                    _sha1_block(state, w)
                else:
                    _sha256_block(state, w, k)
        _write(state, words, kind != _MD5, digits, out, row * words * 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDigest:
    """A function of the bytes of a string; its digest has ``words`` words of four bytes."""

    kind: int
    start: UInt32Array
    words: int
    constants: UInt32Array

    @property
    def digits(self) -> int:
        """The hexadecimal digits of a digest."""
        return self.words * 8

    def write(self, offsets: Int32Array, data: UInt8Array, out: UInt8Array) -> None:
        """Write the digits of the digest of each string one after the other to ``out``: uint8."""
        _digests(offsets, data, self.kind, self.start, self.constants, self.words, _DIGITS, out)


#: The functions by their names in hashlib; SHA-1 reads no table of constants.
DIGESTS = {
    "md5": MessageDigest(kind=_MD5, start=_MD5_START, words=4, constants=_MD5_WORDS),
    "sha1": MessageDigest(kind=_SHA1, start=_SHA1_START, words=5, constants=_SHA256_WORDS),
    "sha224": MessageDigest(kind=_SHA256, start=_SHA224_START, words=7, constants=_SHA256_WORDS),
    "sha256": MessageDigest(kind=_SHA256, start=_SHA256_START, words=8, constants=_SHA256_WORDS),
}
