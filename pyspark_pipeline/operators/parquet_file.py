"""One Parquet file opened for a scan: its row groups of a split, and their batches as chunks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_pipeline.errors import CorruptFileError, PipelineError
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.parquet_columns import Convert, converter, find_column
from pyspark_pipeline.operators.parquet_legacy import LegacyCalendar
from pyspark_pipeline.operators.parquet_narrow import narrow_columns, narrow_footer
from pyspark_pipeline.operators.row_group_pruning import ColumnBounds, comparable, may_match
from pyspark_pipeline.plan.expr import Expr, columns_read
from pyspark_pipeline.plan.nodes import ExecutorCalendar, Field, ScanSplit

_SMALL_DICTIONARY_BYTES = 65536

Column = Callable[[pa.RecordBatch], pa.Array]


@contextmanager
def naming_file(path: str) -> Iterator[None]:
    """Turn what reading raises into :class:`CorruptFileError` that names the file."""
    try:
        yield
    except PipelineError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorruptFileError(f"{path} could not be read as Parquet: {error}") from error


def local_path(path: str) -> str:
    """Give the local path of a path or ``file:`` URI; raise :class:`CorruptFileError` for another scheme."""
    if not path.startswith("file:"):
        if "://" in path:
            raise CorruptFileError(f"{path} is not on a local file system")
        return path
    return unquote(urlparse(path).path)


@dataclass(frozen=True, slots=True)
class _Footer:
    """What the footer of a file says; a worker's tasks share it, for many splits may be of one file."""

    metadata: pq.FileMetaData
    schema: pa.Schema
    midpoints: list[int]


@lru_cache(maxsize=16)
def _footer(path: str, size: int, changed_ns: int) -> _Footer:
    """Read the footer of the file that has this size and time of change."""
    metadata = pq.read_metadata(path)
    midpoints = [_midpoint(metadata.row_group(i)) for i in range(metadata.num_row_groups)]
    return _Footer(metadata, metadata.schema.to_arrow_schema(), midpoints)


@lru_cache(maxsize=16)
def _narrow(path: str, size: int, changed_ns: int) -> pq.FileMetaData | None:
    """Give the footer that reads decimals as integers, None where the file has none stored so."""
    return narrow_footer(path, _footer(path, size, changed_ns).metadata)


def _midpoint(group: pq.RowGroupMetaData) -> int:
    """Apply parquet-mr's rule: half of the compressed size after the first page of the first column."""
    columns = [group.column(i) for i in range(group.num_columns)]
    if not columns:
        return 0
    first = columns[0].data_page_offset
    if columns[0].dictionary_page_offset is not None:
        first = min(first, columns[0].dictionary_page_offset)
    return int(first + sum(column.total_compressed_size for column in columns) // 2)


class ParquetFileReader:
    """Reads the data columns ``fields`` of one file; ``pushed`` may prune row groups.

    Where ``narrow``, a decimal stored as an integer may come as that integer (int32 or int64, unscaled).
    ``calendar`` is for files in the hybrid Julian calendar.
    """

    def __init__(
        self,
        path: str,
        fields: Sequence[Field],
        pushed: Sequence[Expr],
        case_sensitive: bool,
        narrow: bool = False,
        calendar: ExecutorCalendar | None = None,
    ) -> None:
        self.path = local_path(path)
        self._fields = fields
        self._pushed = pushed
        self._idle: dict[tuple[str, ...], deque[pq.ParquetFile]] = {}
        with naming_file(self.path):
            known = os.stat(self.path)
            footer = _footer(self.path, known.st_size, known.st_mtime_ns)
            self.metadata = footer.metadata
            self._schema = footer.schema
            self._midpoints = footer.midpoints
            self._places = [find_column(self._schema, field, case_sensitive, self.path) for field in fields]
            self._leaves = {self.metadata.schema.column(i).path: i for i in range(len(self.metadata.schema))}
            self._names = sorted({self._schema.field(place).name for place in self._places if place is not None})
            self._leaves_read = [leaf for path, leaf in self._leaves.items() if path.split(".")[0] in self._names]
            self._calendar = LegacyCalendar(self.path, self.metadata.metadata, calendar)
            self._read_with = self.metadata
            if narrow and self._can_read_narrow():
                self._read_with = _narrow(self.path, known.st_size, known.st_mtime_ns) or self.metadata

    def _can_read_narrow(self) -> bool:
        """Say whether some columns are decimals stored as integers, and all such may stay as they are stored."""
        narrow = narrow_columns(self.metadata)
        pairs = zip(self._fields, self._places, strict=True)
        stored = [(field.type, self._schema.field(place)) for field, place in pairs if place is not None]
        integers = [(wanted, column.type) for wanted, column in stored if column.name in narrow]
        return bool(integers) and all(
            wanted.is_decimal and wanted.scale == column.scale and wanted.precision >= column.precision
            for wanted, column in integers
        )

    def row_groups(self, split: ScanSplit) -> tuple[list[int], int]:
        """List the row groups whose midpoint lies in the split and that may hold a match; count the pruned ones."""
        end = split.start + split.length
        mine = [i for i, midpoint in enumerate(self._midpoints) if split.start <= midpoint < end]
        kept = self.may_match(mine, self._pushed)
        return kept, len(mine) - len(kept)

    def column_bytes(self, index: int) -> int:
        """Give the compressed bytes that the data columns have in a row group."""
        group = self.metadata.row_group(index)
        return sum(group.column(leaf).total_compressed_size for leaf in self._leaves_read)

    def may_match(self, groups: Sequence[int], conjuncts: Sequence[Expr]) -> list[int]:
        """Choose the row groups that may hold a row for which all conjuncts, bound to the fields, are true."""
        if not conjuncts:
            return list(groups)
        read = sorted(columns_read(conjuncts) & set(range(len(self._fields))))
        return [group for group in groups if may_match(conjuncts, self._known(group, read))]

    def _known(self, group: int, ordinals: Sequence[int]) -> dict[int, ColumnBounds]:
        """Give what is known of the fields at ``ordinals`` in a row group."""
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
        except (OverflowError, ValueError):  # values that Python's dates or text cannot hold prune nothing
            return ColumnBounds(nulls=nulls, rows=group.num_rows)
        if self._calendar.may_move(stored.type, low):
            return ColumnBounds(nulls=nulls, rows=group.num_rows)
        return ColumnBounds(low=low, high=high, nulls=nulls, rows=group.num_rows)

    def chunks(self, index: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Read a row group as chunks of the data columns, at most ``batch_rows`` rows each."""
        with naming_file(self.path):
            if not self._names:
                yield from self._empty_chunks(index, batch_rows)
                return
            encoded = [name for name in self._names if self._reads_as_dictionary(index, name)]
            with self._opened(tuple(encoded)) as file:
                batches = self._batches(file, index, batch_rows)
                makers: list[Column] | None = None
                for batch in batches:
                    if batch.num_rows:
                        makers = makers or [self._maker(i, batch.schema) for i in range(len(self._fields))]
                        yield make_chunk([make(batch) for make in makers], batch.num_rows)

    def _batches(self, file: pq.ParquetFile, index: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Read a small row group in one go, which is a tenth cheaper, a large one bit by bit."""
        if self.metadata.row_group(index).num_rows <= batch_rows:
            return iter(file.read_row_group(index, columns=self._names, use_threads=False).to_batches())
        batches: Iterator[pa.RecordBatch] = file.iter_batches(
            batch_rows, row_groups=[index], columns=self._names, use_threads=False
        )
        return batches

    @contextmanager
    def _opened(self, encoded: tuple[str, ...]) -> Iterator[pq.ParquetFile]:
        """Lend an open file that nobody else reads; opening one costs as much as decoding thousands of rows."""
        idle = self._idle.setdefault(encoded, deque())
        try:
            file = idle.popleft()
        except IndexError:
            file = pq.ParquetFile(
                self.path,
                metadata=self._read_with,
                read_dictionary=list(encoded),
                coerce_int96_timestamp_unit="us",
                pre_buffer=False,
            )
        yield file
        idle.append(file)

    def _empty_chunks(self, index: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        left = self.metadata.row_group(index).num_rows
        while left:
            rows = min(left, batch_rows)
            left -= rows
            columns = [pa.nulls(rows, field.type.arrow) for field in self._fields]
            yield make_chunk(columns, rows)

    def _reads_as_dictionary(self, index: int, name: str) -> bool:
        """Guess from the footer whether all pages of a string column are dictionary encoded (only speed depends)."""
        stored = self._schema.field(name).type
        leaf = self._leaves.get(name)
        if leaf is None or not (pa.types.is_string(stored) or pa.types.is_string_view(stored)):
            return False
        column = self.metadata.row_group(index).column(leaf)
        if column.dictionary_page_offset is None:
            return False
        return bool(0 < column.data_page_offset - column.dictionary_page_offset <= _SMALL_DICTIONARY_BYTES)

    def _maker(self, number: int, read: pa.Schema) -> Column:
        field, place = self._fields[number], self._places[number]
        if place is None:
            nulls = field.type.arrow
            return lambda batch: pa.nulls(batch.num_rows, nulls)
        name = self._schema.field(place).name
        at = read.get_field_index(name)
        leaf = self._leaves.get(name)
        physical = None if leaf is None else self.metadata.schema.column(leaf).physical_type
        if self._read_with is not self.metadata and pa.types.is_integer(read.field(at).type) and field.type.is_decimal:
            return lambda batch: batch.column(at)
        int96 = physical == "INT96"
        convert: Convert | None = None if leaf is None else converter(read.field(at).type, field.type, int96=int96)
        if convert is None:
            raise CorruptFileError(
                f"{self.path}: column {field.name} is stored as {self._schema.field(place).type} ({physical}) "
                f"and cannot be read as {field.type}"
            )
        rebased = self._calendar.rebasing(convert, read.field(at).type, field, int96=int96)
        return lambda batch: rebased(batch.column(at))


def _has_comparable_bounds(stored: pa.DataType, field: Field) -> bool:
    """Say whether the footer's values mean what the field's literals mean: same type, microseconds."""
    if pa.types.is_timestamp(stored):
        return bool(stored.unit in ("us", "ms") and (stored.tz is not None) == (field.type.kind == "timestamp"))
    if field.type.kind == "string":
        return str(stored) in ("string", "large_string", "string_view")
    return bool(stored == field.type.arrow)
