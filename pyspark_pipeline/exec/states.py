"""The life of a driver as a table: its states, the moves between them, and nothing that runs.

::

    NOT_READY ──> READY <──> RUNNING ──> FINISH
        │           ^           │  └───> PENDING_FINISH ──> READY   (to look whether it is over)
        v           │           v
    PRECONDITION_BLOCK, INPUT_EMPTY, OUTPUT_FULL, OPERATOR_BLOCK    (blocked: waits for an event)

    every state but the last three ──> CANCELED, INTERNAL_ERROR

* ``PRECONDITION_BLOCK``  something that must exist before the first chunk (a join's table) does not yet.
* ``INPUT_EMPTY``         the source has no chunk and is not at its end.
* ``OUTPUT_FULL``         the sink takes no chunk now.
* ``OPERATOR_BLOCK``      an operator in between neither takes nor gives: it waits for its own background work.
* ``PENDING_FINISH``      all is done but background work still holds an operator.
* ``FINISH``, ``CANCELED``, ``INTERNAL_ERROR``  last states; every operator is or gets closed.

Time in a blocked state is accounted to the operator that keeps the driver waiting, by what it waits for
(:mod:`~.blocking`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum

from pyspark_pipeline.errors import EngineBugError

_STORY_LENGTH = 16


class DriverState(Enum):
    """Where a driver stands."""

    NOT_READY = "not ready"
    READY = "ready"
    RUNNING = "running"
    PRECONDITION_BLOCK = "precondition"
    INPUT_EMPTY = "input empty"
    OUTPUT_FULL = "output full"
    OPERATOR_BLOCK = "operator"
    PENDING_FINISH = "pending finish"
    FINISH = "finished"
    CANCELED = "cancelled"
    INTERNAL_ERROR = "error"

    # Identity hash: states are dictionary keys on the hot path.
    __hash__ = object.__hash__


_S = DriverState
BLOCKED = frozenset({_S.PRECONDITION_BLOCK, _S.INPUT_EMPTY, _S.OUTPUT_FULL, _S.OPERATOR_BLOCK, _S.PENDING_FINISH})
FINAL = frozenset({_S.FINISH, _S.CANCELED, _S.INTERNAL_ERROR})
_ENDED_EARLY = frozenset({_S.CANCELED, _S.INTERNAL_ERROR})

TRANSITIONS: Mapping[DriverState, frozenset[DriverState]] = {
    _S.NOT_READY: frozenset({_S.READY, _S.PRECONDITION_BLOCK, _S.INPUT_EMPTY}) | _ENDED_EARLY,
    _S.READY: frozenset({_S.RUNNING}) | _ENDED_EARLY,
    _S.RUNNING: BLOCKED | {_S.READY, _S.FINISH} | _ENDED_EARLY,
    **{blocked: frozenset({_S.READY}) | _ENDED_EARLY for blocked in BLOCKED},
    **{final: frozenset() for final in FINAL},
}


class StateMachine:
    """The current state of one driver and how it got there."""

    __slots__ = ("owner", "state", "_story")

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.state = DriverState.NOT_READY
        self._story: deque[DriverState] = deque([DriverState.NOT_READY], maxlen=_STORY_LENGTH)

    def move(self, to: DriverState) -> None:
        """Go to state ``to``; raise :class:`EngineBugError` with the last states where the table forbids it."""
        if to not in TRANSITIONS[self.state]:
            raise EngineBugError(f"{self.owner} may not go from {self.state.name} to {to.name}: {self.story()}")
        self.state = to
        self._story.append(to)

    def story(self) -> str:
        """Tell the last states, oldest first."""
        return " → ".join(state.name for state in self._story)
