"""One Parquet file opened for a scan: the row groups of a split, read as chunks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import ColumnTypeError, CorruptFileError
from pyspark_pipeline.expressions.column_tests import ColumnTest
from pyspark_pipeline.kernels.arrays import UInt8Array
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.operators.scan.key_tests import KeyTest
from pyspark_pipeline.operators.scan.nested import (
    Convert,
    NestedColumn,
    leaf_types,
    match_nested,
    nested_converter,
    number_of_leaves,
    read_leaves,
)
from pyspark_pipeline.operators.scan.parquet.columns import converter, find_column, time_of_microseconds
from pyspark_pipeline.operators.scan.parquet.footer import read_footer, read_plain_footer, spread_places
from pyspark_pipeline.operators.scan.parquet.legacy import LegacyCalendar
from pyspark_pipeline.operators.scan.parquet.nested_pages import NestedLeaves, NestedPages, known_leaves, open_nested
from pyspark_pipeline.operators.scan.parquet.pages import ColumnPages, is_compiled, is_known, open_pages
from pyspark_pipeline.operators.scan.parquet.types import spark_reads, stored_type
from pyspark_pipeline.operators.scan.parquet.unscaled import unscaled_leaves
from pyspark_pipeline.operators.scan.reader import null_chunks
from pyspark_pipeline.operators.scan.row_group_pruning import ColumnBounds, comparable, may_match
from pyspark_pipeline.operators.scan.row_selection import RowSelection, ValueTest
from pyspark_pipeline.plan.expr import Expr, columns_read
from pyspark_pipeline.plan.nodes import ExecutorCalendar, Field, ScanSplit

_SMALL_DICTIONARY_BYTES = 65536

#: The columns of a file that were read, by name, and the number of rows.
Columns = Mapping[str, pa.Array]

ColumnReader = Callable[[Columns, int], pa.Array]


class ParquetFileReader:
    """Reads the data columns ``fields`` of the file at a local path.

    If ``unscaled_decimals``, a decimal stored as an integer may be returned as that integer (int32 or int64, unscaled).
    ``calendar`` is for files in the hybrid Julian calendar. ``unread_encodings`` are those that Spark refuses.
    ``exact_times``: times of day may be stored in nanoseconds, and lose the digits that their type does not have; else
    (Spark 4.1) every INT64 that is read as a time of day is a number of microseconds. Rows that fail one of the
    ``tests``, or have no match by one of the ``key_tests``, may be left out.
    """

    def __init__(
        self,
        path: str,
        fields: Sequence[Field],
        case_sensitive: bool,
        unscaled_decimals: bool = False,
        calendar: ExecutorCalendar | None = None,
        unread_encodings: Collection[str] = (),
        exact_times: bool = True,
        tests: Sequence[ColumnTest] = (),
        key_tests: Sequence[KeyTest] = (),
    ) -> None:
        self.path = path
        self._exact_times = exact_times
        self._unread_encodings = unread_encodings
        self._fields = fields
        self._idle: dict[tuple[str, ...], deque[pq.ParquetFile]] = {}
        #: By the columns that are read as dictionaries.
        self._readers: dict[tuple[str, ...], dict[int, ColumnReader]] = {}
        known = os.stat(self.path)
        self._version = known.st_size, known.st_mtime_ns
        footer = read_footer(self.path, *self._version)
        self.metadata = footer.metadata
        self._schema = footer.schema
        self._midpoints = footer.midpoints
        self._places = [find_column(self._schema, field, case_sensitive, self.path) for field in fields]
        self._selection = RowSelection(
            [test for test in tests if self._places[test.ordinal] is not None],
            [test for test in key_tests if all(self._places[column] is not None for column in test.columns)],
        )
        self._leaves = {self.metadata.schema.column(i).path: i for i in reversed(range(len(self.metadata.schema)))}
        self._nested = {
            place: self._match_nested(field, place, case_sensitive)
            for field, place in zip(fields, self._places, strict=True)
            if place is not None and (field.type.is_nested or pa.types.is_nested(self._schema.field(place).type))
        }
        self._flat = self._flat_leaves()
        self._texts = self._text_leaves()
        self._leaves_read = self._numbers_of_leaves()
        self._names = sorted({self.metadata.schema.column(leaf).path for leaf in self._leaves_read})
        self._calendar = LegacyCalendar(self.path, self.metadata.metadata, calendar)
        self._check_not_encrypted(footer.encrypted)
        self._unscaled = self._unscaled_leaves() if unscaled_decimals else frozenset()
        plain = read_plain_footer(self.path, *self._version, self._unscaled | self._plain_leaves())
        self._reader_metadata = plain or self.metadata
        may_decode = is_compiled() and not footer.encrypted
        self._known = self._known_leaves() if may_decode else {}
        self._known_nested = self._known_columns() if may_decode else {}
        self._file = open(self.path, "rb", buffering=0)

    def _match_nested(self, field: Field, place: int, case_sensitive: bool) -> NestedColumn:
        stored, first = self._schema.field(place), self._first_leaf(place)
        if not (field.type.is_nested and pa.types.is_nested(stored.type)):
            raise CorruptFileError(self._mismatch(field, stored, "nested"), self.path)
        return match_nested(stored.type, field.type, first, case_sensitive, self.path)

    def _numbers_of_leaves(self) -> list[int]:
        """Return the leaves to read."""
        return sorted({*self._flat.values(), *(leaf for column in self._nested.values() for leaf in column.leaves)})

    def _check_not_encrypted(self, encrypted: frozenset[int]) -> None:
        """Raise :class:`CorruptFileError` if a column to read is encrypted: the engine has no keys."""
        names = [path for path, leaf in self._leaves.items() if leaf in encrypted and leaf in self._leaves_read]
        if names:
            message = f"{self.path}: columns {', '.join(names)} are encrypted and there are no keys"
            raise CorruptFileError(message, self.path)

    def _unscaled_leaves(self) -> frozenset[int]:
        """Return the decimals stored as integers; none if one of those to read needs another scale or precision."""
        unscaled = unscaled_leaves(self.metadata)
        pairs = zip(self._fields, self._places, strict=True)
        stored = [(field.type, self._schema.field(place)) for field, place in pairs if place is not None]
        integers = [(wanted, column.type) for wanted, column in stored if self._leaves.get(column.name) in unscaled]
        may_stay = all(
            wanted.is_decimal and wanted.scale == column.scale and wanted.precision >= column.precision
            for wanted, column in integers
        )
        return unscaled & frozenset(self._flat.values()) if integers and may_stay else frozenset()

    def _flat_leaves(self) -> dict[str, int]:
        """Return the columns to read that are not nested, and their leaves."""
        places = (place for place in self._places if place is not None and place not in self._nested)
        return {(name := self._schema.field(place).name): self._leaves[name] for place in places}

    def _text_leaves(self) -> dict[str, int]:
        """Return the flat columns to read that are texts, and their leaves."""
        columns = (self._schema.field(place) for place in self._places if place is not None)
        return {column.name: self._flat[column.name] for column in columns if _is_text(column.type)}

    def _known_leaves(self) -> dict[str, tuple[int, pa.DataType, int, bool]]:
        """Return the flat columns whose pages may be decoded here, by name.

        Of each its leaf, the type that pyarrow shows, the definition level of its values, and whether it is a text.
        """
        schema = self._reader_metadata.schema.to_arrow_schema()
        found = {}
        for name, leaf in self._flat.items():
            places = schema.get_all_field_indices(name)
            if len(places) != 1:
                continue
            column, shown = self.metadata.schema.column(leaf), schema.field(places[0]).type
            if is_known(column, shown):
                found[name] = leaf, shown, column.max_definition_level, _is_text(shown)
        return found

    def _known_columns(self) -> dict[str, NestedLeaves]:
        """Return the nested columns whose pages may be decoded here, by name."""
        schema = self._reader_metadata.schema.to_arrow_schema()
        found = {}
        for place, column in self._nested.items():
            name = self._schema.field(place).name
            places = schema.get_all_field_indices(name)
            if places != [place]:
                continue
            wanted = set(column.leaves)
            known = known_leaves(schema.field(place), self._first_leaf(place), wanted, self.metadata.schema)
            if known is not None:
                found[name] = known
        return found

    def _plain_leaves(self) -> frozenset[int]:
        """Return the columns that Spark reads as a type to which pyarrow's values cannot be converted."""
        found = set()
        for leaf, shown, wanted in self._typed_leaves():
            column = self.metadata.schema.column(leaf)
            stored = stored_type(column)
            if not spark_reads(stored, wanted, self._exact_times):
                continue
            is_hidden = pa.types.is_null(shown) and stored.logical != "Null"
            is_number = wanted.kind == "time" and not self._exact_times
            if is_hidden or is_number or converter(shown, wanted, int96=column.physical_type == "INT96") is None:
                found.add(leaf)
        return frozenset(found)

    def _typed_leaves(self) -> Iterator[tuple[int, pa.DataType, DataType]]:
        """Yield the leaves whose values are read, the types that pyarrow shows, and the requested types."""
        for field, place in zip(self._fields, self._places, strict=True):
            if place in self._nested:
                column = self._nested[place]
                shown = dict(self._nested_types(place))
                yield from ((leaf, shown[leaf], wanted) for leaf, wanted in read_leaves(column))
            elif place is not None:
                stored = self._schema.field(place)
                yield self._leaves[stored.name], stored.type, field.type

    def _nested_types(self, place: int) -> Iterator[tuple[int, pa.DataType]]:
        return leaf_types(self._schema.field(place).type, self._first_leaf(place))

    def _first_leaf(self, place: int) -> int:
        return sum(number_of_leaves(self._schema.field(i).type) for i in range(place))

    def row_groups(self, split: ScanSplit) -> list[int]:
        """Return the row groups of the split: those whose midpoint, maybe of the spread ones, lies in it."""
        size, end = split.spread_bytes, split.start + split.length
        midpoints: Sequence[float] = self._midpoints
        if size is not None:
            midpoints = [share * size for share in spread_places(self.path, *self._version)]
        return [i for i, midpoint in enumerate(midpoints) if split.start <= midpoint < end]

    def num_rows(self, index: int) -> int:
        """Return the number of rows of a row group."""
        return int(self.metadata.row_group(index).num_rows)

    def num_bytes(self, index: int) -> int:
        """Return the compressed bytes of the data columns in a row group."""
        group = self.metadata.row_group(index)
        return sum(group.column(leaf).total_compressed_size for leaf in self._leaves_read)

    def may_match(self, groups: Sequence[int], conjuncts: Sequence[Expr]) -> list[int]:
        """Return the row groups that may hold a row for which all conjuncts, bound to the fields, are true."""
        if not conjuncts:
            return list(groups)
        read = sorted(columns_read(conjuncts) & set(range(len(self._fields))))
        return [group for group in groups if may_match(conjuncts, self._bounds_by_ordinal(group, read))]

    def _bounds_by_ordinal(self, group: int, ordinals: Sequence[int]) -> dict[int, ColumnBounds]:
        """Return the known bounds of the fields at ``ordinals`` in a row group."""
        found = {i: self._bounds(group, self._fields[i], self._places[i]) for i in ordinals}
        return {ordinal: bounds for ordinal, bounds in found.items() if bounds is not None}

    def _bounds(self, index: int, field: Field, place: int | None) -> ColumnBounds | None:
        group = self.metadata.row_group(index)
        if place is None:
            return ColumnBounds(nulls=group.num_rows, rows=group.num_rows)
        stored = self._schema.field(place)
        leaf = self._leaves.get(stored.name)
        if leaf is None or not _has_comparable_bounds(stored.type, field):
            return None
        statistics = group.column(leaf).statistics
        if statistics is None:
            return None
        nulls = statistics.null_count if statistics.has_null_count else None
        if not statistics.has_min_max:
            return ColumnBounds(nulls=nulls, rows=group.num_rows)
        try:
            low, high = comparable(statistics.min, field.type), comparable(statistics.max, field.type)
        except (OverflowError, ValueError):  # values outside the range of Python's dates or text prune nothing
            return ColumnBounds(nulls=nulls, rows=group.num_rows)
        if self._calendar.may_rebase(stored.type, field, low):
            return ColumnBounds(nulls=nulls, rows=group.num_rows)
        return ColumnBounds(low=low, high=high, nulls=nulls, rows=group.num_rows)

    def chunks(self, index: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield a row group as chunks of the data columns, of at most ``batch_rows`` rows each."""
        if not self._names:
            yield from null_chunks(self._fields, self.num_rows(index), batch_rows)
            return
        encoded = tuple(name for name in self._names if name in self._texts and self._reads_as_dictionary(index, name))
        pages = self._pages(encoded, index)
        decoded = {leaf for column in pages for leaf in self._leaves_of(column)}
        others = [name for name in self._names if name not in decoded]
        is_checked = False
        for columns, rows in self._batches(encoded, pages, others, index, batch_rows):
            if rows:
                readers = [self._column_reader(encoded, number, columns) for number in range(len(self._fields))]
                if not is_checked:
                    self._check_encodings(index, others)
                    is_checked = True
                yield make_chunk([read(columns, rows) for read in readers], rows)

    def close(self) -> None:
        """Close the open files."""
        self._idle.clear()
        self._file.close()

    def _batches(
        self,
        encoded: tuple[str, ...],
        pages: Mapping[str, ColumnPages | NestedPages],
        others: Sequence[str],
        index: int,
        batch_rows: int,
    ) -> Iterator[tuple[Columns, int]]:
        """Yield the columns of a row group, and their rows. pyarrow reads the leaves at the paths ``others``."""
        if not others:
            rows = self.num_rows(index)
            for start in range(0, rows, batch_rows):
                yield self._selected(encoded, pages, min(batch_rows, rows - start))
            return
        with self._opened(encoded) as file:
            left = self.num_rows(index)
            for batch in self._other_batches(file, others, index, batch_rows):
                left -= batch.num_rows
                read = {name: column.read(batch.num_rows) for name, column in pages.items()}
                first_of_each = zip(reversed(batch.schema.names), reversed(batch.columns), strict=True)
                yield dict(first_of_each) | read, batch.num_rows
            if left:  # pyarrow returns what there is of damaged columns
                raise pa.ArrowInvalid(f"row group {index} has {left} rows less than it should have")

    def _selected(
        self, encoded: tuple[str, ...], pages: Mapping[str, ColumnPages | NestedPages], rows: int
    ) -> tuple[Columns, int]:
        """Read the next rows, of the columns without tests only the rows that pass the tests, if these are few."""
        columns: dict[str, pa.Array] = {}

        def tested(ordinal: int) -> pa.Array:
            name = self._schema.field(self._places[ordinal]).name
            if name not in columns:
                columns[name] = pages[name].read(rows)
            return self._column_reader(encoded, ordinal, columns)(columns, rows)

        def test_codes(test: ValueTest, ordinal: int, mask: UInt8Array) -> bool:
            name = self._schema.field(self._places[ordinal]).name
            column = pages[name]
            if name in columns or not isinstance(column, ColumnPages) or not column.is_coded:
                return False
            if test not in column.accepted:
                column.accepted[test] = self._accepted(encoded, test, ordinal, column)
            accepted = column.accepted[test]
            if accepted is None:
                return False
            column.keep_accepted(rows, accepted, mask)
            return True

        chosen = self._selection.choose(rows, tested, test_codes)
        if chosen is None:
            return columns | {name: column.read(rows) for name, column in pages.items() if name not in columns}, rows
        taken = {name: take(column, chosen) for name, column in columns.items()}
        read = {name: column.read(rows, chosen) for name, column in pages.items() if name not in columns}
        return taken | read, chosen.size

    def _accepted(
        self, encoded: tuple[str, ...], test: ValueTest, ordinal: int, column: ColumnPages
    ) -> UInt8Array | None:
        """Return which values of a column's dictionary, and NULL, a test accepts, uint8; None if it does not know."""
        if column.dictionary_size * test.least_repeats > column.num_rows:
            return None
        stored = column.values()
        columns = {self._schema.field(self._places[ordinal]).name: stored}
        return test.accepted(self._column_reader(encoded, ordinal, columns)(columns, len(stored)))

    def _other_batches(
        self, file: pq.ParquetFile, names: Sequence[str], index: int, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Read a small row group with pyarrow at once, which is a tenth cheaper, and a large one incrementally."""
        if self.num_rows(index) <= batch_rows:
            return iter(file.read_row_group(index, columns=names, use_threads=False).to_batches())
        batches: Iterator[pa.RecordBatch] = file.iter_batches(
            batch_rows, row_groups=[index], columns=names, use_threads=False
        )
        return batches

    def _leaves_of(self, column: str) -> Iterable[str]:
        """Return the paths of the leaves to read of a column that is decoded here."""
        nested = self._known_nested.get(column)
        if nested is None:
            return (column,)
        return (self.metadata.schema.column(leaf.number).path for leaf in nested.leaves)

    def _pages(self, encoded: tuple[str, ...], index: int) -> dict[str, ColumnPages | NestedPages]:
        """Return the columns of a row group that are decoded here, by name."""
        group = self.metadata.row_group(index)
        found: dict[str, ColumnPages | NestedPages | None] = {}
        for name, (leaf, shown, depth, is_text) in self._known.items():
            if name in encoded or not is_text:
                found[name] = open_pages(self._file.fileno(), group.column(leaf), shown, depth)
        for name, column in self._known_nested.items():
            found[name] = open_nested(self._file.fileno(), group, column)
        return {name: pages for name, pages in found.items() if pages is not None}

    @contextmanager
    def _opened(self, encoded: tuple[str, ...]) -> Iterator[pq.ParquetFile]:
        """Lend an open file for exclusive use; opening one costs as much as decoding thousands of rows."""
        idle = self._idle.setdefault(encoded, deque())
        try:
            file = idle.popleft()
        except IndexError:
            file = pq.ParquetFile(
                self.path,
                metadata=self._reader_metadata,
                read_dictionary=list(encoded),
                coerce_int96_timestamp_unit="us",
                pre_buffer=False,
            )
        yield file
        idle.append(file)

    def _reads_as_dictionary(self, index: int, name: str) -> bool:
        """Guess from the footer whether all pages of a string column are dictionary encoded (affects only speed)."""
        column = self.metadata.row_group(index).column(self._texts[name])
        if column.dictionary_page_offset is None:
            return False
        return bool(0 < column.data_page_offset - column.dictionary_page_offset <= _SMALL_DICTIONARY_BYTES)

    def _has_dictionary(self, leaf: int) -> bool:
        """Return whether a row group has a dictionary of the column; old writers left out the offset of its page."""
        columns = (self.metadata.row_group(group).column(leaf) for group in range(self.metadata.num_row_groups))
        return any("DICTIONARY" in encoding for column in columns for encoding in column.encodings)

    def _check_encodings(self, group: int, paths: Iterable[str]) -> None:
        """Raise :class:`CorruptFileError` if the pages of leaves that pyarrow reads have an encoding Spark refuses."""
        for path in paths if self._unread_encodings else ():
            column = self.metadata.row_group(group).column(self._leaves[path])
            refused = [encoding for encoding in self._unread_encodings if encoding in column.encodings]
            if refused:
                message = f"{self.path}: this Spark does not read {refused[0]}, the encoding of {column.path_in_schema}"
                raise CorruptFileError(message, self.path)

    def _column_reader(self, encoded: tuple[str, ...], number: int, columns: Columns) -> ColumnReader:
        """Return the reader of a field; those of row groups of the same types are the same.

        A row group may be decoded in little more than the time to make them.
        """
        readers = self._readers.setdefault(encoded, {})
        if number not in readers:
            readers[number] = self._new_reader(number, columns)
        return readers[number]

    def _new_reader(self, number: int, columns: Columns) -> ColumnReader:
        field, place = self._fields[number], self._places[number]
        if place is None:
            nulls = field.type.arrow
            return lambda _columns, rows: pa.nulls(rows, nulls)
        stored = self._schema.field(place)
        name = stored.name
        shown = columns[name].type

        def leaf_converter(leaf: int, shown: pa.DataType, wanted: DataType) -> Convert:
            return self._leaf_converter(leaf, shown, replace(field, type=wanted), stored)

        if place in self._nested:
            whole = nested_converter(self._nested[place], shown, leaf_converter)
            return lambda columns, _rows: whole(columns[name])
        leaf = self._leaves[stored.name]
        convert = leaf_converter(leaf, shown, field.type)
        if leaf in self._unscaled and pa.types.is_integer(shown):
            return lambda columns, _rows: columns[name]
        return lambda columns, _rows: convert(columns[name])

    def _leaf_converter(self, leaf: int, shown: pa.DataType, field: Field, stored: pa.Field) -> Convert:
        """Return the function that converts a leaf, which pyarrow reads as ``shown``, to the type of ``field``."""
        column = self.metadata.schema.column(leaf)
        if not spark_reads(stored_type(column), field.type, self._exact_times):
            message, found = self._mismatch(field, stored, column.physical_type), stored_type(column).physical
            raise ColumnTypeError(message, self.path, f"[{column.path.replace('.', ', ')}]", str(field.type), found)
        int96 = column.physical_type == "INT96"
        convert: Convert | None
        if field.type.kind == "time" and not self._exact_times:
            self._check_times(leaf)
            convert = time_of_microseconds
        else:
            convert = converter(shown, field.type, int96=int96)
        if convert is None:
            raise CorruptFileError(self._mismatch(field, stored, column.physical_type), self.path)
        has_dictionary = self._has_dictionary(leaf)
        return self._calendar.with_rebase(convert, shown, field, int96=int96, has_dictionary=has_dictionary)

    def _check_times(self, leaf: int) -> None:
        """Raise :class:`CorruptFileError` if this Spark takes the numbers of some pages for other units than others."""
        column = self.metadata.schema.column(leaf)
        stored = stored_type(column)
        if (stored.logical, stored.unit) != ("Time", "microseconds") and self._has_dictionary(leaf):
            message = f"{self.path}: column {column.path} holds no times of day in microseconds, and has a dictionary"
            raise CorruptFileError(f"{message}: Spark 4.1 reads other values from it than from plain pages", self.path)

    def _mismatch(self, field: Field, stored: pa.Field, physical: str) -> str:
        found = f"{self.path}: column {field.name} is stored as {stored.type} ({physical})"
        return f"{found} and cannot be read as {field.type}"


def _is_text(stored: pa.DataType) -> bool:
    return bool(pa.types.is_string(stored) or pa.types.is_string_view(stored))


def _has_comparable_bounds(stored: pa.DataType, field: Field) -> bool:
    """Return whether the footer's values are comparable with the field's literals: same type, microseconds."""
    if pa.types.is_timestamp(stored):
        return field.type.kind in ("timestamp", "timestamp_ntz") and stored.unit in ("us", "ms")
    if field.type.kind == "time":
        return False
    if field.type.kind == "string":
        return str(stored) in ("string", "large_string", "string_view")
    return bool(stored == field.type.arrow)
