"""The runtime filter: drops, below the first join of a pipeline, rows that a join above it would drop.

The benefit depends on how many rows it drops, and how many the first join drops anyway. A sample of the first chunk
is looked up in the tables themselves; the filter is built only if few of its rows have a match, and no more than in
the first join. A filter is disabled after ``OBSERVED_ROWS`` rows of which too many passed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import compile_expressions
from pyspark_pipeline.kernels.arrays import UInt8Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.key_filter import KeyFilter, KeyFilterProbe
from pyspark_pipeline.kernels.take import filter_rows, take_rows
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import runtime_filters
from pyspark_pipeline.operators.joins.shared import SharedJoinState
from pyspark_pipeline.operators.runtime_filters import RowFilter, sample_rows, share_found
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.joins import JoinOutputKind

DROPPED = declare_counter("runtime_filter_rows", "Rows dropped below the first join by the keys of others", unit="rows")
OFF = declare_counter("runtime_filters_off", "Runtime filters left out for dropping too few rows", unit="filters")


class AdaptiveFilter:
    """One filter in one driver, with its pass rate."""

    def __init__(self, filter_: KeyFilter, columns: Sequence[int]) -> None:
        self._probe = KeyFilterProbe(filter_)
        self._columns = columns
        self._seen = self._passed = 0

    def keep(self, chunk: Chunk, mask: UInt8Array, selected: int) -> int:
        """Clear the mask of the rows without a match, ``selected`` of which are set; return how many still are."""
        kept = self._probe.keep([chunk.column(i) for i in self._columns], mask)
        self._seen += selected
        self._passed += kept
        return kept

    def is_selective(self) -> bool:
        """Return whether the pass rate is low enough; checked and reset every ``OBSERVED_ROWS`` rows, else True."""
        if self._seen < runtime_filters.OBSERVED_ROWS:
            return True
        selective = self._passed <= runtime_filters.MAX_PASS_RATE * self._seen
        self._seen = self._passed = 0
        return selective


class RuntimeFilterOperator(StreamingOperator):
    """Applies the filters of the joins above the ``first`` one."""

    def __init__(self, candidates: Sequence[RowFilter], first: SharedJoinState) -> None:
        super().__init__()
        self._candidates = candidates
        self._first = first
        self._filters: list[AdaptiveFilter] | None = None

    def transform(self, chunk: Chunk) -> Chunk | None:
        if self._filters is None:
            self._filters = self._choose(chunk)
        if not self._filters:
            return chunk
        mask = allocate(chunk.num_rows, np.uint8)
        mask[:] = 1
        left = chunk.num_rows
        for filter_ in self._filters:
            left = filter_.keep(chunk, mask, left)
        self._disable_unselective(self._filters)
        return self._filter(chunk, mask, left)

    def close(self) -> None:
        super().close()
        self._filters = []

    def _choose(self, chunk: Chunk) -> list[AdaptiveFilter]:
        """Build the filters that drop enough rows of a sample of the chunk, the most selective first."""
        sample = take_rows(chunk, sample_rows(chunk.num_rows))
        most = min(runtime_filters.MAX_PASS_RATE, _share_of_first(self._first, sample))
        shares = [_share_of(candidate, sample) for candidate in self._candidates]
        chosen = []
        for place in sorted(range(len(shares)), key=shares.__getitem__):
            filter_ = self._candidates[place].keys.key_filter() if shares[place] <= most else None
            if filter_ is not None:
                chosen.append(AdaptiveFilter(filter_, self._candidates[place].columns))
        self.context.metrics.add(OFF, len(shares) - len(chosen))
        return chosen

    def _disable_unselective(self, filters: Sequence[AdaptiveFilter]) -> None:
        self._filters = [filter_ for filter_ in filters if filter_.is_selective()]
        if len(self._filters) < len(filters):
            self.context.metrics.add(OFF, len(filters) - len(self._filters))

    def _filter(self, chunk: Chunk, mask: UInt8Array, left: int) -> Chunk | None:
        """Return the ``left`` selected rows; all rows if too few are dropped to be worth the copy."""
        rows = chunk.num_rows
        if left > runtime_filters.MAX_PASS_RATE * rows:
            return chunk
        self.context.metrics.add(DROPPED, rows - left)
        if not left:
            return None
        return filter_rows(chunk, mask)


def _share_of(candidate: RowFilter, sample: Chunk) -> float:
    """Return the share of a sample's rows whose keys are in the join's table."""
    return share_found(candidate.keys.built_table(), [sample.column(i) for i in candidate.columns], sample.num_rows)


def _share_of_first(first: SharedJoinState, sample: Chunk) -> float:
    """Estimate the share of a sample's rows that the first join keeps."""
    if not first.may_drop_rows:
        return 1.0
    keys = compile_expressions(first.probe_keys, first.settings).evaluate(sample)
    share = share_found(first.built_table(), keys, sample.num_rows)
    return 1.0 - share if first.shape.output_kind is JoinOutputKind.PROBE_UNMATCHED else share


class RuntimeFilterFactory(OperatorFactory):
    """Creates the filters of a pipeline's drivers. The probes above block each driver until all tables are built."""

    name = "RuntimeFilter"
    replay_dependencies = "the tables of the joins above it"

    def __init__(self, candidates: Sequence[RowFilter], first: SharedJoinState) -> None:
        self._candidates = candidates
        self._first = first

    def create(self, dop: int, driver_sequence: int) -> RuntimeFilterOperator:
        return RuntimeFilterOperator(self._candidates, self._first)
