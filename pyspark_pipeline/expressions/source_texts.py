"""The texts of JSON and CSV as values, as the parsers of both read them (Spark: JacksonParser, UnivocityParser).

A text that is no value of the type is NULL. Without a pattern, dates and timestamps have the forms of casts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, build
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.plan.eval_mode import EvalMode, fields_of_mode
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal

Convert = Callable[[pa.Array], pa.Array]

#: Larger numbers are no decimals of any type.
_MOST_DIGITS = 40
_JAVA_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?0*\d{1,9})?")
#: A date, or a date and a time, without a time zone.
_LOCAL = (
    r"^[\x00-\x20\x7f]*[+-]?\d+(-\d+(-\d+([ T](\d+:\d+(:\d+(\.\d*)?)?)?)?)?)?[\x00-\x20\x7f]*$"
)

_DATE = "(?:yyyy[-/. ]MM[-/. ]dd|(?:dd[-/. ]MM|MM[-/. ]dd)[-/. ]yyyy)"
_TIME = r"(?: |'T')HH:mm(?::ss(?:\.SSS(?:SSS)?)?)?(?:XXX|'Z')?"
#: The options of patterns to parse by.
FORMATS = f"(?i:dateFormat)={_DATE}|(?i:timestampFormat)={_DATE}(?:{_TIME})?"


def formats_of(options: Mapping[str, str]) -> dict[str, str]:
    """Return the patterns among options, whose names are in lower case, by the kinds of types."""
    return {name.removesuffix("format"): value for name, value in options.items() if name.endswith("format")}


class SourceTexts:
    """Conversions of string arrays, with times in the time zone ``zone``."""

    def __init__(self, settings: ExpressionSettings, zone: str) -> None:
        self._settings = settings
        self._zone = zone

    def cast(self, kind: DataType) -> Convert:
        """Return the cast to a type."""
        return self._converter("Cast", kind, (), fields_of_mode(EvalMode.TRY))

    def parse(self, kind: DataType, pattern: str) -> Convert:
        """Return the conversion to a kind of timestamps by a pattern."""
        literal = Literal(type=DataType("string"), value=pattern)
        return self._converter("GetTimestamp", kind, (literal,), {"failOnError": False, "suggestedFuncOnFail": ""})

    def date_by(self, kind: DataType, pattern: str) -> Convert:
        """Return the conversion to dates by a pattern."""
        parse = self.parse(DataType("timestamp_ntz"), pattern)
        return lambda texts: pc.floor_temporal(parse(texts), unit="day").cast(kind.arrow)

    def date(self, kind: DataType) -> Convert:
        """Return the conversion to dates, before which GMT is taken away."""
        return self._without_gmt(self.cast(kind), pa.int32())

    def timestamp(self, kind: DataType) -> Convert:
        """Return the conversion to timestamps; GMT is taken away from a text that is none."""
        return self._without_gmt(self.cast(kind), pa.int64())

    def local_timestamp(self, kind: DataType) -> Convert:
        """Return the conversion to timestamps without time zone, of texts without one."""
        cast = self.cast(kind)

        def convert(texts: pa.Array) -> pa.Array:
            is_local = pc.match_substring_regex(texts, _LOCAL)
            return cast(pc.if_else(is_local, texts, pa.scalar(None, pa.string())))

        return convert

    def _without_gmt(self, cast: Convert, words: pa.DataType) -> Convert:
        def again(rest: list[str]) -> list[Any]:
            values: list[Any] = cast(pa.array([text.replace("GMT", "") for text in rest])).view(words).to_pylist()
            return values

        return lambda texts: retried(texts, cast(texts), again)

    def _converter(self, name: str, kind: DataType, constants: tuple[Expr, ...], fields: Mapping[str, Any]) -> Convert:
        args = (ColumnRef(type=DataType("string"), ordinal=0), *constants)
        call = Call(name=name, type=kind, args=args, fields={**fields, "timeZoneId": self._zone})
        kernel = build(call, self._settings)
        assert isinstance(kernel, Kernel)
        return lambda texts: to_array(kernel.run([texts], len(texts)), len(texts))


def retried(texts: pa.Array, found: pa.Array, again: Callable[[list[str]], list[Any]]) -> pa.Array:
    """Return ``found``, and for the texts without a value those of ``again``."""
    rest = pc.and_(texts.is_valid(), found.is_null())
    if not rest.true_count:
        return found
    return pc.replace_with_mask(found, rest, pa.array(again(texts.filter(rest).to_pylist()), found.type))


def java_decimal(text: str | None, kind: DataType) -> Decimal | None:
    """Return a text as a decimal rounded half up; None if it is none, or has too many digits."""
    if text is None or _JAVA_DECIMAL.fullmatch(text) is None or max(text) > "\uffff":
        return None
    value = Decimal(text)
    if value and value.adjusted() >= _MOST_DIGITS:
        return None
    if not value or value.adjusted() < -kind.scale - 1:
        return Decimal(0)
    rounded = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, Context(prec=2 * _MOST_DIGITS))
    return rounded if rounded.copy_abs() < Decimal(1).scaleb(kind.precision - kind.scale) else None
