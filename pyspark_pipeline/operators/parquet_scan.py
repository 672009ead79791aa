"""Parquet scan: the drivers of an instance share its row groups as morsels and read them as chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.parquet_file import ParquetFileReader
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.runtime_filters import ScanFilter, ScanFilters
from pyspark_pipeline.operators.scan_morsels import MorselQueue
from pyspark_pipeline.plan.nodes import ExecutorCalendar, ParquetScan, ScanSplit
from pyspark_pipeline.plan.wire_expr import decode_value

ROW_GROUPS = declare_counter("row_groups_read", "Row groups read", unit="row groups")
PRUNED = declare_counter("row_groups_pruned", "Row groups skipped by their statistics", unit="row groups")
PRUNED_BY_JOINS = declare_counter(
    "row_groups_pruned_by_joins", "Row groups skipped because no key of a join's table is in them", unit="row groups"
)
COLUMN_BYTES = declare_counter("column_bytes", "Compressed bytes of the columns of row groups read", unit="bytes")
FILES = declare_counter("files_opened", "Footers read", unit="files")


class ParquetScanOperator(Operator):
    """Reads one row group after another, a chunk a pull."""

    def __init__(self, factory: ParquetScanFactory) -> None:
        self._factory = factory
        self._chunks: Iterator[pa.RecordBatch] | None = None
        self._split: ScanSplit | None = None
        self._done = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._factory.morsels.changed)
        self._factory.filters.expect(context)

    def blocking_reason(self) -> BlockingReason | None:
        return None if self._factory.precondition_ready() else BlockingReason.RUNTIME_FILTER

    def has_output(self) -> bool:
        return not self._done and (self._chunks is not None or not self._factory.morsels.must_wait())

    def pull_chunk(self) -> Chunk | None:
        chunks = self._chunks or self._next_morsel()
        chunk = next(chunks, None) if chunks is not None else None
        if chunk is None:
            self._chunks = None
            return None
        return self._factory.with_partition_columns(chunk, self._split)

    def _next_morsel(self) -> Iterator[pa.RecordBatch] | None:
        morsel = self._factory.morsels.next()
        if morsel is None:
            self._done = self._factory.morsels.is_ended()
            return None
        self._split = morsel.split
        self._chunks = morsel.reader.chunks(morsel.group, self._factory.batch_rows)
        self.context.metrics.add(ROW_GROUPS)
        self.context.metrics.add(COLUMN_BYTES, morsel.reader.column_bytes(morsel.group))
        return self._chunks

    def is_finished(self) -> bool:
        return self._done

    def set_finished(self) -> None:
        self._done = True
        self._chunks = None

    def set_cancelled(self) -> None:
        self._factory.filters.close()

    def close(self) -> None:
        self._chunks = None
        self._factory.filters.close()
        files, pruned, by_joins = self._factory.morsels.take_counts()
        self.context.metrics.add(FILES, files)
        self.context.metrics.add(PRUNED, pruned)
        self.context.metrics.add(PRUNED_BY_JOINS, by_joins)


class ParquetScanFactory(OperatorFactory):
    """Holds the morsels of one scan of the instance; it waits ``wait_ms`` at most for what it is to await."""

    name = "ParquetScan"

    def __init__(
        self,
        node: ParquetScan,
        splits: Sequence[ScanSplit],
        batch_rows: int,
        calendar: ExecutorCalendar,
        offered: Sequence[ScanFilter] = (),
        wait_ms: int = 0,
    ) -> None:
        self.batch_rows = batch_rows
        self.filters = ScanFilters(offered, wait_ms)
        self.morsels = MorselQueue(splits, self._open, self.filters.conditions)
        self._node = node
        self._calendar = calendar
        self._partition_types = [field.type for field in node.output[node.num_data_columns :]]

    def allow_narrow_decimals(self) -> None:
        """Let decimals come as the integers they are stored as; who asks makes them decimals again."""
        self.gives_stored_decimals = True

    def precondition_ready(self) -> bool:
        return self.filters.need_not_wait()

    def _open(self, split: ScanSplit) -> ParquetFileReader:
        node = self._node
        fields = node.output[: node.num_data_columns]
        narrow = self.gives_stored_decimals
        return ParquetFileReader(split.path, fields, node.pushed, node.case_sensitive, narrow, self._calendar)

    def create(self, dop: int, driver_sequence: int) -> ParquetScanOperator:
        return ParquetScanOperator(self)

    def with_partition_columns(self, chunk: Chunk, split: ScanSplit | None) -> Chunk:
        """Append the split's constant columns."""
        if not self._partition_types or split is None:
            return chunk
        values = zip(split.partition_values, self._partition_types, strict=True)
        constants = [constant_column(decode_value(value, kind), kind, chunk.num_rows) for value, kind in values]
        return make_chunk([*chunk.columns, *constants], chunk.num_rows)


def constant_column(value: Any, kind: DataType, rows: int) -> pa.Array:
    """Make a column of one value (in a :class:`~..plan.expr.Literal`'s form); strings as a dictionary."""
    if kind.kind == "string" and value is not None:
        indices = pa.repeat(pa.scalar(0, pa.int32()), rows)
        return pa.DictionaryArray.from_arrays(indices, pa.array([value], pa.string()))
    return pa.repeat(pa.scalar(value, kind.arrow), rows)


@implements(ParquetScan, execs=["FileSourceScanExec"], pipeline=["ParquetScan"])
def decompose_parquet_scan(node: ParquetScan, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Start a pipeline with the scan of this instance's splits."""
    options = builder.settings.options
    offered, wait_ms = builder.runtime_filters.of_scan(node), options["join.runtimeFilter.waitMs"]
    splits, calendar = builder.splits(node.input_id), builder.calendar()
    return [ParquetScanFactory(node, splits, options["batchRows"], calendar, offered, wait_ms)]
