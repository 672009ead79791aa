"""Streaming partial aggregation, abandoned when it does not reduce (Velox: abandon partial aggregation).

After ``aggregate.passThroughRows`` rows the operator checks the groups per hundred rows. From
``aggregate.passThroughRatio`` on it flushes the groups and converts every further row to a group of its own; if there
are many groups, but hardly fewer than runs of rows with equal keys, as in a file that is ordered by them, every run,
unless merging parts of groups may change a result. A table that exceeds its memory, or would with the
next chunk, is flushed, checked in the same way and replaced by an empty one. In all cases the later stage merges. The
states and the allowed moves::

    DECIDING ──> REDUCING                    groups rows
      │  ^         │  ^
      v  │         v  │
      FLUSHING ─────────> ABANDONED <──> CONVERTED
         └──────────────────────────────────^       (a chunk made the table flush and the aggregation abandoned)

    each of these ──> DRAINING ──> FINISHED          each state ──> FINISHED, if no output is needed any more
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.exec.states import TableMachine
from pyspark_pipeline.kernels.key_runs import have_runs
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.aggregation.aggregator import NULL_KEYS, AggregateProgram, Aggregator

FLUSHES = declare_counter("partial_flushes", "Times a partial aggregation flushed its groups", unit="times")
UNREDUCED_ROWS = declare_counter("rows_passed_through", "Rows that a partial aggregation did not reduce", unit="rows")
RUN_ROWS = declare_counter("rows_grouped_by_runs", "Rows that a partial aggregation grouped by key runs", unit="rows")

_MAX_BYTES = 256 << 20
#: Groups that fit in a core's cache, with their states: fewer are found in a table.
_MANY_GROUPS = 1 << 14
#: Groups per hundred runs from which a table does not merge enough of them, …
_GROUPS_OF_RUNS = 90
#: … and runs per hundred rows from which finding them does not pay.
_RUNS_OF_ROWS = 95


class PartialState(Enum):
    """State of a partial aggregation."""

    DECIDING = "groups rows, too few of them yet to decide"
    REDUCING = "groups rows, which reduces them"
    FLUSHING = "outputs groups"
    ABANDONED = "converts each row, or each run, to a group"
    CONVERTED = "outputs a converted chunk"
    DRAINING = "outputs the remaining groups: the input has ended"
    FINISHED = "has no more output"


_S = PartialState
ACCEPTING = frozenset({_S.DECIDING, _S.REDUCING, _S.ABANDONED})
EMITTING = frozenset({_S.FLUSHING, _S.CONVERTED, _S.DRAINING})
_CONVERTING = frozenset({_S.ABANDONED, _S.CONVERTED})
_ENDS = frozenset({_S.DRAINING, _S.FINISHED})

TRANSITIONS: Mapping[PartialState, frozenset[PartialState]] = {
    _S.DECIDING: frozenset({_S.REDUCING, _S.FLUSHING}) | _ENDS,
    _S.REDUCING: frozenset({_S.FLUSHING}) | _ENDS,
    _S.FLUSHING: frozenset({_S.DECIDING, _S.REDUCING, _S.ABANDONED, _S.CONVERTED}) | _ENDS,
    _S.ABANDONED: frozenset({_S.CONVERTED}) | _ENDS,
    _S.CONVERTED: frozenset({_S.ABANDONED}) | _ENDS,
    _S.DRAINING: frozenset({_S.FINISHED}),
    _S.FINISHED: frozenset(),
}


class StreamingAggregateOperator(Operator):
    """Partial aggregation with keys, in the middle of a pipeline.

    ``most_groups``: of a hundred rows, from which it is abandoned, if the option has a larger number.
    """

    def __init__(self, program: AggregateProgram, *, most_groups: int = 101) -> None:
        options = program.settings.options
        self._program = program
        self._batch_rows = options.batch_rows
        self._decide_at = options.aggregate_pass_through_rows
        self._ratio = min(options.aggregate_pass_through_ratio, most_groups)
        self._aggregator = Aggregator(program)
        self._flushed: Aggregator | None = None
        self._next = 0
        self._intermediate: Chunk | None = None
        self._resumed = _S.DECIDING
        self._may_have_runs = (
            self._ratio <= 100
            and self._aggregator.is_exact_in_parts
            and have_runs([key.type.arrow for key in program.node.grouping])
        )
        self._by_runs = False
        self.machine = TableMachine("a partial aggregation", _S.DECIDING, TRANSITIONS)

    @property
    def is_abandoned(self) -> bool:
        """Whether it groups no more rows, once its groups are output."""
        state = self.machine.state
        return state in _CONVERTING or (state is _S.FLUSHING and self._resumed is _S.ABANDONED)

    @property
    def groups_per_hundred(self) -> int:
        """Groups per hundred rows that it has grouped since the last flush; 0 without rows."""
        return self._aggregator.num_groups * 100 // max(self._aggregator.rows, 1)

    def need_input(self) -> bool:
        return self.machine.state in ACCEPTING

    def push_chunk(self, chunk: Chunk) -> None:
        grouping = self.machine.state is not _S.ABANDONED
        if grouping and self._is_too_large(self._aggregator.nbytes_after(chunk.num_rows)):
            self._flush()
            grouping = self._resumed is not _S.ABANDONED
        if grouping:
            self._group(chunk)
        else:
            self._convert(chunk)

    def _group(self, chunk: Chunk) -> None:
        counts_runs = self._may_have_runs and self.machine.state is _S.DECIDING
        self.context.metrics.add(NULL_KEYS, self._aggregator.add(chunk, counts_runs=counts_runs))
        too_large = self._is_too_large(self._aggregator.nbytes)
        if self._flushed is not None:
            return
        if too_large:
            self._flush()
        elif self.machine.state is _S.DECIDING and self._aggregator.rows >= self._decide_at:
            self._by_runs = self._are_runs_groups()
            if self._should_abandon():
                self._flush()
            else:
                self.machine.move(_S.REDUCING)

    def _convert(self, chunk: Chunk) -> None:
        """Convert each row, or each run, to a group; the flushed groups, if any, are output first."""
        self._intermediate, nulls = self._aggregator.to_intermediate(chunk, by_runs=self._by_runs)
        self.context.metrics.add(RUN_ROWS if self._by_runs else UNREDUCED_ROWS, chunk.num_rows)
        self.context.metrics.add(NULL_KEYS, nulls)
        if self.machine.state is _S.ABANDONED:
            self.machine.move(_S.CONVERTED)

    def _is_too_large(self, nbytes: int) -> bool:
        """Account for the table's bytes; return whether ``nbytes`` are too many and the table is worth a flush."""
        waiting = 0 if self._flushed is None else self._flushed.nbytes
        if nbytes <= _MAX_BYTES and self.context.memory.try_reserve(nbytes + waiting, may_reclaim=False):
            return False
        held = self._aggregator.nbytes
        self.context.memory.reserve_unchecked(held + waiting)
        return self._flushed is None and held >= min(spill_partitions.MIN_SPILL_BYTES, _MAX_BYTES)

    def _should_abandon(self) -> bool:
        """Return whether there are enough rows to decide and too many groups among them, or as many as runs."""
        rows = self._aggregator.rows
        if rows < self._decide_at:
            return False
        return self._by_runs or self._aggregator.num_groups * 100 >= self._ratio * rows

    def _are_runs_groups(self) -> bool:
        """Return whether there are many groups, and a table has not much fewer than the rows have runs."""
        groups, runs, rows = self._aggregator.num_groups, self._aggregator.runs, self._aggregator.rows
        if groups < _MANY_GROUPS or runs * 100 > _RUNS_OF_ROWS * rows:
            return False
        return groups * 100 >= _GROUPS_OF_RUNS * runs > 0

    def _flush(self) -> None:
        """Start to output the groups; then continue with an empty aggregator, or abandoned."""
        self._resumed = _S.ABANDONED if self._should_abandon() else self.machine.state
        self.machine.move(_S.FLUSHING)
        self._replace_aggregator()
        self._advance()

    def _replace_aggregator(self) -> None:
        self.context.metrics.add(FLUSHES)
        self._flushed, self._next = self._aggregator, 0
        self._aggregator = Aggregator(self._program)

    def _advance(self) -> None:
        """Move on if everything is output that the current state outputs."""
        if self._flushed is not None:
            if self._next < self._flushed.num_groups:
                return
            self._flushed = None
            self.context.memory.reserve_unchecked(self._aggregator.nbytes if self._aggregator.num_groups else 0)
        state = self.machine.state
        if state is not _S.DRAINING:
            resumed = _S.ABANDONED if state is _S.CONVERTED else self._resumed
            self.machine.move(resumed if self._intermediate is None else _S.CONVERTED)
        elif self._intermediate is None:
            if self._aggregator.num_groups:
                self._replace_aggregator()
            else:
                self.machine.move(_S.FINISHED)

    def has_output(self) -> bool:
        return self.machine.state in EMITTING

    def pull_chunk(self) -> Chunk | None:
        if self._flushed is None:
            chunk, self._intermediate = self._intermediate, None
        else:
            stop = min(self._next + self._batch_rows, self._flushed.num_groups)
            chunk = self._flushed.output(self._next, stop)
            self._next = stop
        self._advance()
        return chunk

    def set_finishing(self) -> None:
        self.machine.move(_S.DRAINING)
        if self._flushed is None:
            self._advance()

    def is_finished(self) -> bool:
        return self.machine.state is _S.FINISHED

    def set_finished(self) -> None:
        if self.machine.state is not _S.FINISHED:
            self.machine.move(_S.FINISHED)
        self._flushed = None
        self._intermediate = None

    def close(self) -> None:
        self._flushed = None
        self._intermediate = None
        self.context.memory.reserve(0)


class StreamingAggregateFactory(OperatorFactory):
    """Makes partial aggregations; every driver has its own groups."""

    name = "StreamingAggregate"

    def __init__(self, program: AggregateProgram) -> None:
        self._program = program

    def create(self, dop: int, driver_sequence: int) -> StreamingAggregateOperator:
        return StreamingAggregateOperator(self._program)
