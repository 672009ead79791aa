"""Digests, hexadecimal and binary digits, sizes in bytes and bits (Spark: hash.scala, mathExpressions.scala)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.per_value import by_distinct, per_value
from pyspark_pipeline.expressions.registry import INTEGRAL, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.expressions.values import from_numbers, number_kernel, to_array
from pyspark_pipeline.kernels import crc32
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants

_LOW_64 = (1 << 64) - 1
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
    """Build a kernel of the hexadecimal digits of a digest of hashlib; it copies an empty one, which is quicker."""
    empty = hashlib.new(name, usedforsecurity=False)

    def digest(value: bytes) -> bytes:
        copied = empty.copy()
        copied.update(value)
        return copied.digest()

    def digests(data: pa.Array) -> pa.Array:
        found = [None if value is None else digest(value) for value in data.to_pylist()]
        return hexadecimal(pa.array(found, pa.binary()))

    return Kernel(run=lambda values, rows: by_distinct(to_array(values[0], rows), digests), by_dictionary=True)


@function("Md5", [case(["binary"])])
def _md5(call: Call, settings: ExpressionSettings) -> Kernel:
    return _digest("md5")


@function("Sha1", [case(["binary"])])
def _sha1(call: Call, settings: ExpressionSettings) -> Kernel:
    return _digest("sha1")


@function("Sha2", [case(["binary"], ["int"], matches={"1": "0|224|256|384|512"})])
def _sha2(call: Call, settings: ExpressionSettings) -> Kernel:
    (bits,) = constants(call.args[1:])
    return _digest(f"sha{bits or 256}")


@function("Crc32", [case(["binary"])])
def _crc32(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        data = to_array(values[0], rows)
        out = np.empty(rows, dtype=np.int64)
        crc32.checksums(*text_of(data), crc32.TABLE, out)
        return from_numbers(out, pa.int64(), validity_of([data]))

    return Kernel(run=run, by_dictionary=True)


@function("Hex", [case(["bigint"])])
def _hex_number(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the hexadecimal digits of the two's complement, without leading zeros."""
    return per_value(lambda number: f"{number & _LOW_64:X}", pa.string())


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


@function("Unhex", [case(["string"], fields={"failOnError": ["false"]})])
def _unhex(call: Call, settings: ExpressionSettings) -> Kernel:
    return per_value(bytes_of_digits, pa.binary())


@function("Bin", [case(["bigint"])])
def _bin(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the binary digits of the two's complement, without leading zeros."""
    return per_value(lambda number: f"{number & _LOW_64:b}", pa.string())


@function("Base64.encode", [case(["binary"], ["boolean"], literal=[1])])
def _base64(call: Call, settings: ExpressionSettings) -> Kernel:
    """Encode, in lines of 76 characters if the second argument is true."""
    (in_lines,) = constants(call.args[1:])

    def encode(data: bytes) -> str:
        text = base64.b64encode(data).decode("ascii")
        return "\r\n".join(text[start : start + 76] for start in range(0, len(text), 76)) if in_lines else text

    return per_value(encode, pa.string())


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
