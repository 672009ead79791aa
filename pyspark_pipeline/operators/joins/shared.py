"""The state shared by the drivers of a join's build pipeline and probe pipeline.

The build drivers arrive at a barrier; the last one builds the side from all drivers' rows and publishes it through
the bridge, which unblocks the probe drivers. The probe drivers arrive at another barrier after their input; the last
one emits the remaining build rows if build matches are tracked (no driver waits: the others are finished). If the
build side does not fit in memory, a :class:`JoinSpill` is published instead: both sides go to disk (:mod:`~.spill`).
Until the last build driver has finished, all build rows are reclaimable; a running driver spills the rows of those
that have finished. The lock guards the counts of drivers and the finished builds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from pyspark_pipeline.exec.barrier import Barrier
from pyspark_pipeline.exec.bridge import Bridge
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.kernels.arrays import UInt8Array
from pyspark_pipeline.kernels.join_table import JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.joins.build_side import BuildCollector, BuildSide, build_bytes
from pyspark_pipeline.operators.joins.columns import JoinColumns
from pyspark_pipeline.operators.joins.local_build import LocalBuild
from pyspark_pipeline.operators.joins.spill import JoinSpill
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.joins import HashJoin, Join, JoinOutputKind
from pyspark_pipeline.plan.nodes import Node, Settings
from pyspark_pipeline.plan.observations import CollectMetrics
from pyspark_pipeline.plan.properties import ALL_PLAIN, RequiredOutput

NULL_KEYS = declare_counter("join_null_keys", "NULLs in the key columns of one side of a join", unit="values")


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastSide:
    """A build side that is a broadcast instead of the result of a build pipeline.

    ``fetch`` returns it; its bytes are reserved in the first argument during the build and then in the second, the
    *user*, unless the side is older than this instance. ``release`` ends the use by a user. ``identity`` returns what
    tells the side from others in the process.
    """

    fetch: Callable[[MemoryTracker, MemoryTracker], BuildSide]
    release: Callable[[MemoryTracker], None]
    identity: Callable[[], Hashable]


def _collects_metrics(root: Node) -> bool:
    """Return whether metrics of rows below ``root`` are collected: Spark reads these rows even if none has output."""
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, CollectMetrics):
            return True
        pending.extend(node.children)
    return False


class SharedJoinState:
    """The shared state of one join. ``broadcast``: the build side if no pipeline builds it, else None.

    The unused columns of ``required`` are emitted with the null type and not kept.
    ``is_abandoned``: no probe driver needs the build side any more. ``is_output_empty``: no probe row can have output.
    """

    def __init__(
        self,
        join: Join,
        settings: Settings,
        required: RequiredOutput = ALL_PLAIN,
        broadcast: BroadcastSide | None = None,
    ) -> None:
        hashed = join if isinstance(join, HashJoin) else None
        self.shape = join.shape
        self.columns = JoinColumns.of(join, required)
        self.probe_keys: tuple[Expr, ...] = hashed.probe_keys if hashed else ()
        self.build_keys: tuple[Expr, ...] = hashed.build_keys if hashed else ()
        self.is_null_aware = hashed is not None and hashed.null_aware
        self.settings = ExpressionSettings.of(settings)
        self.batch_rows: int = settings.options.batch_rows
        self.bridge: Bridge[BuildSide | JoinSpill] = Bridge("the build side of a join")
        self.abandoned = Event("the build side of a join is abandoned")
        self.is_abandoned = False
        self.is_output_empty = False
        self.matched: UInt8Array | None = None
        spills = self.build_keys and not self.is_null_aware and broadcast is None
        self.spill = JoinSpill() if spills else None
        self._broadcast = broadcast
        self._observes_probe = _collects_metrics(join.probe)
        self._build_barrier: Barrier[LocalBuild] | None = None
        self._probe_barrier: Barrier[None] | None = None
        self._tracker: MemoryTracker | None = None
        self._finished_builds: list[LocalBuild] = []
        self._probes = self._ended = self._closed = 0
        self._lock = threading.Lock()

    @property
    def is_broadcast(self) -> bool:
        """Whether the build side is a broadcast."""
        return self._broadcast is not None

    @property
    def identity(self) -> Hashable:
        """What tells the build side, a broadcast, from others in the process."""
        assert self._broadcast is not None
        return self._broadcast.identity()

    @property
    def may_drop_rows(self) -> bool:
        """Whether the join may drop probe rows."""
        return not self.shape.probe_outer and self.shape.output_kind is not JoinOutputKind.PROBE_FLAGGED

    # --- the build pipeline -----------------------------------------------------------------------

    def expect_builders(self, dop: int) -> None:
        """Set the number of build drivers."""
        if self._build_barrier is None:
            self._build_barrier = Barrier(dop)

    def collector(self) -> BuildCollector:
        """Create the collector of one build driver."""
        return BuildCollector(self.build_keys, self.columns.kept, self.settings)

    def local_build(self) -> LocalBuild:
        """Create the state of one build driver."""
        return LocalBuild(self.collector(), self.spill)

    def finish_build(self, driver_sequence: int, build: LocalBuild, context: OperatorContext) -> int:
        """Finish a build driver; the last one publishes the build side. Return the rows built by this call."""
        assert self._build_barrier is not None
        if context.unregister_reclaimable():
            self.reclaim(build, context)
        tracker = self._move_memory(build, context)
        builds = self._build_barrier.arrive(driver_sequence, build)
        if builds is None or self.is_abandoned:
            return 0
        reclaim_requested = tracker.unregister_reclaimable()
        self._finished_builds = []
        rows = sum(build.rows for build in builds)
        nbytes = sum(build.collector.nbytes for build in builds)
        spill, needed = self.spill, tracker.held + build_bytes(nbytes, rows)
        if spill is not None and (spill.is_spilling or reclaim_requested or not self._reserve_table(tracker, needed)):
            self._spill(spill, builds, context)
            tracker.reserve(0)
            return rows
        side = self.build_side([build.collector for build in builds])
        if spill is not None:
            tracker.reserve_unchecked(side.nbytes)
        else:
            tracker.reserve(side.nbytes)
        self._publish(side)
        return rows

    def reclaim(self, build: LocalBuild, context: OperatorContext) -> None:
        """Spill the rows of a build driver and the finished builds: another operator needs the memory."""
        spill = self.spill
        if spill is None or self.is_abandoned:
            return
        spill.is_spilling = True
        build.flush(context)
        context.memory.reserve_unchecked(build.nbytes)
        with spill.lock, self._lock:
            if self._tracker is not None and not spill.is_closed:
                for finished in self._finished_builds:
                    finished.flush(context)
                self._tracker.reserve_unchecked(sum(build.nbytes for build in self._finished_builds))
                self._tracker.reclaim_done()

    def _reserve_table(self, tracker: MemoryTracker, needed: int) -> bool:
        """Reserve the bytes needed to build; return whether to build: a small table is built in any case."""
        return tracker.try_reserve(needed) or needed < spill_partitions.MIN_SPILL_BYTES

    def _move_memory(self, build: LocalBuild, context: OperatorContext) -> MemoryTracker:
        """Move the bytes of a driver's build rows to the join's tracker, since the rows outlive the driver."""
        memory = context.memory
        with self._lock:
            if self._tracker is None:
                parent = memory.parent if memory.parent is not None else memory
                self._tracker = parent.child("the build side of a join")
                if self.spill is not None and not self.is_abandoned:
                    self._tracker.register_reclaimable(self.spill.reclaimable)
            memory.reserve(0)
            if not self._probes or self._closed < self._probes:
                self._finished_builds.append(build)
                self._tracker.reserve_unchecked(sum(build.nbytes for build in self._finished_builds))
        if self.spill is not None:
            self.spill.own(build)
        return self._tracker

    def _spill(self, spill: JoinSpill, builds: Sequence[LocalBuild], context: OperatorContext) -> None:
        """Spill all build rows, and publish that the probe spills too."""
        with spill.lock:
            if spill.is_closed:
                return
            spill.is_spilling = True
            spill.build = [build.finish(context) for build in builds]
        self.bridge.publish(spill)

    def build_side(self, collectors: Sequence[BuildCollector]) -> BuildSide:
        """Build the side of all collected chunks."""
        return BuildSide(collectors, self.columns.kept_types, lists=self.columns.pairs)

    def _publish(self, side: BuildSide) -> None:
        if self.shape.tracks_build_matches:
            self.matched = np.zeros(side.rows, dtype=np.uint8)
        self.is_output_empty = self._has_no_output(side) and not self._observes_probe
        self.bridge.publish(side)

    def _has_no_output(self, side: BuildSide) -> bool:
        """Return whether no probe row can have output, so that the probe side need not be read."""
        if self.is_null_aware and side.table.has_nulls:
            return True
        if self.shape.tracks_build_matches:
            return not side.rows and not self.shape.probe_outer
        pairs = self.shape.output_kind is JoinOutputKind.PAIRS and not self.shape.probe_outer
        return not side.table.valid_rows and (pairs or self.shape.output_kind is JoinOutputKind.PROBE_MATCHED)

    # --- runtime filters --------------------------------------------------------------------------

    def _built(self) -> BuildSide | None:
        built = self.bridge.peek()
        return built if isinstance(built, BuildSide) else None

    def built_table(self) -> JoinTable | None:
        """Return the table; None before it is built, and if the join spilled."""
        side = self._built()
        return None if side is None else side.table

    def key_filter(self) -> KeyFilter | None:
        """Return the filter of the table's keys, built by the first call; None if there is no table."""
        side = self._built()
        if side is None:
            return None
        made = side.key_filter()
        if self._tracker is not None and self._tracker.held:
            self._tracker.reserve_unchecked(side.nbytes)
        return made

    @property
    def is_on_disk(self) -> bool:
        """Whether both sides are on disk, so that partitions can be joined."""
        return self.spill is not None and self.spill.is_complete

    # --- the probe pipeline -----------------------------------------------------------------------

    def expect_probes(self, dop: int) -> None:
        """Set the number of probe drivers."""
        if self._probe_barrier is None:
            self._probe_barrier = Barrier(dop)
            self._probes = dop

    def open(self, memory: MemoryTracker) -> None:
        """Fetch the build side if it is a broadcast; the first probe driver does this for all.

        Raises :class:`ResourceExhaustedError`, naming the operator of ``memory``, if it does not fit.
        """
        with self._lock:
            if self._broadcast is not None and not self.bridge.is_ready():
                user = self._tracker = (memory.parent or memory).child("the table of a broadcast")
                self._publish(self._broadcast.fetch(memory, user))

    def finish_probe(self, driver_sequence: int) -> bool:
        """Record that a probe driver has joined all its chunks; return whether it was the last."""
        assert self._probe_barrier is not None
        return self._probe_barrier.arrive(driver_sequence, None) is not None

    def abandon_probe(self) -> None:
        """Record that a probe driver needs no more build rows; after the last one the build is abandoned."""
        with self._lock:
            self._ended += 1
            if self._ended < self._probes:
                return
            self.is_abandoned = True
            if self._tracker is not None:
                self._tracker.unregister_reclaimable()
        self.abandoned.notify()

    def close_probe(self) -> None:
        """Record that a probe driver is closed; the last one releases the build side, also if partly built."""
        with self._lock:
            self._closed += 1
            if self._closed < self._probes:
                return
            self._finished_builds = []
        if self._build_barrier is not None:
            self._build_barrier.close()
        self.bridge.close()
        self.matched = None
        if self._tracker is not None:
            if self._broadcast is not None:
                self._broadcast.release(self._tracker)
            self._tracker.close()
        if self.spill is not None:
            self.spill.close()
