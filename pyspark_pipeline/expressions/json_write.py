"""Structs, arrays and maps as JSON documents (Spark: StructsToJsonEvaluator, JacksonGenerator)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.cast_string import PROLEPTIC_TEXT
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.expressions.nested import Elements
from pyspark_pipeline.expressions.per_value import java_text, map_distinct
from pyspark_pipeline.expressions.registry import FLOATING, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.source_options import options_of
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.values import flags, numbers, numbers_or_zero, to_array
from pyspark_pipeline.expressions.written_texts import FORMATS, MOMENTS, WrittenTexts
from pyspark_pipeline.kernels import json_write
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call

#: Spark fails for a time of day before 4.3, writes an interval by its fields, and a key as its Java object.
_OTHER_TYPES = r"(?:interval|time\()(?!\w*:)|map<(?:binary|array|struct|map)(?!\w*:)"
_SCHEMA = f"(?!.*(?:{_OTHER_TYPES})).*"
_NULL_FIELDS = "(?i:ignoreNullFields)=(?i:true|false)\n"
_NULLS_SETTING = "spark.sql.jsonGenerator.ignoreNullFields"
_DEFAULTS = {
    "timestampformat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXXXX",
    "timestampntzformat": "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "dateformat": "yyyy-MM-dd",
}
_MOST_BYTES = 2**31 - 1
_NO_KEYS = (frozen(np.zeros(1, dtype=np.int32)), frozen(np.zeros(1, dtype=np.uint8)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """Texts of JSON, or of the contents of strings; those of NULL rows are not read."""

    texts: pa.Array
    is_string: bool

    def sizes(self) -> Any:
        """Return the number of bytes that each text has in a document: int64, shape (rows,)."""
        offsets, data = text_of(self.texts)
        if not self.is_string:
            return np.diff(offsets).astype(np.int64)
        sizes = np.empty(len(self.texts), dtype=np.int64)
        json_write.string_sizes(offsets, data, sizes)
        return sizes


_Write = Callable[[pa.Array], _Texts]


class _Writer:
    """Makes functions that write the values of a type."""

    def __init__(self, options: Mapping[str, str], zone: TimeZone, ignores_nulls: bool, is_shortest: bool) -> None:
        self._texts = WrittenTexts({**_DEFAULTS, **options}, zone, is_shortest)
        self._ignores_nulls = ignores_nulls
        self._is_shortest = is_shortest

    def of(self, kind: DataType) -> _Write:
        """Return the function that writes values of a type, NULL as anything."""
        if kind.kind == "struct":
            return self._struct(kind)
        if kind.kind in ("array", "map"):
            return self._elements(kind)
        if kind.kind in ("string", "binary"):
            return lambda values: _Texts(texts=_text(values), is_string=True)
        print_values = self._texts.of(kind.kind)
        if kind.kind in FLOATING:
            return lambda values: _Texts(texts=_numbers(values, print_values(values)), is_string=False)
        return lambda values: _Texts(texts=print_values(values), is_string=kind.kind in MOMENTS)

    def _struct(self, kind: DataType) -> _Write:
        prefixes = [frozen(np.frombuffer(f",{_name(name)}:".encode(), dtype=np.uint8)) for name in kind.names]
        writes = [self.of(child) for child in kind.children]

        def write(values: pa.Array) -> _Texts:
            rows = len(values)
            fields = [(values.field(place), write) for place, write in enumerate(writes)]
            columns = [(field.null_count, flags(field.is_valid()), write(field)) for field, write in fields]
            sizes, counts = np.full(rows, 2, dtype=np.int64), np.zeros(rows, dtype=np.int64)
            written = []
            for prefix, (nulls, valid, texts) in zip(prefixes, columns, strict=True):
                own = texts.sizes() + len(prefix)
                if nulls and not self._ignores_nulls:
                    texts = _Texts(texts=_with_null(quoted(texts), valid), is_string=False)
                    own = texts.sizes() + len(prefix)
                    valid = np.ones(rows, dtype=np.bool_)
                sizes += own * valid if nulls else own
                counts += valid
                written.append((prefix, valid, texts))
            sizes -= counts > 0
            ends, out = _room(sizes)
            cursors = ends[:-1].astype(np.int64)
            has_fields = np.zeros(rows, dtype=np.uint8)
            out[cursors] = ord("{")
            cursors += 1
            for prefix, valid, texts in written:
                chosen = frozen(valid.view(np.uint8))
                offsets, data = text_of(texts.texts)
                json_write.put_field(offsets, data, chosen, texts.is_string, prefix, has_fields, cursors, out)
            out[cursors] = ord("}")
            return _Texts(texts=string_array(ends, out, None), is_string=False)

        return write

    def _elements(self, kind: DataType) -> _Write:
        is_map = kind.kind == "map"
        write_items = self.of(kind.children[-1])
        write_keys = self._keys(kind.children[0]) if is_map else None

        def write(values: pa.Array) -> _Texts:
            elements = Elements(values)
            keys, items = elements.keys_and_items() if is_map else (None, elements.values())
            texts = write_items(items)
            sizes = texts.sizes()
            is_null = np.zeros(0, dtype=np.uint8)
            if items.null_count:
                is_null = flags(items.is_null()).view(np.uint8)
                sizes[is_null.view(np.bool_)] = len("null")
            key_offsets, key_data = _NO_KEYS
            if write_keys is not None:
                key_texts = _Texts(texts=write_keys(keys), is_string=True)
                key_offsets, key_data = text_of(key_texts.texts)
                sizes += key_texts.sizes() + 1
            before = np.zeros(len(sizes) + 1, dtype=np.int64)
            np.cumsum(sizes, out=before[1:])
            total = int(before[-1]) + int(elements.counts.sum()) + 2 * len(values)
            if total > _MOST_BYTES:
                raise pa.ArrowCapacityError(f"{len(values)} documents have {total} bytes")
            ends, out = np.empty(len(values) + 1, dtype=np.int32), allocate(total, np.uint8)
            offsets, data = text_of(texts.texts)
            json_write.put_elements(
                frozen(elements.ends), key_offsets, key_data, is_map, offsets, data, texts.is_string, frozen(is_null),
                ends, out,
            )  # fmt: skip
            return _Texts(texts=string_array(ends, out[: ends[-1]], None), is_string=False)

        return write

    def _keys(self, kind: DataType) -> Callable[[pa.Array], pa.Array]:
        """Return the function that writes keys as the Java objects print themselves: moments as numbers."""
        if kind.kind == "string":
            return java_text
        if kind.kind in FLOATING:
            return lambda keys: Digits.of(numbers(keys), self._is_shortest).texts(None)
        number = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}.get(kind.kind)
        return lambda keys: (keys if number is None else keys.view(number)).cast(pa.string())


def _numbers(values: pa.Array, printed: pa.Array) -> pa.Array:
    """Return the texts of floating-point numbers, those of what is not finite in quotes."""
    is_finite = np.isfinite(numbers_or_zero(values))
    if is_finite.all():
        return printed
    return pc.if_else(pa.array(is_finite), printed, pc.binary_join_element_wise('"', printed, '"', ""))


def quoted(texts: _Texts) -> pa.Array:
    """Return the texts as JSON."""
    if not texts.is_string:
        return texts.texts
    ends, out = _room(texts.sizes())
    cursors, rows = ends[:-1].astype(np.int64), len(texts.texts)
    offsets, data = text_of(texts.texts)
    nothing, every = frozen(np.zeros(1, dtype=np.uint8)), frozen(np.ones(rows, dtype=np.uint8))
    json_write.put_field(offsets, data, every, True, nothing, np.zeros(rows, dtype=np.uint8), cursors, out)
    return string_array(ends, out, None)


def _room(sizes: Any) -> tuple[Any, Any]:
    """Return the ends of texts of so many bytes (int32, shape (rows + 1,)) and room for them."""
    total = int(sizes.sum())
    if total > _MOST_BYTES:
        raise pa.ArrowCapacityError(f"{len(sizes)} documents have {total} bytes")
    ends = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=ends[1:])
    return ends, allocate(total, np.uint8)


def _with_null(texts: pa.Array, valid: Any) -> pa.Array:
    return pc.if_else(pa.array(valid), texts, pa.scalar("null"))


def _text(values: pa.Array) -> pa.Array:
    """Return strings as Java decodes them, and the Base64 text of bytes."""
    if pa.types.is_string(values.type):
        return java_text(values)
    return map_distinct(values, lambda data: base64.b64encode(data).decode(), pa.string())


def _name(name: str) -> str:
    return str(quoted(_Texts(texts=pa.array([name]), is_string=True))[0])


for _ignores in ("true", "false"):
    _SETTINGS = {**PROLEPTIC_TEXT, _NULLS_SETTING: [_ignores]}

    @function("StructsToJsonEvaluator.evaluate", [
        case(
            ["struct", "array", "map"], settings=_SETTINGS,
            field_matches={"options": f"(?:{FORMATS})*", "inputSchema": _SCHEMA},
        ),
    ])  # fmt: skip
    def _to_json(call: Call, settings: ExpressionSettings, ignores: bool = _ignores == "true") -> Kernel:
        return _kernel(call, settings, ignores)


@function("StructsToJsonEvaluator.evaluate", [
    case(
        ["struct", "array", "map"], settings=PROLEPTIC_TEXT,
        field_matches={"options": f"(?:{FORMATS}|{_NULL_FIELDS})*", "inputSchema": _SCHEMA},
    ),
])  # fmt: skip
def _to_json_as_asked(call: Call, settings: ExpressionSettings) -> Kernel:
    return _kernel(call, settings, options_of(call.fields["options"])["ignorenullfields"].lower() == "true")


def _kernel(call: Call, settings: ExpressionSettings, ignores_nulls: bool) -> Kernel:
    options = options_of(call.fields["options"])
    zone = TimeZone(call.fields["timeZoneId"])
    write = _Writer(options, zone, ignores_nulls, settings.prints_shortest_digits).of(call.args[0].type)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        texts = write(array).texts
        if not array.null_count:
            return texts
        return pa.Array.from_buffers(pa.string(), rows, [validity_of([array]), *texts.buffers()[1:]])

    return Kernel(run=run)
