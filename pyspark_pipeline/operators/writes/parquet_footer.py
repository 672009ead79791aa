"""Rewrites the footer of a Parquet file: everything but the places of its columns is that of another footer.

A footer is a struct in Thrift's compact form. Its fields are copied as bytes; only statistics that must not be there
make this module decode the row groups.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

_TAIL = 8
_MAGIC = b"PAR1"

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_VARINTS = (_I16, _I32, _I64)

#: Fields of a footer: the number of rows and the row groups. All other fields have no places in the file.
_NUM_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS = 1
_META_DATA, _COLUMN_INDEX_OFFSET, _COLUMN_INDEX_LENGTH = 3, 6, 7
_STATISTICS = 12
#: Fields of statistics: both forms of the least and the greatest value, and whether they are exact.
_BOUNDS = (1, 2, 5, 6, 7, 8)

#: A struct: the type and the value of each field by number.
Struct = dict[int, tuple[int, Any]]


def replace_footer(path: str, template: bytes, without_bounds: Collection[tuple[int, int]] = ()) -> None:
    """Replace the footer of the file at ``path`` by ``template`` with the rows and row groups of the file.

    The columns ``without_bounds``, each a number of a row group and of a leaf column, lose the bounds of their values:
    they contain NaN, which Arrow's bounds leave out and Spark's order has above all numbers.
    """
    with open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(size - _TAIL)
        length = int.from_bytes(file.read(4), "little")
        start = size - _TAIL - length
        file.seek(start)
        fields = _fields(file.read(length))
        merged = _fields(template)
        merged[_NUM_ROWS], merged[_ROW_GROUPS] = fields[_NUM_ROWS], fields[_ROW_GROUPS]
        if without_bounds:
            merged[_ROW_GROUPS] = (_LIST, _without_bounds(merged[_ROW_GROUPS][1], without_bounds))
        footer = _joined(merged)
        file.seek(start)
        file.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)
        file.truncate()


def _fields(data: bytes) -> dict[int, tuple[int, bytes]]:
    """Return the type and the bytes of each field of the struct ``data``."""
    reader = _Reader(data)
    found: dict[int, tuple[int, bytes]] = {}
    for number, kind in reader.headers():
        start = reader.at
        reader.value(kind)
        found[number] = (kind, data[start : reader.at])
    return found


def _joined(fields: dict[int, tuple[int, bytes]]) -> bytes:
    """Return the struct of these fields."""
    out = bytearray()
    last = 0
    for number in sorted(fields):
        kind, data = fields[number]
        out += _header(kind, number, last) + data
        last = number
    out.append(_STOP)
    return bytes(out)


def _without_bounds(data: bytes, places: Collection[tuple[int, int]]) -> bytes:
    """Return the list of row groups ``data`` without the bounds of the columns at ``places``."""
    kind, groups = _Reader(data).value(_LIST)
    for group, leaf in places:
        chunk: Struct = groups[group][_COLUMNS][1][1][leaf]
        for number in (_COLUMN_INDEX_OFFSET, _COLUMN_INDEX_LENGTH):
            chunk.pop(number, None)
        statistics: Struct = chunk[_META_DATA][1].get(_STATISTICS, (_STRUCT, {}))[1]
        for number in _BOUNDS:
            statistics.pop(number, None)
    return _written(_LIST, (kind, groups))


class _Reader:
    """Reads values in Thrift's compact form from ``data``; ``at`` is the position of the next."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def headers(self) -> Any:
        """Yield the number and the type of each field of a struct; the caller reads its value."""
        number = 0
        while True:
            byte = self._byte()
            kind = byte & 15
            if kind == _STOP:
                return
            number = number + (byte >> 4) if byte >> 4 else _signed(self._varint())
            yield number, kind

    def value(self, kind: int) -> Any:
        """Return a value: a struct as a dictionary, a list as the type of its elements and the elements."""
        if kind in _VARINTS:
            return self._varint()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return {number: (of, self.value(of)) for number, of in self.headers()}
        if kind in (_LIST, _SET):
            byte = self._byte()
            of, size = byte & 15, byte >> 4
            size = self._varint() if size == 15 else size
            return of, [self._byte() if of in (_TRUE, _FALSE) else self.value(of) for _ in range(size)]
        if kind in (_TRUE, _FALSE):
            return None
        if kind == _BYTE:
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError(f"a footer has a value of Thrift's type {kind}")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def _varint(self) -> int:
        """Return an unsigned number; the caller knows whether it is in zigzag form."""
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7


def _signed(zigzag: int) -> int:
    return zigzag >> 1 ^ -(zigzag & 1)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _header(kind: int, number: int, last: int) -> bytes:
    """Return the header of field ``number`` after field ``last``."""
    step = number - last
    return bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _varint(number << 1)


def _written(kind: int, value: Any) -> bytes:
    """Return the bytes of a value that a :class:`_Reader` has read."""
    if kind in _VARINTS:
        return _varint(value)
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == _STRUCT:
        return _joined({number: (of, _written(of, item)) for number, (of, item) in value.items()})
    if kind in (_LIST, _SET):
        of, items = value
        size = bytes([len(items) << 4 | of]) if len(items) < 15 else bytes([15 << 4 | of]) + _varint(len(items))
        whole = [bytes([item]) if of in (_TRUE, _FALSE) else _written(of, item) for item in items]
        return size + b"".join(whole)
    if kind in (_TRUE, _FALSE):
        return b""
    return bytes([value]) if kind == _BYTE else bytes(value)
