"""The machine: drivers move chunks through pipelines of operators, an executor schedules the drivers.

Knows no plan node. Contents: the contract (:mod:`~.operator`, :mod:`~.context`, :mod:`~.event`), what runs
(:mod:`~.driver`, :mod:`~.states`, :mod:`~.stages`, :mod:`~.instance`, :mod:`~.instance_group`), who runs it
(:mod:`~.serial`, :mod:`~.threaded`, :mod:`~.ready_queue`, :mod:`~.clock`, :mod:`~.execute`), what stands between
drivers (:mod:`~.output_queue`, :mod:`~.feed`, :mod:`~.barrier`, :mod:`~.bridge`, :mod:`~.local_exchange`), how long one
waits (:mod:`~.deadline`), and small parts.
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
