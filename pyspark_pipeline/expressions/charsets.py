"""Strings as bytes of a character set, and the reverse (Spark: Encode, StringDecode; Java: CharsetEncoder).

UTF-8 is a cast; the other character sets are rare, and encoded or decoded one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.per_value import decoded, java_text, map_distinct
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.plan.expr import Call, Literal, constants

_UTF_8 = "(?i)utf-8"
_NAMES = ("iso-8859-1", "us-ascii", "utf-16", "utf-16be", "utf-16le", "utf-32", "utf-8")
_SHOWN = "iso-8859-1, us-ascii, utf-16, utf-16be, utf-16le, utf-32, utf-8"
_STRICT = {"2": "false", "3": "false"}
_ENCODE, _DECODE = "Encode.encode", "StringDecode.decode"


@function(_ENCODE, [case(["string"], ["string"], ["boolean"], ["boolean"], matches={"1": _UTF_8})])
def _encode_utf8(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: to_array(values[0], rows).cast(pa.binary()))


@function(_DECODE, [case(["binary"], ["string"], ["boolean"], ["boolean"], matches={"1": _UTF_8})])
def _decode_utf8(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return bytes as a string; raise for bytes that are not UTF-8, or replace them in legacy mode."""
    (charset, _, is_legacy) = constants(call.args[1:])

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        try:
            return array.cast(pa.string())
        except pa.ArrowInvalid:
            if is_legacy:
                return map_distinct(array, decoded, pa.string())
            raise conditions.malformed_characters("decode", charset) from None

    return Kernel(run=run, can_raise=True)


def _encoded(text: str, charset: str) -> bytes:
    """Encode; raise ValueError for a character that the character set does not have."""
    if charset == "utf-16":
        return b"\xfe\xff" + text.encode("utf-16-be") if text else b""
    return text.encode("utf-32-be" if charset == "utf-32" else charset)


def _decoded(data: bytes, charset: str) -> str:
    """Decode; raise ValueError for bytes that the character set does not have."""
    if charset == "utf-32":
        return _from_utf32(data)
    if charset == "utf-16":
        charset = "utf-16-le" if data[:2] == b"\xff\xfe" else "utf-16-be"
        data = data[2:] if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data
    return data.decode(charset)


def _from_utf32(data: bytes) -> str:
    """Decode as Java, which combines halves of characters, and of which a single one is written as ``?``."""
    is_little = data[:4] == b"\xff\xfe\0\0"
    codes = np.frombuffer(data, dtype="<u4" if is_little else ">u4")
    if is_little or (codes.size and codes[0] == 0xFEFF):
        codes = codes[1:]
    text = "".join(map(chr, codes.tolist()))
    units = text.encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "surrogatepass").encode("utf-8", "replace").decode()


def _charset_kernel(call: Call, convert: Callable[..., object], function_name: str) -> Kernel:
    (charset,) = (arg.value for arg in call.args[1:2] if isinstance(arg, Literal))
    if charset is None:
        return Kernel(run=lambda values, rows: pa.scalar(None, call.type.arrow))
    name = str(charset).lower()

    def one(value: object) -> object:
        try:
            return convert(value, name)
        except (ValueError, OverflowError):
            raise conditions.malformed_characters(function_name, charset) from None

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        if name not in _NAMES and array.null_count < rows:
            raise conditions.unknown_charset(function_name, charset, _SHOWN)
        return map_distinct(java_text(array) if call.type.kind == "binary" else array, one, call.type.arrow)

    return Kernel(run=run, can_raise=True)


@function(_ENCODE, [case(["string"], ["string"], ["boolean"], ["boolean"], literal=[1], matches=_STRICT, slower=True)])
def _encode(call: Call, settings: ExpressionSettings) -> Kernel:
    return _charset_kernel(call, _encoded, "encode")


@function(_DECODE, [case(["binary"], ["string"], ["boolean"], ["boolean"], literal=[1], matches=_STRICT, slower=True)])
def _decode(call: Call, settings: ExpressionSettings) -> Kernel:
    return _charset_kernel(call, _decoded, "decode")


by_constants(_ENCODE, [case(["string"], ["string"], ["boolean"], ["boolean"], matches=_STRICT)], [1], can_raise=True)
by_constants(_DECODE, [case(["binary"], ["string"], ["boolean"], ["boolean"], matches=_STRICT)], [1], can_raise=True)
