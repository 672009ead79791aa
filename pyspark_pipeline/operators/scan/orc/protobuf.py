"""The subset of protobuf's wire format that the metadata of an ORC file need: the fields of a message.

A value is a number (varints, and words of 4 or 8 bytes as they are) or the bytes of a text, a message or packed
numbers. Invalid bytes raise ``IndexError`` or ``ValueError``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

Value = int | memoryview
_VARINT, _WORD, _BYTES, _HALF_WORD = 0, 1, 2, 5


def fields(data: memoryview) -> Iterator[tuple[int, Value]]:
    """Yield the number and the value of each field of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = varint(data, at)
        else:
            size = {_WORD: 8, _HALF_WORD: 4}.get(kind, -1)
        if not 0 <= size <= len(data) - at:
            raise ValueError(f"a field of kind {kind} has no value")
        yield key >> 3, data[at : at + size] if kind == _BYTES else int.from_bytes(data[at : at + size], "little")
        at += size


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the unsigned number at ``at`` and its end."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def numbers(data: memoryview, *wanted: int) -> list[int]:
    """Return the last number of each field of a message that is ``wanted``; 0 for one that is missing."""
    found = dict.fromkeys(wanted, 0)
    for number, value in fields(data):
        if number in found and isinstance(value, int):
            found[number] = value
    return list(found.values())


def messages(data: memoryview, wanted: int) -> list[memoryview]:
    """Return the texts or messages in the fields ``wanted``, in their order."""
    return [value for number, value in fields(data) if number == wanted and isinstance(value, memoryview)]


def integers(data: memoryview, wanted: int) -> list[int]:
    """Return the numbers in the fields ``wanted``, packed or not."""
    found: list[int] = []
    for number, value in fields(data):
        if number != wanted:
            continue
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            item, at = varint(value, at)
            found.append(item)
    return found


def signed(value: Value) -> int:
    """Return the number of a ``sint32`` or ``sint64``."""
    return (value >> 1) ^ -(value & 1) if isinstance(value, int) else 0


def double(value: Value) -> float:
    """Return the number of a ``double``."""
    found: float = struct.unpack("<d", struct.pack("<Q", value))[0]
    return found
