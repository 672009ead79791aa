"""The probe of a join: streams chunks past the built side, as soon as that is there.

A chunk that meets many build rows leaves in pieces; the next one is taken when all of them have left. Where
few rows of a chunk may be left, what is left of several is joined. Where build rows are marked, the last driver
gives those that are due after its own last chunk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.chunk_accumulate import ChunkAccumulator
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions import compile_expressions
from pyspark_pipeline.kernels.buffers import Array
from pyspark_pipeline.kernels.join_table import JoinProber
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.joins.emission import Emission, build_rest, make_emission
from pyspark_pipeline.operators.joins.residual import Residual
from pyspark_pipeline.operators.joins.shared import JoinShared

PROBE_ROWS = declare_counter("join_probe_rows", "Rows of the streamed side of a join", unit="rows")
FOUND_ROWS = declare_counter("join_found_rows", "Rows of the streamed side whose keys were built", unit="rows")


class JoinProbeOperator(Operator):
    """Joins the chunks of one driver."""

    def __init__(self, shared: JoinShared, driver_sequence: int) -> None:
        self._shared = shared
        self._sequence = driver_sequence
        self._keys = compile_expressions(shared.probe_keys, shared.settings)
        residual = shared.columns.residual
        self._residual = None if residual is None else Residual(residual, shared.settings)
        self._work: Iterator[Chunk | None] | None = None
        self._small = ChunkAccumulator(shared.batch_rows) if shared.may_drop_rows else None
        self._tools: tuple[JoinProber, Emission] | None = None
        self._given = self._waiting = 0
        self._finishing = False
        self._arrived = False
        self._ended = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._shared.bridge.ready)
        self._shared.open()

    def need_input(self) -> bool:
        return self._work is None and not self._finishing and self._shared.bridge.is_ready()

    def push_chunk(self, chunk: Chunk) -> None:
        self._work = self._join(chunk)

    def has_output(self) -> bool:
        return self._work is not None or (self._small is not None and self._small.has_chunk())

    def pull_chunk(self) -> Chunk | None:
        small = self._small
        if small is None:
            return self._next()
        if not small.has_chunk():
            made = self._next()
            if made is not None:
                small.add(made)
                self._waiting += made.num_rows
                if self._waiting >= self._given:
                    small.flush()
        return self._taken(small) if small.has_chunk() else None

    def _taken(self, small: ChunkAccumulator) -> Chunk:
        """Take a chunk. No more rows wait than have been given: who wants few rows gets them soon."""
        chunk = small.take()
        self._given += chunk.num_rows
        self._waiting -= chunk.num_rows
        return chunk

    def _next(self) -> Chunk | None:
        """Give the next piece of the work; None where it made no rows or was the last."""
        assert self._work is not None
        made = next(self._work, _DONE)
        if made is not _DONE:
            return made
        self._work = None
        if self._finishing:
            self._finish()
        return None

    def set_finishing(self) -> None:
        self._finishing = True
        if self._work is None:
            self._finish()

    def is_finished(self) -> bool:
        return not self.has_output() and (self._finishing or self._shared.is_void)

    def set_finished(self) -> None:
        self._finishing = True
        self._drop()
        if not self._ended:
            self._ended = True
            self._shared.probe_ended()

    def close(self) -> None:
        self._drop()
        self._tools = None
        self._shared.probe_closed()

    def _drop(self) -> None:
        self._work = None
        if self._small is not None:
            self._small.clear()

    def _join(self, chunk: Chunk) -> Iterator[Chunk | None]:
        """Give the output for one chunk; one larger than a batch is worked on in slices."""
        if self._tools is None:
            self._tools = self._open()
        prober, emission = self._tools
        batch_rows = self._shared.batch_rows
        for start in range(0, chunk.num_rows, batch_rows):
            piece = chunk if chunk.num_rows <= batch_rows else chunk.slice(start, batch_rows)
            keys = self._keys.evaluate(piece)
            entries, found = prober.find(keys, piece.num_rows)
            self.context.metrics.add(PROBE_ROWS, piece.num_rows)
            self.context.metrics.add(FOUND_ROWS, found)
            if self._shared.is_null_aware:
                entries, found = _nulls_found(keys[0], entries, found, self._shared.bridge.get().rows)
            yield from emission.chunks(piece, entries, found)

    def _open(self) -> tuple[JoinProber, Emission]:
        shared, side = self._shared, self._shared.bridge.get()
        emission = make_emission(
            shared.shape, shared.columns, side, shared.matched, self._residual, shared.batch_rows
        )
        return JoinProber(side.table), emission

    def _finish(self) -> None:
        """All chunks are joined: where this driver is the last, go on with the build rows that are due."""
        shared = self._shared
        if not self._arrived and shared.matched is not None:
            self._arrived = True
            if shared.is_last_probe(self._sequence):
                side = shared.bridge.get()
                self._work = build_rest(shared.shape, shared.columns, side, shared.matched, shared.batch_rows)
                return
        if self._small is not None:
            self._small.flush()


_DONE = pa.RecordBatch.from_arrays([], names=[])


def _nulls_found(key: pa.Array, entries: Array, found: int, build_rows: int) -> tuple[Array, int]:
    """Count rows with a NULL key as found where there is any build row: NOT IN is not true for them."""
    plain = key.dictionary_decode() if pa.types.is_dictionary(key.type) else key
    if not plain.null_count or not build_rows:
        return entries, found
    missing = plain.is_null().to_numpy(zero_copy_only=False)
    entries[missing] = 0
    return entries, int(np.count_nonzero(entries >= 0))


class JoinProbeFactory(OperatorFactory):
    """Makes the probes; they are blocked until the built side is there."""

    def __init__(self, shared: JoinShared, name: str) -> None:
        self.name = name
        self._shared = shared

    def keep_only(self, ordinals: Collection[int]) -> None:
        """Learn that the operator above reads only these columns; what is in the others does not matter."""
        self._shared.keep_only(ordinals)

    def create(self, dop: int, driver_sequence: int) -> JoinProbeOperator:
        self._shared.expect_probes(dop)
        return JoinProbeOperator(self._shared, driver_sequence)

    def precondition_ready(self) -> bool:
        return self._shared.bridge.is_ready()
