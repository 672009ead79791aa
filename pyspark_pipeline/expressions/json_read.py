"""JSON documents as structs, arrays and maps (Spark: JsonToStructs, JacksonParser).

A compiled kernel reads documents of plain grammar into columns of tokens, which are converted as whole columns; the
others are read one by one (``json_documents.py``), as Jackson does (``json_reader.py``). A value of a wrong type is
NULL, and so is an array or map with an element of a wrong type. Fields of a struct count one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cast_numeric import BITS
from pyspark_pipeline.expressions.cast_text import java_double
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.expressions.json_documents import (
    INFINITIES,
    ArrayAsStructError,
    Cells,
    Convert,
    Document,
    Flags,
    Node,
    Scalars,
    WrongTextError,
    read_text,
)
from pyspark_pipeline.expressions.json_reader import FEATURES, Features, Reader
from pyspark_pipeline.expressions.json_text import double_printer, printed_numbers
from pyspark_pipeline.expressions.nested import list_array, map_pairs
from pyspark_pipeline.expressions.per_value import java_text
from pyspark_pipeline.expressions.registry import Case, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.source_options import UNIQUE_NAMES, options_of
from pyspark_pipeline.expressions.source_texts import FORMATS, SourceTexts, formats_of, java_decimal, retried
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.expressions.values import flags, from_numbers, to_array
from pyspark_pipeline.kernels import json_columns, json_scan
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.chosen_elements import has_chosen
from pyspark_pipeline.kernels.decimal_words import pack_flags
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.julian import rebase_differences
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call

_JAVA_INT = re.compile(r"[+-]?\d+")
_FIRST_SLOTS = 64
_NEEDS_ESCAPE = re.compile(r'["\\\x00-\x1f]')
D = TypeVar("D", bound=Document)


class Leaves:
    """The conversions of tokens to values that are not nested."""

    def __init__(
        self,
        settings: ExpressionSettings,
        zone: str,
        features: Features,
        formats: Mapping[str, str],
        is_raw: bool = False,
    ) -> None:
        self._settings = settings
        #: Whether documents are read as bytes, and strings are the bytes of values that are none.
        self.is_raw = is_raw
        self._texts = SourceTexts(settings, zone)
        self.features = features
        #: The patterns of dates and timestamps, by the kind of the type.
        self._formats = formats
        self._words = INFINITIES if features.non_numeric_numbers else {}
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
        if kind.kind == "timestamp_ntz":
            return self._local_timestamp(kind)
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
                word = self._words.get(strings[row].as_py()) if odd is None else odd
                plain[row] = word is not None
                values[row] = java_double(word, is_single) if word is not None else 0.0
            return from_numbers(values, kind.arrow, pack_flags(plain))

        return convert

    def _decimal(self, kind: DataType) -> Convert:
        cast = self._texts.cast(kind)

        def convert(cells: Cells) -> pa.Array:
            plain = cells.among(json_columns.INTEGER, json_columns.FLOAT)
            found = cast(cells.texts(plain))
            rest = cells.among(json_columns.ODD, json_columns.STRING, json_columns.ESCAPED)
            if not rest.any():
                return found
            odd, strings = cells.texts(cells.among(json_columns.ODD)), self._contents(cells)
            texts = pc.coalesce(odd, pc.replace_substring(strings, ",", "")).filter(pa.array(rest))
            values = pa.array([java_decimal(text, kind) for text in texts.to_pylist()], kind.arrow)
            return pc.replace_with_mask(found, pa.array(rest), values)

        return convert

    def _date(self, kind: DataType) -> Convert:
        if kind.kind in self._formats:
            parse = self._texts.date_by(kind, self._formats[kind.kind])
            return lambda cells: parse(self._contents(cells))
        cast = self._texts.cast(kind)

        def convert(cells: Cells) -> pa.Array:
            texts = self._contents(cells)
            return retried(texts, cast(texts), lambda rest: [_legacy_date(text, cast) for text in rest])

        return convert

    def _timestamp(self, kind: DataType) -> Convert:
        pattern = self._formats.get(kind.kind)
        parse = self._texts.timestamp(kind) if pattern is None else self._texts.parse(kind, pattern)

        def convert(cells: Cells) -> pa.Array:
            found = parse(self._contents(cells))
            if cells.among(json_columns.INTEGER).any():
                seconds, fits = _integers(cells, -(2**63), 2**63 - 1)
                found = pc.coalesce(found, from_numbers(seconds * 1_000_000, found.type, pack_flags(fits)))
            return found

        return convert

    def _local_timestamp(self, kind: DataType) -> Convert:
        parse = self._texts.local_timestamp(kind)
        return lambda cells: parse(self._contents(cells))

    def _contents(self, cells: Cells) -> pa.Array:
        """Return the contents of the tokens that are strings; others are NULL."""
        plain, escaped = cells.among(json_columns.STRING), cells.among(json_columns.ESCAPED)
        found = cells.texts(plain, 1)
        return self._written(cells, found, escaped) if escaped.any() else found

    def _string(self, cells: Cells) -> pa.Array:
        """Return strings, and other values as Jackson writes them, or their bytes."""
        plain = cells.among(json_columns.STRING)
        if self.is_raw:
            escaped = cells.among(json_columns.ESCAPED)
            found = cells.texts((cells.tokens > json_columns.NULL) & ~escaped, plain.astype(np.int32))
            return self._written(cells, found, escaped) if escaped.any() else found
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
        reader = Reader(text, self.features)
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


def _legacy_date(text: str, cast: Callable[[pa.Array], pa.Array]) -> int | None:
    """Return the days of a text without GMT, or of a number of days in the hybrid calendar."""
    days = cast(pa.array([text.replace("GMT", "")], pa.string())).view(pa.int32())[0].as_py()
    if days is not None:
        return int(days)
    if _JAVA_INT.fullmatch(text) is None or max(text) > "\uffff" or not -(2**31) <= int(text) < 2**31:
        return None
    number = np.array([int(text)], dtype=np.int64)
    return int((number + rebase_differences(number))[0])


class Schema:
    """A schema as nodes, numbered so that those of the children of one node are consecutive.

    If ``has_rows``, a document that is an array has several values, which :meth:`read` does not decide.
    """

    def __init__(self, kind: DataType, leaves: Leaves, has_rows: bool = False) -> None:
        self._leaves = leaves
        self._has_rows = has_rows
        self.root = Node(kind, 0, 0)
        self.levels = 1
        nodes, names = [self.root], [""]
        for node in nodes:
            child_level = node.level
            if node.kind.kind in ("array", "map"):
                node.inner = child_level = self.levels
                self.levels += 1
            for place, child in enumerate(node.kind.children):
                node.children.append(Node(child, len(nodes), child_level))
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
        self._has_plain_names = not any(_NEEDS_ESCAPE.search(name) for name in names)
        self._names = frozen(np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8))

    def read(self, texts: pa.Array) -> tuple[pa.Array, Flags, Flags]:
        """Return the values of documents, which documents have an error, and which ones are not decided."""
        rows, (offsets, data) = len(texts), text_of(pc.fill_null(texts, ""))
        capacities = np.full(self.levels, max(2 * rows, _FIRST_SLOTS), dtype=np.int64)
        capacities[0] = rows
        used = np.zeros(self.levels, dtype=np.int64)
        statuses = np.empty(rows, dtype=np.uint8)
        bases = self._bases(capacities)
        columns = self._columns(bases)
        row, features, is_raw = 0, self._leaves.features, self._leaves.is_raw
        while True:
            row = json_columns.read_documents(
                offsets, data, *self._tree, self._names, bases, capacities, used, *columns, statuses, row,
                features.unquoted_field_names, features.numeric_leading_zeros and not is_raw, not is_raw,
                self._has_plain_names,
            )  # fmt: skip
            if row == rows:
                break
            larger = np.where(np.arange(self.levels) > 0, 2 * capacities, capacities)
            capacities, old_bases, bases = larger, bases, self._bases(larger)
            columns = self._moved(columns, old_bases, bases, used)
        used[0] = rows
        found, _, has_error = self._values(self.root, data, bases, columns, used)
        is_other = statuses == json_columns.OTHER
        if self.root.kind.kind == "array" and self.root.children[0].kind.kind == "struct":
            is_other |= columns[0][:rows] == json_columns.OBJECT
        if self._has_rows:
            is_other |= columns[0][:rows] == json_columns.ARRAY
        return found, has_error, is_other

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

    def _values(self, node: Node, data: Any, bases: Any, columns: Any, used: Any) -> tuple[pa.Array, Flags, Flags]:
        """Return the values of a node, which of its tokens are wrong, and in which something is wrong."""
        first = int(bases[node.number])
        chosen = slice(first, first + int(used[node.level]))
        tokens, starts, ends = (frozen(column[chosen]) for column in columns)
        is_given = tokens > json_columns.NULL
        if node.convert is not None:
            found = node.convert(Cells(data=data, tokens=tokens, starts=starts, ends=ends))
            wrong = is_given & flags(found.is_null()) if found.null_count else np.zeros(len(tokens), dtype=np.bool_)
            return found, wrong, wrong
        parts = [self._values(child, data, bases, columns, used) for child in node.children]
        arrays = [part for part, _, _ in parts]
        if node.kind.kind == "struct":
            valid = tokens == json_columns.OBJECT
            wrong = has_error = is_given & ~valid
            for _, _, has_inner in parts:
                has_error = has_error | has_inner
            if node is self.root:
                valid |= tokens > json_columns.ABSENT
            return _struct_array(node.kind.arrow, arrays, valid), wrong, has_error
        valid = tokens == (json_columns.OBJECT if node.kind.kind == "map" else json_columns.ARRAY)
        counts = np.where(valid, ends - starts, 0).astype(np.int64)
        wrong = has_error = is_given & ~valid
        _, wrong_inner, has_inner = parts[-1]
        if has_inner.any():
            bounds = np.zeros(len(counts) + 1, dtype=np.int64)
            np.cumsum(counts, out=bounds[1:])
            has_error = has_error | has_chosen(bounds, has_inner)
            is_lost = has_chosen(bounds, wrong_inner)
            valid, wrong = valid & ~is_lost, wrong | is_lost
        elements = arrays[0] if node.kind.kind == "array" else map_pairs(node.kind.arrow, arrays)
        return list_array(node.kind.arrow, counts, elements, valid), wrong, has_error

    def read_others(self, texts: Sequence[str]) -> list[Document]:
        """Return documents that are read one by one."""
        read = partial(read_text, print_double=self._leaves.print_double)
        features = self._leaves.features
        return self.read_singly(lambda s: [Document(self.root, s, Reader(text, features), read) for text in texts])

    def read_singly(self, read: Callable[[Scalars], list[D]]) -> list[D]:
        """Return the documents of ``read``, which is called until the values of their tokens are known."""
        scalars = Scalars()
        while True:
            documents = read(scalars)
            if not scalars.convert():
                return documents


def _struct_array(type_: pa.DataType, children: list[pa.Array], valid: Flags) -> pa.Array:
    if not children:
        return pa.Array.from_buffers(type_, len(valid), [None if valid.all() else pack_flags(valid)])
    return pa.StructArray.from_arrays(children, fields=list(type_), mask=None if valid.all() else pa.array(~valid))


#: Types that Spark reads with other rules than those of its casts.
_OTHER_TYPES = r"(?:interval|time\(|timestamp_ltz|timestamp_ntz\(|binary|void|char\(|variant)(?!\w*:)"
_SETTINGS = {
    "spark.sql.json.enablePartialResults": ["true"],
    "spark.sql.legacy.json.allowEmptyString.enabled": ["false"],
    "spark.sql.legacy.timeParserPolicy": ["CORRECTED"],
    "spark.sql.legacy.json.enableDateTimeParsingFallback": ["<undefined>", "true"],
    "spark.sql.columnNameOfCorruptRecord": ["_corrupt_record"],
}
_CORRUPT_NAME = "columnnameofcorruptrecord"
#: Options that decide which types Spark infers, of no effect here.
_OF_INFERENCE = ("primitivesasstring", "prefersdecimal", "dropfieldifallnull", "infertimestamp")
_FLAGS = f"(?:{'|'.join((*FEATURES, *_OF_INFERENCE))})=(?:true|false)"
_OPTION = f"(?i:{_FLAGS}|{_CORRUPT_NAME}=(?!value\n)[^\n]*|mode=PERMISSIVE)"
#: Schemas of which an error would name a field by a name that Spark parses, or by none.
_UNNAMED = r"[`.]|array<(?:float|double)>"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options of a call: what readers accept, the field of documents with an error, and whether one raises."""

    features: Features
    corrupt_name: str
    fails: bool
    formats: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> _Options:
        """Read lines ``name=value``; Spark's names have no case."""
        values = options_of(text)
        return cls(
            features=Features.of(values),
            corrupt_name=values.get(_CORRUPT_NAME, "_corrupt_record"),
            fails=values.get("mode", "").upper() == "FAILFAST",
            formats=formats_of(values),
        )


class _Parser:
    """Reads documents by a schema, of which one field may be that of documents with an error."""

    def __init__(self, kind: DataType, options: _Options, leaves: Leaves, settings: ExpressionSettings) -> None:
        self._kind = kind
        self._options = options
        self._settings = settings
        is_struct = kind.kind == "struct"
        #: The position of each field in the schema that is read; None for one of documents with an error.
        self._places: list[int | None] = []
        names = [name for name in kind.names if name != options.corrupt_name] if is_struct else []
        for name in kind.names if is_struct else ():
            before = sum(place is not None for place in self._places)
            self._places.append(None if name == options.corrupt_name else before)
        self._has_corrupt = None in self._places
        #: The type of the field of documents with an error, if it is none that Spark allows.
        self._wrong_type: DataType | None = None
        read = kind
        if self._has_corrupt:
            corrupt = kind.children[self._last_corrupt()]
            self._wrong_type = None if corrupt.kind == "string" else corrupt
            given = zip(kind.children, self._places, strict=True)
            read = replace(kind, names=tuple(names), children=tuple(child for child, at in given if at is not None))
        self._read_kind = read
        self._schema = Schema(read, leaves)

    def run(self, values: Sequence[Value], rows: int) -> Value:
        """Return the values of documents; in the mode FAILFAST raise the error of the first one that has one."""
        given = to_array(values[0], rows)
        texts = java_text(given)
        if self._wrong_type is not None and texts.null_count < rows:
            raise conditions.corrupt_record_type(self._options.corrupt_name, self._wrong_type)
        found, has_error, is_other = self._schema.read(texts)
        is_other &= flags(texts.is_valid())
        if is_other.any():
            documents = self._schema.read_others(texts.filter(pa.array(is_other)).to_pylist())
            place = np.arange(rows)
            place[is_other] = rows + np.arange(len(documents))
            others = [document.value for document in documents]
            found = pa.concat_arrays([found, pa.array(others, self._read_kind.arrow)]).take(pa.array(place))
            has_error[is_other] = [document.error is not None for document in documents]
        if self._options.fails and has_error.any():
            raise self._failure(texts[int(np.flatnonzero(has_error)[0])].as_py())
        return self._with_corrupt(found, given, has_error) if self._has_corrupt else found

    @property
    def can_raise(self) -> bool:
        """Whether some documents raise an error."""
        return self._options.fails or self._wrong_type is not None

    def _last_corrupt(self) -> int:
        return len(self._places) - 1 - self._places[::-1].index(None)

    def _with_corrupt(self, found: pa.Array, given: pa.Array, has_error: Flags) -> pa.Array:
        corrupt = pc.if_else(pa.array(has_error), given, pa.scalar(None, pa.string()))
        nothing = pa.nulls(len(given), pa.string())
        last = self._last_corrupt()
        columns = [
            found.field(place) if place is not None else corrupt if at == last else nothing
            for at, place in enumerate(self._places)
        ]
        return _struct_array(self._kind.arrow, columns, flags(found.is_valid()))

    def _failure(self, text: str) -> SparkConditionError:
        (document,) = self._schema.read_others([text])
        error = document.error
        if isinstance(error, WrongTextError):
            return conditions.malformed_number(text, error.name, error.text, error.kind)
        if isinstance(error, ArrayAsStructError):
            return conditions.malformed_array(text)
        print_value = partial(row_text, settings=self._settings)
        if self._kind.kind != "struct":
            return conditions.malformed_record(f"[{print_value(document.value, self._kind)}]")
        values = list(document.value.values())
        parts = [
            print_value(values[place], child) if place is not None else text
            for child, place in zip(self._kind.children, self._places, strict=True)
        ]
        return conditions.malformed_record(f"[{','.join(parts)}]")


def row_text(value: Any, kind: DataType, settings: ExpressionSettings) -> str:
    """Return a value of a document as Java prints the object that Spark has for it."""
    if value is None:
        return "null"
    if kind.kind == "struct":
        pairs = zip(value.values(), kind.children, strict=True)
        parts = [row_text(item, child, settings) for item, child in pairs]
        return f"[{','.join(parts)}]" if parts else "[empty row]"
    if kind.kind == "array":
        return f"[{','.join(row_text(item, kind.children[0], settings) for item in value)}]"
    if kind.kind == "map":
        names, items = ([pair[place] for pair in value] for place in (0, 1))
        texts = [row_text(item, kind.children[1], settings) for item in items]
        return f"keys: [{','.join(names)}], values: [{','.join(texts)}]"
    if kind.kind == "boolean":
        return "true" if value else "false"
    if kind.is_floating:
        number = np.array([value], dtype=np.float32 if kind.kind == "float" else np.float64)
        return str(Digits.of(number, settings.prints_shortest_digits).texts(None)[0])
    return str(value)


def _case(fails: bool, has_formats: bool) -> Case:
    schema = f"(?!.*(?:{_OTHER_TYPES}|{_UNNAMED})).*" if fails else f"(?!.*(?:{_OTHER_TYPES})).*"
    options = "|".join([_OPTION, *(["(?i:mode=FAILFAST)"] if fails else []), *([FORMATS] if has_formats else [])])
    fallback = {"spark.sql.legacy.json.enableDateTimeParsingFallback": ["<undefined>"]}
    return case(
        ["string"], result=["struct", "array", "map"], settings=_SETTINGS | (fallback if has_formats else {}),
        field_matches={"schema": schema, "options": f"{UNIQUE_NAMES}(?:(?:{options})\n)*"},
    )  # fmt: skip


@function("JsonToStructs", [_case(fails, has_formats) for fails in (False, True) for has_formats in (False, True)])
def _from_json(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the values of documents; NULL for an empty one, or fields that are NULL for one with an error."""
    options = _Options.of(call.fields["options"])
    leaves = Leaves(settings, call.fields["timeZoneId"], options.features, options.formats)
    parser = _Parser(call.type, options, leaves, settings)
    return Kernel(run=parser.run, can_raise=parser.can_raise)
