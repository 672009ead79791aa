"""The least and the greatest value of a column of a stripe, as its statistics have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.kernels.julian import FIRST_DAY
from pyspark_pipeline.operators.scan.orc.protobuf import Value, double, fields, signed
from pyspark_pipeline.operators.scan.row_group_pruning import ColumnBounds, comparable

_VALUES = 1
_LOW, _HIGH, _LEAST, _GREATEST = 1, 2, 4, 5

_Read = Callable[[Value], Any]


def _text(value: Value) -> bytes:
    return bytes(value) if isinstance(value, memoryview) else b""


def _decimal(value: Value) -> Decimal:
    return Decimal(_text(value).decode())


#: By the kind of a type: the field of its statistics in those of a column, and the reader of its bounds.
_KINDS: Mapping[str, tuple[int, _Read]] = {
    **{kind: (2, signed) for kind in ("tinyint", "smallint", "int", "bigint")},
    **{kind: (3, double) for kind in ("float", "double")},
    "string": (4, _text),
    "decimal": (6, _decimal),
    "date": (7, signed),
}


def bounds_of(message: memoryview, rows: int, kind: DataType, has_text_bounds: bool) -> ColumnBounds:
    """Return the bounds of a column of ``rows`` rows; ``has_text_bounds``: those of texts are in order of their bytes.

    ``message`` are the column's statistics, ``kind`` is the type of its values in the file. Raises ``ValueError`` or
    ``IndexError`` if they are damaged.
    """
    found = dict(fields(message))
    values = found.get(_VALUES)
    known = ColumnBounds(nulls=rows - values if isinstance(values, int) else None, rows=rows)
    place, read = _KINDS.get(kind.kind, (0, _text))
    own = found.get(place)
    if not isinstance(own, memoryview) or (kind.kind == "string" and not has_text_bounds):
        return known
    ends = dict(fields(own))
    low, high = ends.get(_LOW, ends.get(_LEAST)), ends.get(_HIGH, ends.get(_GREATEST))
    if low is None or high is None or (kind.kind != "string" and (_LOW not in ends or _HIGH not in ends)):
        return known
    try:
        low, high = comparable(read(low), kind), comparable(read(high), kind)
    except (InvalidOperation, UnicodeDecodeError):
        return known
    if kind.kind == "date" and low < FIRST_DAY:
        return known
    return replace(known, low=low, high=high)
