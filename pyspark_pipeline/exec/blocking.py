"""The reasons why a driver is blocked, as dumps and metrics name them.

The state tells at which end of the driver no chunk moves (:mod:`~.states`); the operator there may return a more
precise reason (:meth:`~.operator.Operator.is_blocked`), else the default of the state applies. No driver waits for
memory: an operator whose reservation is refused spills at once, and the driver of one that must reclaim is woken.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from pyspark_pipeline.exec.states import DriverState


class BlockingReason(Enum):
    """Reason of a wait. The values are the keys of the metrics ``blocked_s`` and ``blocks``."""

    #: An item from outside the instance: a message of the task's input stream, or a split of a scan.
    SPLIT = "split"
    #: Rows of another pipeline of the instance.
    PRODUCER = "producer"
    #: Capacity for output, in another pipeline of the instance or in Spark.
    CONSUMER = "consumer"
    #: The hash table of a join.
    JOIN_BUILD = "join build"
    #: The other probe drivers of a join: spilled partitions are joined when all drivers have written theirs.
    JOIN_PROBE = "join probe"
    #: A filter on a scan's rows from the build side of a join in another pipeline; the wait has a deadline.
    RUNTIME_FILTER = "runtime filter"
    #: Other state that must exist before the first chunk.
    PRECONDITION = "precondition"
    #: Background work of an operator between source and sink.
    OPERATOR = "operator"
    #: Background work that still uses an operator after its end.
    PENDING_FINISH = "pending finish"


#: The default reason of each blocked state, if the operator returns none.
REASONS: Mapping[DriverState, BlockingReason] = {
    DriverState.INPUT_EMPTY: BlockingReason.SPLIT,
    DriverState.OUTPUT_FULL: BlockingReason.CONSUMER,
    DriverState.PRECONDITION_BLOCK: BlockingReason.PRECONDITION,
    DriverState.OPERATOR_BLOCK: BlockingReason.OPERATOR,
    DriverState.PENDING_FINISH: BlockingReason.PENDING_FINISH,
}


class Blocked(NamedTuple):
    """The state of a blocked driver, the index of the operator that blocks it, and the reason."""

    state: DriverState
    operator: int
    reason: BlockingReason
