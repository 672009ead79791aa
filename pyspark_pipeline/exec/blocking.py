"""Why a blocked driver waits: for whom, in the words of who reads a dump or the metrics.

The state says where in the driver it stopped (:mod:`~.states`); the operator there may know the reason better
(:meth:`~.operator.Operator.blocking_reason`). Where it says nothing, the state's own reason stands. Nobody
waits for memory: who is refused spills at once, and who is asked to give some back is woken.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from pyspark_pipeline.exec.states import DriverState


class BlockingReason(Enum):
    """What a driver waits for. The values are the keys of the metrics ``blocked_s`` and ``blocks``."""

    #: An item from outside: a message of the task's input stream, or the split of a scan.
    SPLIT = "split"
    #: Rows of another pipeline of the instance.
    PRODUCER = "producer"
    #: Room for the output, with another pipeline of the instance or with Spark.
    CONSUMER = "consumer"
    #: The table of a join.
    JOIN_BUILD = "join build"
    #: The other probe drivers of a join: its partitions on disk can be joined when all are written.
    JOIN_PROBE = "join probe"
    #: What the table of a join in another pipeline says of a scan's rows; waited for until a deadline only.
    RUNTIME_FILTER = "runtime filter"
    #: Something else that must exist before the first chunk.
    PRECONDITION = "precondition"
    #: Background work of an operator between source and sink.
    OPERATOR = "operator"
    #: Background work that holds an operator after the end.
    PENDING_FINISH = "pending finish"


#: The reason of each blocked state, where the operator does not give one.
REASONS: Mapping[DriverState, BlockingReason] = {
    DriverState.INPUT_EMPTY: BlockingReason.SPLIT,
    DriverState.OUTPUT_FULL: BlockingReason.CONSUMER,
    DriverState.PRECONDITION_BLOCK: BlockingReason.PRECONDITION,
    DriverState.OPERATOR_BLOCK: BlockingReason.OPERATOR,
    DriverState.PENDING_FINISH: BlockingReason.PENDING_FINISH,
}
