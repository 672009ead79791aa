"""Chunks of the probe side joined with one built side: all of it, or one partition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.chunk_slices import slices
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import compile_expressions
from pyspark_pipeline.kernels.buffers import Array, count_nulls
from pyspark_pipeline.kernels.join_table import JoinProber
from pyspark_pipeline.metrics import OperatorMetrics, declare_counter
from pyspark_pipeline.operators.joins.build_side import BuildSide
from pyspark_pipeline.operators.joins.emission import EMISSIONS, build_rest
from pyspark_pipeline.operators.joins.residual import Residual
from pyspark_pipeline.operators.joins.shared import NULL_KEYS, JoinShared

PROBE_ROWS = declare_counter("join_probe_rows", "Rows of the streamed side of a join", unit="rows")
FOUND_ROWS = declare_counter("join_found_rows", "Rows of the streamed side whose keys were built", unit="rows")


class ProbeExpressions:
    """The probe keys and the condition, compiled for one driver."""

    def __init__(self, shared: JoinShared) -> None:
        self.keys = compile_expressions(shared.probe_keys, shared.settings)
        residual = shared.columns.residual
        self.residual = None if residual is None else Residual(residual, shared.settings)


class SideProbe:
    """Joins the chunks of one driver with ``side``. ``matched``: a flag for each build row where the shape marks."""

    def __init__(
        self,
        shared: JoinShared,
        expressions: ProbeExpressions,
        side: BuildSide,
        matched: Array | None,
        metrics: OperatorMetrics,
    ) -> None:
        self._shared = shared
        self._keys = expressions.keys
        self._side = side
        self._matched = matched
        self._metrics = metrics
        self._prober = JoinProber(side.table)
        self._emission = EMISSIONS[shared.shape.emits](
            shape=shared.shape,
            columns=shared.columns,
            side=side,
            matched=matched,
            residual=expressions.residual,
            batch_rows=shared.batch_rows,
        )

    def join(self, chunk: Chunk) -> Iterator[Chunk | None]:
        """Give the output for one chunk; one larger than a batch is worked on in slices."""
        for piece in slices(chunk, self._shared.batch_rows):
            yield from self._emission.chunks(piece, *self._found(piece))

    def join_block(self, chunk: Chunk, hit: Array, *, is_last: bool) -> Iterator[Chunk | None]:
        """Give the output for one chunk where the side is one block of several, the last or not.

        ``hit`` (uint8, shape (rows,)) flags the rows that have a match in a block before, and afterwards in this one.
        """
        at = 0
        for piece in slices(chunk, self._shared.batch_rows):
            flags = hit[at : at + piece.num_rows]
            at += piece.num_rows
            yield from self._emission.met(piece, *self._found(piece), flags)
            if is_last:
                yield self._emission.due(piece, flags)

    def _found(self, piece: Chunk) -> tuple[Array, int]:
        """Give the entry of every row (−1: none) and how many have one."""
        keys = self._keys.evaluate(piece)
        entries, found = self._prober.find(keys, piece.num_rows)
        self._metrics.add(PROBE_ROWS, piece.num_rows)
        self._metrics.add(FOUND_ROWS, found)
        self._metrics.add(NULL_KEYS, count_nulls(keys))
        if self._shared.is_null_aware:
            entries, found = _nulls_found(keys[0], entries, found, self._side.rows)
        return entries, found

    def rest(self) -> Iterator[Chunk | None]:
        """Give the build rows that are due after all probe rows."""
        if self._matched is not None:
            shared = self._shared
            yield from build_rest(shared.shape, shared.columns, self._side, self._matched, shared.batch_rows)


def _nulls_found(key: pa.Array, entries: Array, found: int, build_rows: int) -> tuple[Array, int]:
    """Count rows with a NULL key as found where there is any build row: NOT IN is not true for them."""
    plain = key.dictionary_decode() if pa.types.is_dictionary(key.type) else key
    if not plain.null_count or not build_rows:
        return entries, found
    missing = plain.is_null().to_numpy(zero_copy_only=False)
    entries[missing] = 0
    return entries, int(np.count_nonzero(entries >= 0))
