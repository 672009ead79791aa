"""Operators for tests of the machine: they record every call, and can be told to raise or to wait."""

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


def chunk(start: int, rows: int = 4) -> Chunk:
    """Make a chunk of one int64 column counting from ``start``."""
    return pa.record_batch([pa.array(np.arange(start, start + rows))], names=["c0"])


def chunks(count: int, rows: int = 4) -> list[Chunk]:
    """Make ``count`` chunks that count on."""
    return [chunk(i * rows, rows) for i in range(count)]


def values(items: Sequence[Chunk]) -> list[int]:
    """Give all values of the first column."""
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

    def asked(self, name: str) -> None:
        if name == self.fails:
            raise ValueError(f"told to fail in {name}")

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self.called("prepare")

    def pending_finish(self) -> bool:
        self.asked("pending_finish")
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
        """The calls without the movement of chunks."""
        return [name for name in self.log if name not in ("push_chunk", "pull_chunk")]


class Source(Recorded):
    """Gives the given chunks."""

    def __init__(self, given: Sequence[Chunk], log: list[str] | None = None, fails: str = "") -> None:
        super().__init__(log, fails)
        self.left = list(given)

    def has_output(self) -> bool:
        self.asked("has_output")
        return bool(self.left) and not self.finished

    def pull_chunk(self) -> Chunk | None:
        self.called("pull_chunk")
        return self.left.pop(0)

    def is_finished(self) -> bool:
        self.asked("is_finished")
        return not self.left or self.finished


class Step(Recorded):
    """Passes one chunk at a time through ``work``; finished after ``limit`` rows."""

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
        self.asked("need_input")
        return self.held is None and not self.finishing and self.rest != 0

    def push_chunk(self, given: Chunk) -> None:
        self.called("push_chunk")
        if self.rest is not None:
            given = given.slice(0, self.rest)
            self.rest -= given.num_rows
        self.held = given

    def has_output(self) -> bool:
        self.asked("has_output")
        return self.held is not None and not self.finished

    def pull_chunk(self) -> Chunk | None:
        self.called("pull_chunk")
        assert self.held is not None
        given, self.held = self.held, None
        return self.work(given)

    def is_finished(self) -> bool:
        self.asked("is_finished")
        return self.finished or (self.held is None and (self.finishing or self.rest == 0))


class Sink(Recorded):
    """Pushes chunks into the output queue."""

    def __init__(self, queue: OutputQueue, log: list[str] | None = None, fails: str = "") -> None:
        super().__init__(log, fails)
        self.queue = queue

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self.queue.drained)

    def need_input(self) -> bool:
        self.asked("need_input")
        return not self.finishing and not self.queue.is_full()

    def push_chunk(self, given: Chunk) -> None:
        self.called("push_chunk")
        self.queue.push(given)

    def is_finished(self) -> bool:
        self.asked("is_finished")
        return self.finishing


class Made(OperatorFactory):
    """A factory from a function of the driver's sequence; keeps what it made."""

    def __init__(self, name: str, make: Callable[[int], Operator]) -> None:
        self.name = name
        self.make = make
        self.made: list[Operator] = []

    def create(self, dop: int, driver_sequence: int) -> Operator:
        operator = self.make(driver_sequence)
        self.made.append(operator)
        return operator


def pipeline(*operators: Operator, number: int = 0) -> Pipeline:
    """Make a pipeline of one driver of ready-made operators."""
    factories = tuple(Made(type(op).__name__.lower(), lambda _, op=op: op) for op in operators)  # type: ignore[misc]
    return Pipeline(id=number, factories=factories)


def run(pipelines: Sequence[Pipeline], queue: OutputQueue, threads: int = 1) -> tuple[list[Chunk], FragmentInstance]:
    """Run pipelines to the end."""
    instance = FragmentInstance(pipelines, queue)
    return list(execute(instance, threads)), instance
