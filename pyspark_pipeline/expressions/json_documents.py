"""Reads single JSON documents of a schema into Python objects, as Spark's JacksonParser does.

Spark keeps the fields of a document whose others are wrong; the error of a document is the one that Spark keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.json_parse import JsonError, java_text_of, written
from pyspark_pipeline.expressions.json_reader import FLOAT, INTEGER, NAME, STRING, Reader
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.kernels import json_columns, text_slices
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.decimal_words import pack_flags
from pyspark_pipeline.kernels.jit import frozen

Flags: TypeAlias = Any
#: Converts the tokens of a node to values; the tokens that are wrong are NULL.
Convert: TypeAlias = "Callable[[Cells], pa.Array]"

#: The words that Jackson and Spark read as numbers that are not finite.
INFINITIES = {"NaN": "nan", **dict.fromkeys(("+INF", "+Infinity", "Infinity"), "inf"),
              **dict.fromkeys(("-INF", "-Infinity"), "-inf")}  # fmt: skip
#: Integers of more digits are read as text.
MOST_DIGITS = 40
_LITERALS = {"true": json_columns.TRUE, "false": json_columns.FALSE}
_NUMBERS = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}


class WrongTextError(JsonError):
    """A string where a number should be; Spark names the field, the text and the type."""

    def __init__(self, text: str, kind: DataType) -> None:
        super().__init__(text)
        self.text = text
        self.kind = kind
        self.name = ""


class ArrayAsStructError(JsonError):
    """A document is an array where a struct should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The tokens of a node: uint8, and int32 starts and ends in the documents' bytes, shape (slots,) each."""

    data: Any
    tokens: Any
    starts: Any
    ends: Any

    def among(self, *kinds: int) -> Flags:
        """Return which tokens are of some kinds."""
        found = self.tokens == kinds[0]
        for kind in kinds[1:]:
            found |= self.tokens == kind
        return found

    def texts(self, chosen: Flags, margin: Any = 0) -> pa.Array:
        """Return the texts of the ``chosen`` tokens, without ``margin`` bytes at both ends; the others are NULL.

        The margin is one number, or int32 of shape (slots,).
        """
        starts = np.where(chosen, self.starts + np.int32(margin), np.int32(0))
        ends = np.zeros(len(starts) + 1, dtype=np.int32)
        np.cumsum(np.where(chosen, self.ends - margin - starts, 0), out=ends[1:])
        out = allocate(int(ends[-1]), np.uint8)
        text_slices.copy_slices(self.data, starts, ends, out)
        return string_array(ends, out, None if chosen.all() else pack_flags(chosen))


@dataclass(slots=True)
class Node:
    """A node of the schema: its number, the level of its slots, and the level of its elements."""

    kind: DataType
    number: int
    level: int
    inner: int = 0
    children: list[Node] = field(default_factory=list)
    convert: Convert | None = None


def read_text(reader: Reader, print_double: Callable[[float], str]) -> str:
    """Return the current value of a reader as a string; raise :class:`JsonError` for a wrong token."""
    token = reader.token
    if token == STRING:
        return java_text_of(reader.text())
    if token is None or token in ("}", "]", NAME):
        raise JsonError("no value")
    read: list[tuple[str, str]] = []
    depth = 0
    while True:
        if token in ("{", "["):
            depth += 1
        elif token in ("}", "]"):
            depth -= 1
        text = reader.text() if token in (STRING, INTEGER, FLOAT) else (reader.name or "") if token == NAME else ""
        read.append(("literal", token) if token in ("true", "false", "null") else _item(token, text))
        if depth == 0:
            return java_text_of(written(read, print_double))
        token = reader.next()
        if token is None:
            raise JsonError("the end of the document")


def _item(token: str, text: str) -> tuple[str, str]:
    if token == FLOAT and text in INFINITIES:
        value = float(INFINITIES[text])
        return STRING, "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return token, text


class Scalars:
    """The values of tokens that are not nested, which are converted together when documents have been read.

    Until then a token without a value counts as right, and the documents are read again after it is converted.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, str], Any] = {}
        self._missing: dict[int, tuple[Node, dict[tuple[int, str], None]]] = {}

    def find(self, node: Node, token: int, text: str) -> Any:
        """Return the value of a token of a node; raise :class:`JsonError` for a wrong one."""
        key = (node.number, token, text)
        if key not in self._known:
            self._missing.setdefault(node.number, (node, {}))[1][token, text] = None
            return None
        value = self._known[key]
        if value is None:
            if token == json_columns.STRING and node.kind.is_floating and text != '""':
                raise WrongTextError(text[1:-1], node.kind)
            raise JsonError("a value of another type")
        return value

    def convert(self) -> bool:
        """Convert the tokens that had no value; return whether there were any."""
        for node, tokens in self._missing.values():
            encoded = [text.encode() for _, text in tokens]
            ends = np.cumsum([len(text) for text in encoded], dtype=np.int32)
            starts = np.concatenate([np.zeros(1, dtype=np.int32), ends[:-1]])
            cells = Cells(
                data=frozen(np.frombuffer(b"".join(encoded), dtype=np.uint8)), starts=frozen(starts), ends=frozen(ends),
                tokens=frozen(np.array([token for token, _ in tokens], dtype=np.uint8)),
            )  # fmt: skip
            assert node.convert is not None, "a value that is not nested has a conversion"
            found = node.convert(cells)
            number = _NUMBERS.get(node.kind.kind)
            values = (found if number is None else found.view(number)).to_pylist()
            keys = ((node.number, token, text) for token, text in tokens)
            self._known.update(zip(keys, values, strict=True))
        had_missing = bool(self._missing)
        self._missing = {}
        return had_missing


#: Returns the current value of a reader as a string.
ReadText: TypeAlias = "Callable[[Any], str | bytes]"


class Document:
    """One document that is read into Python objects: its :attr:`value`, and its :attr:`error` or None.

    The value of a document with an error is what Spark keeps of it, or NULL, for a struct one of NULLs.
    ``reader`` is None for a document that Jackson rejects as a whole.
    """

    def __init__(self, root: Node, scalars: Scalars, reader: Reader | None, read_text: ReadText) -> None:
        self._root = root
        self._scalars = scalars
        self._read_text = read_text
        #: The members of objects that are the root which were read: their places and values, in the order of the text.
        self.members: list[tuple[int, Any]] = []
        self.error: JsonError | None = None
        try:
            if reader is None:
                raise JsonError("no document")
            self._reader = reader
            self.value = self._read()
        except JsonError as error:
            self.error = error
            self.value = self._nothing()

    def _read(self) -> Any:
        root, reader = self._root, self._reader
        token = reader.next()
        if token is None:
            return None
        if token == "null":
            raise JsonError("no value")
        if root.kind.kind == "struct" and token == "[":
            raise ArrayAsStructError("an array")
        is_one = root.kind.kind == "array" and root.children[0].kind.kind == "struct" and token == "{"
        return [self._object(root.children[0])] if is_one else self._one(root)

    def _nothing(self) -> Any:
        root = self._root
        return {f"c{place}": None for place in range(len(root.children))} if root.kind.kind == "struct" else None

    def _one(self, node: Node) -> Any:
        reader = self._reader
        token = reader.token
        if token == NAME:
            token = reader.next()
        if token is None or token == "null":
            return None
        opening = {"struct": "{", "map": "{", "array": "["}.get(node.kind.kind)
        if opening is None:
            return self._scalar(node, token)
        if token != opening:
            if token == STRING:
                reader.text()
            raise JsonError("a value of another type")
        if node.kind.kind == "struct":
            return self._object(node)
        return self._array(node) if node.kind.kind == "array" else self._map(node)

    def _object(self, node: Node) -> dict[str, Any]:
        reader, places = self._reader, {name: place for place, name in enumerate(node.kind.names)}
        values: dict[str, Any] = {f"c{place}": None for place in range(len(node.children))}
        while reader.next() not in (None, "}"):
            place = None if reader.name is None else places.get(java_text_of(reader.name))
            before = self.error
            try:
                if place is not None:
                    values[f"c{place}"] = self._one(node.children[place])
                    if node is self._root:
                        self.members.append((place, values[f"c{place}"]))
                    continue
            except JsonError as error:
                # An error of the whole value replaces those of its parts.
                self.error = before or error
            reader.skip_children()
        return values

    def _array(self, node: Node) -> list[Any]:
        values = []
        while self._reader.next() not in (None, "]"):
            values.append(self._one(node.children[0]))
        return values

    def _map(self, node: Node) -> list[tuple[str, Any]]:
        reader, entries, is_wrong = self._reader, [], False
        while reader.next() not in (None, "}"):
            name = reader.name or ""
            try:
                entries.append((java_text_of(name), self._one(node.children[1])))
            except JsonError:
                is_wrong = True
                reader.skip_children()
        if is_wrong:
            raise JsonError("a value of a map")
        return entries

    def _scalar(self, node: Node, token: str) -> Any:
        reader = self._reader
        if node.kind.kind == "string":
            return self._read_text(reader)
        if token == STRING:
            try:
                return self._scalars.find(node, json_columns.STRING, f'"{java_text_of(reader.text())}"')
            except WrongTextError as error:
                error.name = reader.name or ""
                raise
        if token in (INTEGER, FLOAT):
            text = reader.text()
            is_plain = token == INTEGER and len(text) <= MOST_DIGITS
            number = json_columns.INTEGER if is_plain else json_columns.ODD
            return self._scalars.find(node, number, "0" if text == "-0" else text)
        if token in _LITERALS:
            return self._scalars.find(node, _LITERALS[token], token)
        raise JsonError("a value of another type")


class Records(Document):
    """The rows of a line of a file, a struct each: none of an empty line, several of an array."""

    value: list[dict[str, Any]]
    #: Whether the line has an array.
    is_array = False

    def _read(self) -> list[dict[str, Any]]:
        token = self._reader.next()
        if token is None:
            return []
        if token != "[":
            return [self._row()]
        self.is_array = True
        rows = []
        while self._reader.next() not in (None, "]"):
            rows.append(self._row())
        return rows

    def _row(self) -> dict[str, Any]:
        row: dict[str, Any] | None = self._one(self._root)
        if row is None:
            raise JsonError("no row")
        return row

    def _nothing(self) -> list[dict[str, Any]]:
        return [super()._nothing()]


def array_of(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Return values of documents as an array; strings may be bytes that are not UTF-8."""
    try:
        return pa.array(values, type_)
    except pa.ArrowInvalid:
        return pa.array(values, _with_bytes(type_)).cast(type_, safe=False)


def _with_bytes(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_with_bytes(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_with_bytes(type_.key_type), _with_bytes(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_with_bytes(type_.value_type)))
    return pa.binary() if pa.types.is_string(type_) else type_
