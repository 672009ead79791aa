"""The output of a join: for one probe chunk, by the join's output kind; and for the build side at the end.

A :class:`JoinOutput` gets a chunk with the table entry of each row and yields chunks of bounded size one by one
(None if a step made no rows). ``matched`` holds a flag for every build row if the join tracks build matches;
drivers share it and only ever set flags.

If the build rows come in blocks, every chunk probes each block (``emit_matches``), and output that depends on whether
any block had a match is emitted after the last (``emit_probe_rows``); ``probe_matched`` has a flag for every row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate, bool_array, make_chunk
from pyspark_pipeline.kernels.join_pairs import flagged_rows, set_flags, set_new_flags
from pyspark_pipeline.kernels.take import filter_rows, take
from pyspark_pipeline.operators.joins.build_side import BuildSide
from pyspark_pipeline.operators.joins.columns import JoinColumns
from pyspark_pipeline.operators.joins.residual import Residual
from pyspark_pipeline.plan.joins import JoinOutputKind, JoinShape


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOutput(ABC):
    """Computes the output of probe chunks. ``matched``: uint8, shape (build rows,); None if matches are not tracked."""

    shape: JoinShape
    columns: JoinColumns
    side: BuildSide
    matched: UInt8Array | None
    residual: Residual | None
    batch_rows: int

    @abstractmethod
    def chunks(self, chunk: Chunk, entries: Int32Array, found: int) -> Iterator[Chunk | None]:
        """Yield the output for a chunk; ``entries``: the entry of each row (int32; −1: none), ``found`` of them ≥ 0."""

    def emit_matches(
        self, chunk: Chunk, entries: Int32Array, found: int, probe_matched: UInt8Array
    ) -> Iterator[Chunk | None]:
        """Yield the output that does not depend on other blocks; set ``probe_matched`` for rows with a match."""
        yield from self.chunks(chunk, entries, found)

    def emit_probe_rows(self, chunk: Chunk, probe_matched: UInt8Array) -> Chunk | None:
        """Return the probe rows that are emitted by whether they have a match in any block (``probe_matched``)."""
        return None

    def _pairs(self, chunk: Chunk, entries: Int32Array, found: int) -> Iterator[tuple[Int32Array, Int32Array]]:
        """Yield the pairs of matching rows in batches; flag their build rows as matched.

        If the condition raises for a pair, the pairs before it are yielded first, and ``rows_before`` of the error
        counts rows of the chunk.
        """
        pairs = self.side.table.pairs(entries, found, keeps_unmatched=False, max_pairs=self.batch_rows)
        for probe, build in pairs:
            if self.residual is not None:
                try:
                    probe, build = self.residual.filter(chunk, self.side, probe, build)
                except SparkConditionError as error:
                    yield from self._pairs_before(error, chunk, probe, build)
                    raise
            self._mark(build)
            yield probe, build

    def _pairs_before(
        self, error: SparkConditionError, chunk: Chunk, probe: Int32Array, build: Int32Array
    ) -> Iterator[tuple[Int32Array, Int32Array]]:
        count = error.rows_before
        error.rows_before = int(probe[count])
        if count and self.residual is not None:
            left, right = self.residual.filter(chunk, self.side, probe[:count], build[:count])
            self._mark(right)
            yield left, right

    def _emit_all(self, chunk: Chunk, entries: Int32Array, found: int) -> Iterator[Chunk | None]:
        """Yield all output of a chunk for a join with one block and a condition."""
        probe_matched = np.zeros(chunk.num_rows, dtype=np.uint8)
        try:
            yield from self.emit_matches(chunk, entries, found, probe_matched)
        except SparkConditionError as error:
            if error.rows_before:
                yield self.emit_probe_rows(chunk.slice(0, error.rows_before), probe_matched[: error.rows_before])
            raise
        yield self.emit_probe_rows(chunk, probe_matched)

    def _mark(self, build: Int32Array) -> None:
        if self.matched is not None:
            set_flags(build, self.matched)


class PairOutput(JoinOutput):
    """The output of inner, outer and single joins: columns of both sides."""

    def chunks(self, chunk: Chunk, entries: Int32Array, found: int) -> Iterator[Chunk | None]:
        outer = self.shape.probe_outer
        may_repeat = self.shape.is_single and not self.side.table.is_unique
        if outer and (self.residual is not None or may_repeat):
            yield from self._emit_all(chunk, entries, found)
        elif self.residual is not None or not outer:
            yield from self._inner(chunk, entries, found)
        else:
            yield from self._outer(chunk, entries, found)

    def _inner(self, chunk: Chunk, entries: Int32Array, found: int) -> Iterator[Chunk | None]:
        unique, rows = self.side.table.is_unique, chunk.num_rows
        if self.residual is None and unique and found == rows:
            self._mark(entries)
            yield self._joined(chunk, None, entries)
            return
        for probe, build in self._pairs(chunk, entries, found):
            whole = unique and probe.size == rows
            yield self._joined(chunk, None if whole else probe, build) if probe.size else None

    def _outer(self, chunk: Chunk, entries: Int32Array, found: int) -> Iterator[Chunk | None]:
        missing = found < chunk.num_rows
        table = self.side.table
        for probe, build in table.pairs(entries, found, keeps_unmatched=True, max_pairs=self.batch_rows):
            self._mark(build)
            yield self._joined(chunk, None if table.is_unique else probe, build, with_missing=missing)

    def emit_matches(
        self, chunk: Chunk, entries: Int32Array, found: int, probe_matched: UInt8Array
    ) -> Iterator[Chunk | None]:
        for probe, build in self._pairs(chunk, entries, found):
            if not self.shape.is_single:
                set_flags(probe, probe_matched)
            elif (repeated := set_new_flags(probe, probe_matched)) >= 0:
                yield from self._pairs_of_rows_before(int(probe[repeated]), chunk, probe, build)
            yield self._joined(chunk, probe, build) if probe.size else None

    def _pairs_of_rows_before(
        self, row: int, chunk: Chunk, probe: Int32Array, build: Int32Array
    ) -> Iterator[Chunk | None]:
        """Yield the pairs of the rows before ``row``, which has two matches; then raise Spark's error."""
        count = int(np.searchsorted(probe, row))
        if count:
            yield self._joined(chunk, probe[:count], build[:count])
        error = SparkConditionError("SparkRuntimeException", "SCALAR_SUBQUERY_TOO_MANY_ROWS")
        error.rows_before = row
        raise error

    def emit_probe_rows(self, chunk: Chunk, probe_matched: UInt8Array) -> Chunk | None:
        if not self.shape.probe_outer:
            return None
        unmatched = np.flatnonzero(probe_matched == 0).astype(np.int32)
        nothing = np.full(unmatched.size, -1, dtype=np.int32)
        return self._joined(chunk, unmatched, nothing, with_missing=True) if unmatched.size else None

    def _joined(
        self, chunk: Chunk, probe: Int32Array | None, build: Int32Array, *, with_missing: bool = False
    ) -> Chunk:
        """Combine probe rows (None: the whole chunk) with build rows (−1: a row of NULLs, if ``with_missing``)."""
        columns = self.columns
        nothing = pa.nulls(build.size)
        left = [
            nothing if kind is None else chunk.column(i) if probe is None else take(chunk.column(i), probe)
            for i, kind in enumerate(columns.probe)
        ]
        return _in_order(self.shape, left, _build_columns(columns, self.side, build, with_missing), build.size)


class ProbeOutput(JoinOutput):
    """The output of semi, anti and existence joins that emit rows of the probe side."""

    def chunks(self, chunk: Chunk, entries: Int32Array, found: int) -> Iterator[Chunk | None]:
        if self.residual is None:
            yield self._select(chunk, entries >= 0, found)
            return
        yield from self._emit_all(chunk, entries, found)

    def emit_matches(
        self, chunk: Chunk, entries: Int32Array, found: int, probe_matched: UInt8Array
    ) -> Iterator[Chunk | None]:
        if self.residual is None:
            probe_matched |= entries >= 0
            yield None
            return
        for probe, _ in self._pairs(chunk, entries, found):
            set_flags(probe, probe_matched)
            yield None

    def emit_probe_rows(self, chunk: Chunk, probe_matched: UInt8Array) -> Chunk | None:
        return self._select(chunk, probe_matched != 0, int(np.count_nonzero(probe_matched)))

    def _select(self, chunk: Chunk, probe_matched: BoolArray, count: int) -> Chunk | None:
        chunk = self._prune(chunk)
        if self.shape.output_kind is JoinOutputKind.PROBE_FLAGGED:
            return make_chunk([*chunk.columns, bool_array(probe_matched)], chunk.num_rows)
        if self.shape.output_kind is JoinOutputKind.PROBE_UNMATCHED:
            probe_matched, count = ~probe_matched, probe_matched.size - count
        return _filter(chunk, probe_matched, count)

    def _prune(self, chunk: Chunk) -> Chunk:
        """Replace columns that are not read above by null columns."""
        if None not in self.columns.probe:
            return chunk
        nothing = pa.nulls(chunk.num_rows)
        columns = [nothing if kind is None else chunk.column(i) for i, kind in enumerate(self.columns.probe)]
        return make_chunk(columns, chunk.num_rows)


class BuildMatchOutput(JoinOutput):
    """The output of semi and anti joins that emit build rows: probe chunks only flag matches, rows leave at the end."""

    def chunks(self, chunk: Chunk, entries: Int32Array, found: int) -> Iterator[Chunk | None]:
        for _ in self._pairs(chunk, entries, found):
            yield None


#: The output class of a join by its output kind.
JOIN_OUTPUTS: dict[JoinOutputKind, type[JoinOutput]] = {
    JoinOutputKind.PAIRS: PairOutput,
    JoinOutputKind.PROBE_MATCHED: ProbeOutput,
    JoinOutputKind.PROBE_UNMATCHED: ProbeOutput,
    JoinOutputKind.PROBE_FLAGGED: ProbeOutput,
    JoinOutputKind.BUILD_MATCHED: BuildMatchOutput,
    JoinOutputKind.BUILD_UNMATCHED: BuildMatchOutput,
}


def build_side_output(
    shape: JoinShape, columns: JoinColumns, side: BuildSide, matched: UInt8Array, batch_rows: int
) -> Iterator[Chunk | None]:
    """Yield, after all probe rows, the build rows that are emitted by whether they matched."""
    wanted = 1 if shape.output_kind is JoinOutputKind.BUILD_MATCHED else 0
    start = 0
    while start < side.rows:
        rows = allocate(min(batch_rows, side.rows - start), np.int32)
        count, start = flagged_rows(matched, wanted, start, rows)
        if not count:
            return
        probe = columns.probe if shape.output_kind is JoinOutputKind.PAIRS else ()
        nulls = [pa.nulls(count) if kind is None else pa.nulls(count, kind) for kind in probe]
        yield _in_order(shape, nulls, _build_columns(columns, side, rows[:count]), count)


def _build_columns(
    columns: JoinColumns, side: BuildSide, rows: Int32Array, with_missing: bool = False
) -> list[pa.Array]:
    nothing = pa.nulls(rows.size)
    return [
        nothing if place is None else side.take(place, rows, with_missing=with_missing) for place in columns.build
    ]


def _in_order(shape: JoinShape, probe: list[pa.Array], build: list[pa.Array], rows: int) -> Chunk:
    return make_chunk([*probe, *build] if shape.probe_is_left else [*build, *probe], rows)


def _filter(chunk: Chunk, wanted: BoolArray, count: int) -> Chunk | None:
    """Return the rows flagged in ``wanted``, ``count`` of them; None if there are none."""
    if count == chunk.num_rows:
        return chunk
    if not count:
        return None
    return filter_rows(chunk, wanted.view(np.uint8))
