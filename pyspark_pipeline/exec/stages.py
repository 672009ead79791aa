"""The once-only rule of the operator contract: the life-cycle stage of each operator.

``CREATED → PREPARED → FINISHING → FINISHED → [CANCELLED] → CLOSED``: each is entered at most once and never backwards;
``prepare`` is the first, ``close`` the last.
"""

from __future__ import annotations

from enum import IntEnum

from pyspark_pipeline.errors import EngineBugError


class OperatorStage(IntEnum):
    """Life-cycle stage of one operator."""

    CREATED = 0
    PREPARED = 1
    FINISHING = 2
    FINISHED = 3
    CANCELLED = 4
    CLOSED = 5


class StageRecord:
    """The stages of the operators of one driver."""

    __slots__ = ("_stages", "_names")

    def __init__(self, names: list[str]) -> None:
        self._stages = [OperatorStage.CREATED] * len(names)
        self._names = names

    def __getitem__(self, index: int) -> OperatorStage:
        return self._stages[index]

    def enter(self, index: int, stage: OperatorStage) -> None:
        """Record that operator ``index`` enters ``stage``; raise :class:`EngineBugError` out of order or twice."""
        at = self._stages[index]
        first = stage is OperatorStage.PREPARED
        if stage <= at or first != (at is OperatorStage.CREATED):
            raise EngineBugError(f"operator {index} ({self._names[index]}) may not go from {at.name} to {stage.name}")
        self._stages[index] = stage
