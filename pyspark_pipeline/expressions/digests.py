"""Digests, hexadecimal and binary digits, sizes in bytes and bits (Spark: hash.scala, mathExpressions.scala)."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.per_value import map_distinct, per_value
from pyspark_pipeline.expressions.registry import INTEGRAL, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import number_kernel, to_array
from pyspark_pipeline.plan.expr import Call, constants

_LOW_64 = (1 << 64) - 1
_HEX_DIGITS = re.compile("[0-9a-fA-F]*", re.ASCII)


@function("Md5", [case(["binary"])])
def _md5(call: Call, settings: ExpressionSettings) -> Kernel:
    return per_value(lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(), pa.string())


@function("Sha1", [case(["binary"])])
def _sha1(call: Call, settings: ExpressionSettings) -> Kernel:
    return per_value(lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(), pa.string())


@function("Sha2", [case(["binary"], ["int"], matches={"1": "0|224|256|384|512"})])
def _sha2(call: Call, settings: ExpressionSettings) -> Kernel:
    (bits,) = constants(call.args[1:])
    digest: Callable[[bytes], Any] = getattr(hashlib, f"sha{bits or 256}")
    return per_value(lambda data: digest(data).hexdigest(), pa.string())


@function("Crc32", [case(["binary"])])
def _crc32(call: Call, settings: ExpressionSettings) -> Kernel:
    return per_value(zlib.crc32, pa.int64())


@function("Hex", [case(["bigint"])])
def _hex_number(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the hexadecimal digits of the two's complement, without leading zeros."""
    return per_value(lambda number: f"{number & _LOW_64:X}", pa.string())


@function("Hex", [case(["string", "binary"])])
def _hex_bytes(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        data = to_array(values[0], rows).cast(pa.binary())
        return map_distinct(data, lambda value: value.hex().upper(), pa.string())

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
