"""The subset of Thrift's compact protocol that Parquet footers need: the boundaries of the fields of a struct.

A field is (number, type, start of the value, end of the value) in the bytes of the footer. Invalid bytes raise
``IndexError``, ``ValueError`` or ``RecursionError``.
"""

from __future__ import annotations

import struct

BOOLEANS = (1, 2)
INTEGERS = (4, 5, 6)
LISTS = (9, 10)
STRUCT = 12
_BYTE, _DOUBLE, _BINARY = 3, 7, 8

ThriftFields = list[tuple[int, int, int, int]]


def footer_length(path: str) -> int:
    """Return the length in bytes of the footer of the file, including the signature of an encrypted file."""
    with open(path, "rb") as file:
        file.seek(-8, 2)
        return int(struct.unpack("<I", file.read(4))[0])


def footer_bytes(path: str) -> bytes:
    """Return the bytes of the footer of the file."""
    with open(path, "rb") as file:
        file.seek(-8, 2)
        (length,) = struct.unpack("<I", file.read(4))
        file.seek(-8 - length, 2)
        return file.read(length)


def struct_fields(data: bytes, at: int, last: int = 0) -> tuple[ThriftFields, int]:
    """Return the fields of the struct at ``at``, and the struct's end.

    Stop after field ``last`` and return its end instead: the fields after it may be large.
    """
    fields: ThriftFields = []
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
            number, at = zigzag(data, at)
        end = skip(data, at, kind)
        fields.append((number, kind, at, end))
        at = end
    return fields, at


def skip(data: bytes, at: int, kind: int) -> int:
    """Return the end of the value of a struct's field."""
    if kind in BOOLEANS:
        return at
    if kind == _BYTE:
        return at + 1
    if kind in INTEGERS:
        return varint(data, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        length, at = varint(data, at)
        return at + length
    if kind in LISTS:
        item, count, at = list_header(data, at)
        for _ in range(count):
            at = at + 1 if item in BOOLEANS else skip(data, at, item)
        return at
    if kind == STRUCT:
        return struct_fields(data, at)[1]
    raise ValueError(f"unknown type {kind}")


def list_header(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the type of the items, their number, and the start of the first."""
    count = data[at] >> 4
    kind = data[at] & 15
    at += 1
    if count == 15:
        count, at = varint(data, at)
    return kind, count, at


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned number at ``at`` and its end."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def zigzag(data: bytes, at: int) -> tuple[int, int]:
    """Return the signed number at ``at`` and its end."""
    value, at = varint(data, at)
    return (value >> 1) ^ -(value & 1), at
