"""Operators for tests of the engine: they record every call and can be configured to raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec import (
    Chunk,
    FragmentInstance,
    Operator,
    OperatorContext,
    OperatorFactory,
    OutputQueue,
    Pipeline,
    execute,
)
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.event import Waker


def chunk(start: int, rows: int = 4) -> Chunk:
    """Return a chunk of one int64 column that counts up from ``start``."""
    return pa.record_batch([pa.array(np.arange(start, start + rows))], names=["c0"])


def chunks(count: int, rows: int = 4) -> list[Chunk]:
    """Return ``count`` chunks with consecutive values."""
    return [chunk(i * rows, rows) for i in range(count)]


def values(items: Sequence[Chunk]) -> list[int]:
    """Return all values of the first column."""
    return [value for item in items for value in item.column(0).to_pylist()]


class Recorded(Operator):
    """Records its calls in order; raises in the call named ``fails``."""

    def __init__(self, log: list[str] | None = None, fails: str = "") -> None:
        self.log: list[str] = [] if log is None else log
        self.fails = fails
        self.finishing = False
        self.finished = False

    def called(self, name: str) -> None:
        self.log.append(name)
        if name == self.fails:
            raise ValueError(f"told to fail in {name}")

    def polled(self, name: str) -> None:
        if name == self.fails:
            raise ValueError(f"told to fail in {name}")

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self.called("prepare")

    def pending_finish(self) -> bool:
        self.polled("pending_finish")
        return False

    def set_finishing(self) -> None:
        self.called("set_finishing")
        self.finishing = True

    def set_finished(self) -> None:
        self.called("set_finished")
        self.finished = True

    def set_cancelled(self) -> None:
        self.called("set_cancelled")

    def close(self) -> None:
        self.called("close")

    def stages(self) -> list[str]:
        """Return the calls other than ``push_chunk`` and ``pull_chunk``."""
        return [name for name in self.log if name not in ("push_chunk", "pull_chunk")]


class Source(Recorded):
    """Emits the given chunks."""

    def __init__(self, given: Sequence[Chunk], log: list[str] | None = None, fails: str = "") -> None:
        super().__init__(log, fails)
        self.left = list(given)

    def has_output(self) -> bool:
        self.polled("has_output")
        return bool(self.left) and not self.finished

    def pull_chunk(self) -> Chunk | None:
        self.called("pull_chunk")
        return self.left.pop(0)

    def is_finished(self) -> bool:
        self.polled("is_finished")
        return not self.left or self.finished


class Step(Recorded):
    """Applies ``work`` to one chunk at a time; finishes after ``limit`` rows."""

    def __init__(
        self,
        work: Callable[[Chunk], Chunk | None] = lambda given: given,
        limit: int | None = None,
        log: list[str] | None = None,
        fails: str = "",
    ) -> None:
        super().__init__(log, fails)
        self.work = work
        self.rest = limit
        self.held: Chunk | None = None

    def need_input(self) -> bool:
        self.polled("need_input")
        return self.held is None and not self.finishing and self.rest != 0

    def push_chunk(self, given: Chunk) -> None:
        self.called("push_chunk")
        if self.rest is not None:
            given = given.slice(0, self.rest)
            self.rest -= given.num_rows
        self.held = given

    def has_output(self) -> bool:
        self.polled("has_output")
        return self.held is not None and not self.finished

    def pull_chunk(self) -> Chunk | None:
        self.called("pull_chunk")
        assert self.held is not None
        given, self.held = self.held, None
        return self.work(given)

    def is_finished(self) -> bool:
        self.polled("is_finished")
        return self.finished or (self.held is None and (self.finishing or self.rest == 0))


class Sink(Recorded):
    """Pushes chunks into the output queue."""

    def __init__(self, queue: OutputQueue, log: list[str] | None = None, fails: str = "") -> None:
        super().__init__(log, fails)
        self.queue = queue

    def need_input(self) -> bool:
        self.polled("need_input")
        return not self.finishing and not self.queue.is_full()

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self.queue.drained)
        return None

    def push_chunk(self, given: Chunk) -> None:
        self.called("push_chunk")
        self.queue.push(given)

    def is_finished(self) -> bool:
        self.polled("is_finished")
        return self.finishing


class Made(OperatorFactory):
    """A factory that calls ``make`` with the driver's sequence number and keeps the operators."""

    def __init__(self, name: str, make: Callable[[int], Operator]) -> None:
        self.name = name
        self.make = make
        self.made: list[Operator] = []

    def create(self, dop: int, driver_sequence: int) -> Operator:
        operator = self.make(driver_sequence)
        self.made.append(operator)
        return operator


def pipeline(*operators: Operator, number: int = 0) -> Pipeline:
    """Return a pipeline of one driver with the given operators."""
    factories = tuple(Made(type(op).__name__.lower(), lambda _, op=op: op) for op in operators)  # type: ignore[misc]
    return Pipeline(id=number, factories=factories)


def run(pipelines: Sequence[Pipeline], queue: OutputQueue, threads: int = 1) -> tuple[list[Chunk], FragmentInstance]:
    """Run pipelines to the end; return the output and the instance."""
    instance = FragmentInstance(pipelines, queue)
    return list(execute(instance, threads)), instance
