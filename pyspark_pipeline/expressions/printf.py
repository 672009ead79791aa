"""``format_string`` with constant formats (Spark: FormatString; Java: Formatter with the locale of the USA).

A format has texts, ``%s``, ``%b``, ``%d``, ``%x``, ``%X``, ``%o``, ``%f``, ``%e``, ``%E``, ``%n`` and ``%%``. A row is
formatted by one Python call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cast_numeric import BITS
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.expressions.per_value import arrow_values, python_values
from pyspark_pipeline.expressions.registry import (
    FLOATING,
    INTEGRAL,
    ExpressionSettings,
    Kernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.values import decode, numbers_or_zero, to_array
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.plan.expr import Call, constants

_INDEX = r"(?:[1-9]\d?\$)?"
_WIDTH = r"[1-9]\d{0,2}"
_PRECISION = r"(?:\.\d{1,2})?"


def _flags(allowed: str) -> str:
    """Return the pattern of flags, each at most once, that do not exclude each other, and a width if they need one."""
    any_of = f"[{allowed}]*"
    once = "".join(f"(?!{any_of}[{flag}]{any_of}[{flag}])" for flag in allowed.replace("\\", ""))
    apart = rf"(?!{any_of}\+{any_of}[ ])(?!{any_of}[ ]{any_of}\+)(?!{any_of}-{any_of}0)(?!{any_of}0{any_of}-)"
    return rf"{once}{apart}(?!{any_of}[0\-]{any_of}(?:[.a-zA-Z]|$)){any_of}(?:{_WIDTH})?"


#: The formats that a case allows.
_GROUPED, _PLAIN = _flags(r"+ 0,(\-"), _flags(r"+ 0(\-")
_FORMAT = (
    rf"(?:[^%]|%[n%]|%{_INDEX}(?:(?:-?{_WIDTH})?{_PRECISION}[sb]|{_GROUPED}d|(?:[0\-]?{_WIDTH})?[xXo]"
    rf"|{_GROUPED}{_PRECISION}f|{_PLAIN}{_PRECISION}[eE]))*"
)
_SPECIFIER = re.compile(r"%(?:(\d+)\$)?([-+ 0,(]*)(\d*)(?:\.(\d+))?([sbdxXofeEn%])")
_EXACT = Context(prec=1200, rounding=ROUND_HALF_UP)
#: The Java classes of values, in the message of an error.
_CLASSES = {
    "boolean": "java.lang.Boolean", "tinyint": "java.lang.Byte", "smallint": "java.lang.Short",
    "int": "java.lang.Integer", "date": "java.lang.Integer", "bigint": "java.lang.Long", "timestamp": "java.lang.Long",
    "timestamp_ntz": "java.lang.Long", "float": "java.lang.Float", "double": "java.lang.Double",
    "decimal": "org.apache.spark.sql.types.Decimal", "string": "org.apache.spark.unsafe.types.UTF8String",
}  # fmt: skip
_WHOLE = (*INTEGRAL, "date", "timestamp", "timestamp_ntz")
#: The kinds that a conversion accepts; the others accept all.
_ACCEPTED = {**dict.fromkeys("dxXo", _WHOLE), **dict.fromkeys("feE", FLOATING)}


@dataclass(frozen=True, slots=True)
class _Specifier:
    """One conversion: the position of its argument, and how it is shown."""

    argument: int
    flags: str
    width: int
    precision: int | None
    conversion: str
    kind: str

    def show(self, value: Any) -> str:
        """Return the text of a value; that of a string or a floating number has been found before."""
        accepted = _ACCEPTED.get(self.conversion)
        if self.conversion == "b":
            return self._cut(str(value if isinstance(value, bool) else value is not None).lower())
        if value is None:
            return self._cut("null")
        if accepted and self.kind not in accepted:
            raise conditions.illegal_format_conversion(self.conversion, _CLASSES[self.kind])
        if self.conversion == "s":
            return self._cut(str(value).lower() if isinstance(value, bool) else str(value))
        if self.conversion in "xXo":
            bits = BITS.get(self.kind, 32 if self.kind == "date" else 64)
            text = format(value % 2**bits, self.conversion)
            return self._padded(text.rjust(self.width, "0") if "0" in self.flags else text)
        return self._number(value)

    def _number(self, text: Any) -> str:
        if self.conversion == "d":
            return self._signed(str(abs(text)), text < 0)
        if text in ("NaN", "Infinity", "-Infinity"):
            sign = "" if text == "NaN" else "-" if text[0] == "-" else "+" if "+" in self.flags else ""
            body = text.lstrip("-").upper() if self.conversion == "E" else text.lstrip("-")
            if sign == "-" and "(" in self.flags:
                return self._padded(f"({body})")
            return self._padded(f"{' ' if not sign and ' ' in self.flags and text != 'NaN' else sign}{body}")
        number, places = Decimal(text), 6 if self.precision is None else self.precision
        if self.conversion == "f":
            shown = f"{number.copy_abs().quantize(Decimal(1).scaleb(-places), context=_EXACT):f}"
        else:
            shown = _scientific(number.copy_abs(), places)
            shown = shown.upper() if self.conversion == "E" else shown
        return self._signed(shown, text.startswith("-"))

    def _signed(self, digits: str, is_negative: bool) -> str:
        """Add separators of thousands, the sign, and zeros up to the width."""
        if "," in self.flags:
            whole, point, fraction = digits.partition(".")
            digits = f"{int(whole):,}{point}{fraction}"
        first, last = ("(", ")") if is_negative and "(" in self.flags else ("-" if is_negative else "", "")
        if not is_negative:
            first = "+" if "+" in self.flags else " " if " " in self.flags else ""
        if "0" in self.flags:
            digits = digits.rjust(self.width - len(first) - len(last), "0")
        return self._padded(f"{first}{digits}{last}")

    def _cut(self, text: str) -> str:
        shown = text.upper() if self.conversion in "XE" else text
        return self._padded(shown if self.precision is None else _units(shown, self.precision))

    def _padded(self, text: str) -> str:
        """Pad to the width in UTF-16 units."""
        missing = max(self.width - len(text.encode("utf-16-le", "surrogatepass")) // 2, 0)
        return text + " " * missing if "-" in self.flags else " " * missing + text


def _units(text: str, count: int) -> str:
    """Return the first UTF-16 units of a text; half a character is written as ``?``."""
    part = text.encode("utf-16-le")[: 2 * count].decode("utf-16-le", "surrogatepass")
    return part.encode("utf-8", "replace").decode()


def _scientific(number: Decimal, places: int) -> str:
    """Show a number as d.dd…e±dd."""
    if not number:
        return f"0{'.' if places else ''}{'0' * places}e+00"
    rounded = number.quantize(Decimal(1).scaleb(number.adjusted() - places), context=_EXACT)
    digits = "".join(map(str, rounded.as_tuple().digits))[: places + 1]
    power = rounded.adjusted()
    return f"{digits[0]}{'.' if places else ''}{digits[1:]}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _pieces(text: str, types: Sequence[DataType]) -> list[str | _Specifier]:
    """Split a format into texts and conversions; raise Spark's error for an argument that is missing."""
    pieces: list[str | _Specifier] = []
    at, position = 0, 0
    for found in _SPECIFIER.finditer(text):
        pieces.append(text[at : found.start()])
        at = found.end()
        index, flags, width, precision, conversion = found.groups()
        if conversion in "n%":
            pieces.append("\n" if conversion == "n" else "%")
            continue
        argument = int(index) - 1 if index else position
        position += index is None
        if argument >= len(types):
            raise conditions.missing_format_argument(found[0])
        digits = int(precision) if precision else None
        pieces.append(_Specifier(argument, flags, int(width or 0), digits, conversion, types[argument].kind))
    return [*pieces, text[at:]]


def _shown_numbers(array: pa.Array, settings: ExpressionSettings) -> list[Any]:
    """Return the values of an argument as Python objects; floating numbers as texts of Java."""
    if not pa.types.is_floating(array.type):
        if pa.types.is_date(array.type):
            array = array.cast(pa.int32())
        elif pa.types.is_timestamp(array.type):
            array = array.cast(pa.int64())
        elif pa.types.is_decimal(array.type):
            array = array.cast(pa.string())
        return python_values(array)
    digits = Digits.of(numbers_or_zero(array), settings.prints_shortest_digits)
    return list(digits.texts(validity_of([array])).to_pylist())


@function("FormatString", [case(["string"], [*_CLASSES, "void"], variadic=True, matches={"0": _FORMAT}, slower=True),
                           case(["string"], matches={"0": _FORMAT})])  # fmt: skip
def _format_string(call: Call, settings: ExpressionSettings) -> Kernel:
    text, types = str(constants(call.args[:1])[0]), [arg.type for arg in call.args[1:]]
    is_wide = {number: arg.type.kind == "float" for number, arg in enumerate(call.args[1:])}

    def run(values: Sequence[Value], rows: int) -> Value:
        pieces = _pieces(text, types)
        columns: dict[tuple[int, bool], list[Any]] = {}
        readers: list[Callable[[int], str]] = []
        for piece in pieces:
            if isinstance(piece, str):
                readers.append(lambda row, piece=piece: piece)  # type: ignore[misc]
                continue
            key = (piece.argument, is_wide[piece.argument] and piece.conversion in "feE")
            if key not in columns:
                array = decode(to_array(values[piece.argument + 1], rows))
                columns[key] = _shown_numbers(array.cast(pa.float64()) if key[1] else array, settings)
            readers.append(lambda row, piece=piece, column=columns[key]: piece.show(column[row]))  # type: ignore[misc]
        return arrow_values(["".join(read(row) for read in readers) for row in range(rows)], pa.string())

    return Kernel(run=run, can_raise=True, null_intolerant=False)
