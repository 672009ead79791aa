"""The join of probe chunks with one :class:`BuildSide`: of the whole join, or of one partition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.exec.chunk_slices import slices
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import compile_expressions
from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.buffers import count_nulls
from pyspark_pipeline.kernels.join_table import JoinProber
from pyspark_pipeline.metrics import OperatorMetrics, declare_counter
from pyspark_pipeline.operators.joins.build_side import BuildSide
from pyspark_pipeline.operators.joins.join_output import JOIN_OUTPUTS, build_side_output
from pyspark_pipeline.operators.joins.residual import Residual
from pyspark_pipeline.operators.joins.shared import NULL_KEYS, SharedJoinState

PROBE_ROWS = declare_counter("join_probe_rows", "Rows of the streamed side of a join", unit="rows")
FOUND_ROWS = declare_counter("join_found_rows", "Rows of the streamed side whose keys were built", unit="rows")


class ProbeExpressions:
    """The probe keys and the condition, compiled for one driver."""

    def __init__(self, shared: SharedJoinState) -> None:
        self.keys = compile_expressions(shared.probe_keys, shared.settings)
        residual = shared.columns.residual
        self.residual = None if residual is None else Residual(residual, shared.settings)


class SideProbe:
    """Joins the chunks of one driver with ``side``. ``matched``: a flag for each build row if matches are tracked."""

    def __init__(
        self,
        shared: SharedJoinState,
        expressions: ProbeExpressions,
        side: BuildSide,
        matched: UInt8Array | None,
        metrics: OperatorMetrics,
    ) -> None:
        self._shared = shared
        self._keys = expressions.keys
        self._side = side
        self._matched = matched
        self._metrics = metrics
        self._prober = JoinProber(side.table)
        self._output = JOIN_OUTPUTS[shared.shape.output_kind](
            shape=shared.shape,
            columns=shared.columns,
            side=side,
            matched=matched,
            residual=expressions.residual,
            batch_rows=shared.batch_rows,
        )

    def join(self, chunk: Chunk) -> Iterator[Chunk | None]:
        """Yield the output for one chunk; a chunk larger than a batch is joined in slices."""
        for piece in slices(chunk, self._shared.batch_rows):
            try:
                found = self._found(piece)
            except SparkConditionError as error:  # a key raised: join the rows before it first
                if error.rows_before:
                    yield from self.join(piece.slice(0, error.rows_before))
                raise
            yield from self._output.chunks(piece, *found)

    def join_block(self, chunk: Chunk, probe_matched: UInt8Array, *, is_last: bool) -> Iterator[Chunk | None]:
        """Yield the output for one chunk if the side is one block of several.

        ``probe_matched`` (uint8, shape (rows,)) flags the rows with a match in an earlier block; matches in this one
        are added.
        """
        at = 0
        for piece in slices(chunk, self._shared.batch_rows):
            flags = probe_matched[at : at + piece.num_rows]
            at += piece.num_rows
            yield from self._output.emit_matches(piece, *self._found(piece), flags)
            if is_last:
                yield self._output.emit_probe_rows(piece, flags)

    def _found(self, piece: Chunk) -> tuple[Int32Array, int]:
        """Return the table entry of every row (−1: none) and the number of rows that have one."""
        keys = self._keys.evaluate(piece)
        entries, found = self._prober.find(keys, piece.num_rows)
        self._metrics.add(PROBE_ROWS, piece.num_rows)
        self._metrics.add(FOUND_ROWS, found)
        self._metrics.add(NULL_KEYS, count_nulls(keys))
        if self._shared.is_null_aware:
            entries, found = _nulls_found(keys[0], entries, found, self._side.rows)
        return entries, found

    def build_side_output(self) -> Iterator[Chunk | None]:
        """Yield the build rows that are emitted after all probe rows."""
        if self._matched is not None:
            shared = self._shared
            yield from build_side_output(shared.shape, shared.columns, self._side, self._matched, shared.batch_rows)


def _nulls_found(key: pa.Array, entries: Int32Array, found: int, build_rows: int) -> tuple[Int32Array, int]:
    """Treat rows with a NULL key as found if there is any build row: NOT IN is not true for them."""
    plain = key.dictionary_decode() if pa.types.is_dictionary(key.type) else key
    if not plain.null_count or not build_rows:
        return entries, found
    missing = plain.is_null().to_numpy(zero_copy_only=False)
    entries[missing] = 0
    return entries, int(np.count_nonzero(entries >= 0))
