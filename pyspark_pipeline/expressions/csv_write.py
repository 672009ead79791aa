"""Structs as records of CSV (Spark: StructsToCsv, UnivocityGenerator)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.cases import FLOATING, INTEGRAL
from pyspark_pipeline.expressions.cast_string import PROLEPTIC_TEXT
from pyspark_pipeline.expressions.per_value import java_text, map_distinct
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.source_options import UNIQUE_NAMES, options_of
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.values import flags, to_array
from pyspark_pipeline.expressions.written_texts import FORMATS, MOMENTS, Write, WrittenTexts
from pyspark_pipeline.kernels import csv_write
from pyspark_pipeline.kernels.arrays import UInt8Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call

_FLAT = (*INTEGRAL, *FLOATING, "boolean", "decimal", "string", "binary", *MOMENTS, "time", "void")
_DEFAULTS = {
    "timestampformat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXXXX",
    "timestampntzformat": "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "dateformat": "yyyy-MM-dd",
}
_MARK = r"[\x00-\x09\x0b-\x7f]"
_TRIMS = r"ignore(?:Leading|Trailing)WhiteSpace"
_OPTION = (
    rf"(?i:sep|delimiter)=(?!\\){_MARK}\n|(?i:quote|escape|charToEscapeQuoteEscaping|comment)={_MARK}?\n|"
    rf"(?i:quoteAll|escapeQuotes|header|{_TRIMS})=(?i:true|false)\n"
)
_TEXT = r"(?i:nullValue|emptyValue)=[^\n]*\n"
#: A text that is written although it is the only one of a record.
_SOME_TEXT = r"(?i:nullValue|emptyValue)=[^\n]*[!-~][^\n]*\n"
#: Spark's writer takes other paths if it drops white space on one side only.
_SAME_TRIMS = (
    rf"(?:(?!(?:[^\n]*\n)*(?i:{_TRIMS})=(?i:false)\n)|(?=(?:[^\n]*\n)*(?i:{_TRIMS})=(?i:false)\n"
    rf"(?:[^\n]*\n)*(?i:{_TRIMS})=(?i:false)\n))"
)
_HAS_NULL_TEXT = r"(?=(?:[^\n]*\n)*(?i:nullValue)=)"
_LEGACY = {"spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv": ["false"]}
_QUOTED = '""'
_MOST_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """How fields are written, with characters as their bytes; 0 is no character."""

    separator: str
    quote: int
    escape: int
    second: int
    comment: int
    quotes_all: bool
    quotes_quote: bool
    trims: bool
    null: str
    empty: str

    @classmethod
    def of(cls, given: Mapping[str, str]) -> _Options:
        def mark(name: str, default: str) -> int:
            return ord(given.get(name, default) or "\0")

        def flag(name: str, default: bool) -> bool:
            return given[name].lower() == "true" if name in given else default

        quote, escape = mark("quote", '"'), mark("escape", "\\")
        second = given.get("chartoescapequoteescaping")
        return cls(
            separator=given.get("sep", given.get("delimiter", ",")),
            quote=quote,
            escape=escape,
            second=ord(second) if second else escape * (escape != quote),
            comment=ord(given.get("comment") or "#"),
            quotes_all=flag("quoteall", False),
            quotes_quote=flag("escapequotes", True),
            trims=flag("ignoreleadingwhitespace", True),
            null=given.get("nullvalue", ""),
            empty=given.get("emptyvalue", _QUOTED),
        )


def _case(option: str, least: int, lookahead: str = "") -> Mapping[str, object]:
    return case(
        ["struct"], children={"0": _FLAT}, least_children={"0": least}, settings={**PROLEPTIC_TEXT, **_LEGACY},
        field_matches={"options": f"{UNIQUE_NAMES}{_SAME_TRIMS}{lookahead}(?:{FORMATS}|{_OPTION}|{option})*"},
    )  # fmt: skip


# Spark's generated code fails, or not, by what reads the NULL that its writer returns for a record without a character.
@function("StructsToCsv", [_case(_TEXT, 2), _case(_SOME_TEXT, 1, _HAS_NULL_TEXT)])
def _to_csv(call: Call, settings: ExpressionSettings) -> Kernel:
    given = options_of(call.fields["options"])
    options = _Options.of(given)
    zone = TimeZone(call.fields["timeZoneId"])
    texts = WrittenTexts({**_DEFAULTS, **given}, zone, settings.prints_shortest_digits)
    writes = [_writer(child, texts) for child in call.args[0].type.children]

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        columns = [
            _fields(array.field(place), write, options, is_first=place == 0) for place, write in enumerate(writes)
        ]
        records = columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, options.separator)
        if not array.null_count:
            return records
        return pa.Array.from_buffers(pa.string(), rows, [validity_of([array]), *records.buffers()[1:]])

    return Kernel(run=run)


def _writer(kind: DataType, texts: WrittenTexts) -> Write:
    if kind.kind == "string":
        return java_text
    if kind.kind == "binary":
        return lambda values: map_distinct(values, lambda data: f"[{data.hex(' ').upper()}]", pa.string())
    if kind.kind == "time":
        return lambda values: values.view(pa.int64()).cast(pa.string())
    return texts.of(kind.kind)


def _fields(values: pa.Array, write: Callable[[pa.Array], pa.Array], options: _Options, is_first: bool) -> pa.Array:
    rows = len(values)
    offsets, data = text_of(write(values))
    null, empty = _bytes(options.null), _bytes(options.empty)
    room = 2 * (int(offsets[-1]) - int(offsets[0])) + rows * (2 + 2 * max(len(null), len(empty)))
    if room > _MOST_BYTES:
        raise pa.ArrowCapacityError(f"the fields of {rows} records may have {room} bytes")
    ends, out = np.empty(rows + 1, dtype=np.int32), allocate(room, np.uint8)
    valid = flags(values.is_valid()).view(np.uint8) if values.null_count else np.zeros(0, dtype=np.uint8)
    csv_write.write_fields(
        offsets, data, frozen(valid), null, empty,
        (ord(options.separator), options.quote, options.escape, options.second, options.comment if is_first else -1),
        (options.quotes_all, options.quotes_quote), options.trims, ends, out,
    )  # fmt: skip
    return string_array(ends, out[: ends[-1]].copy(), None)


def _bytes(text: str) -> UInt8Array:
    return frozen(np.frombuffer(text.encode(), dtype=np.uint8))
