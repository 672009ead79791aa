"""The context that an operator receives in ``prepare``: its identity, its memory and metrics, its waker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.memory import RECLAIMS, MemoryTracker, Reclaimable, SpillBudget
from pyspark_pipeline.metrics import OperatorMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContext:
    """The runtime context of one operator. Contains no plan and no settings: factories have those.

    ``wake`` makes the driver poll its operators again: cheap, from any thread, at any time. Background threads call it;
    to wait for shared state (a bridge, a queue), see :meth:`~.operator.Operator.is_blocked`. Loops that run long inside
    one call check ``is_cancelled``. ``spill`` is the budget of its
    :class:`~pyspark_pipeline.memory.spill_files.SpillFiles`. Threads that work for the operator register in
    ``background`` while they run.
    """

    id: OperatorId
    dop: int
    memory: MemoryTracker
    spill: SpillBudget
    metrics: OperatorMetrics
    wake: Callable[[], None]
    is_cancelled: Callable[[], bool]
    background: BackgroundWork

    @property
    def driver_sequence(self) -> int:
        """The driver's number in its pipeline, in [0, ``dop``)."""
        return self.id.driver

    def register_reclaimable(self, reclaimable: Reclaimable) -> None:
        """Register all memory of this operator as reclaimable by :meth:`~.operator.Operator.reclaim`."""
        self.memory.register_reclaimable(reclaimable, self.wake)

    def unregister_reclaimable(self) -> bool:
        """Unregister the memory; return whether reclaim was requested: then the operator must still spill it now."""
        was_requested = self.memory.unregister_reclaimable()
        if was_requested:
            self.metrics.add(RECLAIMS)
        return was_requested
