"""What an operator gets from its driver in ``prepare``: where it stands, what it counts in, whom it wakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.memory import REVOCATIONS, MemoryTracker, Revocable, SpillRoom
from pyspark_pipeline.metrics import OperatorMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContext:
    """The surroundings of one operator. Knows no plan and no settings: factories carry those.

    ``wake`` makes the driver look again: any thread, any time, cheap. Shared state (a bridge, a queue)
    gets it by :meth:`wake_on`. ``is_cancelled`` is for loops that work long inside one call.
    ``spill`` is for its :class:`~pyspark_pipeline.memory.spill_files.SpillFiles`.
    ``background`` must hold an entry while a thread works for the operator.
    """

    id: OperatorId
    dop: int
    memory: MemoryTracker
    spill: SpillRoom
    metrics: OperatorMetrics
    wake: Callable[[], None]
    is_cancelled: Callable[[], bool]
    background: BackgroundWork

    @property
    def driver_sequence(self) -> int:
        """The driver's number in its pipeline: 0 ≤ it < ``dop``."""
        return self.id.driver

    def wake_on(self, event: Event) -> None:
        """Wake this operator's driver whenever ``event`` is notified."""
        event.subscribe(self.wake)

    def offer(self, revocable: Revocable) -> None:
        """Offer to put aside, by :meth:`~.operator.Operator.revoke`, all that this operator holds."""
        self.memory.offer(revocable, self.wake)

    def withdraw(self) -> bool:
        """Offer nothing any more; say whether it was asked for, so that the operator still puts it aside now."""
        was_asked = self.memory.withdraw()
        if was_asked:
            self.metrics.add(REVOCATIONS)
        return was_asked
