"""What comes out of a join for one probe chunk, by what the join emits; and at the end, for the build side.

An emission gets the chunk with the entry of each of its rows and gives chunks of bounded size one by one
(None where a piece of the work made no rows). ``matched`` holds a flag for every build row where that matters;
drivers share it and only ever set flags.

Where the built rows come in blocks, a chunk is shown to each (``met``), and what comes of its rows by whether any
block had a match is given after the last (``due``): ``hit`` holds a flag for every row of the chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.kernels.buffers import Array, allocate, bool_array, make_chunk, rows_only
from pyspark_pipeline.kernels.join_pairs import flagged_rows, mark_rows
from pyspark_pipeline.operators.joins.build_side import BuildSide, gathered, row_numbers
from pyspark_pipeline.operators.joins.columns import JoinColumns
from pyspark_pipeline.operators.joins.residual import Residual
from pyspark_pipeline.plan.joins import Emits, JoinShape

_FILTER_FROM = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Emission(ABC):
    """Makes the output of probe chunks. ``matched``: uint8, one for every build row, where the shape marks them."""

    shape: JoinShape
    columns: JoinColumns
    side: BuildSide
    matched: Array | None
    residual: Residual | None
    batch_rows: int

    @abstractmethod
    def chunks(self, chunk: Chunk, entries: Array, found: int) -> Iterator[Chunk | None]:
        """Give the output for a chunk whose rows have ``entries`` (int32; −1: none), ``found`` of them."""

    def met(self, chunk: Chunk, entries: Array, found: int, hit: Array) -> Iterator[Chunk | None]:
        """Give the output that does not depend on other blocks; flag the chunk's rows that have a match in ``hit``."""
        yield from self.chunks(chunk, entries, found)

    def due(self, chunk: Chunk, hit: Array) -> Chunk | None:
        """Give the output that depends on whether the chunk's rows have a match, as ``hit`` says."""
        return None

    def _pairs(self, chunk: Chunk, entries: Array, found: int) -> Iterator[tuple[Array, Array]]:
        """Give the pairs of rows that match, in pieces; mark the build rows in them."""
        pairs = self.side.table.pairs(entries, found, keeps_unmatched=False, most=self.batch_rows)
        for probe, build in pairs:
            if self.residual is not None:
                probe, build = self.residual.filter(chunk, self.side, probe, build)
            self._mark(build)
            yield probe, build

    def _mark(self, build: Array) -> None:
        if self.matched is not None:
            mark_rows(build, self.matched)


class PairEmission(Emission):
    """Columns of both sides."""

    def chunks(self, chunk: Chunk, entries: Array, found: int) -> Iterator[Chunk | None]:
        keeps = self.shape.keeps_probe
        if self.residual is not None and keeps:
            yield from self._kept_after_condition(chunk, entries, found)
        elif self.residual is not None or not keeps:
            yield from self._matching(chunk, entries, found)
        else:
            yield from self._kept(chunk, entries, found)

    def _matching(self, chunk: Chunk, entries: Array, found: int) -> Iterator[Chunk | None]:
        unique, rows = self.side.table.is_unique, chunk.num_rows
        if self.residual is None and unique and found == rows:
            self._mark(entries)
            yield self._joined(chunk, None, row_numbers(entries))
            return
        for probe, build in self._pairs(chunk, entries, found):
            whole = unique and probe.size == rows
            yield self._joined(chunk, None if whole else probe, row_numbers(build)) if probe.size else None

    def _kept(self, chunk: Chunk, entries: Array, found: int) -> Iterator[Chunk | None]:
        missing = found < chunk.num_rows
        table = self.side.table
        for probe, build in table.pairs(entries, found, keeps_unmatched=True, most=self.batch_rows):
            self._mark(build)
            rows = row_numbers(build, with_missing=missing)
            yield self._joined(chunk, None if table.is_unique else probe, rows)

    def _kept_after_condition(self, chunk: Chunk, entries: Array, found: int) -> Iterator[Chunk | None]:
        hit = np.zeros(chunk.num_rows, dtype=np.uint8)
        yield from self.met(chunk, entries, found, hit)
        yield self.due(chunk, hit)

    def met(self, chunk: Chunk, entries: Array, found: int, hit: Array) -> Iterator[Chunk | None]:
        for probe, build in self._pairs(chunk, entries, found):
            mark_rows(probe, hit)
            yield self._joined(chunk, probe, row_numbers(build)) if probe.size else None

    def due(self, chunk: Chunk, hit: Array) -> Chunk | None:
        if not self.shape.keeps_probe:
            return None
        unmatched = np.flatnonzero(hit == 0).astype(np.int32)
        return self._joined(chunk, unmatched, pa.nulls(unmatched.size, pa.int32())) if unmatched.size else None

    def _joined(self, chunk: Chunk, probe: Array | None, build: pa.Array) -> Chunk:
        """Put probe rows (None: all as they are) beside build rows (NULL: NULLs)."""
        columns, count = self.columns, len(build)
        nothing = pa.nulls(count)
        rows = None if probe is None else row_numbers(probe)
        left = [
            nothing if kind is None else chunk.column(i) if rows is None else gathered(chunk.column(i), rows)
            for i, kind in enumerate(columns.probe)
        ]
        return _in_order(self.shape, left, _build_columns(columns, self.side, build), count)


class MatchEmission(Emission):
    """Rows of the probe side by whether they have a match."""

    def chunks(self, chunk: Chunk, entries: Array, found: int) -> Iterator[Chunk | None]:
        if self.residual is None:
            yield self._chosen(chunk, entries >= 0, found)
            return
        hit = np.zeros(chunk.num_rows, dtype=np.uint8)
        yield from self.met(chunk, entries, found, hit)
        yield self.due(chunk, hit)

    def met(self, chunk: Chunk, entries: Array, found: int, hit: Array) -> Iterator[Chunk | None]:
        if self.residual is None:
            hit |= entries >= 0
            yield None
            return
        for probe, _ in self._pairs(chunk, entries, found):
            mark_rows(probe, hit)
            yield None

    def due(self, chunk: Chunk, hit: Array) -> Chunk | None:
        return self._chosen(chunk, hit != 0, int(np.count_nonzero(hit)))

    def _chosen(self, chunk: Chunk, hit: Array, count: int) -> Chunk | None:
        chunk = self._read(chunk)
        if self.shape.emits is Emits.PROBE_FLAGGED:
            return make_chunk([*chunk.columns, bool_array(hit)], chunk.num_rows)
        if self.shape.emits is Emits.PROBE_UNMATCHED:
            hit, count = ~hit, hit.size - count
        return _selected(chunk, hit, count)

    def _read(self, chunk: Chunk) -> Chunk:
        """Put nothing in the place of columns that nothing above reads."""
        if None not in self.columns.probe:
            return chunk
        nothing = pa.nulls(chunk.num_rows)
        columns = [nothing if kind is None else chunk.column(i) for i, kind in enumerate(self.columns.probe)]
        return make_chunk(columns, chunk.num_rows)


class MarkEmission(Emission):
    """Nothing for probe chunks: they only mark the build rows, which come at the end."""

    def chunks(self, chunk: Chunk, entries: Array, found: int) -> Iterator[Chunk | None]:
        for _ in self._pairs(chunk, entries, found):
            yield None


#: The emission of a join by what its shape emits.
EMISSIONS: dict[Emits, type[Emission]] = {
    Emits.PAIRS: PairEmission,
    Emits.PROBE_MATCHED: MatchEmission,
    Emits.PROBE_UNMATCHED: MatchEmission,
    Emits.PROBE_FLAGGED: MatchEmission,
    Emits.BUILD_MATCHED: MarkEmission,
    Emits.BUILD_UNMATCHED: MarkEmission,
}


def build_rest(
    shape: JoinShape, columns: JoinColumns, side: BuildSide, matched: Array, batch_rows: int
) -> Iterator[Chunk | None]:
    """Give, after all probe rows, the build rows that come without a probe row."""
    wanted = 1 if shape.emits is Emits.BUILD_MATCHED else 0
    start = 0
    while start < side.rows:
        rows = allocate(min(batch_rows, side.rows - start), np.int32)
        count, start = flagged_rows(matched, wanted, start, rows)
        if not count:
            return
        numbers = row_numbers(rows[:count])
        given = columns.probe if shape.emits is Emits.PAIRS else ()
        nulls = [pa.nulls(count) if kind is None else pa.nulls(count, kind) for kind in given]
        yield _in_order(shape, nulls, _build_columns(columns, side, numbers), count)


def _build_columns(columns: JoinColumns, side: BuildSide, rows: pa.Array) -> list[pa.Array]:
    nothing = pa.nulls(len(rows))
    return [nothing if place is None else side.take(place, rows) for place in columns.build]


def _in_order(shape: JoinShape, probe: list[pa.Array], build: list[pa.Array], rows: int) -> Chunk:
    return make_chunk([*probe, *build] if shape.probe_is_left else [*build, *probe], rows)


def _selected(chunk: Chunk, wanted: Array, count: int) -> Chunk | None:
    """Keep ``count`` rows, those ``wanted``."""
    if count == chunk.num_rows:
        return chunk
    if not count:
        return None
    if not chunk.num_columns:
        return rows_only(count)
    if count >= _FILTER_FROM * chunk.num_rows:
        return chunk.filter(bool_array(wanted))
    return chunk.take(row_numbers(np.flatnonzero(wanted).astype(np.int32)))
