"""Digests, hexadecimal and binary digits, sizes in bytes and bits (Spark: hash.scala, mathExpressions.scala)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.per_value import by_distinct, per_value
from pyspark_pipeline.expressions.registry import INTEGRAL, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_arrays import measured, string_array
from pyspark_pipeline.expressions.text_search import NULL_TEXT
from pyspark_pipeline.expressions.values import from_numbers, number_kernel, numbers, to_array
from pyspark_pipeline.kernels import base64_text, byte_bits, crc32, digit_texts
from pyspark_pipeline.kernels.arrays import Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.decimal_words import pack_flags, valid_flags, validity_of
from pyspark_pipeline.kernels.message_digests import DIGESTS, MessageDigest
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants

_MOST_BYTES = 2**31 - 1
_HEX_DIGITS = re.compile("[0-9a-fA-F]*", re.ASCII)


def hexadecimal(data: pa.Array) -> pa.StringArray:
    """Return the lower-case hexadecimal digits of a binary array."""
    offsets, raw = text_of(data)
    first, last = int(offsets[0]), int(offsets[-1])
    ends = (offsets.astype(np.int64) - first) * 2
    if ends[-1] > np.iinfo(np.int32).max:
        raise pa.ArrowCapacityError(f"{last - first} bytes have more than 2 GiB of hexadecimal digits")
    digits = np.frombuffer(raw[first:last].tobytes().hex().encode("ascii"), dtype=np.uint8)
    return string_array(ends.astype(np.int32), digits, validity_of([data]))


def _digest(name: str) -> Kernel:
    """Build a kernel of the hexadecimal digits of a digest of hashlib."""
    function = DIGESTS.get(name)
    digests = _of_hashlib(name) if function is None else _of_kernel(function)
    return Kernel(run=lambda values, rows: by_distinct(to_array(values[0], rows), digests), by_dictionary=True)


def _of_kernel(function: MessageDigest) -> Callable[[pa.Array], pa.Array]:
    def digests(data: pa.Array) -> pa.Array:
        size = len(data) * function.digits
        if size > _MOST_BYTES:
            raise pa.ArrowCapacityError(f"{size} hexadecimal digits of digests")
        out = allocate(size, np.uint8)
        function.write(*text_of(data), out)
        ends = np.arange(0, size + 1, function.digits, dtype=np.int32)
        return string_array(ends, out, validity_of([data]))

    return digests


def _of_hashlib(name: str) -> Callable[[pa.Array], pa.Array]:
    empty = hashlib.new(name, usedforsecurity=False)

    def digest(value: bytes) -> bytes:
        copied = empty.copy()  # quicker than a new one
        copied.update(value)
        return copied.digest()

    def digests(data: pa.Array) -> pa.Array:
        found = [None if value is None else digest(value) for value in data.to_pylist()]
        return hexadecimal(pa.array(found, pa.binary()))

    return digests


@function("Md5", [case(["binary"])])
def _md5(call: Call, settings: ExpressionSettings) -> Kernel:
    return _digest("md5")


@function("Sha1", [case(["binary"])])
def _sha1(call: Call, settings: ExpressionSettings) -> Kernel:
    return _digest("sha1")


@function("Sha2", [case(["binary"], ["int"], matches={"1": "0|224|256|384|512"})])
def _sha2(call: Call, settings: ExpressionSettings) -> Kernel:
    (bits,) = constants(call.args[1:])
    if bits not in (0, 224, 256, 384, 512):
        return NULL_TEXT
    return _digest(f"sha{bits or 256}")


by_constants("Sha2", [case(["binary"], ["int"])], [1], otherwise=_sha2)


def _number_of_bytes(compute: Callable[..., None], table: Array) -> Kernel:
    """Build a kernel of binary values: ``compute`` writes an int64 per row, by a table of the 256 bytes."""

    def run(values: Sequence[Value], rows: int) -> Value:
        data = to_array(values[0], rows)
        out = np.empty(rows, dtype=np.int64)
        compute(*text_of(data), table, out)
        return from_numbers(out, pa.int64(), validity_of([data]))

    return Kernel(run=run, by_dictionary=True)


@function("Crc32", [case(["binary"])])
def _crc32(call: Call, settings: ExpressionSettings) -> Kernel:
    return _number_of_bytes(crc32.checksums, crc32.TABLE)


def _digits_of_bits(width: int) -> Kernel:
    """Build the kernel of the digits, of ``width`` bits, of the two's complement, without leading zeros."""

    def run(values: Sequence[Value], rows: int) -> Value:
        column = to_array(values[0], rows)
        ends, out = allocate(rows + 1, np.int32), allocate(64 // width * rows, np.uint8)
        digit_texts.write_bits(numbers(column), width, out, ends)
        return string_array(ends, out[: ends[-1]].copy(), validity_of([column]))

    return Kernel(run=run)


@function("Hex", [case(["bigint"])])
def _hex_number(call: Call, settings: ExpressionSettings) -> Kernel:
    return _digits_of_bits(4)


@function("Hex", [case(["string", "binary"])])
def _hex_bytes(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        return pc.ascii_upper(hexadecimal(to_array(values[0], rows)))

    return Kernel(run=run, by_dictionary=True)


def bytes_of_digits(digits: str) -> bytes | None:
    """Return the bytes of hexadecimal digits, the first with one digit if their number is odd; None if they are not."""
    if not _HEX_DIGITS.fullmatch(digits):
        return None
    return bytes.fromhex("0" * (len(digits) % 2) + digits)


@function("Unhex", [case(["string"], fields={"failOnError": ["false"]}, slower=True)])
def _unhex(call: Call, settings: ExpressionSettings) -> Kernel:
    return per_value(bytes_of_digits, pa.binary())


@function("Unhex", [case(["string"], fields={"failOnError": ["true"]}, slower=True)])
def _to_binary(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the bytes; raise for a text that is not of hexadecimal digits."""

    def convert(digits: str) -> bytes:
        data = bytes_of_digits(digits)
        if data is None:
            raise conditions.conversion_invalid_input(digits, "HEX", call.type, "try_to_binary")
        return data

    return replace(per_value(convert, pa.binary()), can_raise=True)


@function("Bin", [case(["bigint"])])
def _bin(call: Call, settings: ExpressionSettings) -> Kernel:
    return _digits_of_bits(1)


@function("Base64.encode", [case(["binary"], ["boolean"], literal=[1])])
def _base64(call: Call, settings: ExpressionSettings) -> Kernel:
    """Encode, in lines of 76 characters if the second argument is true."""
    (in_lines,) = constants(call.args[1:])

    def measure(offsets: Int32Array, data: UInt8Array, ends: Int64Array) -> None:
        base64_text.encoded_ends(offsets, in_lines, ends)

    def write(offsets: Int32Array, data: UInt8Array, out: UInt8Array) -> None:
        base64_text.encode(offsets, data, base64_text.DIGITS, in_lines, out)

    return Kernel(run=lambda values, rows: measured(to_array(values[0], rows), measure, write), by_dictionary=True)


@function("OctetLength", [case(["string", "binary"])])
def _octet_length(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pc.binary_length(values[0]), by_dictionary=True)


@function("BitLength", [case(["string", "binary"])])
def _bit_length(call: Call, settings: ExpressionSettings) -> Kernel:
    eight = pa.scalar(8, pa.int32())
    return Kernel(run=lambda values, rows: pc.multiply(pc.binary_length(values[0]), eight), by_dictionary=True)


@function("BitwiseCount", [case(INTEGRAL)])
def _bit_count(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count the set bits of the number as a 64-bit integer."""

    return number_kernel(lambda data: np.bitwise_count(data.astype(np.int64).view(np.uint64)), pa.int32())


_BITS = {"tinyint": "[0-7]", "smallint": r"\d|1[0-5]", "int": r"\d|[12]\d|3[01]", "bigint": r"\d|[1-5]\d|6[0-3]"}


@function("BitwiseGet", [case([kind], ["int"], matches={"1": pattern}) for kind, pattern in _BITS.items()])
def _bit_get(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the bit at a constant position."""
    (position,) = constants(call.args[1:])
    return number_kernel(lambda data: data.astype(np.int64) >> position & 1, pa.int8())


@function("BitwiseGet", [case(INTEGRAL, ["int"])])
def _bit_at(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the bit at a position; raise for a position outside the number."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        data: Any = numbers(arrays[0])
        position: Any = numbers(arrays[1])
        bits = 8 * data.dtype.itemsize
        wrong = ((position < 0) | (position >= bits)) & valid_flags(validity_of(arrays), rows)
        if wrong.any():
            raise conditions.bit_position_out_of_range("bit_get", bits, int(position[np.argmax(wrong)]))
        found = data.astype(np.int64) >> (position.astype(np.int64) & 63) & 1
        return from_numbers(found.astype(np.int8), pa.int8(), validity_of(arrays))

    return Kernel(run=run, can_raise=True)


_BITMAP_BITS = 32_768
_BITMAPS: dict[str, Callable[[Any], Any]] = {
    "BitmapExpressionUtils.bitmapBucketNumber": lambda data: np.where(
        data > 0, 1 + (data - (data > 0)) // _BITMAP_BITS, -(data // -_BITMAP_BITS)
    ),
    "BitmapExpressionUtils.bitmapBitPosition": lambda data: np.where(
        data > 0, (data - (data > 0)) % _BITMAP_BITS, np.fmod(-data, _BITMAP_BITS)
    ),
}

for _name in _BITMAPS:

    @function(_name, [case(["bigint"])])
    def _bitmap(call: Call, settings: ExpressionSettings) -> Kernel:
        """Return the number of the bitmap that holds a number, or its bit in that bitmap."""
        return number_kernel(_BITMAPS[call.name], pa.int64())


@function("BitmapExpressionUtils.bitmapCount", [case(["binary"])])
def _bitmap_count(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count the set bits of bytes."""
    return _number_of_bytes(byte_bits.count_bits, byte_bits.SET_BITS)


@function("Conv", [case(["string"], ["int"], ["int"], literal=[1, 2])])
def _conv(call: Call, settings: ExpressionSettings) -> Kernel:
    """Write a number of 64 bits to another base: to a negative one as a signed number, else as an unsigned one."""
    source, target = constants(call.args[1:])
    if source is None or target is None or not (2 <= source <= 36 and 2 <= abs(target) <= 36):
        return NULL_TEXT
    fails = bool(call.fields["ansiEnabled"])

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = to_array(values[0], rows)
        valid = valid_flags(validity_of([texts]), rows).copy()
        offsets, data = text_of(texts)
        ends, out = allocate(rows + 1, np.int32), allocate(_LONGEST_NUMBER * rows, np.uint8)
        overflow = digit_texts.write_in_base(offsets, data, source, target, valid, out, ends)
        if fails and overflow >= 0:
            raise conditions.conv_overflow(call.context)
        return string_array(ends, out[: ends[-1]].copy(), pack_flags(valid))

    return Kernel(run=run, can_raise=fails)


by_constants("Conv", [case(["string"], ["int"], ["int"])], [1, 2], can_raise=True)

_LONGEST_NUMBER = 65
_BASE64_FAULTS = {
    base64_text.WRONG_END: "Input byte array has wrong 4-byte ending unit",
    base64_text.FEW_BITS: "Last unit does not have enough valid bits",
    base64_text.AFTER_END: "Input byte array has incorrect ending byte at {}",
}


@function("UnBase64", [case(["string"], fields={"failOnError": ["true"]}, slower=True)])
def _to_binary_of_base64(call: Call, settings: ExpressionSettings) -> Kernel:
    """Decode; raise for a text that is not Base64, whose groups of four may be separated by white space."""

    def convert(text: str) -> bytes:
        data = bytes_of_base64(text)
        if data is None:
            raise conditions.conversion_invalid_input(text, "BASE64", call.type, "try_to_binary")
        return data

    return replace(per_value(convert, pa.binary()), can_raise=True)


_BASE64 = re.compile(r"([A-Za-z0-9+/\n\r\t ]*)(={0,2})")
_SPACES = str.maketrans("", "", "\n\r\t ")


def bytes_of_base64(text: str) -> bytes | None:
    """Return the bytes of Base64, with or without padding and with white space before it; None if it is not Base64."""
    found = _BASE64.fullmatch(text)
    if found is None:
        return None
    digits = found[1].translate(_SPACES)
    padding = -len(digits) % 4
    if padding == 3 or (found[2] and len(found[2]) != padding):
        return None
    return base64.b64decode(digits + "=" * padding)


@function("UnBase64", [case(["string"], fields={"failOnError": ["false"]})])
def _unbase64(call: Call, settings: ExpressionSettings) -> Kernel:
    """Decode, skipping characters outside the alphabet; raise Java's error for an incomplete end."""

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = to_array(values[0], rows)
        validity = validity_of([texts])
        texts = texts.fill_null("") if texts.null_count else texts
        offsets, data = text_of(texts)
        ends = np.empty(rows + 1, dtype=np.int32)
        out = allocate((int(offsets[-1]) - int(offsets[0])) // 4 * 3 + 3, np.uint8)
        fault, position = base64_text.decode(offsets, data, base64_text.CODES, ends, out)
        if fault:
            raise conditions.java_error("IllegalArgumentException", _BASE64_FAULTS[fault].format(position))
        buffers = [validity, pa.py_buffer(ends), pa.py_buffer(out[: ends[-1]].copy())]
        return pa.Array.from_buffers(pa.binary(), rows, buffers)

    return Kernel(run=run, can_raise=True, by_dictionary=True)
