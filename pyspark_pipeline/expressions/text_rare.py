"""Rare functions of strings, most by one Python call per distinct value (Spark: stringExpressions.scala, UrlCodec)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal
from math import isfinite, isnan
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.expressions.per_value import by_distinct, map_distinct, per_row, per_value
from pyspark_pipeline.expressions.registry import (
    FLOATING,
    INTEGRAL,
    Case,
    ExpressionSettings,
    Kernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.expressions.text_search import NULL_TEXT
from pyspark_pipeline.expressions.values import from_numbers, numbers_or_zero, to_array
from pyspark_pipeline.kernels import digit_texts, grouped_digits
from pyspark_pipeline.kernels.arrays import BoolArray
from pyspark_pipeline.kernels.buffers import allocate, bool_array, decimal_words
from pyspark_pipeline.kernels.decimal_words import valid_flags, validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.narrow_words import long_bounds, narrow_decimals
from pyspark_pipeline.kernels.text_distance import levenshtein
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants


@function("ExpressionImplUtils.quote", [case(["string"])])
def _quote(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return a string in single quotes, with a backslash before each single quote in it."""

    def run(values: Sequence[Value], rows: int) -> Value:
        escaped = pc.replace_substring(to_array(values[0], rows), "'", "\\'")
        return pc.binary_join_element_wise("'", escaped, "'", "")

    return Kernel(run=run, by_dictionary=True)


@function("ExpressionImplUtils.isLuhnNumber", [case(["string"])])
def _is_luhn_number(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        texts = to_array(values[0], rows)
        found = np.empty(rows, dtype=np.uint8)
        digit_texts.check_digits(*text_of(texts), found)
        if (found == digit_texts.UNDECIDED).any():
            return map_distinct(texts, is_luhn_number, pa.bool_())
        return bool_array(found, valid_flags(validity_of([texts]), rows))

    return Kernel(run=run, by_dictionary=True)


def is_luhn_number(text: str) -> bool:
    """Return whether a text of digits, of any script, has a correct check digit (Luhn's algorithm)."""
    if not text or not text.isdecimal() or max(text) > "\uffff":
        return False
    digits = [int(character) for character in reversed(text)]
    doubled = [2 * digit for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(digit // 10 + digit % 10 for digit in doubled)) % 10 == 0


#: The digits of the letters A to Z; 7 stands for letters between equal digits that do not separate them.
_SOUNDEX = "01230127022455012623017202"


@function("SoundEx", [case(["string"], slower=True)])
def _soundex(call: Call, settings: ExpressionSettings) -> Kernel:
    return per_value(soundex, pa.string())


def soundex(text: str) -> str:
    """Return the Soundex code of a text; the text itself if it does not start with an English letter."""
    if not ("A" <= text[:1] <= "Z" or "a" <= text[:1] <= "z"):
        return text
    found = text[0].upper()
    last = _SOUNDEX[ord(found) - 65]
    for letter in text[1:]:
        if not letter.isascii() or not letter.isalpha():
            last = "0"
            continue
        digit = _SOUNDEX[ord(letter.upper()) - 65]
        if digit == "7":
            continue
        if digit not in ("0", last):
            found += digit
            if len(found) == 4:
                break
        last = digit
    return found.ljust(4, "0")


@function("Levenshtein", [
    case(["string"], ["string"]),
    case(["string"], ["string"], ["int"], matches={"2": r"\d+"}),
])  # fmt: skip
def _levenshtein(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the distance, or -1 if it is above a constant limit."""
    limit = constants(call.args[2:])

    def run(values: Sequence[Value], rows: int) -> Value:
        left, right = (to_array(value, rows) for value in values[:2])
        found = np.empty(rows, dtype=np.int32)
        levenshtein(*text_of(left), *text_of(right), found)
        if limit:
            found[found > limit[0]] = -1
        return from_numbers(found, pa.int32(), validity_of([left, right]))

    return Kernel(run=run)


by_constants("Levenshtein", [case(["string"], ["string"], ["int"])], [2], otherwise=_levenshtein)


@function("Overlay", [
    case(["string"], ["string"], ["int"], ["int"], slower=True),
    case(["binary"], ["binary"], ["int"], ["int"], slower=True),
])  # fmt: skip
def _overlay(call: Call, settings: ExpressionSettings) -> Kernel:
    """Replace ``length`` characters, or as many as the replacement has if it is negative, from a position, from 1."""
    fitted = _clamped if settings.clamps_overlays else _wrapped
    first = -_INT_MAX if settings.clamps_overlays else -_INT_MAX - 1

    def convert(text: Any, by: Any, position: int, length: int) -> Any:
        last = max(fitted(position + (length if length >= 0 else len(by))), first)
        return _substring(text, 1, fitted(position - 1)) + by + _substring(text, last, _INT_MAX)

    return per_row(convert, call.type.arrow)


_INT_MAX = 2**31 - 1


def _wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _clamped(number: int) -> int:
    return max(min(number, _INT_MAX), -_INT_MAX - 1)


def _substring(text: Any, position: int, length: int) -> Any:
    """Return a part of a text as SQL's substring: positions count from 1, or from the end if negative."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = _clamped(start + length)
    return text[max(start, 0) : max(end, 0)] if end > start else text[:0]


for _name in ("ByteArray.lpad", "ByteArray.rpad"):

    @function(_name, [case(["binary"], ["int"], ["binary"], slower=True)])
    def _pad(call: Call, settings: ExpressionSettings) -> Kernel:
        """Pad to a number of bytes, or cut to it; nothing is added if the padding is empty."""
        is_left = call.name == "ByteArray.lpad"

        def convert(data: bytes, length: int, padding: bytes) -> bytes:
            missing = max(length - len(data), 0)
            filling = (padding * (missing // len(padding) + 1))[:missing] if padding else b""
            kept = data[: max(length, 0)]
            return filling + kept if is_left else kept + filling

        return per_row(convert, pa.binary())


#: The largest power of ten in an int64.
_LARGEST_POWER = 18
_EXACT = Context(prec=700, rounding=ROUND_HALF_EVEN)

#: The releases of Java whose ``DecimalFormat`` shows the digits of FloatingDecimal.
_FLOATING_DECIMAL = {"java.specification.version": [str(release) for release in range(17, 22)]}


def _number_cases(kind: str, **conditions: Any) -> list[Case]:
    """Return the cases of ``format_number`` with a second argument of a kind."""
    return [
        case([*INTEGRAL, "decimal"], [kind], **conditions),
        case(FLOATING, [kind], settings=_FLOATING_DECIMAL, **conditions),
    ]


def _rounded_texts(
    show: Callable[[Decimal], str], digits: int, multiplier: int = 1, affixes: tuple[str, str] = ("", "")
) -> Callable[[pa.Array], pa.Array]:
    """Return a function of numbers times ``multiplier``, rounded half to even to ``digits`` after the point.

    ``show`` gets them; ``affixes`` are written before and after infinity.
    """
    unit = Decimal(1).scaleb(-digits)

    def exact(value: Any) -> str:
        return show(_EXACT.multiply(Decimal(value), multiplier).quantize(unit, context=_EXACT))

    def floating(value: float, digits: int, exponent: int) -> str:
        """Round the ``digits`` of Java's FloatingDecimal, times ``10**exponent``.

        Of two equally near texts the number itself decides, but the nearer one to zero if 0 follows the last digit 5.
        """
        if isnan(value):
            return "NaN"
        if not isfinite(value):
            return f"{'-' if value < 0 else ''}{affixes[0]}∞{affixes[1]}"
        printed = Decimal(digits).scaleb(exponent, _EXACT).copy_sign(Decimal(value))
        is_tie = _EXACT.abs(_EXACT.remainder(printed, unit)) * 2 == unit
        if is_tie and digits % 10 == 0:
            return show(printed.quantize(unit, ROUND_DOWN, _EXACT))
        return show((Decimal(value) if is_tie else printed).quantize(unit, context=_EXACT))

    def convert(numbers: pa.Array) -> pa.Array:
        doubles = numbers.cast(pa.float64())
        if multiplier != 1:
            doubles = pc.multiply(doubles, pa.scalar(float(multiplier)))
        found = Digits.of(numbers_or_zero(doubles), is_shortest=False)
        parts = zip(doubles.to_pylist(), found.digits.tolist(), (found.exponents - found.counts).tolist(), strict=True)
        return pa.array([None if part[0] is None else floating(*part) for part in parts], pa.string())

    def texts(numbers: pa.Array) -> pa.Array:
        if pa.types.is_floating(numbers.type):
            return by_distinct(numbers, convert)
        return map_distinct(numbers, exact, pa.string())

    return texts


@function("FormatNumber", _number_cases("int", matches={"1": r"-?\d{1,2}"}))
def _format_number(call: Call, settings: ExpressionSettings) -> Kernel:
    """Group the digits by commas and round to a constant number of fraction digits; NULL if that is negative."""
    (digits,) = constants(call.args[1:])
    if digits < 0:
        return NULL_TEXT
    exact = _rounded_texts(lambda rounded: f"{rounded:,f}", digits)

    def run(values: Sequence[Value], rows: int) -> Value:
        numbers = to_array(values[0], rows)
        found = _grouped(numbers, digits)
        if found is None:
            return exact(numbers)
        texts, sure = found
        if sure.all():
            return texts
        others = pa.array(~sure)
        return pc.replace_with_mask(texts, others, exact(numbers.filter(others)))

    return Kernel(run=run, by_dictionary=True)


def _grouped(numbers: pa.Array, digits: int) -> tuple[pa.Array, BoolArray] | None:
    """Return the texts of numbers, and which of these are sure; None if the numbers may have more than 64 bits."""
    rows = len(numbers)
    magnitudes = allocate(rows, np.uint64)
    sure = np.ones(rows, dtype=np.bool_)
    fraction = 0
    if pa.types.is_floating(numbers.type):
        fraction = digits
        is_negative = allocate(rows, np.bool_)
        doubles = numbers_or_zero(numbers.cast(pa.float64()))
        grouped_digits.round_scaled(frozen(doubles), 10.0 ** min(digits, 99), magnitudes, is_negative, sure)
    else:
        if pa.types.is_decimal(numbers.type):
            words = decimal_words(numbers.fill_null(0) if numbers.null_count else numbers)
            if not long_bounds(words)[0]:
                return None
            integers = allocate(rows, np.int64)
            narrow_decimals(words, integers)
            scale = numbers.type.scale
            if scale - digits > _LARGEST_POWER:
                return None
            fraction = min(scale, digits)
        else:
            integers, scale = numbers_or_zero(numbers).astype(np.int64), 0
        is_negative = integers < 0
        grouped_digits.divide_half_even(frozen(integers), 10 ** max(scale - digits, 0), magnitudes)
    out = allocate(rows * (grouped_digits.LONGEST_WHOLE + 1 + digits), np.uint8)
    ends = allocate(rows + 1, np.int32)
    grouped_digits.write_grouped(frozen(magnitudes), frozen(is_negative), fraction, digits - fraction, out, ends)
    return string_array(ends, out[: ends[-1]].copy(), validity_of([numbers])), sure


by_constants("FormatNumber", _number_cases("int"), [1], otherwise=_format_number)

#: Patterns of ``DecimalFormat``: digits, groups of them, and a fraction of at least one digit; other characters before
#: and after them, of which one may be that of percent or per mille.
_DIGITS = r"(?:#+(?:,#+)*(?:,?0+(?:,0+)*)?|0+(?:,0+)*)(?:\.(?:0+#*|#+))?"
_AFFIX = r"[^0-9#.,;E'%\u2030\u00a4-]*"
_SHARE = rf"{_AFFIX}[%\u2030]{_AFFIX}"
_PATTERN = rf"(?:{_AFFIX}{_DIGITS}(?:{_AFFIX}|{_SHARE})|{_SHARE}{_DIGITS}{_AFFIX}|)"
#: The pattern that Spark takes for the empty one.
_DEFAULT_PATTERN = "#,###,###,###,###,###,##0"
_MULTIPLIERS = {"%": 100, "\u2030": 1000}


@function("FormatNumber", _number_cases("string", matches={"1": _PATTERN}, slower=True))
def _format_by_pattern(call: Call, settings: ExpressionSettings) -> Kernel:
    """Show a number by a constant pattern, rounded half to even: ``0`` is a digit, ``#`` one that may be absent."""
    given = str(constants(call.args[1:])[0]) or _DEFAULT_PATTERN
    numeric = re.search("[#0,.]+", given)
    assert numeric is not None, "the pattern of the case has digits"
    pattern, prefix, suffix = numeric[0], given[: numeric.start()], given[numeric.end() :]
    multiplier = next((times for sign, times in _MULTIPLIERS.items() if sign in prefix + suffix), 1)
    whole, point, fraction = pattern.partition(".")
    least = whole.count("0")
    if point and "0" not in pattern:
        least = 1  # Java reads the last digit before the point as a mandatory one.
    group = len(whole) - whole.rfind(",") - 1 if "," in whole else 0

    def shown(rounded: Decimal) -> str:
        before, _, after = f"{rounded.copy_abs():f}".partition(".")
        digits, after = before.lstrip("0").zfill(least), after.rstrip("0").ljust(fraction.count("0"), "0")
        if not digits and not after:
            digits = "0"
        parts = [digits[max(end - group, 0) : end] for end in range(len(digits), 0, -group)] if group else [digits]
        sign = "-" if rounded.is_signed() else ""
        return f"{sign}{prefix}{','.join(reversed(parts))}{'.' if after else ''}{after}{suffix}"

    texts = _rounded_texts(shown, len(fraction), multiplier, (prefix, suffix))
    return Kernel(run=lambda values, rows: texts(to_array(values[0], rows)), by_dictionary=True)
