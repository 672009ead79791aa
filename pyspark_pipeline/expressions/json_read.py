"""JSON documents as structs, arrays and maps (Spark: JsonToStructs, JacksonParser) in the mode PERMISSIVE.

A compiled kernel reads documents of plain grammar into columns of tokens, which are converted as whole columns; the
others are read one by one, as Jackson does (``json_reader.py``). A value of a wrong type is NULL, and so is an array or
map with an element of a wrong type. Fields of a struct count one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.cast_numeric import BITS
from pyspark_pipeline.expressions.cast_text import java_double
from pyspark_pipeline.expressions.json_parse import JsonError, java_text_of, written
from pyspark_pipeline.expressions.json_reader import FLOAT, INTEGER, NAME, STRING, Reader
from pyspark_pipeline.expressions.json_text import double_printer, printed_numbers
from pyspark_pipeline.expressions.nested import list_array, map_pairs
from pyspark_pipeline.expressions.per_value import java_text
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, build, case, function
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.expressions.values import flags, from_numbers, to_array
from pyspark_pipeline.kernels import json_columns, json_scan, text_slices
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.chosen_elements import has_chosen
from pyspark_pipeline.kernels.decimal_words import pack_flags
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.julian import rebase_differences
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.eval_mode import EvalMode, fields_of_mode
from pyspark_pipeline.plan.expr import Call, ColumnRef

Flags: TypeAlias = Any
#: Converts the tokens of a node to values; the tokens that are wrong are NULL.
Convert: TypeAlias = "Callable[[Cells], pa.Array]"

_INFINITIES = {"NaN": "nan", **dict.fromkeys(("+INF", "+Infinity", "Infinity"), "inf"),
               **dict.fromkeys(("-INF", "-Infinity"), "-inf")}  # fmt: skip
_JAVA_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?0*\d{1,9})?")
_JAVA_INT = re.compile(r"[+-]?\d+")
_LITERALS = {"true": json_columns.TRUE, "false": json_columns.FALSE}
_MOST_DIGITS, _FIRST_SLOTS = 40, 64


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

    def texts(self, chosen: Flags, margin: int = 0) -> pa.Array:
        """Return the texts of the ``chosen`` tokens, without ``margin`` bytes at both ends; the others are NULL."""
        starts = np.where(chosen, self.starts + np.int32(margin), np.int32(0))
        ends = np.zeros(len(starts) + 1, dtype=np.int32)
        np.cumsum(np.where(chosen, self.ends - margin - starts, 0), out=ends[1:])
        out = allocate(int(ends[-1]), np.uint8)
        text_slices.copy_slices(self.data, starts, ends, out)
        return string_array(ends, out, None if chosen.all() else pack_flags(chosen))


class Leaves:
    """The conversions of tokens to values that are not nested."""

    def __init__(self, settings: ExpressionSettings, zone: str) -> None:
        self._settings = settings
        self._zone = zone
        self.print_double = double_printer(settings.prints_shortest_digits)

    def of(self, kind: DataType) -> Convert:
        """Return the conversion to a type."""
        if kind.is_integral:
            return self._integral(kind)
        if kind.is_floating:
            return self._floating(kind)
        if kind.is_decimal:
            return self._decimal(kind)
        if kind.kind == "boolean":
            return _boolean
        if kind.kind == "string":
            return self._string
        return self._date(kind) if kind.kind == "date" else self._timestamp(kind)

    def _integral(self, kind: DataType) -> Convert:
        # Jackson takes bytes without a sign too.
        info = np.iinfo(np.dtype(f"int{BITS[kind.kind]}"))
        high = 255 if kind.kind == "tinyint" else int(info.max)

        def convert(cells: Cells) -> pa.Array:
            found, fits = _integers(cells, int(info.min), high)
            return from_numbers(found.astype(info.dtype), kind.arrow, None if fits.all() else pack_flags(fits))

        return convert

    def _floating(self, kind: DataType) -> Convert:
        is_single = kind.kind == "float"

        def convert(cells: Cells) -> pa.Array:
            plain = cells.among(json_columns.INTEGER, json_columns.FLOAT)
            found = cells.texts(plain).cast(kind.arrow)
            rest = np.flatnonzero(cells.among(json_columns.ODD, json_columns.STRING, json_columns.ESCAPED))
            if not rest.size:
                return found
            values, texts = found.to_numpy(zero_copy_only=False).copy(), cells.texts(cells.among(json_columns.ODD))
            strings = self._contents(cells)
            for row in rest.tolist():
                odd = texts[row].as_py()
                word = _INFINITIES.get(strings[row].as_py()) if odd is None else odd
                plain[row] = word is not None
                values[row] = java_double(word, is_single) if word is not None else 0.0
            return from_numbers(values, kind.arrow, pack_flags(plain))

        return convert

    def _decimal(self, kind: DataType) -> Convert:
        cast = self._cast(kind)

        def convert(cells: Cells) -> pa.Array:
            plain = cells.among(json_columns.INTEGER, json_columns.FLOAT)
            found = cast(cells.texts(plain))
            rest = cells.among(json_columns.ODD, json_columns.STRING, json_columns.ESCAPED)
            if not rest.any():
                return found
            odd, strings = cells.texts(cells.among(json_columns.ODD)), self._contents(cells)
            texts = pc.coalesce(odd, pc.replace_substring(strings, ",", "")).filter(pa.array(rest))
            values = pa.array([_java_decimal(text, kind) for text in texts.to_pylist()], kind.arrow)
            return pc.replace_with_mask(found, pa.array(rest), values)

        return convert

    def _date(self, kind: DataType) -> Convert:
        cast = self._cast(kind)

        def convert(cells: Cells) -> pa.Array:
            texts = self._contents(cells)
            return _retried(texts, cast(texts), lambda rest: [_legacy_date(text, cast) for text in rest])

        return convert

    def _timestamp(self, kind: DataType) -> Convert:
        cast = self._cast(kind)

        def again(rest: list[str]) -> list[Any]:
            values: list[Any] = cast(pa.array([text.replace("GMT", "") for text in rest])).view(pa.int64()).to_pylist()
            return values

        def convert(cells: Cells) -> pa.Array:
            texts = self._contents(cells)
            found = cast(texts)
            if cells.among(json_columns.INTEGER).any():
                seconds, fits = _integers(cells, -(2**63), 2**63 - 1)
                found = pc.coalesce(found, from_numbers(seconds * 1_000_000, found.type, pack_flags(fits)))
            return _retried(texts, found, again)

        return convert

    def _cast(self, kind: DataType) -> Callable[[pa.Array], pa.Array]:
        """Return the cast of strings that returns NULL for invalid ones."""
        text = ColumnRef(type=DataType("string"), ordinal=0)
        fields = {**fields_of_mode(EvalMode.TRY), "timeZoneId": self._zone}
        kernel = build(Call(name="Cast", type=kind, args=(text,), fields=fields), self._settings)
        assert isinstance(kernel, Kernel)
        return lambda texts: to_array(kernel.run([texts], len(texts)), len(texts))

    def _contents(self, cells: Cells) -> pa.Array:
        """Return the contents of the tokens that are strings; others are NULL."""
        plain, escaped = cells.among(json_columns.STRING), cells.among(json_columns.ESCAPED)
        found = cells.texts(plain, 1)
        return self._written(cells, found, escaped) if escaped.any() else found

    def _string(self, cells: Cells) -> pa.Array:
        """Return strings, and other values as Jackson writes them."""
        plain = cells.among(json_columns.STRING)
        found, others = cells.texts(plain, 1), cells.tokens > json_columns.STRING
        return self._written(cells, found, others) if others.any() else found

    def _written(self, cells: Cells, found: pa.Array, chosen: Flags) -> pa.Array:
        """Return ``found`` with the texts of the ``chosen`` tokens as Jackson writes them."""
        starts, stops = cells.starts[chosen], cells.ends[chosen]
        rows = len(starts)
        ends, statuses = np.empty(rows + 1, dtype=np.int32), np.empty(rows, dtype=np.uint8)
        out = allocate(int((stops - starts).sum(dtype=np.int64)), np.uint8)
        bounds = np.concatenate([np.zeros(1, dtype=np.int32), stops])
        json_scan.write_values(frozen(bounds), cells.data, frozen(starts), ends, out, statuses)
        is_shortest = self._settings.prints_shortest_digits
        texts = printed_numbers(string_array(ends, out[: ends[-1]], None), statuses, is_shortest)
        unknown = np.flatnonzero(statuses == json_scan.OTHER)
        if unknown.size:
            slices = [bytes(cells.data[starts[row] : stops[row]]).decode() for row in unknown]
            texts = pc.replace_with_mask(
                texts, pa.array(statuses == json_scan.OTHER), pa.array([self._one_text(text) for text in slices])
            )
        return pc.replace_with_mask(found, pa.array(chosen), texts)

    def _one_text(self, text: str) -> str:
        reader = Reader(text)
        reader.next()
        return read_text(reader, self.print_double)


def _boolean(cells: Cells) -> pa.Array:
    is_true, is_false = cells.among(json_columns.TRUE), cells.among(json_columns.FALSE)
    return pa.array(is_true, mask=~(is_true | is_false))


def _integers(cells: Cells, low: int, high: int) -> tuple[Any, Flags]:
    rows = len(cells.tokens)
    found, fits = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.bool_)
    json_columns.parse_integers(cells.data, cells.tokens, cells.starts, cells.ends, low, high, found, fits)
    return found, fits


def _retried(texts: pa.Array, found: pa.Array, again: Callable[[list[str]], list[Any]]) -> pa.Array:
    """Return ``found``, and for the texts without a value those of ``again``."""
    rest = pc.and_(texts.is_valid(), found.is_null())
    if not rest.true_count:
        return found
    return pc.replace_with_mask(found, rest, pa.array(again(texts.filter(rest).to_pylist()), found.type))


def _legacy_date(text: str, cast: Callable[[pa.Array], pa.Array]) -> int | None:
    """Return the days of a text without GMT, or of a number of days in the hybrid calendar."""
    days = cast(pa.array([text.replace("GMT", "")], pa.string())).view(pa.int32())[0].as_py()
    if days is not None:
        return int(days)
    if _JAVA_INT.fullmatch(text) is None or max(text) > "\uffff" or not -(2**31) <= int(text) < 2**31:
        return None
    number = np.array([int(text)], dtype=np.int64)
    return int((number + rebase_differences(number))[0])


def _java_decimal(text: str | None, kind: DataType) -> Decimal | None:
    """Return a text as a decimal rounded half up; None if it is none, or has too many digits."""
    if text is None or _JAVA_DECIMAL.fullmatch(text) is None or max(text) > "\uffff":
        return None
    value = Decimal(text)
    if value and value.adjusted() >= _MOST_DIGITS:
        return None
    if not value or value.adjusted() < -kind.scale - 1:
        return Decimal(0)
    rounded = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, Context(prec=2 * _MOST_DIGITS))
    return rounded if rounded.copy_abs() < Decimal(1).scaleb(kind.precision - kind.scale) else None


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
    if token == FLOAT and text in _INFINITIES:
        value = float(_INFINITIES[text])
        return STRING, "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return token, text


@dataclass(slots=True)
class _Node:
    """A node of the schema: its number, the level of its slots, and the level of its elements."""

    kind: DataType
    number: int
    level: int
    inner: int = 0
    children: list[_Node] = field(default_factory=list)
    convert: Convert | None = None


class Schema:
    """A schema as nodes, numbered so that those of the children of one node are consecutive."""

    def __init__(self, kind: DataType, leaves: Leaves) -> None:
        self._leaves = leaves
        self.root = _Node(kind, 0, 0)
        self.levels = 1
        nodes, names = [self.root], [""]
        for node in nodes:
            child_level = node.level
            if node.kind.kind in ("array", "map"):
                node.inner = child_level = self.levels
                self.levels += 1
            for place, child in enumerate(node.kind.children):
                node.children.append(_Node(child, len(nodes), child_level))
                nodes.append(node.children[-1])
                names.append(node.kind.names[place] if node.kind.kind == "struct" else "")
            if not node.kind.is_nested:
                node.convert = leaves.of(node.kind)
        self._nodes = nodes
        codes = {"struct": json_columns.STRUCT, "array": json_columns.LIST, "map": json_columns.MAP}
        encoded = [name.encode() for name in names]
        self._tree = tuple(
            frozen(np.array(column, dtype=np.int32))
            for column in (
                [codes.get(node.kind.kind, json_columns.LEAF) for node in nodes],
                [node.level for node in nodes],
                [node.children[0].number if node.children else 0 for node in nodes],
                [len(node.children) for node in nodes],
                [node.inner for node in nodes],
                np.cumsum([0, *map(len, encoded)]),
            )
        )
        self._names = frozen(np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8))

    def read(self, texts: pa.Array) -> tuple[pa.Array, Flags]:
        """Return the values of documents, and which documents are not decided."""
        rows, (offsets, data) = len(texts), text_of(pc.fill_null(texts, ""))
        capacities = np.full(self.levels, max(2 * rows, _FIRST_SLOTS), dtype=np.int64)
        capacities[0] = rows
        used = np.zeros(self.levels, dtype=np.int64)
        statuses = np.empty(rows, dtype=np.uint8)
        bases = self._bases(capacities)
        columns = self._columns(bases)
        row = 0
        while True:
            row = json_columns.read_documents(
                offsets, data, *self._tree, self._names, bases, capacities, used, *columns, statuses, row
            )
            if row == rows:
                break
            larger = np.where(np.arange(self.levels) > 0, 2 * capacities, capacities)
            capacities, old_bases, bases = larger, bases, self._bases(larger)
            columns = self._moved(columns, old_bases, bases, used)
        used[0] = rows
        found, _ = self._values(self.root, data, bases, columns, used)
        is_other = statuses == json_columns.OTHER
        if self.root.kind.kind == "array" and self.root.children[0].kind.kind == "struct":
            is_other |= columns[0][:rows] == json_columns.OBJECT
        return found, is_other

    def _bases(self, capacities: Any) -> Any:
        sizes = [int(capacities[node.level]) for node in self._nodes]
        return frozen(np.cumsum([0, *sizes], dtype=np.int64))

    def _columns(self, bases: Any) -> tuple[Any, Any, Any]:
        size = int(bases[-1])
        tokens = allocate(size, np.uint8)
        tokens[:] = json_columns.ABSENT
        return tokens, allocate(size, np.int32), allocate(size, np.int32)

    def _moved(self, columns: tuple[Any, Any, Any], old: Any, new: Any, used: Any) -> tuple[Any, Any, Any]:
        moved = self._columns(new)
        for node in self._nodes:
            count = int(used[node.level]) if node.level else int(old[node.number + 1] - old[node.number])
            for before, after in zip(columns, moved, strict=True):
                after[new[node.number] : new[node.number] + count] = before[old[node.number] : old[node.number] + count]
        return moved

    def _values(self, node: _Node, data: Any, bases: Any, columns: Any, used: Any) -> tuple[pa.Array, Flags]:
        """Return the values of a node, and which of its tokens are wrong."""
        first = int(bases[node.number])
        chosen = slice(first, first + int(used[node.level]))
        tokens, starts, ends = (frozen(column[chosen]) for column in columns)
        is_given = tokens > json_columns.NULL
        if node.convert is not None:
            found = node.convert(Cells(data=data, tokens=tokens, starts=starts, ends=ends))
            wrong = is_given & flags(found.is_null()) if found.null_count else np.zeros(len(tokens), dtype=np.bool_)
            return found, wrong
        parts = [self._values(child, data, bases, columns, used) for child in node.children]
        arrays = [part for part, _ in parts]
        if node.kind.kind == "struct":
            valid = tokens > json_columns.ABSENT if node is self.root else tokens == json_columns.OBJECT
            nulls = None if valid.all() else pa.array(~valid)
            return pa.StructArray.from_arrays(arrays, fields=list(node.kind.arrow), mask=nulls), is_given & ~valid
        valid = tokens == (json_columns.OBJECT if node.kind.kind == "map" else json_columns.ARRAY)
        counts = np.where(valid, ends - starts, 0).astype(np.int64)
        wrong = parts[-1][1]
        if wrong.any():
            bounds = np.zeros(len(counts) + 1, dtype=np.int64)
            np.cumsum(counts, out=bounds[1:])
            valid &= ~has_chosen(bounds, wrong)
        elements = arrays[0] if node.kind.kind == "array" else map_pairs(node.kind.arrow, arrays)
        return list_array(node.kind.arrow, counts, elements, valid), is_given & ~valid

    def read_others(self, texts: Sequence[str]) -> list[Any]:
        """Return the values of documents that are read one by one, as Python objects."""
        scalars = _Scalars(self._leaves)
        while True:
            values = [_Document(self.root, scalars, text).value() for text in texts]
            if not scalars.convert():
                return values


class _Scalars:
    """The values of tokens that are not nested, which are converted together when documents have been read.

    Until then a token without a value counts as right, and the documents are read again after it is converted.
    """

    def __init__(self, leaves: Leaves) -> None:
        self.print_double = leaves.print_double
        self._known: dict[tuple[int, int, str], Any] = {}
        self._missing: dict[int, tuple[_Node, dict[tuple[int, str], None]]] = {}

    def find(self, node: _Node, token: int, text: str) -> Any:
        """Return the value of a token of a node; raise :class:`JsonError` for a wrong one."""
        key = (node.number, token, text)
        if key not in self._known:
            self._missing.setdefault(node.number, (node, {}))[1][token, text] = None
            return None
        value = self._known[key]
        if value is None:
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
            number = {"date": pa.int32(), "timestamp": pa.int64()}.get(node.kind.kind)
            values = (found if number is None else found.view(number)).to_pylist()
            keys = ((node.number, token, text) for token, text in tokens)
            self._known.update(zip(keys, values, strict=True))
        had_missing = bool(self._missing)
        self._missing = {}
        return had_missing


class _Document:
    """One document that is read into Python objects."""

    def __init__(self, root: _Node, scalars: _Scalars, text: str) -> None:
        self._root = root
        self._scalars = scalars
        self._reader = Reader(text)

    def value(self) -> Any:
        """Return the value of the document; of one with an error NULL, or a struct of NULLs."""
        root, reader = self._root, self._reader
        nothing = {f"c{place}": None for place in range(len(root.children))} if root.kind.kind == "struct" else None
        try:
            token = reader.next()
            if token is None:
                return None
            if token == "null":
                return nothing
            is_one = root.kind.kind == "array" and root.children[0].kind.kind == "struct" and token == "{"
            return [self._object(root.children[0])] if is_one else self._one(root)
        except JsonError:
            return nothing

    def _one(self, node: _Node) -> Any:
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

    def _object(self, node: _Node) -> dict[str, Any]:
        reader, places = self._reader, {name: place for place, name in enumerate(node.kind.names)}
        values: dict[str, Any] = {f"c{place}": None for place in range(len(node.children))}
        while reader.next() not in (None, "}"):
            place = None if reader.name is None else places.get(java_text_of(reader.name))
            try:
                if place is not None:
                    values[f"c{place}"] = self._one(node.children[place])
                    continue
            except JsonError:
                pass
            reader.skip_children()
        return values

    def _array(self, node: _Node) -> list[Any]:
        values = []
        while self._reader.next() not in (None, "]"):
            values.append(self._one(node.children[0]))
        return values

    def _map(self, node: _Node) -> list[tuple[str, Any]]:
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

    def _scalar(self, node: _Node, token: str) -> Any:
        reader = self._reader
        if node.kind.kind == "string":
            return read_text(reader, self._scalars.print_double)
        if token == STRING:
            return self._scalars.find(node, json_columns.STRING, f'"{java_text_of(reader.text())}"')
        if token in (INTEGER, FLOAT):
            text = reader.text()
            is_plain = token == INTEGER and len(text) <= _MOST_DIGITS
            number = json_columns.INTEGER if is_plain else json_columns.ODD
            return self._scalars.find(node, number, "0" if text == "-0" else text)
        if token in _LITERALS:
            return self._scalars.find(node, _LITERALS[token], token)
        raise JsonError("a value of another type")


#: Types that Spark reads with other rules than those of its casts.
_OTHER_TYPES = r"_corrupt_record:|(?:interval|time\(|timestamp_ntz|timestamp_ltz|binary|void|char\(|variant)(?!\w*:)"
_SETTINGS = {
    "spark.sql.json.enablePartialResults": ["true"],
    "spark.sql.legacy.json.allowEmptyString.enabled": ["false"],
    "spark.sql.legacy.timeParserPolicy": ["CORRECTED"],
    "spark.sql.legacy.json.enableDateTimeParsingFallback": ["<undefined>", "true"],
    "spark.sql.columnNameOfCorruptRecord": ["_corrupt_record"],
}


@function("JsonToStructs", [
    case(
        ["string"], result=["struct", "array", "map"], settings=_SETTINGS,
        field_matches={"schema": f"(?!.*(?:{_OTHER_TYPES})).*", "options": "(?:(?i:mode)=(?i:PERMISSIVE)\n)?"},
    ),
])  # fmt: skip
def _from_json(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the values of documents; NULL for an empty one, or fields that are NULL for one with an error."""
    schema = Schema(call.type, Leaves(settings, call.fields["timeZoneId"]))

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = java_text(to_array(values[0], rows))
        found, is_other = schema.read(texts)
        is_other &= flags(texts.is_valid())
        if not is_other.any():
            return found
        others = schema.read_others(texts.filter(pa.array(is_other)).to_pylist())
        place = np.arange(rows)
        place[is_other] = rows + np.arange(len(others))
        return pa.concat_arrays([found, pa.array(others, call.type.arrow)]).take(pa.array(place))

    return Kernel(run=run)
