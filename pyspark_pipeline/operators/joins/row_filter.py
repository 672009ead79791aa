"""Drops, below the first join of a pipeline, rows that a join above it would drop.

Whether that pays depends on how many rows it drops, and how many the first join drops anyhow. A sample of the
first chunk is looked up in the tables themselves; only where few of its rows have a match, and no more than in the
first join, is the filter made. Later the filter is watched, and left out after :data:`WATCHED_ROWS` rows of which
too many passed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import compile_expressions
from pyspark_pipeline.kernels.buffers import Array, allocate, bool_array
from pyspark_pipeline.kernels.join_table import JoinProber, JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter, KeyMarker
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.joins.shared import JoinShared
from pyspark_pipeline.operators.runtime_filters import RowFilter
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.joins import Emits

DROPPED = declare_counter("runtime_filter_rows", "Rows dropped below the first join by the keys of others", unit="rows")
OFF = declare_counter("runtime_filters_off", "Runtime filters left out for dropping too few rows", unit="filters")

SAMPLE_ROWS = 8192
WATCHED_ROWS = 1 << 19
#: A filter whose rows pass in a larger share costs more than it saves.
MOST_PASSING = 0.5
_FILTER_FROM = 0.25


class WatchedFilter:
    """One filter in one driver."""

    def __init__(self, filter_: KeyFilter, columns: Sequence[int]) -> None:
        self._marker = KeyMarker(filter_)
        self._columns = columns
        self._seen = self._passed = 0

    def keep(self, chunk: Chunk, marks: Array, marked: int) -> int:
        """Unmark the rows of a chunk, ``marked`` of which are marked, that have no match; give how many still are."""
        kept = self._marker.keep([chunk.column(i) for i in self._columns], marks)
        self._seen += marked
        self._passed += kept
        return kept

    def pays(self) -> bool:
        """Say whether few enough rows pass, once enough were seen; forget them then."""
        if self._seen < WATCHED_ROWS:
            return True
        pays = self._passed <= MOST_PASSING * self._seen
        self._seen = self._passed = 0
        return pays


class RuntimeFilterOperator(StreamingOperator):
    """Applies what joins above the ``first`` one offered."""

    def __init__(self, offered: Sequence[RowFilter], first: JoinShared) -> None:
        super().__init__()
        self._offered = offered
        self._first = first
        self._filters: list[WatchedFilter] | None = None

    def transform(self, chunk: Chunk) -> Chunk | None:
        if self._filters is None:
            self._filters = self._chosen(chunk)
        if not self._filters:
            return chunk
        marks = allocate(chunk.num_rows, np.uint8)
        marks[:] = 1
        left = chunk.num_rows
        for filter_ in self._filters:
            left = filter_.keep(chunk, marks, left)
        self._watch(self._filters)
        return self._kept(chunk, marks, left)

    def close(self) -> None:
        super().close()
        self._filters = []

    def _chosen(self, chunk: Chunk) -> list[WatchedFilter]:
        """Make the filters that drop enough rows of a sample of the chunk, those that drop most first."""
        rows = np.arange(0, chunk.num_rows, -(-chunk.num_rows // SAMPLE_ROWS), dtype=np.int32)
        sample = chunk.take(pa.array(rows))
        most = min(MOST_PASSING, _share_of_first(self._first, sample))
        shares = [_share_of(offered, sample) for offered in self._offered]
        chosen = []
        for place in sorted(range(len(shares)), key=shares.__getitem__):
            filter_ = self._offered[place].keys.key_filter() if shares[place] <= most else None
            if filter_ is not None:
                chosen.append(WatchedFilter(filter_, self._offered[place].columns))
        self.context.metrics.add(OFF, len(shares) - len(chosen))
        return chosen

    def _watch(self, filters: Sequence[WatchedFilter]) -> None:
        self._filters = [filter_ for filter_ in filters if filter_.pays()]
        if len(self._filters) < len(filters):
            self.context.metrics.add(OFF, len(filters) - len(self._filters))

    def _kept(self, chunk: Chunk, marks: Array, left: int) -> Chunk | None:
        """Give the marked rows, ``left`` of them; all rows where too few would go for the copy to pay."""
        rows = chunk.num_rows
        if left > MOST_PASSING * rows:
            return chunk
        self.context.metrics.add(DROPPED, rows - left)
        if not left:
            return None
        if left >= _FILTER_FROM * rows:
            return chunk.filter(bool_array(marks))
        return chunk.take(pa.array(np.flatnonzero(marks).astype(np.int32)))


def _share_of(offered: RowFilter, sample: Chunk) -> float:
    """Give the share of a sample's rows whose keys were built."""
    return _share_found(offered.keys.built_table(), [sample.column(i) for i in offered.columns], sample.num_rows)


def _share_of_first(first: JoinShared, sample: Chunk) -> float:
    """Estimate the share of a sample's rows that the first join lets through."""
    if not first.may_drop_rows:
        return 1.0
    keys = compile_expressions(first.probe_keys, first.settings).evaluate(sample)
    share = _share_found(first.built_table(), keys, sample.num_rows)
    return 1.0 - share if first.shape.emits is Emits.PROBE_UNMATCHED else share


def _share_found(table: JoinTable | None, keys: Sequence[pa.Array], rows: int) -> float:
    """Give the share of rows that are in the table; of all where there is none."""
    return 1.0 if table is None else JoinProber(table).find(keys, rows)[1] / rows


class RuntimeFilterFactory(OperatorFactory):
    """Makes the filters of a pipeline's drivers. The probes above them have the driver wait for all tables."""

    name = "RuntimeFilter"
    works_with = "the tables of the joins above it"

    def __init__(self, offered: Sequence[RowFilter], first: JoinShared) -> None:
        self._offered = offered
        self._first = first

    def create(self, dop: int, driver_sequence: int) -> RuntimeFilterOperator:
        return RuntimeFilterOperator(self._offered, self._first)
