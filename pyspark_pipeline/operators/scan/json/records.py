"""Lines of JSON as rows, by the rules of Spark's parser (JacksonParser)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.json_bytes import ByteReader, WideReader, open_bytes
from pyspark_pipeline.expressions.json_documents import Flags, ReadText, Records, array_of, read_text
from pyspark_pipeline.expressions.json_parse import JsonError, units
from pyspark_pipeline.expressions.json_read import Leaves, Schema
from pyspark_pipeline.expressions.json_reader import BUFFER, Reader
from pyspark_pipeline.expressions.values import flags
from pyspark_pipeline.kernels.element_places import element_rows
from pyspark_pipeline.operators.scan.json.filters import MemberFilters
from pyspark_pipeline.operators.scan.json.options import JsonOptions
from pyspark_pipeline.operators.scan.reader import ReadRequest

#: A character that Jackson accepts nowhere but in strings, which then do not end.
_WRONG = "\0"
#: The bounds of the bytes that Java decodes at once.
_LEAST_BYTES, _MOST_BYTES = 32, 8192


class LineParser:
    """Reads lines into the columns of a request."""

    def __init__(self, request: ReadRequest, options: JsonOptions) -> None:
        self._options = options
        self._corrupt = options.corrupt
        settings = request.expressions
        self._filters = MemberFilters(request, options.corrupt) if request.filters else None
        read = [column for place, column in enumerate(request.columns) if place != options.corrupt]
        names, types = (tuple(column.name for column in read), tuple(column.type for column in read))
        self._kind = DataType("struct", children=types, names=names)
        self._leaves = Leaves(settings, settings.time_zone, options.features, {}, is_raw=not options.decodes)
        self._schema = Schema(self._kind, self._leaves, has_rows=True)

    def rows(self, lines: pa.Array) -> tuple[list[pa.Array], Flags]:
        """Return the columns of the rows of lines, and which rows are malformed (shape (rows,))."""
        count = len(lines)
        texts, is_other = self._texts(lines)
        found, has_error, is_undecided = self._schema.read(texts)
        is_other |= is_undecided
        counts = np.where(is_other, 0, flags(found.is_valid()))
        children = [found.field(place) for place in range(len(self._kind.children))]
        if is_other.any():
            records = self._records(lines.filter(pa.array(is_other)).cast(pa.binary()).to_pylist())
            if self._filters is not None:
                for record in records:
                    self._filters.apply(record)
            counts[is_other] = [len(record.value) for record in records]
            has_error[is_other] = [record.error is not None for record in records]
            values = [row for record in records for row in record.value]
            children = [
                pa.concat_arrays([child, array_of([row[f"c{place}"] for row in values], kind.arrow)])
                for place, (child, kind) in enumerate(zip(children, self._kind.children, strict=True))
            ]
        if (counts == 1).all() and not is_other.any():
            chosen = None
        else:
            chosen = element_rows(counts)
            place, has_values = chosen.copy(), is_other[chosen]
            place[has_values] = count + np.arange(np.count_nonzero(has_values))
            children = [child.take(pa.array(place)) for child in children]
            has_error = has_error[chosen]
        if self._corrupt >= 0:
            given = lines if chosen is None else lines.take(pa.array(chosen))
            corrupt = pc.if_else(pa.array(has_error), given, pa.scalar(None, pa.string()))
            children.insert(self._corrupt, corrupt)
        return children, has_error

    def _texts(self, lines: pa.Array) -> tuple[pa.Array, Flags]:
        """Return the lines as valid UTF-8, and which ones have bytes that are not, and are empty here."""
        try:
            lines.validate(full=True)
        except pa.ArrowInvalid:
            is_wrong = pa.array([_valid_text(line)[1] >= 0 for line in lines.cast(pa.binary()).to_pylist()])
            return pc.if_else(is_wrong, "", lines), flags(is_wrong)
        return lines, np.zeros(len(lines), dtype=np.bool_)

    def _records(self, lines: Sequence[bytes]) -> list[Records]:
        """Return lines that are read one by one."""
        root = self._schema.root
        if self._options.decodes:
            read: ReadText = partial(read_text, print_double=self._leaves.print_double)
            return self._schema.read_singly(lambda s: [Records(root, s, self._decoded(line), read) for line in lines])
        return self._schema.read_singly(lambda s: [Records(root, s, self._open(line), _raw_text) for line in lines])

    def _decoded(self, line: bytes) -> Reader:
        text, wrong = _valid_text(line)
        if wrong >= 0:
            text = units(text)[: _delivered(line, text, wrong)] + _WRONG
        return Reader(text, self._options.features)

    def _open(self, line: bytes) -> ByteReader | WideReader | None:
        try:
            return open_bytes(line, self._options.features)
        except JsonError:
            return None


def _raw_text(reader: ByteReader | WideReader) -> str | bytes:
    return reader.raw_text()


def _delivered(line: bytes, text: str, wrong: int) -> int:
    """Return how many UTF-16 units of ``text`` Java decodes for the buffers of the parser before it fails.

    The text precedes bytes up to ``wrong`` that are no character. Java fails for all of a buffer with such bytes.
    """
    capacity = min(max(len(line), _LEAST_BYTES), _MOST_BYTES)
    delivered = decoded = at = end = 0
    for character in text:
        size, count = len(character.encode()), 1 + (character > "\uffff")
        is_read = at + size > end
        if is_read:
            end = min(len(line), at + capacity)
        if decoded and (is_read or decoded + count > BUFFER):
            delivered, decoded = delivered + decoded, 0
        decoded += count
        at += size
    return delivered + (decoded if at == end or wrong > end or wrong == len(line) else 0)


def _valid_text(line: bytes) -> tuple[str, int]:
    """Return the text before the first character that is not UTF-8, and the end of that one, -1 if there is none."""
    try:
        return line.decode(), -1
    except UnicodeDecodeError as error:
        return line[: error.start].decode(), error.end if error.reason == "unexpected end of data" else error.start
