"""A Parquet footer in which decimals stored as integers are those integers, so that pyarrow reads them unwidened.

pyarrow makes decimal128 of every decimal; for one stored as INT32 or INT64 that doubles the bytes of a column
of which a filter may keep few rows. It has no option to read the integers (the C++ library has one for smaller
decimals), but it takes the footer that a file is read with as an argument: here the footer's schema is copied
without the annotation of those columns. The format: Thrift's compact protocol, ``parquet.thrift`` (FileMetaData
2 is the list of SchemaElement: 1 type, 6 converted_type, 7 scale, 8 precision, 10 logicalType).
"""

from __future__ import annotations

import struct
from collections.abc import Collection

import pyarrow as pa
import pyarrow.parquet as pq

_MAGIC = b"PAR1"
_SCHEMA, _KIND, _CONVERTED = 2, 1, 6
_ANNOTATION = (6, 7, 8, 10)
_INT32, _INT64 = 1, 2
_DECIMAL = 5
_BOOLEANS = (1, 2)
_BYTE, _DOUBLE, _BINARY, _STRUCT = 3, 7, 8, 12
_INTEGERS = (4, 5, 6)
_LISTS = (9, 10)


def narrow_footer(path: str, footer: pq.FileMetaData) -> pq.FileMetaData | None:
    """Give the ``footer`` of the file with plain integers for decimals stored so; None where there is none.

    None too where the copy does not describe the same columns, or the footer is not understood.
    """
    columns = [footer.schema.column(i) for i in range(len(footer.schema))]
    if not any(_is_narrow(column) for column in columns):
        return None
    try:
        made = pq.read_metadata(pa.BufferReader(_rewritten(_read_footer(path))))
    except (IndexError, ValueError, RecursionError, struct.error, pa.ArrowException, OSError):
        return None
    return made if _describes_same(footer, made) else None


def narrow_columns(footer: pq.FileMetaData) -> Collection[str]:
    """Give the paths of the columns that :func:`narrow_footer` makes integers."""
    columns = (footer.schema.column(i) for i in range(len(footer.schema)))
    return frozenset(column.path for column in columns if _is_narrow(column))


def _is_narrow(column: pq.ColumnSchema) -> bool:
    return column.physical_type in ("INT32", "INT64") and column.converted_type == "DECIMAL"


def _describes_same(footer: pq.FileMetaData, made: pq.FileMetaData) -> bool:
    """Say whether ``made`` differs from ``footer`` in the annotations of narrow columns only."""
    counts = [(each.num_rows, each.num_row_groups, each.num_columns) for each in (footer, made)]
    if counts[0] != counts[1]:
        return False
    return all(
        (a.path, a.physical_type, a.max_definition_level, a.max_repetition_level)
        == (b.path, b.physical_type, b.max_definition_level, b.max_repetition_level)
        and b.logical_type.type == ("NONE" if _is_narrow(a) else a.logical_type.type)
        for a, b in ((footer.schema.column(i), made.schema.column(i)) for i in range(footer.num_columns))
    )


def _read_footer(path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(-8, 2)
        (length,) = struct.unpack("<I", file.read(4))
        file.seek(-8 - length, 2)
        return file.read(length)


def _rewritten(footer: bytes) -> bytes:
    """Give an empty file with the footer, its schema rewritten."""
    fields, after = _struct_fields(footer, 0, last=_SCHEMA)
    number, kind, start, _ = fields[-1]
    item, count, at = _list_header(footer, start)
    if number != _SCHEMA or kind not in _LISTS or item != _STRUCT:
        raise ValueError("no schema where it belongs")
    parts = [footer[:at]]
    for _ in range(count):
        element, end = _struct_fields(footer, at)
        parts.append(_plain(footer, element) or footer[at:end])
        at = end
    made = b"".join([*parts, footer[after:]])
    return b"".join([_MAGIC, made, struct.pack("<I", len(made)), _MAGIC])


_Fields = list[tuple[int, int, int, int]]


def _plain(data: bytes, element: _Fields) -> bytes | None:
    """Give a schema element without its annotation if it is a decimal stored as an integer."""
    values = {number: _zigzag(data, start)[0] for number, kind, start, _ in element if kind in _INTEGERS}
    if values.get(_KIND) not in (_INT32, _INT64) or values.get(_CONVERTED) != _DECIMAL:
        return None
    made = bytearray()
    last = 0
    for number, kind, start, end in element:
        if number not in _ANNOTATION:
            made.append((number - last) << 4 | kind)
            made += data[start:end]
            last = number
    made.append(0)
    return bytes(made)


def _struct_fields(data: bytes, at: int, last: int = 0) -> tuple[_Fields, int]:
    """Give (number, type, start, end of the value) of the fields of the struct at ``at``, and the struct's end.

    Stop after field ``last``, whose end is given then: what follows it may be large.
    """
    fields: _Fields = []
    number = 0
    while not last or number != last:
        head = data[at]
        at += 1
        if head == 0:
            return fields, at
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = _zigzag(data, at)
        end = _skip(data, at, kind)
        fields.append((number, kind, at, end))
        at = end
    return fields, at


def _skip(data: bytes, at: int, kind: int) -> int:
    """Give the end of a value of a struct's field."""
    if kind in _BOOLEANS:
        return at
    if kind == _BYTE:
        return at + 1
    if kind in _INTEGERS:
        return _varint(data, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        length, at = _varint(data, at)
        return at + length
    if kind in _LISTS:
        item, count, at = _list_header(data, at)
        for _ in range(count):
            at = at + 1 if item in _BOOLEANS else _skip(data, at, item)
        return at
    if kind == _STRUCT:
        return _struct_fields(data, at)[1]
    raise ValueError(f"unknown type {kind}")


def _list_header(data: bytes, at: int) -> tuple[int, int, int]:
    """Give the type of the items, their number, and where they start."""
    count = data[at] >> 4
    kind = data[at] & 15
    at += 1
    if count == 15:
        count, at = _varint(data, at)
    return kind, count, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
