"""Conditions that the keys of a build side imply for a probe column: a list of values, or a range.

They have the form of Spark's pushed filters, so that the same rules prune row groups by both. There is none for
floating-point columns, whose statistics cover neither NaN nor the two zeros, and for decimals over 18 digits.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.join_table import JoinTable
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal

_WHOLE = ("tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "time")
_BOOLEAN = parse_type("boolean")


def key_condition(table: JoinTable, place: int, column: ColumnRef, most_values: int) -> Expr | None:
    """Return a condition on ``column`` that is true if it equals key ``place`` of any build row.

    A list of at most ``most_values`` values, else their range; None if the type has no condition.
    """
    kind = column.type
    if not (kind.kind in (*_WHOLE, "string") or _is_small_decimal(kind)):
        return None
    values = table.key_values(place, most_values)
    if values is not None:
        return Call(name="In", type=_BOOLEAN, args=(column, *_literals(table, place, values, kind)))
    bounds = table.keys.ranges[place]
    if bounds is None or kind.kind == "string":
        return None
    low, high = (Literal(type=kind, value=_value(number, kind)) for number in bounds)
    least = Call(name="GreaterThanOrEqual", type=_BOOLEAN, args=(column, low))
    most = Call(name="LessThanOrEqual", type=_BOOLEAN, args=(column, high))
    return Call(name="And", type=_BOOLEAN, args=(least, most))


def _is_small_decimal(kind: DataType) -> bool:
    return kind.is_decimal and kind.precision <= 18


def _literals(table: JoinTable, place: int, values: Int64Array, kind: DataType) -> list[Literal]:
    strings = table.keys.strings[place]
    if strings is None:
        return [Literal(type=kind, value=_value(number, kind)) for number in values.tolist()]
    texts = strings.strings(values, np.ones(values.size, dtype=np.bool_), pa.binary()).to_pylist()
    return [Literal(type=kind, value=text) for text in texts]


def _value(number: int, kind: DataType) -> Any:
    """Return the literal value of a key, which decimals store unscaled."""
    return Decimal(number).scaleb(-kind.scale) if kind.is_decimal else number
