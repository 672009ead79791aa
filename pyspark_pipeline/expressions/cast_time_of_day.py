"""Casts from and to times of day, and ``to_time`` without a format (Spark: Cast.scala, stringToTime)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cast_numeric import BITS
from pyspark_pipeline.expressions.registry import (
    INTEGRAL,
    ExpressionSettings,
    Kernel,
    Value,
    build,
    case,
    function,
)
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.times import SECOND, cut, shown_time
from pyspark_pipeline.expressions.values import from_numbers, number_kernel, numbers_or_zero, to_array
from pyspark_pipeline.kernels import text_parse
from pyspark_pipeline.kernels.decimal_words import (
    decimal_array,
    new_words,
    pack_flags,
    valid_flags,
    validity_of,
)
from pyspark_pipeline.plan.expr import Call, ColumnRef

_DEFAULT = DataType("time", 6)
_IN_SECONDS = DataType("decimal", 14, 9)
_HOUR = 3600
#: AM or PM at the end of a text, which has more than these characters.
_HALF = r"(?s)^.+[AaPp][Mm] *$"
#: The digits of a fraction that Spark does not show.
_ZEROS = r"\.?0+$"


@function("Cast", [case(["time"], result=["time"])])
def _to_precision(call: Call, settings: ExpressionSettings) -> Kernel:
    """Cut off the digits that the new type does not have; a type of as many or more digits changes nothing."""
    digits = call.type.precision
    if digits >= call.args[0].type.precision:
        return Kernel(run=lambda values, rows: values[0])
    return number_kernel(lambda nanos: cut(nanos, digits), call.type.arrow)


@function("Cast", [case(["time"], result=["string"])])
def _to_text(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        shown = to_array(values[0], rows).view(pa.time64("ns")).cast(pa.string())
        return pc.replace_substring_regex(shown, _ZEROS, "")

    return Kernel(run=run)


@function("Cast", [case(["time"], result=INTEGRAL)])
def _to_seconds(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return whole seconds since midnight; beyond the type an error in ANSI mode, else NULL."""
    info = np.iinfo(np.dtype(f"int{BITS[call.type.kind]}"))
    raises = call.eval_mode.raises

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        nanos: Any = numbers_or_zero(array)
        seconds = nanos // SECOND
        beyond = seconds > info.max
        validity = validity_of([array])
        if beyond.any():
            if raises:
                shown = f"TIME '{shown_time(int(nanos[np.argmax(beyond)]))}'"
                raise conditions.cast_overflow_of(shown, call.args[0].type, call.type)
            validity = pack_flags(valid_flags(validity, rows) & ~beyond)
        return from_numbers(seconds.astype(info.dtype), call.type.arrow, validity)

    return Kernel(run=run, can_raise=raises and info.max < 86_400)


@function("Cast", [case(["time"], result=["decimal"])])
def _to_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the seconds since midnight, as a cast from a decimal with all digits."""
    inner = Call(
        type=call.type, nullable=call.nullable, name="Cast", fields=call.fields, context=call.context,
        args=(ColumnRef(type=_IN_SECONDS, nullable=True, ordinal=0),),
    )  # fmt: skip
    rescale = build(inner, settings)
    assert isinstance(rescale, Kernel)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data, words = new_words(rows)
        words[:, 0] = numbers_or_zero(array)
        words[:, 1] = 0
        seconds = decimal_array(_IN_SECONDS.arrow, rows, validity_of([array]), data)
        return rescale.run([seconds], rows)

    return Kernel(run=run, can_raise=rescale.can_raise)


@function("Cast", [case(["timestamp"], result=["time"]), case(["timestamp_ntz"], result=["time"])])
def _of_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the local time of a timestamp."""
    zone = TimeZone(call.fields["timeZoneId"] if call.args[0].type.kind == "timestamp" else "UTC")
    digits = call.type.precision
    return number_kernel(
        lambda micros: cut(zone.local_times(micros)[1] * 1000, digits), call.type.arrow, read=numbers_or_zero
    )


def parsed_times(array: pa.Array, has_nanoseconds: bool) -> tuple[Any, Any]:
    """Parse texts as Spark's cast does: return nanoseconds, int64, and whether each is a time; NULL is none.

    A text may end with AM or PM; then its hour is 1 to 12. Digits beyond microseconds, or nanoseconds, are ignored.
    """
    rows = len(array)
    data = array.view(pa.binary())
    halved = pc.fill_null(pc.match_substring_regex(data, _HALF), False)
    has_half = halved.true_count > 0
    if has_half:
        data = pc.if_else(halved, pc.replace_substring_regex(data, r"[AaPp][Mm] *$", ""), data)
    seconds, micros = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int32)
    has_date, zones = np.empty(rows, dtype=np.bool_), np.empty((rows, 3), dtype=np.int32)
    status = np.empty(rows, dtype=np.uint8)
    offsets, text = text_parse.text_of(data.view(pa.string()))
    text_parse.parse_timestamps(offsets, text, seconds, micros, has_date, zones, status)
    fits = (status == text_parse.PARSED) & ~has_date & (zones[:, 0] == text_parse.NO_ZONE)
    fits &= valid_flags(validity_of([array]), rows)
    if has_half:
        is_halved, hour = np.asarray(halved), seconds // _HOUR
        is_pm = np.asarray(pc.fill_null(pc.match_substring_regex(array.view(pa.binary()), r"[Pp][Mm] *$"), False))
        fits &= ~is_halved | ((hour >= 1) & (hour <= 12))
        moved = (hour % 12 + 12 * is_pm - hour) * _HOUR
        seconds = np.where(is_halved, seconds + moved, seconds)
    nanos = seconds * SECOND + micros.astype(np.int64) * 1000
    if has_nanoseconds and pc.any(pc.match_substring_regex(data, r"\.[0-9]{7}")).as_py():
        nanos += _last_digits(data)
    return np.where(fits, nanos, 0), fits


def _last_digits(texts: pa.Array) -> Any:
    """Return the nanoseconds that the fractions of texts have beyond their microseconds, int64; 0 without such."""
    found = pc.struct_field(pc.extract_regex(texts, r"\.[0-9]{6}(?P<nanos>[0-9]{1,3})"), "nanos")
    padded = pc.utf8_rpad(pc.fill_null(found, b"").cast(pa.string()), 3, "0")
    return np.asarray(padded.cast(pa.int64()))


@function("Cast", [case(["string"], result=["time"])])
def _of_text(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the time of a text; Spark 4.1 neither cuts off digits nor names the digits of the type in its error."""
    raises, digits = call.eval_mode.raises, call.type.precision

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        nanos, fits = parsed_times(array, settings.has_nanoseconds)
        valid = valid_flags(validity_of([array]), rows)
        bad = valid & ~fits
        if raises and bad.any():
            text = array[int(np.argmax(bad))].as_py()
            named = call.type if settings.has_nanoseconds else _DEFAULT
            raise conditions.cast_invalid_input(text, named, "SparkDateTimeException", call.context)
        found = cut(nanos, digits) if settings.has_nanoseconds else nanos
        return from_numbers(found, call.type.arrow, pack_flags(fits))

    return Kernel(run=run, can_raise=raises, by_dictionary=True)


@function("ToTimeParser.parse", [case(["string"], fields={"fmt": ["null"]})])
def _to_time(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        nanos, fits = parsed_times(array, settings.has_nanoseconds)
        bad = valid_flags(validity_of([array]), rows) & ~fits
        if bad.any():
            raise conditions.cannot_parse_time(array[int(np.argmax(bad))].as_py(), "HH:mm:ss.SSSSSS")
        return from_numbers(nanos, call.type.arrow, pack_flags(fits))

    return Kernel(run=run, can_raise=True, by_dictionary=True)
