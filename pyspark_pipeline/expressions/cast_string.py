"""Casts of booleans, integers, decimals and dates to string, which are exact (Spark: ToStringBase.scala)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.conditions import plain_decimal
from pyspark_pipeline.expressions.dates import civil_from_days
from pyspark_pipeline.expressions.registry import INTEGRAL, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import flags, numbers, to_array
from pyspark_pipeline.kernels.arrays import Int32Array
from pyspark_pipeline.kernels.decimal_words import join_words, words_of
from pyspark_pipeline.plan.expr import Call

#: The policies under which dates and timestamps are written in the proleptic Gregorian calendar.
PROLEPTIC_TEXT = {"spark.sql.legacy.timeParserPolicy": ["CORRECTED", "EXCEPTION"]}


@function("Cast", [case((*INTEGRAL, "boolean"), result=["string"])])
def _plain(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: to_array(values[0], rows).cast(pa.string()))


@function("Cast", [case([kind], result=[kind]) for kind in ("string", "binary", "date", "timestamp", "timestamp_ntz")])
def _same(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: values[0])


@function("Cast", [case(["string"], result=["binary"])])
def _bytes(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: to_array(values[0], rows).cast(pa.binary()), by_dictionary=True)


@function("Cast", [case(["binary"], result=["string"])])
def _text(call: Call, settings: ExpressionSettings) -> Kernel:
    """Read bytes as a string without a check, as Spark does (:mod:`~.text_bytes`)."""
    return Kernel(run=lambda values, rows: to_array(values[0], rows).view(pa.string()), by_dictionary=True)


@function("Cast", [case(["decimal"], result=["string"])])
def _decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    """Format without an exponent in ANSI mode; else as BigDecimal.toString, as Arrow's cast does."""
    scale = call.args[0].type.scale
    plain = settings.ansi

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        text = array.cast(pa.string())
        if scale <= 6 or not plain:
            return text
        scientific = flags(pc.fill_null(pc.match_substring(text, pattern="E"), False))
        if not scientific.any():
            return text
        words, _ = words_of(array)
        formatted = [plain_decimal(join_words(*words[row]), scale) for row in np.flatnonzero(scientific)]
        return pc.replace_with_mask(text, pa.array(scientific), pa.array(formatted, pa.string()))

    return Kernel(run=run)


@function("Cast", [case(["date"], result=["string"], settings=PROLEPTIC_TEXT)])
def _date(call: Call, settings: ExpressionSettings) -> Kernel:
    """Format as yyyy-MM-dd; years beyond 9999 have a plus, years before 0 a minus and at least four digits."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        days: Int32Array = numbers(array)
        usual = (days >= -719528) & (days < 2932897)
        text = pa.array(np.where(usual, days, 0), mask=~flags(array.is_valid())).cast(pa.date32()).cast(pa.string())
        if usual.all():
            return text
        unusual = ~usual
        fields = zip(*civil_from_days(days[unusual]), strict=True)
        replacements = pa.array([_format_date(int(y), int(m), int(d)) for y, m, d in fields], pa.string())
        replaced = pc.replace_with_mask(text, pa.array(unusual), replacements)
        return pc.if_else(array.is_valid(), replaced, pa.scalar(None, pa.string()))

    return Kernel(run=run)


def _format_date(year: int, month: int, day: int) -> str:
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"
