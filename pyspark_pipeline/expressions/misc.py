"""Expressions that Spark's analyzer and optimizer wrap around others: aliases, hints, normalisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes.types import NESTED_KINDS, DataType
from pyspark_pipeline.expressions.cases import DAY_TIME, YEAR_MONTH
from pyspark_pipeline.expressions.registry import (
    FLOATING,
    KINDS,
    ExpressionSettings,
    Kernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.values import decode, from_numbers, numbers, to_array
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.plan.expr import Call


def _same(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the argument unchanged."""
    return Kernel(run=lambda values, rows: values[0], null_intolerant=False)


for _name in (
    "Alias",
    "KnownFloatingPointNormalized",
    "KnownNotContainsNull",
    "KnownNotNull",
    "KnownNullable",
    "PromotePrecision",
):
    function(_name, [case(KINDS), case(NESTED_KINDS, result=NESTED_KINDS)])(_same)


@function("PreciseTimestampConversion", [
    case(["timestamp", "timestamp_ntz"], result=["bigint"]),
    case(["bigint"], result=["timestamp", "timestamp_ntz"]),
])  # fmt: skip
def _microseconds(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the microseconds of a timestamp, or the timestamp of microseconds: bounds of windows are computed so."""
    kind = call.type.arrow
    return Kernel(run=lambda values, rows: decode(values[0]).cast(kind))


_NAMED = [kind for kind in KINDS if kind not in (DAY_TIME, YEAR_MONTH)]


@function("TypeOf", [case(_NAMED), case(NESTED_KINDS, children={"0": _NAMED})])
def _type_of(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the name of the argument's type; that of an interval has its fields, which plans omit."""
    name = pa.scalar(_catalog_name(call.args[0].type))
    return Kernel(run=lambda values, rows: name, null_intolerant=False)


def _catalog_name(kind: DataType) -> str:
    """Return the name of a type in Spark's catalog: without marks of what is never NULL, names as they are."""
    parts = [_catalog_name(child) for child in kind.children]
    if kind.names:
        parts = [f"{name}:{part}" for name, part in zip(kind.names, parts, strict=True)]
    return f"{kind.kind}<{','.join(parts)}>" if parts else str(kind)


@function("NormalizeNaNAndZero", [case(FLOATING)])
def _normalize(call: Call, settings: ExpressionSettings) -> Kernel:
    """Replace every NaN by the canonical one and -0.0 by 0.0."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data = numbers(array)
        plain = np.where(np.isnan(data), data.dtype.type(np.nan), data + data.dtype.type(0.0))
        return from_numbers(plain.astype(data.dtype, copy=False), array.type, validity_of([array]))

    return Kernel(run=run)


