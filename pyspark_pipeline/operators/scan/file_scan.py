"""File scan: the drivers of an instance share its row groups as morsels and read them as chunks, in any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import CorruptFileError, PipelineError
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.chunk_accumulate import EarlyAccumulator
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions import compile_column_tests
from pyspark_pipeline.expressions.column_tests import ColumnTest
from pyspark_pipeline.expressions.registry import ExpressionSettings
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.runtime_filters import RowFilter, ScanFilter, ScanFilters
from pyspark_pipeline.operators.scan.formats import file_format
from pyspark_pipeline.operators.scan.key_tests import KeyTest
from pyspark_pipeline.operators.scan.morsels import Morsel, MorselQueue
from pyspark_pipeline.operators.scan.reader import (
    READ_ERRORS,
    FileReader,
    ReadRequest,
    file_error,
    local_path,
    null_chunks,
)
from pyspark_pipeline.plan.nodes import ExecutorCalendar, FileScan, ScanSplit
from pyspark_pipeline.plan.properties import RequiredOutput
from pyspark_pipeline.plan.wire_expr import decode_value

ROW_GROUPS = declare_counter("row_groups_read", "Row groups read", unit="row groups")
PRUNED = declare_counter("row_groups_pruned", "Row groups skipped by their statistics", unit="row groups")
PRUNED_BY_JOINS = declare_counter(
    "row_groups_pruned_by_joins", "Row groups skipped because no key of a join's table is in them", unit="row groups"
)
COLUMN_BYTES = declare_counter("column_bytes", "Compressed bytes of the columns of row groups read", unit="bytes")
LEFT_OUT = declare_counter("rows_left_out", "Rows left out by a scan because a filter or join drops them", unit="rows")
FILES = declare_counter("files_opened", "Files opened, once for each split", unit="files")

#: A chunk of a batch's rows divided by this is not coalesced: to copy it costs more than later operators save.
_LARGE_SHARE = 4


class FileScanOperator(Operator):
    """Reads one row group after another, one chunk a pull.

    Chunks of few rows are coalesced, also those of several files: a test may leave a thousand rows of a row group.
    """

    def __init__(self, factory: FileScanFactory) -> None:
        self._factory = factory
        self._chunks: Iterator[pa.RecordBatch] | None = None
        self._morsel: Morsel | None = None
        self._rows = 0  # of the morsel that were read
        self._read = EarlyAccumulator(factory.batch_rows, max(1, factory.batch_rows // _LARGE_SHARE))
        self._schema: pa.Schema | None = None  # of the chunk read last
        self._done = False

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        if not self._factory.filters.is_ready():
            self._factory.filters.wait(waker, self.context.background)
            return BlockingReason.RUNTIME_FILTER
        waker.wait_for(self._factory.morsels.changed)
        return BlockingReason.SPLIT if self._factory.morsels.must_wait() else None

    def has_output(self) -> bool:
        if self._read.has_chunk():
            return True
        return not self._done and (self._morsel is not None or not self._factory.morsels.must_wait())

    def pull_chunk(self) -> Chunk | None:
        if not self._read.has_chunk():
            self._add_next()
        return self._read.take() if self._read.has_chunk() else None

    def _add_next(self) -> None:
        """Add the next chunk of the morsel. An error is raised after the rows before it have left."""
        try:
            chunk = self._next_chunk()
        except PipelineError as error:
            self._read.fail(error)
            return
        if chunk is not None:
            if self._schema is not None and not chunk.schema.equals(self._schema):
                self._read.flush()
            self._schema = chunk.schema
            self._read.add(chunk)
        elif self._done:
            self._read.flush()

    def _next_chunk(self) -> Chunk | None:
        """Return the next chunk; None at the end of a morsel, or if there is none, or none yet."""
        morsel = self._morsel or self._next_morsel()
        if morsel is None or self._chunks is None:
            return None
        try:
            chunk = next(self._chunks, None)
        except READ_ERRORS as error:
            raise self._factory.file_error(morsel.split, error) from error
        if chunk is None:
            rows = morsel.reader.num_rows(morsel.group)
            self.context.metrics.add(LEFT_OUT, 0 if rows is None else rows - self._rows)
            self._finish_morsel()
            return None
        self._rows += chunk.num_rows
        return self._factory.with_partition_columns(chunk, morsel.split)

    def _next_morsel(self) -> Morsel | None:
        morsel = self._factory.morsels.next()
        if morsel is None:
            self._done = self._factory.morsels.is_ended()
            return None
        self._morsel, self._rows = morsel, 0
        self._chunks = self._factory.chunks(morsel)
        self.context.metrics.add(ROW_GROUPS)
        self.context.metrics.add(COLUMN_BYTES, morsel.reader.num_bytes(morsel.group))
        return morsel

    def _finish_morsel(self) -> None:
        self._chunks = None
        if self._morsel is not None:
            self._factory.morsels.finish(self._morsel)
            self._morsel = None

    def is_finished(self) -> bool:
        return self._done and self._read.is_empty()

    def set_finished(self) -> None:
        self._done = True
        self._discard()

    def set_cancelled(self) -> None:
        self._factory.filters.close()

    def _discard(self) -> None:
        self._read.clear()
        self._finish_morsel()

    def close(self) -> None:
        self._discard()
        self._factory.filters.close()
        self._factory.morsels.remove_driver()
        files, pruned, by_joins = self._factory.morsels.take_counts()
        self.context.metrics.add(FILES, files)
        self.context.metrics.add(PRUNED, pruned)
        self.context.metrics.add(PRUNED_BY_JOINS, by_joins)


class FileScanFactory(OperatorFactory):
    """Holds the morsels of one scan of the instance, which waits at most ``wait_ms`` for its runtime filters.

    ``rows``: filters of its rows by the keys of joins.
    """

    name = "FileScan"

    def __init__(
        self,
        node: FileScan,
        splits: Sequence[ScanSplit],
        batch_rows: int,
        calendar: ExecutorCalendar,
        required: RequiredOutput,
        expressions: ExpressionSettings,
        filters: Sequence[ScanFilter] = (),
        wait_ms: int = 0,
        rows: Sequence[RowFilter] = (),
    ) -> None:
        self.batch_rows = batch_rows
        self.filters = ScanFilters(filters, wait_ms)
        self.morsels = MorselQueue(splits, self._open, node.pushed, self.filters.conditions)
        self._format = file_format(node.format)
        self._request = ReadRequest(
            columns=node.output[: node.num_data_columns],
            required=required,
            tests=self._column_tests(node, required, expressions),
            key_tests=[KeyTest(each) for each in rows],
            case_sensitive=node.case_sensitive,
            calendar=calendar,
            options=node.options,
            filters=node.filters,
            expressions=expressions,
        )
        self._partition_types = [field.type for field in node.output[node.num_data_columns :]]

    @staticmethod
    def _column_tests(
        node: FileScan, required: RequiredOutput, expressions: ExpressionSettings
    ) -> Sequence[ColumnTest]:
        """Return the tests of data columns; rows that fail one of them are dropped by the consumer too."""
        tests = compile_column_tests(required.conjuncts, expressions)
        return [test for test in tests if test.ordinal < node.num_data_columns]

    def precondition_ready(self) -> bool:
        return self.filters.is_ready()

    def _open(self, split: ScanSplit) -> FileReader:
        return self._format.open_file(split.path, self._request)

    def create(self, dop: int, driver_sequence: int) -> FileScanOperator:
        self.morsels.add_driver()
        return FileScanOperator(self)

    def chunks(self, morsel: Morsel) -> Iterator[pa.RecordBatch]:
        """Return the chunks of the data columns of a row group."""
        rows = None if self._request.columns else morsel.reader.num_rows(morsel.group)
        if rows is None:
            return morsel.reader.chunks(morsel.group, self.batch_rows)
        return null_chunks((), rows, self.batch_rows)

    def file_error(self, split: ScanSplit, error: Exception) -> CorruptFileError:
        """Return the error of a file that was opened and cannot be read."""
        return file_error(local_path(split.path), self._format.label, error)

    def with_partition_columns(self, chunk: Chunk, split: ScanSplit) -> Chunk:
        """Append the split's constant columns."""
        if not self._partition_types:
            return chunk
        values = zip(split.partition_values, self._partition_types, strict=True)
        constants = [constant_column(decode_value(value, kind), kind, chunk.num_rows) for value, kind in values]
        return make_chunk([*chunk.columns, *constants], chunk.num_rows)


def constant_column(value: Any, kind: DataType, rows: int) -> pa.Array:
    """Build a column of one value (in the form of a ``Literal``); strings as a dictionary."""
    if kind.kind == "string" and value is not None:
        indices = pa.repeat(pa.scalar(0, pa.int32()), rows)
        return pa.DictionaryArray.from_arrays(indices, pa.array([value], pa.string()))
    return pa.repeat(pa.scalar(value, kind.arrow), rows)


@implements(FileScan, execs=["FileSourceScanExec"], pipeline=["FileScan"])
def decompose_file_scan(node: FileScan, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Start a pipeline with the scan of this instance's splits."""
    options = builder.settings.options
    filters, wait_ms = builder.runtime_filters.scan_filters(node), options.join_runtime_filter_wait_ms
    splits, calendar, required = builder.splits(node.input_id), builder.calendar(), builder.required_output(node)
    expressions, rows = ExpressionSettings.of(builder.settings), builder.runtime_filters.row_filters(node)
    return [FileScanFactory(node, splits, options.batch_rows, calendar, required, expressions, filters, wait_ms, rows)]
