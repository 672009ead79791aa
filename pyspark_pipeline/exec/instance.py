"""A fragment instance: the drivers of a fragment's pipelines, with the queue of their output.

Everything that one Spark task runs. It owns the drivers, the memory tracker, the background work and the
metrics; an executor (:mod:`~.serial`, :mod:`~.threaded`) runs it, exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.clock import REAL, Clocks
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.driver import ChunkCheck, Driver
from pyspark_pipeline.exec.feed import Feed
from pyspark_pipeline.exec.operator import OperatorFactory, Pipeline
from pyspark_pipeline.exec.operator_chain import OperatorSlot
from pyspark_pipeline.exec.output_queue import OutputQueue
from pyspark_pipeline.exec.topology import operator_needs, tree
from pyspark_pipeline.ids import DriverSequence, OperatorId, OperatorIndex, PipelineId
from pyspark_pipeline.memory import MemoryTracker, SpillBudget
from pyspark_pipeline.metrics import OperatorMetrics

_BACKGROUND_END_SECONDS = 30.0


class FragmentInstance:
    """The drivers of all ``pipelines``; the items that their last sinks push into ``output`` are the result.

    ``memory`` is the instance's tracker (None: unlimited), ``feed`` reads the task's input stream, ``name`` and
    ``background`` are for an instance that runs beside others (:mod:`~.instance_group`), ``check`` validates every
    chunk that moves (a debugging aid). ``cpu_time`` enables counting of the operators' CPU time, ``timeline`` the
    record of when each driver ran and was blocked. Drivers and executor use ``clocks``.
    """

    def __init__(
        self,
        pipelines: Sequence[Pipeline],
        output: OutputQueue,
        *,
        memory: MemoryTracker | None = None,
        spill: SpillBudget | None = None,
        feed: Feed | None = None,
        time_slice_ms: int = 20,
        check: ChunkCheck | None = None,
        cpu_time: bool = False,
        timeline: bool = False,
        name: str = "",
        background: BackgroundWork | None = None,
        clocks: Clocks = REAL,
    ) -> None:
        self.name = name
        self.clocks = clocks
        self.pipelines = tuple(pipelines)
        self.output = output
        self.memory = memory if memory is not None else MemoryTracker("instance")
        self.spill = spill or SpillBudget()
        output.account_to(self.memory)
        self.feed = feed
        self.background = background or BackgroundWork()
        self.cancelled = False
        self.feed_ns = 0
        self.consumer_ns = 0
        self.missed_wakeups = 0
        self.drivers: list[Driver] = []
        self._dops = {pipeline.id: pipeline.dop for pipeline in self.pipelines}
        self._contexts: list[list[OperatorContext]] = []
        self._started = False
        for pipeline in self.pipelines:
            for sequence in range(pipeline.dop):
                driver_name, slots = self._slots(pipeline, sequence)
                driver = Driver(
                    driver_name,
                    slots,
                    slice_ns=time_slice_ms * 1_000_000,
                    check=check,
                    cpu_time=cpu_time,
                    timeline=timeline,
                    clocks=clocks,
                )
                self.drivers.append(driver)

    def _slots(self, pipeline: Pipeline, sequence: int) -> tuple[str, list[OperatorSlot]]:
        """Create the operators of one driver; return its name and them."""
        if len(pipeline.factories) < 2:
            raise EngineBugError(f"pipeline {pipeline.id} has no source or no sink")
        slots = [self._slot(pipeline, sequence, i, factory) for i, factory in enumerate(pipeline.factories)]
        where = f", {self.name}" if self.name else ""
        return f"driver {sequence} of pipeline {pipeline.id}{where}", slots

    def _slot(self, pipeline: Pipeline, sequence: int, index: int, factory: OperatorFactory) -> OperatorSlot:
        operator_id = OperatorId(
            pipeline=PipelineId(pipeline.id),
            driver=DriverSequence(sequence),
            index=OperatorIndex(index),
            name=factory.name,
            instance=self.name,
        )
        metrics = OperatorMetrics(factory.name, factory.detail)
        return OperatorSlot(operator_id, factory, factory.create(pipeline.dop, sequence), metrics)

    def prepare(self) -> None:
        """Prepare every operator of every driver, in order. The first error stops it; ``close`` cleans up."""
        if self._started:
            raise EngineBugError("a fragment instance runs once")
        self._started = True
        for driver in self.drivers:
            contexts = [self._context(driver, slot) for slot in driver.slots]
            self._contexts.append(contexts)
            driver.prepare(contexts)

    def _context(self, driver: Driver, slot: OperatorSlot) -> OperatorContext:
        return OperatorContext(
            id=slot.id,
            dop=self._dops[slot.id.pipeline],
            memory=self.memory.child(str(slot.id)),
            spill=self.spill,
            metrics=slot.metrics,
            wake=driver.wake,
            is_cancelled=self._is_cancelled,
            background=self.background,
        )

    def _is_cancelled(self) -> bool:
        return self.cancelled

    def stop(self) -> None:
        """Make running drivers stop at their next move. Thread-safe."""
        self.cancelled = True
        for driver in self.drivers:
            driver.stopping = True

    def close(self) -> list[BaseException]:
        """Cancel every unfinished driver, drop the output, close the trackers; return the operators' errors.

        No driver may be running. Idempotent.
        """
        self.stop()
        errors: list[BaseException] = []
        for driver in self.drivers:
            driver.set_cancelled(errors)
        if not self.background.wait_until_idle(_BACKGROUND_END_SECONDS):
            errors.append(EngineBugError(f"background work does not end: {', '.join(self.background.names())}"))
        for driver in self.drivers:
            driver.close_all(errors)
        self.output.clear()
        for contexts in self._contexts:
            for context in contexts:
                context.metrics.peak_bytes = max(context.metrics.peak_bytes, context.memory.peak)
                context.memory.close()
        return errors

    def dump(self) -> str:
        """Draw the pipelines; describe every driver, the output queue and the background work: for a hung instance."""
        lines = [tree(self.pipelines), *(driver.describe() for driver in self.drivers)]
        lines.append(f"output queue: {self.output.statistics()}")
        lines.append(f"background work: {', '.join(self.background.names()) or 'none'}")
        if self.feed is not None:
            lines.append(f"input: {self.feed.describe()}")
        return "\n".join(lines)

    def metrics(self) -> dict[str, Any]:
        """Return all metrics as JSON: by family (factory name), by pipeline and operator, by driver."""
        return {
            "families": self._families(),
            "pipelines": [self._pipeline_metrics(pipeline) for pipeline in self.pipelines],
            "output": self.output.statistics(),
            "peak_bytes": self.memory.peak,
            "limit_bytes": self.memory.limit,
            "feed_s": self.feed_ns / 1e9,
            "consumer_s": self.consumer_ns / 1e9,
            "missed_wakeups": self.missed_wakeups,
        }

    def _families(self) -> dict[str, float]:
        seconds: dict[str, float] = {}
        for driver in self.drivers:
            for slot in driver.slots:
                seconds[slot.id.name] = seconds.get(slot.id.name, 0.0) + slot.metrics.total_ns / 1e9
        return seconds

    def _pipeline_metrics(self, pipeline: Pipeline) -> dict[str, Any]:
        drivers = [driver for driver in self.drivers if driver.slots[0].id.pipeline == pipeline.id]
        operators = [OperatorMetrics(factory.name, factory.detail) for factory in pipeline.factories]
        for driver in drivers:
            for total, slot in zip(operators, driver.slots, strict=True):
                total.merge(slot.metrics)
        return {
            "id": pipeline.id,
            "dop": pipeline.dop,
            "operators": [metrics.to_dict() for metrics in operators],
            "needs": operator_needs(pipeline, self.pipelines),
            "drivers": [{"state": driver.state.value, **driver.metrics.to_dict()} for driver in drivers],
        }
