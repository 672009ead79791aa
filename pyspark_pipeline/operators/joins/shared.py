"""What the drivers of a join's build pipeline and probe pipeline share.

The build drivers meet at a barrier; the last one makes the side of all parts and publishes it through the
bridge, for which the probe drivers wait. Where build rows are marked, the probe drivers meet at a barrier at
their end; the last one gives the build rows that are still due (no driver waits: the others are finished). Where the
build side does not fit in memory what is published is that both sides go to disk (:mod:`~.spill`). Until the last
part has come, others that need the memory may have all parts put aside; those of drivers that have ended are put
aside by one that goes on. The lock guards the counts of drivers, and the parts handed in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from pyspark_pipeline.exec.barrier import Barrier
from pyspark_pipeline.exec.bridge import Bridge
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.kernels.buffers import Array
from pyspark_pipeline.kernels.join_table import JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.joins.build_part import BuildPart
from pyspark_pipeline.operators.joins.build_side import BuildCollector, BuildSide, build_bytes
from pyspark_pipeline.operators.joins.columns import JoinColumns
from pyspark_pipeline.operators.joins.spill import JoinSpill
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.joins import Emits, HashJoin, Join
from pyspark_pipeline.plan.nodes import Settings

NULL_KEYS = declare_counter("join_null_keys", "NULLs in the key columns of one side of a join", unit="values")


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastSide:
    """A built side that no pipeline builds.

    ``fetch`` gives it, counted in its first argument while it is made and then in its second, the *user*, where it is
    not older than this instance. ``leave`` ends that for a user.
    """

    fetch: Callable[[MemoryTracker, MemoryTracker], BuildSide]
    leave: Callable[[MemoryTracker], None]


class JoinShared:
    """The meeting place of one join. ``broadcast``: the built side where no pipeline builds it."""

    def __init__(self, join: Join, settings: Settings, broadcast: BroadcastSide | None = None) -> None:
        hashed = join if isinstance(join, HashJoin) else None
        self._join = join
        self.shape = join.shape
        self.columns = JoinColumns.of(join)
        self.probe_keys: tuple[Expr, ...] = hashed.probe_keys if hashed else ()
        self.build_keys: tuple[Expr, ...] = hashed.build_keys if hashed else ()
        self.is_null_aware = hashed is not None and hashed.null_aware
        self.settings = ExpressionSettings.of(settings)
        self.batch_rows: int = settings.options["batchRows"]
        self.bridge: Bridge[BuildSide | JoinSpill] = Bridge("the built side of a join")
        self.unwanted = Event("the built side of a join is not wanted")
        self.is_unwanted = False
        self.is_void = False
        self.matched: Array | None = None
        spills = self.build_keys and not self.is_null_aware and broadcast is None
        self.spill = JoinSpill() if spills else None
        self._broadcast = broadcast
        self._build_barrier: Barrier[BuildPart] | None = None
        self._probe_barrier: Barrier[None] | None = None
        self._tracker: MemoryTracker | None = None
        self._handed_in: list[BuildPart] = []
        self._probes = self._ended = self._closed = 0
        self._lock = threading.Lock()

    def keep_only(self, ordinals: Collection[int]) -> frozenset[int]:
        """Learn, before any operator is made, that nothing above reads other columns of the output; give those."""
        self.columns = JoinColumns.of(self._join, ordinals)
        return frozenset(range(len(self._join.output))) - frozenset(ordinals)

    @property
    def may_drop_rows(self) -> bool:
        """Whether few rows of a probe chunk may be left."""
        return not self.shape.keeps_probe and self.shape.emits is not Emits.PROBE_FLAGGED

    # --- the build pipeline -----------------------------------------------------------------------

    def expect_builders(self, dop: int) -> None:
        """Learn how many drivers build."""
        if self._build_barrier is None:
            self._build_barrier = Barrier(dop)

    def collector(self) -> BuildCollector:
        """Make the collector of one build driver."""
        return BuildCollector(self.build_keys, self.columns.kept, self.settings)

    def part(self) -> BuildPart:
        """Make what one build driver fills."""
        return BuildPart(self.collector(), self.spill)

    def hand_in(self, driver_sequence: int, part: BuildPart, context: OperatorContext) -> int:
        """Take a build driver's part; after the last one publish. Give the rows built by this call."""
        assert self._build_barrier is not None
        if context.withdraw():
            self.revoke(part, context)
        held = self._account(part, context)
        parts = self._build_barrier.arrive(driver_sequence, part)
        if parts is None or self.is_unwanted:
            return 0
        was_asked = held.withdraw()
        self._handed_in = []
        rows = sum(part.rows for part in parts)
        nbytes = sum(part.collector.nbytes for part in parts)
        spill, needed = self.spill, held.held + build_bytes(nbytes, rows)
        if spill is not None and (spill.is_on or was_asked or not self._fits(held, needed)):
            self._put_aside(spill, parts, context)
            held.hold(0)
            return rows
        side = self.build_side([part.collector for part in parts])
        if spill is not None:
            held.force(side.nbytes)
        else:
            held.hold(side.nbytes)
        self._publish(side)
        return rows

    def revoke(self, part: BuildPart, context: OperatorContext) -> None:
        """Put aside the part of a build driver, and those handed in: another operator needs the memory."""
        spill = self.spill
        if spill is None or self.is_unwanted:
            return
        spill.is_on = True
        part.flush(context)
        context.memory.force(part.nbytes)
        with spill.lock, self._lock:
            if self._tracker is not None and not spill.is_closed:
                for waiting in self._handed_in:
                    waiting.flush(context)
                self._tracker.force(sum(waiting.nbytes for waiting in self._handed_in))
                self._tracker.answer()

    def _fits(self, held: MemoryTracker, needed: int) -> bool:
        """Hold what is needed to build; little is built in any case."""
        return held.try_hold(needed) or needed < spill_partitions.LEAST_BYTES

    def _account(self, part: BuildPart, context: OperatorContext) -> MemoryTracker:
        """Count a driver's part as the join's, for it outlives the driver."""
        memory = context.memory
        with self._lock:
            if self._tracker is None:
                parent = memory.parent if memory.parent is not None else memory
                self._tracker = parent.child("the built side of a join")
                if self.spill is not None and not self.is_unwanted:
                    self._tracker.offer(self.spill.revocable)
            memory.hold(0)
            if not self._probes or self._closed < self._probes:
                self._handed_in.append(part)
                self._tracker.force(sum(waiting.nbytes for waiting in self._handed_in))
        if self.spill is not None:
            self.spill.own(part)
        return self._tracker

    def _put_aside(self, spill: JoinSpill, parts: Sequence[BuildPart], context: OperatorContext) -> None:
        """Write all build rows to disk; the probe rows shall follow."""
        with spill.lock:
            if spill.is_closed:
                return
            spill.is_on = True
            spill.build = [part.finish(context) for part in parts]
        self.bridge.publish(spill)

    def build_side(self, parts: Sequence[BuildCollector]) -> BuildSide:
        """Make the built side of all collected chunks."""
        return BuildSide(parts, self.columns.kept_types, lists=self.columns.pairs)

    def _publish(self, side: BuildSide) -> None:
        if self.shape.marks_build:
            self.matched = np.zeros(side.rows, dtype=np.uint8)
        self.is_void = self._gives_nothing(side)
        self.bridge.publish(side)

    def _gives_nothing(self, side: BuildSide) -> bool:
        """Say whether no probe row can bring any output, so that the probe side need not be read."""
        if self.is_null_aware and side.table.has_nulls:
            return True
        if self.shape.marks_build:
            return not side.rows and not self.shape.keeps_probe
        pairs = self.shape.emits is Emits.PAIRS and not self.shape.keeps_probe
        return not side.table.valid_rows and (pairs or self.shape.emits is Emits.PROBE_MATCHED)

    # --- runtime filters --------------------------------------------------------------------------

    def _built(self) -> BuildSide | None:
        built = self.bridge.peek()
        return built if isinstance(built, BuildSide) else None

    def built_table(self) -> JoinTable | None:
        """Give the table; None while there is none, and where the side went to disk."""
        side = self._built()
        return None if side is None else side.table

    def key_filter(self) -> KeyFilter | None:
        """Give the filter of the table's keys, made at the first call; None as for the table."""
        side = self._built()
        if side is None:
            return None
        made = side.key_filter()
        if self._tracker is not None and self._tracker.held:
            self._tracker.force(side.nbytes)
        return made

    @property
    def is_on_disk(self) -> bool:
        """Whether both sides are on disk, so that partitions can be joined."""
        return self.spill is not None and self.spill.is_complete

    # --- the probe pipeline -----------------------------------------------------------------------

    def expect_probes(self, dop: int) -> None:
        """Learn how many drivers probe."""
        if self._probe_barrier is None:
            self._probe_barrier = Barrier(dop)
            self._probes = dop

    def open(self, memory: MemoryTracker) -> None:
        """Fetch the built side where it is a broadcast; the first probe driver does it for all.

        Raises :class:`ResourceExhaustedError`, naming the operator of ``memory``, where it does not fit.
        """
        with self._lock:
            if self._broadcast is not None and not self.bridge.is_ready():
                user = self._tracker = (memory.parent or memory).child("the table of a broadcast")
                self._publish(self._broadcast.fetch(memory, user))

    def is_last_probe(self, driver_sequence: int) -> bool:
        """Learn that a probe driver has done all its chunks; say whether it was the last."""
        assert self._probe_barrier is not None
        return self._probe_barrier.arrive(driver_sequence, None) is not None

    def probe_ended(self) -> None:
        """Learn that a probe driver wants nothing any more; after the last one the built side is not wanted."""
        with self._lock:
            self._ended += 1
            if self._ended < self._probes:
                return
            self.is_unwanted = True
            if self._tracker is not None:
                self._tracker.withdraw()
        self.unwanted.notify()

    def probe_closed(self) -> None:
        """Learn that a probe driver is closed; the last one releases the built side, and what is built of it yet."""
        with self._lock:
            self._closed += 1
            if self._closed < self._probes:
                return
            self._handed_in = []
        if self._build_barrier is not None:
            self._build_barrier.close()
        self.bridge.close()
        self.matched = None
        if self._tracker is not None:
            if self._broadcast is not None:
                self._broadcast.leave(self._tracker)
            self._tracker.close()
        if self.spill is not None:
            self.spill.close()
