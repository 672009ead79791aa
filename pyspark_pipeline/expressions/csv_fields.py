"""The fields of lines as columns of values, by the rules of Spark's parser (UnivocityParser)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.cast_numeric import BITS
from pyspark_pipeline.expressions.cast_text import decimal_parser, java_number, parsed_numbers
from pyspark_pipeline.expressions.csv_options import CsvOptions
from pyspark_pipeline.expressions.registry import ExpressionSettings
from pyspark_pipeline.expressions.source_texts import Convert, SourceTexts, java_decimal
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.expressions.values import from_numbers, to_array
from pyspark_pipeline.kernels import csv_scan, text_parse
from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.decimal_words import pack_flags, unscaled

_JAVA_INT = re.compile(r"[+-]?\d+")
_LONG_S = "\u017f"
_LINE_FEED = 10
#: No byte of UTF-8.
_RECORD_END = 0xFF
_MOST_BYTES = 2**31 - 1


class TooManyFieldsError(OSError):
    """A line, whose number is ``line``, has more fields than Spark parses."""

    def __init__(self, line: int) -> None:
        super().__init__("a line has too many fields")
        self.line = line


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The fields of lines: ``starts`` and ``lengths`` (shape (columns, lines)) of slices of ``data``.

    ``counts`` are the numbers of fields, ``bounds`` (shape (2, lines)) the starts and ends of lines.
    """

    data: UInt8Array
    starts: Int32Array
    lengths: Int32Array
    counts: Int32Array
    bounds: Int32Array

    def __len__(self) -> int:
        return len(self.counts)

    def texts(self, slot: int) -> pa.Array:
        """Return the fields of a column as strings."""
        return self._sliced(self.starts[slot], self.lengths[slot])

    def records(self) -> pa.Array:
        """Return the lines as strings."""
        starts, stops = self.bounds
        return self._sliced(starts, stops - starts)

    def _sliced(self, starts: Int32Array, lengths: Int32Array) -> pa.Array:
        valid = lengths >= 0
        sizes = int(lengths.sum(dtype=np.int64, where=valid))
        ends, out = np.empty(len(lengths) + 1, dtype=np.int32), allocate(sizes, np.uint8)
        csv_scan.gather(self.data, starts, lengths, ends, out)
        return string_array(ends, out, None if valid.all() else pack_flags(valid))


def read_lines(text: bytes, options: CsvOptions, is_mark: bool = False) -> Lines:
    """Return the fields of lines of UTF-8 that end with LF, but for blank lines and comments.

    Raise :class:`TooManyFieldsError`, and OSError for lines of 700 MiB and more.
    If ``is_mark``, the first line is a mark of the byte order, for which Spark's parser reads a zero.
    """
    if not text.endswith(b"\n"):
        text += b"\n"
    lines, zero = _scanned(text, options, _LINE_FEED, skips=True)
    if is_mark and 0 in options.places:
        slot = [place for place in options.places if place >= 0].index(0)
        field = (zero, csv_scan.NULL if options.leads else 1) if options.quote else _empty_field(zero, options)
        lines.starts[slot, 0], lines.lengths[slot, 0] = field
    return _with_null_value(lines, options)


def read_records(texts: pa.Array, options: CsvOptions) -> Lines:
    """Return the fields of strings of UTF-8, each of which is one record; NULL, empty texts and comments have none.

    Raise :class:`TooManyFieldsError`, and OSError for records of 700 MiB and more.
    """
    ended = pc.binary_join_element_wise(pc.fill_null(texts, "").cast(pa.binary()), bytes([_RECORD_END]), b"")
    offsets, data = text_parse.text_of(ended)
    text = data[offsets[0] : offsets[-1]].tobytes()
    lines, _ = _scanned(text, options, _RECORD_END, skips=False)
    return _with_null_value(lines, options)


def _empty_field(zero: int, options: CsvOptions) -> tuple[int, int]:
    size = len(options.empty.encode())
    return zero - size, csv_scan.NULL if options.empty == options.null else size


def _scanned(text: bytes, options: CsvOptions, end: int, skips: bool) -> tuple[Lines, int]:
    """Return the fields of lines, and the place of a zero among their bytes."""
    empty = options.empty.encode()
    size = len(text)
    extra = 2 * size + 16 if options.quote in text else 0
    zero = size + len(empty)
    if zero + 1 + extra > _MOST_BYTES:
        raise OSError("a line has 700 MiB or more")
    data = allocate(zero + 1 + extra, np.uint8)
    data[:size] = np.frombuffer(text, dtype=np.uint8)
    data[size : zero + 1] = np.frombuffer(empty + b"\0", dtype=np.uint8)
    rows = int(np.count_nonzero(data[:size] == end))
    slots = np.full(options.width, -1, dtype=np.int32)
    places = [place for place in options.places if place >= 0]
    slots[places] = np.arange(len(places), dtype=np.int32)
    starts = np.zeros((len(places), rows), dtype=np.int32)
    lengths = np.full((len(places), rows), csv_scan.NULL, dtype=np.int32)
    counts, bounds = np.empty(rows, dtype=np.int32), np.empty((2, rows), dtype=np.int32)
    found = csv_scan.scan_lines(
        data,
        size,
        zero + 1,
        _empty_field(zero, options),
        (*options.marks, end),
        (options.leads, options.trails),
        skips,
        slots,
        options.needed,
        options.most_fields,
        starts,
        lengths,
        counts,
        bounds,
    )
    if found < 0:
        raise TooManyFieldsError(-found - 1)
    lines = Lines(
        data,
        np.ascontiguousarray(starts[:, :found]),
        np.ascontiguousarray(lengths[:, :found]),
        counts[:found],
        np.ascontiguousarray(bounds[:, :found]),
    )
    return lines, zero


def _with_null_value(lines: Lines, options: CsvOptions) -> Lines:
    if options.null:
        null = np.frombuffer(options.null.encode(), dtype=np.uint8).copy()
        for slot in range(len(lines.starts)):
            csv_scan.null_equal(lines.data, lines.starts[slot], lines.lengths[slot], null)
    return lines


def warm_up() -> None:
    """Load the kernels of fields."""
    options = CsvOptions(
        places=(0,),
        width=1,
        counts=True,
        mode="PERMISSIVE",
        header=False,
        separator=ord(","),
        quote=ord('"'),
        escape=ord("\\"),
        comment=-1,
        leads=False,
        trails=False,
        null="a",
        empty="",
        words={},
        formats={},
    )
    read_lines(b'"a"b\n', options).texts(0)


class Fields:
    """Converts strings to the types of columns, with times in the time zone ``zone``; what is no value becomes NULL."""

    def __init__(self, options: CsvOptions, settings: ExpressionSettings, zone: str) -> None:
        self._words = options.words
        self._formats = options.formats
        self._texts = SourceTexts(settings, zone)

    def of(self, kind: DataType) -> Convert | None:
        """Return the conversion to a type; None for strings."""
        if kind.kind == "string":
            return None
        if kind.is_integral:
            return _integral(kind)
        if kind.is_floating:
            return self._floating(kind)
        if kind.is_decimal:
            return _decimal(kind)
        if kind.kind == "boolean":
            return _boolean
        if kind.kind == "timestamp_ntz":
            return self._texts.local_timestamp(kind)
        pattern = self._formats.get(kind.kind)
        if kind.kind == "date":
            return self._texts.date(kind) if pattern is None else self._texts.date_by(kind, pattern)
        return self._texts.timestamp(kind) if pattern is None else self._texts.parse(kind, pattern)

    def _floating(self, kind: DataType) -> Convert:
        is_single = kind.kind == "float"

        def parse(text: str) -> float | None:
            word = self._words.get(text)
            return java_number(text, is_single) if word is None else word

        # A word that is a number is left to ``parse``.
        numbers = [word for word in self._words if java_number(word, is_single) is not None]

        def convert(texts: pa.Array) -> pa.Array:
            values, fits = parsed_numbers(texts, kind.arrow, parse)
            found = values
            if fits is not None:
                valid = fits & texts.is_valid().to_numpy(zero_copy_only=False)
                found = from_numbers(values, kind.arrow, None if valid.all() else pack_flags(valid))
            for word in numbers:
                found = pc.if_else(pc.equal(texts, word), pa.scalar(self._words[word], kind.arrow), found)
            return found

        return convert


def _integral(kind: DataType) -> Convert:
    info = np.iinfo(np.dtype(f"int{BITS[kind.kind]}"))

    def convert(texts: pa.Array) -> pa.Array:
        out, status = np.empty(len(texts), dtype=info.dtype), np.empty(len(texts), dtype=np.uint8)
        bounds = int(info.min), int(info.max)
        text_parse.parse_integers(*text_parse.text_of(texts), False, False, *bounds, out, status)
        fits = status == text_parse.PARSED
        if fits.all():
            return from_numbers(out, kind.arrow, None)
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(valid & ~fits):
            number = _java_integer(texts[int(row)].as_py(), *bounds)
            if number is not None:
                out[row], fits[row] = number, True
        return from_numbers(out, kind.arrow, pack_flags(fits))

    return convert


def _java_integer(text: str, low: int, high: int) -> int | None:
    """Return an integer of digits of any script; None for another text."""
    if text.isascii() or _JAVA_INT.fullmatch(text) is None or max(text) > "\uffff":
        return None
    number = int(text)
    return number if low <= number <= high else None


def _decimal(kind: DataType) -> Convert:
    def parse_one(text: str) -> int | None:
        value = java_decimal(text.replace(",", ""), kind)
        return None if value is None else unscaled(value, kind.scale)

    parse = decimal_parser(kind, parse_one)
    return lambda texts: to_array(parse(texts), len(texts))


def _boolean(texts: pa.Array) -> pa.Array:
    is_true = pc.equal(texts, "true")
    if is_true.true_count + pc.equal(texts, "false").true_count + texts.null_count == len(texts):
        return is_true
    words = pc.ascii_lower(texts)
    is_true = pc.equal(words, "true")
    known = pc.or_(is_true, pc.equal(pc.replace_substring(words, _LONG_S, "s"), "false"))
    return pc.if_else(known, is_true, pa.scalar(None, pa.bool_()))


