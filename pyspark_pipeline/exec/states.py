"""The state machine of a driver: its states and the allowed moves, as a table.

::

    NOT_READY ──> READY <──> RUNNING ──> FINISH
        │           ^           │  └───> PENDING_FINISH ──> READY   (to poll again)
        v           │           v
    PRECONDITION_BLOCK, INPUT_EMPTY, OUTPUT_FULL, OPERATOR_BLOCK    (blocked: waits for an event)

    every state but the final three ──> CANCELED, INTERNAL_ERROR

* ``PRECONDITION_BLOCK``  state needed before the first chunk (a join's hash table) does not exist yet.
* ``INPUT_EMPTY``         the source has no chunk and has not ended.
* ``OUTPUT_FULL``         the sink needs no input now.
* ``OPERATOR_BLOCK``      an operator in between has no output and needs no input: it waits for its background work.
* ``PENDING_FINISH``      all operators are finished, but background work still uses one.
* ``FINISH``, ``CANCELED``, ``INTERNAL_ERROR``  final states; every operator is, or will be, closed.

Time in a blocked state is accounted to the operator that blocks the driver, by its reason (:mod:`~.blocking`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

from pyspark_pipeline.errors import EngineBugError

_STORY_LENGTH = 16


class DriverState(Enum):
    """State of a driver."""

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


S = TypeVar("S", bound=Enum)


class TableMachine(Generic[S]):
    """The current state of one owner and its recent history; ``transitions`` has the allowed moves from each state."""

    __slots__ = ("owner", "state", "_transitions", "_story")

    def __init__(self, owner: str, start: S, transitions: Mapping[S, frozenset[S]]) -> None:
        self.owner = owner
        self.state = start
        self._transitions = transitions
        self._story: deque[S] = deque([start], maxlen=_STORY_LENGTH)

    def move(self, to: S) -> None:
        """Move to state ``to``; raise :class:`EngineBugError` with the recent states if the table forbids it."""
        if to not in self._transitions[self.state]:
            raise EngineBugError(f"{self.owner} may not go from {self.state.name} to {to.name}: {self.story()}")
        self.state = to
        self._story.append(to)

    def story(self) -> str:
        """Return the recent states, oldest first."""
        return " → ".join(state.name for state in self._story)


class StateMachine(TableMachine[DriverState]):
    """The state of one driver."""

    __slots__ = ()

    def __init__(self, owner: str) -> None:
        super().__init__(owner, DriverState.NOT_READY, TRANSITIONS)
