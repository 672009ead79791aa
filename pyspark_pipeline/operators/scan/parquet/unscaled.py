"""A Parquet footer in which some columns have no logical type, so that pyarrow reads their physical values.

pyarrow converts every decimal to decimal128; for one stored as INT32 or INT64 that doubles the bytes of a column of
which a filter may keep few rows. It has no option to read the integers (the C++ library has one for smaller decimals),
but it accepts the footer of a file as an argument: this module copies the footer's schema without the annotation of
those columns. Spark reads some columns as a type other than their logical one (the unscaled integers of a decimal as
bigint): those need the physical values too. The Arrow schema of the writer is hidden in the same way, if it is damaged
or newer than pyarrow. The format: Thrift's compact protocol,
``parquet.thrift`` (FileMetaData 2 is the list of SchemaElement: 1 type, 5 num_children, 6 converted_type, 7 scale,
8 precision, 10 logicalType; FileMetaData 5 is the list of KeyValue).
"""

from __future__ import annotations

import struct
from collections.abc import Collection

import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_pipeline.operators.scan.parquet.thrift import LISTS, STRUCT, ThriftFields, list_header, struct_fields
from pyspark_pipeline.operators.scan.parquet.thrift import footer_bytes as _read_footer

_MAGIC = b"PAR1"
_SCHEMA, _CHILDREN = 2, 5
_KEY_VALUES = 5
_ARROW_SCHEMA, _HIDDEN_SCHEMA = b"ARROW:schema", b"ARROW:SCHEMA"
_ANNOTATION = (6, 7, 8, 10)


def plain_footer(path: str, footer: pq.FileMetaData, leaves: Collection[int]) -> pq.FileMetaData | None:
    """Return the ``footer`` of the file without the logical types of ``leaves`` (column numbers in its schema).

    Return None if ``leaves`` is empty, the copy does not describe the same columns, or the footer is not understood.
    """
    if not leaves:
        return None
    try:
        data = _read_footer(path)
        if _ARROW_SCHEMA not in (footer.metadata or {}):
            data = _without_arrow_schema(data)
        made = pq.read_metadata(pa.BufferReader(_empty_file(_rewritten(data, leaves))))
    except (IndexError, ValueError, RecursionError, struct.error, pa.ArrowException, OSError):
        return None
    return made if _describes_same(footer, made, leaves) else None


def footer_without_arrow_schema(path: str) -> pq.FileMetaData:
    """Return the footer of the file as if its writer had stored no Arrow schema.

    Raises the errors of :func:`struct_fields` if the footer is not understood, and pyarrow's.
    """
    return pq.read_metadata(pa.BufferReader(_empty_file(_without_arrow_schema(_read_footer(path)))))


def unscaled_leaves(footer: pq.FileMetaData) -> frozenset[int]:
    """Return the numbers of the columns of decimals that are stored as integers."""
    return frozenset(i for i in range(len(footer.schema)) if _is_unscaled(footer.schema.column(i)))


def _is_unscaled(column: pq.ColumnSchema) -> bool:
    return column.physical_type in ("INT32", "INT64") and column.converted_type == "DECIMAL"


def _describes_same(footer: pq.FileMetaData, made: pq.FileMetaData, leaves: Collection[int]) -> bool:
    """Return whether ``made`` differs from ``footer`` in the annotations of ``leaves`` only."""
    counts = [(each.num_rows, each.num_row_groups, each.num_columns) for each in (footer, made)]
    if counts[0] != counts[1]:
        return False
    return all(
        (a.path, a.physical_type, a.length, a.max_definition_level, a.max_repetition_level)
        == (b.path, b.physical_type, b.length, b.max_definition_level, b.max_repetition_level)
        and b.logical_type.type == ("NONE" if i in leaves else a.logical_type.type)
        for i, a, b in ((i, footer.schema.column(i), made.schema.column(i)) for i in range(footer.num_columns))
    )


def _without_arrow_schema(footer: bytes) -> bytes:
    """Return the footer with another key in place of that of the Arrow schema, of the same length."""
    for number, _, start, end in struct_fields(footer, 0)[0]:
        if number == _KEY_VALUES:
            return footer[:start] + footer[start:end].replace(_ARROW_SCHEMA, _HIDDEN_SCHEMA) + footer[end:]
    return footer


def _empty_file(footer: bytes) -> bytes:
    return b"".join([_MAGIC, footer, struct.pack("<I", len(footer)), _MAGIC])


def _rewritten(footer: bytes, leaves: Collection[int]) -> bytes:
    """Return the footer, its schema rewritten."""
    fields, after = struct_fields(footer, 0, last=_SCHEMA)
    number, kind, start, _ = fields[-1]
    item, count, at = list_header(footer, start)
    if number != _SCHEMA or kind not in LISTS or item != STRUCT:
        raise ValueError("the footer has no schema")
    parts = [footer[:at]]
    leaf = 0
    for _ in range(count):
        element, end = struct_fields(footer, at)
        is_leaf = all(number != _CHILDREN for number, *_ in element)
        parts.append(_plain(footer, element) if is_leaf and leaf in leaves else footer[at:end])
        leaf += is_leaf
        at = end
    return b"".join([*parts, footer[after:]])


def _plain(data: bytes, element: ThriftFields) -> bytes:
    """Return a schema element without its annotation."""
    made = bytearray()
    last = 0
    for number, kind, start, end in element:
        if number not in _ANNOTATION:
            made.append((number - last) << 4 | kind)
            made += data[start:end]
            last = number
    made.append(0)
    return bytes(made)
