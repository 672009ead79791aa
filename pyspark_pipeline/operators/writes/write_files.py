"""WriteFiles: a new file wherever the partition values change, or a file has its maximum of rows."""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.kernels.arrays import BoolArray
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.writes.parquet_columns import WrittenColumns
from pyspark_pipeline.operators.writes.parquet_file import ParquetFile, writer_options
from pyspark_pipeline.plan.writes import WriteFiles

FILES = declare_counter("files_written", "Files written", unit="files")


class WriteFilesOperator(Operator):
    """Writes rows to files in ``folder``, one open at a time; emits a row for each finished file."""

    def __init__(self, node: WriteFiles, columns: WrittenColumns, folder: str) -> None:
        self._node = node
        self._columns = columns
        self._folder = folder
        self._options = writer_options(node.layout)
        self._types = [field.type.arrow for field in node.output]
        self._bytes = ChunkBytes()
        self._file: ParquetFile | None = None
        self._values: list[pa.Array] = []  # the partition values of the last row, arrays of one row
        self._created = 0
        self._done: list[tuple[list[pa.Array], str, int]] = []
        self._finishing = False

    def need_input(self) -> bool:
        return not self._finishing

    def push_chunk(self, chunk: Chunk) -> None:
        written = self._columns.convert(chunk)
        per_row = self._bytes.estimate(written) / written.num_rows
        keys = [_plain(chunk.column(ordinal)) for ordinal in self._node.partition_columns]
        for start, end in pairwise([0, *self._changes(keys, chunk.num_rows), chunk.num_rows]):
            if keys and (start or not self._continues(keys)):
                self._finish_file()
                self._values = [key.slice(start, 1) for key in keys]
            self._add(written.slice(start, end - start), per_row)

    def _changes(self, keys: list[pa.Array], rows: int) -> list[int]:
        """Return the rows, ascending, whose partition values differ from those of the row before."""
        if not keys or rows == 1:
            return []
        changed = np.zeros(rows - 1, dtype=np.bool_)
        for key in keys:
            changed |= _differs(key.slice(1), key.slice(0, rows - 1))
        found: list[int] = (np.flatnonzero(changed) + 1).tolist()
        return found

    def _continues(self, keys: list[pa.Array]) -> bool:
        """Return whether the first row belongs to the partition of the last one."""
        return bool(self._values) and all(
            key.slice(0, 1).equals(last) for key, last in zip(keys, self._values, strict=True)
        )

    def _add(self, rows: Chunk, bytes_per_row: float) -> None:
        """Add rows of the partition to the open file, and to new ones where it is full."""
        most = self._node.max_rows
        while rows.num_rows:
            file = self._file or self._open_file()
            part = rows.slice(0, most - file.rows) if most else rows
            rows = rows.slice(part.num_rows)
            nbytes = int(bytes_per_row * part.num_rows)
            if not self.context.memory.try_reserve(file.held_bytes + nbytes, may_reclaim=False):
                file.end_row_group()
            file.add(part, nbytes)
            self.context.memory.reserve_unchecked(file.held_bytes)
            if file.rows == most:
                self._finish_file()

    def _open_file(self) -> ParquetFile:
        name = f"{self._created}.parquet"
        self._created += 1
        self._file = ParquetFile(os.path.join(self._folder, name), self._columns, self._node.layout, self._options)
        return self._file

    def _finish_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.finish()
            self.context.memory.reserve(0)
            self.context.metrics.add(FILES)
            self._done.append((self._values, os.path.basename(file.path), file.rows))

    def has_output(self) -> bool:
        return bool(self._done)

    def pull_chunk(self) -> Chunk:
        done, self._done = self._done, []
        values = [pa.concat_arrays(column) for column in zip(*(row[0] for row in done), strict=True)]
        names, rows = pa.array([row[1] for row in done], pa.string()), pa.array([row[2] for row in done], pa.int64())
        return pa.RecordBatch.from_arrays([*values, names, rows], names=[f"c{i}" for i in range(len(self._types))])

    def is_finished(self) -> bool:
        return self._finishing and not self._done

    def set_finishing(self) -> None:
        if not self._finishing:
            self._finishing = True
            self._finish_file()

    def set_finished(self) -> None:
        self._finishing = True
        self._done = []
        self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self.context.memory.reserve(0)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _differs(left: pa.Array, right: pa.Array) -> BoolArray:
    """Return, row by row, whether values differ; NULL equals NULL alone."""
    unequal = pc.not_equal(left, right)
    if left.null_count or right.null_count:
        valid, other = left.is_valid(), right.is_valid()
        unequal = pc.if_else(pc.and_(valid, other), unequal, pc.xor(valid, other))
    differs: BoolArray = unequal.to_numpy(zero_copy_only=False)
    return differs


class WriteFilesFactory(OperatorFactory):
    """Makes the operator of the only driver: files have the rows in their order."""

    name = "WriteFiles"

    def __init__(self, node: WriteFiles, folder: str) -> None:
        self._node = node
        self._folder = folder
        self._columns = WrittenColumns(node.columns, node.layout)

    def create(self, dop: int, driver_sequence: int) -> WriteFilesOperator:
        return WriteFilesOperator(self._node, self._columns, self._folder)


@implements(WriteFiles, execs=["WriteFilesExec"], pipeline=["WriteFiles"])
def decompose_write_files(node: WriteFiles, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the operator to the child's pipeline, gathered to one driver."""
    below = builder.gather(builder.decompose(node.child))
    return [*below, WriteFilesFactory(node, builder.staging_folder())]
