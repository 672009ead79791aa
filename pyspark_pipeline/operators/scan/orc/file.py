"""One ORC file opened for a scan: the stripes of a split, read as chunks.

pyarrow decodes a stripe, all but its timestamps and texts with a dictionary (:mod:`~.streams`). Planning has checked
that the types of the file are those of the columns, or such as convert without loss.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.scan.hybrid_calendar import rebased_dates, rebased_timestamps
from pyspark_pipeline.operators.scan.nested import Convert, NestedColumn, match_nested, nested_converter
from pyspark_pipeline.operators.scan.orc.blocks import decompressed
from pyspark_pipeline.operators.scan.orc.statistics import bounds_of
from pyspark_pipeline.operators.scan.orc.streams import (
    DICTIONARIES,
    DICTIONARY,
    INDEXES,
    Streams,
    read_texts,
    read_timestamps,
)
from pyspark_pipeline.operators.scan.orc.tail import DAMAGED, StripeFooter, read_tail, stripe_footer
from pyspark_pipeline.operators.scan.reader import ReadRequest, null_chunks
from pyspark_pipeline.operators.scan.row_group_pruning import ColumnBounds, may_match
from pyspark_pipeline.plan.expr import Expr, columns_read
from pyspark_pipeline.plan.nodes import Field, ScanSplit

_NO_NAMES = "_col"
_JAVA = 0
#: The first version of the Java writer with right bounds of texts (HIVE-8732).
_TEXT_BOUNDS = 2
_SMALL_DICTIONARY_BYTES = 65536
_NUMBERS = ("timestamp_ntz", "interval day to second", "interval year to month")


class OrcFileReader:
    """Reads the columns of a request from the file at a local path."""

    def __init__(self, path: str, request: ReadRequest) -> None:
        self._path = path
        self._request = request
        self._fields = request.columns
        known = os.stat(path)
        self._tail = read_tail(path, known.st_size, known.st_mtime_ns)
        self._idle: deque[orc.ORCFile] = deque()
        self._places = [self._find(number, field) for number, field in enumerate(self._fields)]
        self._footers: dict[int, StripeFooter] = {}
        self._file = open(path, "rb", buffering=0)

    def _find(self, number: int, field: Field) -> int | None:
        """Return the place of a column among those of the file; None if the file lacks it."""
        names, options = self._tail.names, self._request.options
        if options.get("byPlace") == "true" or (names and all(name.startswith(_NO_NAMES) for name in names)):
            place = int(options["places"].split()[number])
            return place if place < len(names) else None
        if self._request.case_sensitive:
            places = [place for place, name in enumerate(names) if name == field.name]
        else:
            places = [place for place, name in enumerate(names) if name.lower() == field.name.lower()]
        if len(places) > 1:
            raise CorruptFileError(f"{self._path}: more than one column is named {field.name}", self._path)
        return places[0] if places else None

    def row_groups(self, split: ScanSplit) -> list[int]:
        """Return the stripes that start in the split; none if the file has no columns, as in Spark."""
        if not self._tail.names:
            return []
        end = split.start + split.length
        return [i for i, stripe in enumerate(self._tail.stripes) if split.start <= stripe.offset < end]

    def num_rows(self, group: int) -> int:
        """Return the number of rows of a stripe."""
        return self._tail.stripes[group].rows

    def num_bytes(self, group: int) -> int:
        """Return the stored bytes of the columns in a stripe."""
        tail = self._tail
        ranges = [(tail.columns[place], tail.last_columns[place]) for place in self._places if place is not None]
        return sum(
            stream.length
            for stream in self._footer(group).streams
            if stream.kind not in INDEXES and any(first <= stream.column <= last for first, last in ranges)
        )

    def may_match(self, groups: Sequence[int], conjuncts: Sequence[Expr]) -> list[int]:
        """Return the stripes that may hold a row for which all conjuncts, bound to the fields, are true."""
        if not conjuncts or len(self._tail.statistics) != len(self._tail.stripes):
            return list(groups)
        read = sorted(columns_read(conjuncts) & set(range(len(self._fields))))
        return [group for group in groups if may_match(conjuncts, {i: self._bounds(group, i) for i in read})]

    def _bounds(self, group: int, ordinal: int) -> ColumnBounds:
        tail, rows, place, kind = self._tail, self.num_rows(group), self._places[ordinal], self._fields[ordinal].type
        if place is None:
            return ColumnBounds(nulls=rows, rows=rows)
        column = tail.columns[place]
        try:
            message = tail.statistics[group][column]
            return bounds_of(message, rows, kind, tail.writer != _JAVA or tail.writer_version >= _TEXT_BOUNDS)
        except DAMAGED:  # the file may be readable without its statistics
            return ColumnBounds(rows=rows)

    def chunks(self, group: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield a stripe as chunks of the columns, of at most ``batch_rows`` rows each."""
        rows = self.num_rows(group)
        if not any(place is not None for place in self._places):
            yield from null_chunks(self._fields, rows, batch_rows)
            return
        columns = self._columns(group)
        if any(len(column) != rows for column in columns):
            raise pa.ArrowInvalid(f"stripe {group} has not {rows} rows, as the footer says")
        stripe = make_chunk(columns, rows)
        del columns
        for start in range(0, rows, batch_rows):
            yield stripe.slice(start, batch_rows)

    def close(self) -> None:
        """Close the open files."""
        self._idle.clear()
        self._file.close()

    def _columns(self, group: int) -> list[pa.Array]:
        own = frozenset(number for number in range(len(self._fields)) if self._is_own(group, number))
        read = self._read_stripe(group, own)
        return [
            self._own_column(group, number) if number in own else self._column(group, number, read)
            for number in range(len(self._fields))
        ]

    def _is_own(self, group: int, number: int) -> bool:
        """Return whether a column of a stripe is read here: a timestamp, or texts with a small dictionary."""
        place, kind = self._places[number], self._fields[number].type.kind
        if place is None or kind not in ("timestamp", "string"):
            return False
        column, footer = self._tail.columns[place], self._footer(group)
        if kind == "timestamp":
            return True
        return footer.encodings[column][0] in DICTIONARIES and all(
            stream.length <= _SMALL_DICTIONARY_BYTES
            for stream in footer.streams
            if stream.column == column and stream.kind == DICTIONARY
        )

    def _column(self, group: int, number: int, read: Mapping[int, pa.Array]) -> pa.Array:
        place, field = self._places[number], self._fields[number]
        if place is None:
            return pa.nulls(self.num_rows(group), field.type.arrow)
        stored = read[place]
        if number in self._nested:
            return nested_converter(self._nested[number], stored.type, self._leaf)(stored)
        return self._leaf(0, stored.type, field.type)(stored)

    def _leaf(self, _leaf: int, shown: pa.DataType, wanted: DataType) -> Convert:
        """Return the function that converts values which pyarrow reads as ``shown``."""
        target = wanted.arrow
        if wanted.kind == "date" and shown == target:
            return rebased_dates
        if shown == target:
            return lambda column: column
        if wanted.kind in _NUMBERS and pa.types.is_integer(shown) and shown.bit_width == target.bit_width:
            return lambda column: column.view(target)
        is_integer = wanted.is_integral and pa.types.is_signed_integer(shown)
        is_wider_integer = is_integer and shown.bit_width < target.bit_width
        is_double = wanted.kind == "double" and shown == pa.float32()
        is_wider_decimal = wanted.is_decimal and pa.types.is_decimal(shown) and shown.scale == wanted.scale
        if is_wider_integer or is_double or is_wider_decimal:
            return partial(pc.cast, target_type=target)
        message = f"{self._path}: a column is stored as {shown} and cannot be read as {wanted}"
        raise CorruptFileError(message, self._path)

    @cached_property
    def _schema(self) -> pa.Schema:
        with self._opened() as file:
            return file.schema

    @cached_property
    def _nested(self) -> Mapping[int, NestedColumn]:
        """The nested columns that the file has, by their numbers in the request."""
        found = {}
        for number, (field, place) in enumerate(zip(self._fields, self._places, strict=True)):
            if place is not None and field.type.is_nested:
                stored = self._schema.field(place).type
                found[number] = match_nested(stored, field.type, 0, self._request.case_sensitive, self._path)
        return found

    def _paths(self, own: Collection[int]) -> list[str] | None:
        """Return the columns that pyarrow reads, as it names them; None for all, if these names are not unique."""
        names = self._tail.names
        if len(set(names)) < len(names) or any("." in name or not name for name in names):
            return None
        found: list[str] = []
        for number, place in enumerate(self._places):
            if place is not None and number not in own:
                found += _paths_below(names[place], self._nested.get(number))
        return found

    def _read_stripe(self, group: int, own: Collection[int]) -> Mapping[int, pa.Array]:
        """Return the columns that pyarrow reads, all but those ``own``, by their places in the file."""
        wanted = sorted({place for number, place in enumerate(self._places) if place is not None and number not in own})
        if not wanted:
            return {}
        paths = self._paths(own)
        with self._opened() as file:
            batch = file.read_stripe(group, columns=paths)
        places = range(len(self._tail.names)) if paths is None else wanted
        if batch.num_columns != len(places):
            raise pa.ArrowInvalid(f"stripe {group} has not the columns that the footer names")
        return dict(zip(places, batch.columns, strict=True))

    @contextmanager
    def _opened(self) -> Iterator[orc.ORCFile]:
        """Lend an open file for exclusive use."""
        try:
            file = self._idle.popleft()
        except IndexError:
            file = orc.ORCFile(self._path)
        yield file
        self._idle.append(file)

    def _own_column(self, group: int, number: int) -> pa.Array:
        place, field, calendar = self._places[number], self._fields[number], self._request.calendar
        column = self._tail.columns[place or 0]
        encoding, size = self._footer(group).encodings[column]
        rows, base = self.num_rows(group), int(self._request.options["base"])
        try:
            streams = self._streams(group, column)
            if field.type.kind == "string":
                return read_texts(streams, rows, encoding, size)
            found = read_timestamps(streams, rows, encoding, base)
        except DAMAGED as error:
            raise CorruptFileError(f"{self._path}: column {field.name} is damaged: {error!r}", self._path) from error
        return rebased_timestamps(found, calendar.time_zone, calendar.table, f"column {field.name}", self._path)

    def _streams(self, group: int, column: int) -> Streams:
        return {
            stream.kind: decompressed(self._bytes(stream.offset, stream.length), self._tail.compression)
            for stream in self._footer(group).streams
            if stream.column == column and stream.kind not in INDEXES
        }

    def _footer(self, group: int) -> StripeFooter:
        if group not in self._footers:
            stripe = self._tail.stripes[group]
            data = self._bytes(stripe.offset + stripe.index_length + stripe.data_length, stripe.footer_length)
            try:
                footer = stripe_footer(decompressed(data, self._tail.compression), stripe)
                if len(footer.encodings) <= max(self._tail.columns):
                    raise ValueError("columns have no encodings")
                self._footers[group] = footer
            except DAMAGED as error:
                message = f"{self._path} could not be read as ORC: stripe {group} is damaged: {error!r}"
                raise CorruptFileError(message, self._path) from error
        return self._footers[group]

    def _bytes(self, offset: int, length: int) -> bytes:
        found = os.pread(self._file.fileno(), length, offset)
        if len(found) != length:
            raise CorruptFileError(f"{self._path} could not be read as ORC: it is cut off", self._path)
        return found


def _paths_below(path: str, column: NestedColumn | None) -> list[str]:
    """Return the paths of the fields to read of a column, those of structs alone; the path itself without any."""
    if column is None or column.wanted.kind != "struct" or any("." in name for name in column.names):
        return [path]
    read = [pair for pair in zip(column.names, column.children, strict=True) if not pair[1].is_missing]
    return [below for name, child in read for below in _paths_below(f"{path}.{name}", child)] or [path]
