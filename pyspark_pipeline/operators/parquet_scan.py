"""Parquet scan: the drivers of an instance share its row groups as morsels and read them as chunks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.parquet_file import ParquetFileReader
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.runtime_filters import Learned
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ExecutorCalendar, ParquetScan, ScanSplit
from pyspark_pipeline.plan.wire_expr import decode_value

ROW_GROUPS = declare_counter("row_groups_read", "Row groups read", unit="row groups")
PRUNED = declare_counter("row_groups_pruned", "Row groups skipped by their statistics", unit="row groups")
PRUNED_BY_JOINS = declare_counter(
    "row_groups_pruned_by_joins", "Row groups skipped because no key of a join's table is in them", unit="row groups"
)
COLUMN_BYTES = declare_counter("column_bytes", "Compressed bytes of the columns of row groups read", unit="bytes")
FILES = declare_counter("files_opened", "Footers read", unit="files")


class MorselQueue:
    """Row groups still to read. Footers are read when needed, by the driver that finds no morsel left."""

    def __init__(
        self,
        node: ParquetScan,
        splits: Sequence[ScanSplit],
        calendar: ExecutorCalendar,
        offered: Sequence[Learned] = (),
    ) -> None:
        self.fields = node.output[: node.num_data_columns]
        self.narrow = False
        self._node = node
        self._calendar = calendar
        self._splits = deque(splits)
        self._morsels: deque[tuple[ParquetFileReader, int, ScanSplit]] = deque()
        self._lock = threading.Lock()
        self._offered = offered
        self._learned: list[Expr] | None = None
        self._files = self._pruned = self._pruned_by_joins = 0

    def is_empty(self) -> bool:
        """Say whether neither morsels nor splits are left."""
        return not self._morsels and not self._splits

    def next(self) -> tuple[ParquetFileReader, int, ScanSplit] | None:
        """Take a row group; None where none is left."""
        with self._lock:
            while not self._morsels and self._splits:
                self._open(self._splits.popleft())
            return self._morsels.popleft() if self._morsels else None

    def take_counts(self) -> tuple[int, int, int]:
        """Give the footers read and the row groups pruned, by Spark's filters and by joins, since the last call."""
        with self._lock:
            counts = self._files, self._pruned, self._pruned_by_joins
            self._files = self._pruned = self._pruned_by_joins = 0
            return counts

    def clear(self) -> None:
        """Forget everything still to read."""
        with self._lock:
            self._splits.clear()
            self._morsels.clear()

    def _open(self, split: ScanSplit) -> None:
        node = self._node
        reader = ParquetFileReader(
            split.path, self.fields, node.pushed, node.case_sensitive, self.narrow, self._calendar
        )
        if self._learned is None:
            self._learned = [found for found in (learned() for learned in self._offered) if found is not None]
        groups, pruned = reader.row_groups(split)
        kept = reader.may_match(groups, self._learned)
        self._files += 1
        self._pruned += pruned
        self._pruned_by_joins += len(groups) - len(kept)
        self._morsels.extend((reader, group, split) for group in kept)


class ParquetScanOperator(Operator):
    """Reads one row group after another, a chunk a pull."""

    def __init__(self, factory: ParquetScanFactory) -> None:
        self._factory = factory
        self._chunks: Iterator[pa.RecordBatch] | None = None
        self._split: ScanSplit | None = None
        self._done = False

    def has_output(self) -> bool:
        return not self._done

    def pull_chunk(self) -> Chunk | None:
        if self._chunks is None and not self._next_morsel():
            self._done = True
            return None
        chunk = next(self._chunks, None) if self._chunks is not None else None
        if chunk is None:
            self._chunks = None
            return None
        return self._factory.with_partition_columns(chunk, self._split)

    def _next_morsel(self) -> bool:
        morsel = self._factory.morsels.next()
        if morsel is None:
            return False
        reader, group, self._split = morsel
        self._chunks = reader.chunks(group, self._factory.batch_rows)
        self.context.metrics.add(ROW_GROUPS)
        self.context.metrics.add(COLUMN_BYTES, reader.column_bytes(group))
        return True

    def is_finished(self) -> bool:
        return self._done

    def set_finished(self) -> None:
        self._done = True
        self._chunks = None

    def close(self) -> None:
        self._chunks = None
        files, pruned, by_joins = self._factory.morsels.take_counts()
        self.context.metrics.add(FILES, files)
        self.context.metrics.add(PRUNED, pruned)
        self.context.metrics.add(PRUNED_BY_JOINS, by_joins)


class ParquetScanFactory(OperatorFactory):
    """Holds the morsels of one scan of the instance."""

    name = "ParquetScan"

    def __init__(
        self,
        node: ParquetScan,
        splits: Sequence[ScanSplit],
        batch_rows: int,
        calendar: ExecutorCalendar,
        offered: Sequence[Learned] = (),
    ) -> None:
        self.batch_rows = batch_rows
        self.morsels = MorselQueue(node, splits, calendar, offered)
        self._partition_types = [field.type for field in node.output[node.num_data_columns :]]

    def allow_narrow_decimals(self) -> None:
        """Let decimals come as the integers they are stored as; who asks makes them decimals again."""
        self.gives_stored_decimals = self.morsels.narrow = True

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
    batch_rows = builder.settings.options["batchRows"]
    offered = builder.runtime_filters.of_scan(node)
    return [ParquetScanFactory(node, builder.splits(node.input_id), batch_rows, builder.calendar(), offered)]
