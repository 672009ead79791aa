"""Records of CSV as structs (Spark: CsvToStructs, UnivocityParser), by the parser of CSV files.

The whole string is one record, in which line ends are characters like others. The field of records with an error has
the record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.csv_fields import Fields, Lines, TooManyFieldsError, read_records
from pyspark_pipeline.expressions.csv_options import CsvOptions
from pyspark_pipeline.expressions.json_read import row_text
from pyspark_pipeline.expressions.per_value import java_text
from pyspark_pipeline.expressions.registry import Case, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.source_options import UNIQUE_NAMES, options_of
from pyspark_pipeline.expressions.source_texts import FORMATS, formats_of
from pyspark_pipeline.expressions.values import flags, to_array
from pyspark_pipeline.kernels.arrays import BoolArray
from pyspark_pipeline.plan.expr import Call

_TYPES = (
    r"(?:tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\)|boolean|string|date|timestamp|timestamp_ntz)"
)
#: Names occur once. Names of other characters would not be found in the text of the schema.
_SCHEMA = rf"struct<(?!(?:.*,)?(\w+):(?:.*,)?\1:)\w+:{_TYPES}(?:,\w+:{_TYPES})*>"
_FIELD = re.compile(rf"(\w+):{_TYPES}[,>]")
_CORRUPT_NAME = "columnnameofcorruptrecord"
_DEFAULT_NAME = "_corrupt_record"
_MARK = r"[\x01-\x09\x0b\x0c\x0e-\x7f]"
_OPTION = (
    rf"(?i:sep|delimiter)=(?![\"\\]){_MARK}|(?i:quote|escape)=(?!,){_MARK}?|(?i:comment)={_MARK}?|"
    r"(?i:header|inferSchema|enforceSchema|quoteAll|escapeQuotes)=(?i:true|false)|(?i:mode)=(?i:PERMISSIVE|FAILFAST)|"
    rf"(?i:nullValue|nanValue|positiveInf|negativeInf)=[^\n]*|{FORMATS}"
)
_NO_TRIM = r"(?i:emptyValue)=[^\n]*|(?i:ignore(?:Leading|Trailing)WhiteSpace)=(?i:false)"
#: White space before fields is dropped, or on both sides; and what is empty is NULL.
_TRIM = r"(?i:ignore(?:Leading|Trailing)WhiteSpace)=(?i:true)|(?i:ignoreTrailingWhiteSpace)=(?i:false)"
_LEADS = r"(?=(?:[^\n]*\n)*(?i:ignoreLeadingWhiteSpace)=)"
_OTHER_NULL = r"(?!(?:[^\n]*\n)*(?i:nullValue)=[^\n])"
_SETTINGS = {
    "spark.sql.columnNameOfCorruptRecord": [_DEFAULT_NAME],
    "spark.sql.csv.parser.inputBufferSize": ["<undefined>"],
    "spark.sql.legacy.timeParserPolicy": ["CORRECTED"],
    "spark.sql.legacy.csv.enableDateTimeParsingFallback": ["<undefined>"],
}
#: The separator is neither the quote nor the escape, in any order of the options.
_MARKS = (
    r"(?!(?:[^\n]*\n)*(?i:sep|delimiter)=([^\n])\n(?:[^\n]*\n)*(?i:quote|escape)=\2\n)"
    r"(?!(?:[^\n]*\n)*(?i:quote|escape)=([^\n])\n(?:[^\n]*\n)*(?i:sep|delimiter)=\3\n)"
)
_LINE_END = "\uffff"


def _cases() -> list[Case]:
    found = []
    for trims, options in (("", _NO_TRIM), (_LEADS + _OTHER_NULL, _TRIM)):
        for is_pruned in (False, True):
            name = "" if is_pruned else rf"|(?i:{_CORRUPT_NAME})=[^\n]*"
            lines = f"{UNIQUE_NAMES}{trims}{_MARKS}(?:(?:{_OPTION}|{options}{name})\n)*"
            schema = rf"(?!.*\b{_DEFAULT_NAME}:){_SCHEMA}" if is_pruned else _SCHEMA
            required = _SCHEMA if is_pruned else "null"
            found.append(case(
                ["string"], result=["struct"], settings=_SETTINGS,
                field_matches={"schema": schema, "options": lines, "requiredSchema": required},
            ))  # fmt: skip
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """The fields of the result: ``reads`` are those of records, ``corrupt`` is the place of that of their texts."""

    reads: Sequence[int]
    corrupt: int | None
    corrupt_name: str
    options: CsvOptions

    @classmethod
    def of(cls, call: Call) -> _Columns:
        given = options_of(call.fields["options"])
        corrupt = given.get(_CORRUPT_NAME, _DEFAULT_NAME)
        names = [name for name in _FIELD.findall(call.fields["schema"]) if name != corrupt]
        reads = [place for place, name in enumerate(call.type.names) if name != corrupt]
        return cls(
            reads=reads,
            corrupt=call.type.names.index(corrupt) if corrupt in call.type.names else None,
            corrupt_name=corrupt,
            options=_options(given, tuple(names.index(call.type.names[place]) for place in reads), len(names)),
        )


def _options(given: Mapping[str, str], places: tuple[int, ...], width: int) -> CsvOptions:
    def mark(name: str, default: str) -> int:
        return ord(given.get(name, default) or "\0")

    infinity = given.get("positiveinf", "Inf"), given.get("negativeinf", "-Inf")
    return CsvOptions(
        places=places,
        width=width,
        counts=len(places) == width,
        mode=given.get("mode", "PERMISSIVE").upper(),
        header=False,
        separator=ord(given.get("sep", given.get("delimiter", ","))),
        quote=mark("quote", '"'),
        escape=mark("escape", "\\"),
        comment=ord(given["comment"]) if given.get("comment") else -1,
        leads=given.get("ignoreleadingwhitespace", "").lower() == "true",
        trails=given.get("ignoretrailingwhitespace", "").lower() == "true",
        null=given.get("nullvalue", ""),
        empty=given.get("emptyvalue", ""),
        # The first of equal texts decides.
        words={infinity[0]: float("inf"), infinity[1]: float("-inf"), given.get("nanvalue", "NaN"): float("nan")},
        formats=formats_of(given),
    )


class _Parser:
    def __init__(self, call: Call, settings: ExpressionSettings) -> None:
        self._kind = call.type
        self._columns = _Columns.of(call)
        self._settings = settings
        fields = Fields(self._columns.options, settings, call.fields["timeZoneId"])
        corrupt = self._columns.corrupt
        corrupt_type = self._kind.children[corrupt] if corrupt is not None else None
        #: The type of the field of records with an error, if it is none that Spark allows.
        self._wrong_type = corrupt_type if corrupt_type is not None and corrupt_type.kind != "string" else None
        self._converts = [fields.of(call.type.children[place]) for place in self._columns.reads]

    def run(self, values: Sequence[Value], rows: int) -> Value:
        """Return structs; raise the error of the first record that has one in the mode FAILFAST."""
        given = to_array(values[0], rows)
        texts = java_text(given)
        valid = flags(texts.is_valid())
        if self._wrong_type is not None and valid.any():
            raise conditions.corrupt_record_type(self._columns.corrupt_name, self._wrong_type)
        columns = [pa.nulls(rows, child.arrow) for child in self._kind.children]
        if self._columns.reads:
            is_bad = self._read(texts, columns) & valid
            if self._columns.options.mode == "FAILFAST" and is_bad.any():
                raise self._failure(columns, int(np.flatnonzero(is_bad)[0]))
        mask = None if valid.all() else pa.array(~valid)
        return pa.StructArray.from_arrays(columns, fields=list(self._kind.arrow), mask=mask)

    def _read(self, texts: pa.Array, columns: list[pa.Array]) -> BoolArray:
        """Write the columns; return which records have an error."""
        options = self._columns.options
        records = self._records(texts)
        is_bad: BoolArray = records.counts == 0
        if options.counts:
            is_bad |= records.counts != options.width
        for slot, (place, convert) in enumerate(zip(self._columns.reads, self._converts, strict=True)):
            fields = records.texts(slot)
            column = fields if convert is None else convert(fields)
            columns[place] = column
            if column.null_count > fields.null_count:
                is_bad |= flags(pc.and_(column.is_null(), fields.is_valid()))
        if self._columns.corrupt is not None:
            columns[self._columns.corrupt] = _corrupt(texts, is_bad & self._is_parsed(texts, records))
        return is_bad

    def _records(self, texts: pa.Array) -> Lines:
        # A record ends at the character that Spark makes the end of its parser's lines.
        with_end = pc.match_substring(texts, _LINE_END)
        if pc.any(with_end).as_py():
            texts = pc.replace_substring_regex(texts, f"(?s){_LINE_END}.*", "")
        try:
            return read_records(texts, self._columns.options)
        except TooManyFieldsError as error:
            raise conditions.malformed_csv_record(texts[error.line].as_py()) from None

    def _is_parsed(self, texts: pa.Array, records: Lines) -> BoolArray:
        """Return which texts Spark's parser has read when it finds no field: not those that are empty, or comments."""
        is_parsed: BoolArray = records.counts > 0
        comment = self._columns.options.comment
        if comment >= 0:
            is_parsed |= flags(pc.fill_null(pc.equal(texts, chr(comment)), False))
        return is_parsed

    def _failure(self, columns: Sequence[pa.Array], row: int) -> SparkConditionError:
        pairs = zip(columns, self._kind.children, strict=True)
        parts = [row_text(_physical(column, row), kind, self._settings) for column, kind in pairs]
        return conditions.malformed_record(f"[{','.join(parts)}]")


def _physical(column: pa.Array, row: int) -> object:
    """Return a value as Spark holds it: dates and timestamps as numbers."""
    cell = column.slice(row, 1)
    if pa.types.is_date(cell.type) or pa.types.is_timestamp(cell.type):
        cell = cell.view(pa.int32() if pa.types.is_date(cell.type) else pa.int64())
    return cell[0].as_py()


def _corrupt(texts: pa.Array, is_bad: BoolArray) -> pa.Array:
    """Return the records with an error, without the end of a line at their end and what follows U+FFFF."""
    shown = pc.if_else(pa.array(is_bad), texts, pa.scalar(None, pa.string()))
    shown = pc.replace_substring_regex(shown, rf"(?s)({_LINE_END}).*", r"\1")
    return pc.replace_substring_regex(shown, r"(?:\r\n|[\r\n])\z", "")


@function("CsvToStructs", _cases())
def _from_csv(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return structs; fields that are no values of their types are NULL."""
    # A record of too many fields raises an error in every mode.
    return Kernel(run=_Parser(call, settings).run, can_raise=True)
