"""Random nested types, values of them, and Parquet files of such columns in the layouts of several writers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class Type:
    """A type as a tree: ``kind`` is a flat type's name in SQL, ``array``, ``map`` or ``struct``."""

    kind: str
    parts: tuple[Type, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The type as Spark's DDL writes it."""
        if self.kind == "struct":
            return (
                f"struct<{', '.join(f'{name}: {part.sql}' for name, part in zip(self.names, self.parts, strict=True))}>"
            )
        return f"{self.kind}<{', '.join(part.sql for part in self.parts)}>" if self.parts else self.kind

    @property
    def is_orderable(self) -> bool:
        """Whether Spark compares, groups and joins values of the type."""
        return self.kind != "map" and all(part.is_orderable for part in self.parts)

    @property
    def is_json(self) -> bool:
        """Whether Spark reads values of the type from JSON: keys of maps must be strings."""
        return (self.kind != "map" or self.parts[0].kind == "string") and all(part.is_json for part in self.parts)

    @property
    def is_writable_json(self) -> bool:
        """Whether Spark writes the same JSON each time: a struct as key of a map is written as a Java object."""
        has_struct_keys = self.kind == "map" and self.parts[0].kind == "struct"
        return not has_struct_keys and all(part.is_writable_json for part in self.parts)

    @property
    def arrow(self) -> pa.DataType:
        """The type in Arrow."""
        if self.kind == "array":
            return pa.list_(self.parts[0].arrow)
        if self.kind == "map":
            return pa.map_(self.parts[0].arrow, self.parts[1].arrow)
        if self.kind == "struct":
            return pa.struct([(name, part.arrow) for name, part in zip(self.names, self.parts, strict=True)])
        return _FLAT[self.kind][0]


_STAMPS = [
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1600, 2, 29, 23, 59, 59, 999999, UTC),
    datetime(2011, 11, 6, 4, 31, tzinfo=UTC),
]
_FLAT: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "tinyint": (pa.int8(), [0, 1, -1, 127, -128]),
    "int": (pa.int32(), [0, 1, -1, 2, 3, 7, 2**31 - 1, -(2**31)]),
    "bigint": (pa.int64(), [0, 1, -1, 5, 10**12, 2**63 - 1, -(2**63)]),
    "float": (pa.float32(), [0.0, -0.0, 1.5, float("nan"), float("-inf"), 1e-40]),
    "double": (pa.float64(), [0.0, -0.0, 0.1, float("nan"), float("inf"), -1e300]),
    "decimal(9,2)": (pa.decimal128(9, 2), [Decimal("0.00"), Decimal("1.25"), Decimal("-9999999.99")]),
    "decimal(22,4)": (pa.decimal128(22, 4), [Decimal("0.0000"), Decimal("-1.5000"), Decimal("9" * 18 + ".9999")]),
    "string": (pa.string(), ["", "a", "b", "é", "日本", "a b", "A,\"'", "x" * 40, "1"]),
    "binary": (pa.binary(), [b"", b"\x00\xff", b"a"]),
    "date": (pa.date32(), [date(1970, 1, 1), date(1582, 10, 4), date(2000, 2, 29), date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us", tz="UTC"), _STAMPS),
}
_KEYS = ["string", "int", "bigint", "date", "decimal(9,2)"]


def flat_values(kind: str) -> Sequence[Any]:
    """Return the values of a flat type that random data is made of."""
    return _FLAT[kind][1]


def random_type(source: random.Random, depth: int) -> Type:
    """Return a type of at most ``depth`` levels of nesting."""
    kind = source.choice(["flat", "array", "array", "map", "struct", "struct"]) if depth else "flat"
    if kind == "flat":
        return Type(source.choice(list(_FLAT)))
    if kind == "array":
        return Type("array", (random_type(source, depth - 1),))
    if kind == "map":
        key = (
            Type("struct", (Type("int"), Type("string")), ("a", "b"))
            if source.random() < 0.1
            else Type(source.choice(_KEYS))
        )
        return Type("map", (key, random_type(source, depth - 1)))
    names = ("a", "b", "c", "D")[: source.randint(1, 4)]
    return Type("struct", tuple(random_type(source, depth - 1) for _ in names), names)


def random_value(source: random.Random, kind: Type, *, is_key: bool = False) -> Any:
    """Return a value of a type as pyarrow takes it; NULL and empty ones are common, but no key of a map is NULL."""
    if not is_key and source.random() < 0.15:
        return None
    if kind.kind == "array":
        length = source.choice([0, 1, 1, 2, 3, 5, source.choice([0, 40])])
        return [random_value(source, kind.parts[0]) for _ in range(length)]
    if kind.kind == "map":
        keys = [random_value(source, kind.parts[0], is_key=True) for _ in range(source.choice([0, 1, 2, 4]))]
        unique = list({repr(key): key for key in keys}.values())
        return [(key, random_value(source, kind.parts[1])) for key in unique]
    if kind.kind == "struct":
        return {name: random_value(source, part) for name, part in zip(kind.names, kind.parts, strict=True)}
    return source.choice(_FLAT[kind.kind][1])


def write_files(source: random.Random, folder: Path, columns: dict[str, Type], rows: int) -> None:
    """Write ``rows`` rows of random values and an ``id`` as two files that differ in layout, pages and encodings.

    One file may lack a column or, in a struct at the top level, its last field.
    """
    folder.mkdir(parents=True)
    first = source.randint(0, rows)
    for number, ids in enumerate((range(first), range(first, rows))):
        kinds = dict(columns)
        if source.random() < 0.3:
            name = source.choice(list(kinds))
            kind = kinds.pop(name)
            if kind.kind == "struct" and len(kind.names) > 1:
                kinds[name] = Type("struct", kind.parts[:-1], kind.names[:-1])
        arrays = {"id": pa.array(ids, pa.int64())}
        for name, kind in kinds.items():
            arrays[name] = pa.array([random_value(source, kind) for _ in ids], kind.arrow)
        pq.write_table(
            pa.table(arrays),
            folder / f"part-{number}.parquet",
            row_group_size=source.choice([7, 50, 1000]),
            data_page_size=source.choice([100, 1000, 1 << 20]),
            use_dictionary=source.random() < 0.5,
            data_page_version=source.choice(["1.0", "2.0"]),
            compression=source.choice(["snappy", "zstd", "none", "gzip"]),
            use_compliant_nested_type=source.random() < 0.7,
            write_batch_size=source.choice([1, 10, 1024]),
        )
