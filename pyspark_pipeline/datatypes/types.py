"""Spark SQL types: their wire names, parameters, and the Arrow types of chunk columns.

The wire name is Spark's ``DataType.catalogString`` (``bigint``, ``decimal(12,2)``, ``timestamp_ntz``); all day-time
intervals have one name, and all year-month intervals; a time of day has the digits of its seconds (``time(6)``). The
names of a struct's fields are JSON strings (``struct<"a":bigint,"b c":array<double>>``). An element, a value of a map
or a field that is never NULL has a mark (``array<bigint!>``).
A string column of a chunk may also be dictionary encoded (``dictionary<int32, string>``); every
other type has exactly one Arrow type, :attr:`DataType.arrow`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
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

#: A time of day is the number of nanoseconds since midnight.
_TIME = pa.int64()
_TIME_NAME = re.compile(r"time\((\d)\)")
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_PLAIN = re.compile(r"[^<>,(!]+(?:\([^)]*\))?")
_NESTED = re.compile(r"(array|map|struct)<")
_NAME = json.JSONDecoder()

#: The kinds of all types but nested ones.
KINDS = (*_ARROW, "decimal", "time")
INTEGRAL_KINDS = ("tinyint", "smallint", "int", "bigint")
FLOATING_KINDS = ("float", "double")
NESTED_KINDS = ("array", "map", "struct")


@dataclass(frozen=True, slots=True)
class DataType:
    """A Spark SQL type: ``kind`` is the name without parameters; decimals carry precision and scale.

    A time of day has the digits of its seconds as precision.

    ``children`` are the type of the elements of an array, those of the keys and the values of a map, or those of a
    struct's fields, whose names are ``names``; ``required`` are the positions of the children that are never NULL,
    without the keys of a map. Types with other names or required children are equal. A nested type has the largest
    precision of its children.
    """

    kind: str
    precision: int = 0
    scale: int = 0
    children: tuple[DataType, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)
    required: frozenset[int] = field(default=frozenset(), compare=False)

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of this type; decimals are always decimal128."""
        if self.kind == "decimal":
            return pa.decimal128(self.precision, self.scale)
        if self.kind == "time":
            return _TIME
        if self.kind == "array":
            return pa.list_(self.children[0].arrow)
        if self.kind == "map":
            return pa.map_(self.children[0].arrow, self.children[1].arrow)
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

    @property
    def is_nested(self) -> bool:
        return self.kind in NESTED_KINDS

    def __str__(self) -> str:
        if self.children:
            texts = [f"{child}{'!' * (place in self.required)}" for place, child in enumerate(self.children)]
            if self.names:
                texts = [f"{json.dumps(name)}:{text}" for name, text in zip(self.names, texts, strict=True)]
            return f"{self.kind}<{','.join(texts)}>"
        if self.kind == "time":
            return f"time({self.precision})"
        return f"decimal({self.precision},{self.scale})" if self.kind == "decimal" else self.kind


@lru_cache(maxsize=1024)
def parse_type(text: str) -> DataType:
    """Parse the wire name of a type; raise ``ValueError`` for an unsupported type."""
    found, end = _parse(text, 0)
    if end != len(text):
        raise ValueError(f"type {text!r} is not supported")
    return found


def _parse(text: str, start: int) -> tuple[DataType, int]:
    """Return the type that begins at ``start``, and the position after it."""
    nested = _NESTED.match(text, start)
    if nested:
        return _parse_nested(text, nested[1], nested.end())
    plain = _PLAIN.match(text, start)
    name = plain[0] if plain else ""
    match = _DECIMAL.fullmatch(name)
    if match:
        return DataType("decimal", int(match[1]), int(match[2])), start + len(name)
    if name in _ARROW:
        return DataType(name), start + len(name)
    time = _TIME_NAME.fullmatch(name)
    if time:
        return DataType("time", int(time[1])), start + len(name)
    raise ValueError(f"type {text!r} is not supported")


def _parse_nested(text: str, kind: str, start: int) -> tuple[DataType, int]:
    """Return the nested type of this kind whose first child begins at ``start``, and the position after it."""
    children: list[DataType] = []
    names: list[str] = []
    required: set[int] = set()
    at = start
    while not children or text[at : at + 1] == ",":
        at += bool(children)
        if kind == "struct":
            name, at = _NAME.raw_decode(text, at)
            names.append(name)
            at += 1
        child, at = _parse(text, at)
        if text[at : at + 1] == "!":
            required.add(len(children))
            at += 1
        children.append(child)
    if text[at : at + 1] != ">" or len(children) != {"array": 1, "map": 2}.get(kind, len(children)):
        raise ValueError(f"type {text!r} is not supported")
    precision = max(child.precision for child in children)
    made = DataType(kind, precision, children=tuple(children), names=tuple(names), required=frozenset(required))
    return made, at + 1
