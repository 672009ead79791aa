"""The execution engine: drivers move chunks through pipelines of operators, an executor schedules the drivers.

Independent of plan nodes. Contents: the operator contract (:mod:`~.operator`, :mod:`~.context`, :mod:`~.event`),
drivers (:mod:`~.driver`, :mod:`~.states`, :mod:`~.stages`, :mod:`~.instance`, :mod:`~.instance_group`), executors
(:mod:`~.serial`, :mod:`~.threaded`, :mod:`~.ready_queue`, :mod:`~.clock`, :mod:`~.execute`), queues and shared state
between drivers (:mod:`~.output_queue`, :mod:`~.feed`, :mod:`~.barrier`, :mod:`~.bridge`, :mod:`~.local_exchange`),
bounded waits (:mod:`~.deadline`), and chunk functions.
"""

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.exec.instance import FragmentInstance
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory, Pipeline
from pyspark_pipeline.exec.output_queue import OutputQueue

__all__ = [
    "Chunk",
    "Event",
    "FragmentInstance",
    "Operator",
    "OperatorContext",
    "OperatorFactory",
    "OutputQueue",
    "Pipeline",
    "execute",
]
