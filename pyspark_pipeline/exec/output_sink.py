"""The sink that pushes chunks unchanged into the instance's output queue."""

from __future__ import annotations

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.exec.output_queue import OutputQueue


class OutputSinkOperator(Operator):
    """Pushes each chunk; refuses input while the queue is full."""

    def __init__(self, queue: OutputQueue) -> None:
        self._queue = queue
        self._ended = False

    def need_input(self) -> bool:
        return not self._ended and not self._queue.is_full()

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._queue.drained)
        return BlockingReason.CONSUMER if self._queue.is_full() else None

    def push_chunk(self, chunk: Chunk) -> None:
        self._queue.push(chunk, chunk.nbytes)

    def set_finishing(self) -> None:
        self._ended = True

    def is_finished(self) -> bool:
        return self._ended


class OutputSinkFactory(OperatorFactory):
    """Creates sinks for one queue."""

    name = "output sink"

    def __init__(self, queue: OutputQueue) -> None:
        self._queue = queue

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return OutputSinkOperator(self._queue)
