"""Spark SQL types: their wire names, parameters, and the Arrow types of chunk columns.

The wire name is Spark's ``DataType.catalogString`` (``bigint``, ``decimal(12,2)``, ``timestamp_ntz``); all day-time
intervals have one name, and all year-month intervals. Arrays and structs are types of results only, which leave the
engine; a struct's name has the types of its fields (``struct<bigint,double>``).
A string column of a chunk may also be dictionary encoded (``dictionary<int32, string>``); every
other type has exactly one Arrow type, :attr:`DataType.arrow`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

_ARROW: dict[str, pa.DataType] = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    # Intervals are numbers: of microseconds, of months.
    "interval day to second": pa.int64(),
    "interval year to month": pa.int32(),
}

_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_NESTED = re.compile(r"(array|struct)<(.+)>")
_FIELD = re.compile(r"[^,(]+(?:\([^)]*\))?")

#: The kinds of all types.
KINDS = (*_ARROW, "decimal")
INTEGRAL_KINDS = ("tinyint", "smallint", "int", "bigint")
FLOATING_KINDS = ("float", "double")


@dataclass(frozen=True, slots=True)
class DataType:
    """A Spark SQL type: ``kind`` is the name without parameters; decimals carry precision and scale.

    ``children`` are the type of the elements of an array, whose precision the array has, or those of a struct's fields.
    """

    kind: str
    precision: int = 0
    scale: int = 0
    children: tuple[DataType, ...] = ()

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of this type; decimals are always decimal128."""
        if self.kind == "decimal":
            return pa.decimal128(self.precision, self.scale)
        if self.kind == "array":
            return pa.list_(self.children[0].arrow)
        if self.kind == "struct":
            return pa.struct([(f"c{number}", child.arrow) for number, child in enumerate(self.children)])
        return _ARROW[self.kind]

    @property
    def is_integral(self) -> bool:
        return self.kind in INTEGRAL_KINDS

    @property
    def is_floating(self) -> bool:
        return self.kind in FLOATING_KINDS

    @property
    def is_decimal(self) -> bool:
        return self.kind == "decimal"

    def __str__(self) -> str:
        if self.children:
            return f"{self.kind}<{','.join(map(str, self.children))}>"
        return f"decimal({self.precision},{self.scale})" if self.kind == "decimal" else self.kind


@lru_cache(maxsize=1024)
def parse_type(text: str) -> DataType:
    """Parse a Spark ``catalogString`` into a :class:`DataType`; raise ``ValueError`` for an unsupported type."""
    match = _DECIMAL.fullmatch(text)
    if match:
        return DataType("decimal", int(match[1]), int(match[2]))
    if text in _ARROW:
        return DataType(text)
    nested = _NESTED.fullmatch(text)
    if nested:
        children = tuple(parse_type(child) for child in _FIELD.findall(nested[2]))
        return DataType(nested[1], children[0].precision if nested[1] == "array" else 0, children=children)
    raise ValueError(f"type {text!r} is not supported")
