"""Casts from string (Spark: Cast.scala, UTF8String, SparkDateTimeUtils).

White space and control characters around a value are ignored. An invalid value raises CAST_INVALID_INPUT
in ANSI mode and is NULL in the others; LEGACY accepts a fraction in an integer and drops it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cast_numeric import BITS
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.expressions.registry import (
    FLOATING,
    INTEGRAL,
    ExpressionSettings,
    Kernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.values import flags, from_numbers, numbers_or_zero, to_array
from pyspark_pipeline.kernels import text_parse
from pyspark_pipeline.kernels.arrays import BoolArray
from pyspark_pipeline.kernels.decimal_words import (
    decimal_array,
    new_words,
    pack_flags,
    split_words,
    valid_flags,
    validity_of,
)
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.plan.eval_mode import EvalMode
from pyspark_pipeline.plan.expr import Call


def parsed_validity(call: Call, array: pa.Array, fits: BoolArray, exception: str) -> pa.Buffer | None:
    """Return the validity of the result; raise for the first valid row that was not parsed (ANSI)."""
    validity = validity_of([array])
    valid = valid_flags(validity, len(array))
    bad = valid & ~fits
    if not bad.any():
        return validity
    if call.eval_mode.raises:
        text = array[int(np.flatnonzero(bad)[0])].as_py()
        raise conditions.cast_invalid_input(text, call.type, exception, call.context)
    return pack_flags(valid & fits)


def _kernel(call: Call, parse: Callable[[pa.Array], Value]) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        return parse(to_array(values[0], rows))

    return Kernel(run=run, can_raise=call.eval_mode.raises, by_dictionary=True)


@function("Cast", [case(["string"], result=["date"])])
def _to_date(call: Call, settings: ExpressionSettings) -> Kernel:
    def parse(array: pa.Array) -> Value:
        days = np.empty(len(array), dtype=np.int32)
        status = np.empty(len(array), dtype=np.uint8)
        text_parse.parse_dates(*text_parse.text_of(array), days, status)
        validity = parsed_validity(call, array, status == text_parse.PARSED, "SparkDateTimeException")
        return from_numbers(days, pa.date32(), validity)

    return _kernel(call, parse)


@function("Cast", [case(["string"], result=INTEGRAL)])
def _to_integral(call: Call, settings: ExpressionSettings) -> Kernel:
    info = np.iinfo(np.dtype(f"int{BITS[call.type.kind]}"))
    fraction = call.eval_mode is EvalMode.LEGACY

    def parse(array: pa.Array) -> Value:
        out = np.empty(len(array), dtype=info.dtype)
        status = np.empty(len(array), dtype=np.uint8)
        text_parse.parse_integers(*text_parse.text_of(array), True, fraction, int(info.min), int(info.max), out, status)
        validity = parsed_validity(call, array, status == text_parse.PARSED, "SparkNumberFormatException")
        return from_numbers(out, call.type.arrow, validity)

    return _kernel(call, parse)


_TRUE = pa.array(["t", "true", "y", "yes", "1"])
_FALSE = pa.array(["f", "false", "n", "no", "0"])
_TRIMMED = "".join(map(chr, range(33))) + "\x7f"


@function("Cast", [case(["string"], result=["boolean"])])
def _to_boolean(call: Call, settings: ExpressionSettings) -> Kernel:
    def parse(array: pa.Array) -> Value:
        words = pc.ascii_lower(pc.ascii_trim(array, characters=_TRIMMED))
        true, false = pc.is_in(words, value_set=_TRUE), pc.is_in(words, value_set=_FALSE)
        validity = parsed_validity(call, array, flags(pc.or_(true, false)), "SparkRuntimeException")
        return pa.Array.from_buffers(pa.bool_(), len(array), [validity, pa.array(flags(true)).buffers()[1]])

    return _kernel(call, parse)


#: The digits of which every number is exact, and the exact powers of ten. A float is the quotient as a double, rounded:
#: a double has more than twice its digits.
_EXACT_DOUBLES = 15, frozen(np.array([10.0**power for power in range(23)]))
_EXACT_FLOATS = 7, frozen(np.array([10.0**power for power in range(11)]))

#: Texts that Arrow and Java parse to the same number; all others are parsed by :func:`java_double`.
_PLAIN_NUMBER = r"^-?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?$"
_JAVA_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_JAVA_HEX = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_CONTROL = "".join(map(chr, range(33)))
_SPECIAL = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), float("inf")),
    **dict.fromkeys(("-inf", "-infinity"), float("-inf")),
    "nan": float("nan"),
}


def java_double(text: str, single: bool) -> float | None:
    """Parse a text as Java's parseDouble (parseFloat) with Spark's special literals; None if it is not a number."""
    number = java_number(text, single)
    return _SPECIAL.get(text.strip().lower()) if number is None else number


def java_number(text: str, single: bool) -> float | None:
    """Parse a text as Java's parseDouble (parseFloat); None if it is not a number."""
    trimmed = text.strip(_CONTROL)
    body = trimmed[:-1] if trimmed[-1:] in ("d", "D", "f", "F") and not _JAVA_HEX.fullmatch(trimmed) else trimmed
    if body in ("NaN", "+NaN", "-NaN", "Infinity", "+Infinity", "-Infinity"):
        return float(body)
    if _JAVA_NUMBER.fullmatch(body):
        exact = float(body)
        if single and exact not in (0.0, float("inf"), float("-inf")):
            with np.errstate(over="ignore", under="ignore"):
                return float(np.float32(_round_to_odd(body, exact)))
        return exact
    return float.fromhex(body) if _JAVA_HEX.fullmatch(body) else None


def _round_to_odd(text: str, nearest: float) -> float:
    """Return a double that rounds to the same float as the exact number (no double rounding)."""
    exact = Decimal(text)
    if Decimal(nearest) == exact:
        return nearest
    bits = np.float64(nearest).view(np.int64)
    if bits & 1:
        return nearest
    away = (Decimal(nearest) < exact) == (nearest > 0)
    return float(np.int64(bits + (1 if away else -1)).view(np.float64))


@function("Cast", [case(["string"], result=FLOATING)])
def _to_floating(call: Call, settings: ExpressionSettings) -> Kernel:
    single = call.type.kind == "float"

    def parse(array: pa.Array) -> Value:
        numbers, fits = parsed_numbers(array, call.type.arrow, lambda text: java_double(text, single))
        if fits is None:
            return numbers
        validity = parsed_validity(call, array, fits, "SparkNumberFormatException")
        return from_numbers(numbers, call.type.arrow, validity)

    return _kernel(call, parse)


def parsed_numbers(array: pa.Array, target: pa.DataType, parse: Callable[[str], float | None]) -> tuple[Any, Any]:
    """Parse strings to doubles or floats, the odd ones by ``parse``.

    Return an array and None if none is odd, else numbers and whether the strings are numbers, NULL among these.
    """
    most_digits, powers = _EXACT_FLOATS if pa.types.is_float32(target) else _EXACT_DOUBLES
    numbers, status = np.empty(len(array), dtype=np.float64), np.empty(len(array), dtype=np.uint8)
    text_parse.parse_numbers(*text_parse.text_of(array), most_digits, powers, numbers, status)
    numbers = numbers.astype(target.to_pandas_dtype(), copy=False)
    validity = validity_of([array])
    rest = np.flatnonzero((status != text_parse.PARSED) & flags(array.is_valid()))
    if not rest.size:
        return from_numbers(numbers, target, validity), None
    texts = array.take(pa.array(rest))
    plain = pc.match_substring_regex(texts, pattern=_PLAIN_NUMBER)
    easy = pc.if_else(plain, texts, pa.scalar(None, pa.string())).cast(target)
    numbers[rest] = pc.fill_null(easy, 0.0).to_numpy()
    odd = np.flatnonzero(~flags(plain))
    if not odd.size:
        return from_numbers(numbers, target, validity), None
    fits = np.ones(len(array), dtype=np.bool_)
    for place in odd:
        number, row = parse(texts[int(place)].as_py()), rest[place]
        fits[row] = number is not None
        numbers[row] = 0.0 if number is None else number
    return numbers, fits


# BigDecimal accepts any Unicode digit of one UTF-16 unit, and an exponent of ten digits after leading zeros.
_JAVA_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?0*\d{1,10})?")


@function("Cast", [case(["string"], result=["decimal"])])
def _to_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    return _kernel(call, decimal_parser(call.type, lambda text: _slow_decimal(text, call)))


#: The digits of decimals that fit into 64 bits.
_MOST_DIGITS = 18


@function("Cast", [case(FLOATING, result=["decimal"])])
def _floating_to_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    """Round the decimal number that Java prints for the double; NaN and infinities are NULL."""
    target = call.type
    parse = decimal_parser(call.type, lambda text: _slow_decimal(text, call))
    limit = 10.0 ** (target.precision - target.scale) * 2  # above: overflow whatever the rounding

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows).cast(pa.float64())
        validity = validity_of([array])
        found = Digits.of(numbers_or_zero(array), settings.prints_shortest_digits)
        buffer, words = new_words(rows)
        if target.precision > _MOST_DIGITS:
            exact = np.zeros(rows, dtype=np.bool_)
            words[:] = 0
        else:
            exact = found.unscaled(target.scale, 10**target.precision, words)
        result = decimal_array(target.arrow, rows, validity, buffer)
        others = valid_flags(validity, rows) & ~exact
        if not others.any():
            return result
        fits = pc.less(pc.abs(array), pa.scalar(limit))
        if call.eval_mode.raises:
            _raise_out_of_range(array.filter(pc.and_(pc.invert(fits), pc.is_finite(array))), call)
        text = pc.if_else(pc.and_(fits, pa.array(others)), found.texts(None), pa.scalar(None, pa.string()))
        return pc.if_else(pa.array(others), parse(text), result)

    return Kernel(run=run, can_raise=call.eval_mode.raises)


def _raise_out_of_range(values: pa.Array, call: Call) -> None:
    """Raise the error of the first of these doubles, which are too large for the target; none if all are NULL."""
    for value in values.slice(0, 1).to_pylist():
        if value is not None:
            digits = Decimal(repr(value)).normalize().as_tuple()
            unscaled = int(Decimal((digits.sign, digits.digits, max(int(digits.exponent), 0))))
            raise conditions.decimal_out_of_range(unscaled, max(-int(digits.exponent), 0), call.type, call.context)


def decimal_parser(target: DataType, parse_one: Callable[[str], int | None]) -> Callable[[pa.Array], Value]:
    """Return the conversion of strings to decimals; ``parse_one`` returns a rare text's unscaled value, or None."""

    def parse(array: pa.Array) -> Value:
        rows = len(array)
        buffer, words = new_words(rows)
        status = np.full(rows, text_parse.TOO_LARGE, dtype=np.uint8)
        if target.scale <= 18:
            text_parse.parse_decimals(*text_parse.text_of(array), target.scale, words, status)
            if target.precision < 18:
                bound = 10**target.precision
                status[(words[:, 0] >= bound) | (words[:, 0] <= -bound)] = text_parse.TOO_LARGE
        fits = status == text_parse.PARSED
        validity = validity_of([array])
        valid = valid_flags(validity, rows)
        for row in np.flatnonzero(valid & ~fits):
            value = parse_one(array[int(row)].as_py())
            fits[row] = value is not None
            words[row] = split_words(value or 0)
        if not (fits | ~valid).all():
            validity = pack_flags(valid & fits)
        return decimal_array(target.arrow, rows, validity, buffer)

    return parse


def _slow_decimal(text: str, call: Call) -> int | None:
    """Parse any text to the unscaled value of the target; if it is invalid, return None, or raise in ANSI mode."""
    target = call.type
    raises = call.eval_mode.raises
    try:
        trimmed = text.strip(_CONTROL)
        if not _JAVA_DECIMAL.fullmatch(trimmed) or max(trimmed) > "\uffff":
            raise InvalidOperation
        sign, digits, exponent = Decimal(trimmed).as_tuple()
        assert isinstance(exponent, int)
        if not -(2**31) < exponent <= 2**31:
            raise InvalidOperation
    except InvalidOperation:
        if raises:
            raise conditions.cast_invalid_input(text, target, "SparkNumberFormatException", call.context) from None
        return None
    integer: int = int("".join(map(str, digits)))
    if len(digits) + exponent > 38:
        if raises:
            parameters = {"value": text}
            raise SparkConditionError("SparkArithmeticException", "NUMERIC_OUT_OF_SUPPORTED_RANGE", parameters)
        return None
    shift = target.scale + exponent
    if shift >= 0:
        unscaled: int = integer * 10**shift
    else:
        cut: int = 10 ** min(-shift, 10_000)
        unscaled = integer // cut + (integer % cut * 2 >= cut)
    value = -unscaled if sign else unscaled
    if unscaled < 10**target.precision:
        return value
    if raises:
        signed = -integer if sign else integer
        scaled, scale = (signed, -exponent) if exponent <= 0 else (signed * 10**exponent, 0)
        raise conditions.decimal_out_of_range(scaled, scale, target, call.context)
    return None
