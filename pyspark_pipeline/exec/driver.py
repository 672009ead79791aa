"""A driver moves chunks through one instance of a pipeline, source to sink, a time slice at a time.

``process`` is the loop (StarRocks' ``PipelineDriver::process``): visit the pairs of neighbouring operators, source to
sink; move a chunk if the upstream one has output and the downstream one needs input; if the upstream one is finished,
call ``set_finishing`` of the downstream one and ``set_finished`` of all before it. Sink finished ⇒ driver finished.
Nothing moved ⇒ register for wake-ups and poll again; still nothing ⇒ blocked, with the reason and the operator that
causes it. Slice used up ⇒ yield; the excess is the overrun, whether a call that moves a chunk or one that ends an
operator caused it. Before each round, operators whose memory is requested by others reclaim it.

A row that violates a rule of Spark ends the query only if the row is needed. So an operator's error is held until the
downstream operators have emitted all rows before it; if one of them needs no more input by then, the error is dropped.

One thread at a time runs a driver. ``wake`` and ``can_progress`` (while blocked) may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from pyspark_pipeline.errors import PipelineError, SparkConditionError
from pyspark_pipeline.exec.blocking import Blocked
from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.clock import REAL, Clocks
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.operator_chain import OperatorChain, OperatorSlot
from pyspark_pipeline.exec.states import BLOCKED, FINAL, DriverState, StateMachine
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.metrics import DriverMetrics

ChunkCheck = Callable[[pa.RecordBatch, OperatorId], None]


class Scheduler(Protocol):
    """The executor that runs a driver, as the driver sees it."""

    def driver_woken(self, driver: Driver) -> None:
        """Note that ``driver`` may make progress. Thread-safe."""


class Driver:
    """One driver: the operators of one sequence number of a pipeline."""

    def __init__(
        self,
        name: str,
        slots: list[OperatorSlot],
        *,
        slice_ns: int,
        check: ChunkCheck | None = None,
        cpu_time: bool = False,
        timeline: bool = False,
        clocks: Clocks = REAL,
    ) -> None:
        self.name = name
        self.machine = StateMachine(name)
        self.metrics = DriverMetrics(timeline=timeline)
        #: Nanoseconds run so far by the slicing clock; determines the level in the ready queue.
        self.ran_ns = 0
        self.woken = False
        self.stopping = False
        self.scheduler: Scheduler | None = None
        self._clock = clocks.measuring
        self._slicing = None if clocks.slicing is clocks.measuring else clocks.slicing
        self._chain = OperatorChain(slots, cpu_time=cpu_time, clock=clocks.measuring)
        self._bytes = [ChunkBytes() for _ in slots]
        self._slice_ns = slice_ns
        self._check = check
        self._waker = Waker(self.wake)
        self._blocked_since = 0
        self._blocker = 0
        self._reason = ""
        self._poll_error: PipelineError | None = None
        self._held_error: SparkConditionError | None = None

    @property
    def slots(self) -> list[OperatorSlot]:
        """The operators, source first, with their factories and metrics."""
        return self._chain.slots

    # --- scheduling -------------------------------------------------------------------------------

    @property
    def state(self) -> DriverState:
        """The state of the driver."""
        return self.machine.state

    @property
    def is_done(self) -> bool:
        """True if the driver is in a final state."""
        return self.machine.state in FINAL

    @property
    def reclaim_requested(self) -> bool:
        """True if an operator must reclaim memory; executors run such drivers first."""
        return self._chain.reclaim_requested()

    def wake(self) -> None:
        """Make the driver poll its operators again soon. Thread-safe."""
        if not self.woken or self.reclaim_requested:
            self.woken = True
            if self.scheduler is not None:
                self.scheduler.driver_woken(self)

    def prepare(self, contexts: list[OperatorContext]) -> None:
        """Call ``prepare`` of every operator, source first, each with its context."""
        self._chain.prepare(contexts)

    def submit(self) -> DriverState:
        """Leave NOT_READY: READY if there is work to do, else a blocked state."""
        state = DriverState.READY
        if not self.can_progress():
            blocked = self._chain.block(self._waker)
            if blocked is not None and blocked.state in (DriverState.PRECONDITION_BLOCK, DriverState.INPUT_EMPTY):
                state = self._blocked_by(blocked)
        self._go(state)
        return state

    def resume(self) -> None:
        """Move from a blocked state to READY; account the wait to the operator that caused it."""
        now = self._clock()
        self.machine.move(DriverState.READY)
        self._end_wait(now)

    def can_progress(self) -> bool:
        """Return whether a run would move a chunk, finish an operator, or raise an error that a poll raised."""
        turn = self.metrics.scheduled
        try:
            if self.machine.state is DriverState.PENDING_FINISH:
                return self._chain.find_pending() is None
            return self._chain.can_move()
        except PipelineError as error:
            # If the driver has been run meanwhile, the operator was polled in the middle of a call: ignore the error.
            if self.metrics.scheduled == turn:
                self._poll_error = error
            return True

    # --- running ----------------------------------------------------------------------------------

    def process(self) -> DriverState:
        """Run for at most a slice; return READY, a blocked state, FINISH, or CANCELED if stopped.

        After an error the operators still need :meth:`set_cancelled` and :meth:`close_all`.
        """
        self.machine.move(DriverState.RUNNING)
        self.woken = False
        self._waker.cancel()
        self.metrics.scheduled += 1
        start = self._clock()
        began = start if self._slicing is None else self._slicing()
        try:
            if self._poll_error is not None:
                raise self._poll_error
            state = self._run(began + self._slice_ns)
        except BaseException:
            self._go(DriverState.INTERNAL_ERROR)
            raise
        finally:
            end = self._clock()
            self.metrics.add_active(start, end)
            self._count_slice((end if self._slicing is None else self._slicing()) - began)
        self._go(state)
        return state

    def _run(self, deadline: int) -> DriverState:
        chain = self._chain
        while True:
            if self.stopping:
                return DriverState.CANCELED
            if chain.reclaim_requested():
                chain.reclaim()
            if chain.is_finished:
                return self._end()
            if chain.is_sink_finished():
                chain.finish_all()
                return self._end()
            if chain.unready_precondition() is not None:
                blocked = chain.block(self._waker)
                if blocked is not None:
                    return self._blocked_by(blocked)
                continue
            chain.clear_preconditions()
            moved, late = False, chain.propagate_finish() and self._is_late(deadline)
            if not late:
                moved, late = self._held_pass(deadline)
            if chain.is_sink_finished():
                continue
            if not moved and not late:
                if not chain.propagate_finish():
                    if self._held_error is not None and not chain.has_output():
                        raise self._held_error
                    blocked = chain.block(self._waker)
                    if blocked is None:
                        continue
                    return self._blocked_by(blocked)
                late = self._is_late(deadline)
            if late:
                self.metrics.yields += 1
                return DriverState.READY

    def _held_pass(self, deadline: int) -> tuple[bool, bool]:
        """Visit the pairs once; hold the error of a row while downstream operators have earlier rows."""
        try:
            return self._pass(deadline)
        except SparkConditionError as error:
            self._held_error = error
            self._chain.skip_failed()
            return True, self._is_late(deadline)

    def _pass(self, deadline: int) -> tuple[bool, bool]:
        """Visit the pairs once; return whether a chunk moved and whether the slice is used up."""
        chain = self._chain
        operators, all_metrics, cpu = chain.operators, chain.metrics, chain.cpu_clock
        clock, slicing = self._clock, self._slicing
        moved = False
        for index in range(chain.first, len(operators) - 1):
            upper, lower = operators[index], operators[index + 1]
            chain.call = ("need_input", index + 1, -1)
            try:
                if not lower.need_input():
                    continue
                chain.call = ("has_output", index, -1)
                if not upper.has_output():
                    continue
                start = clock()
                chain.call = ("pull_chunk", index, start)
                busy = cpu() if cpu else 0
                chunk = upper.pull_chunk()
                if cpu:
                    busy, before = cpu(), busy
                    all_metrics[index].cpu_ns += busy - before
                middle = clock()
                if chunk is not None and (rows := chunk.num_rows):
                    if self._check is not None:
                        self._check(chunk, chain.slots[index].id)
                    chain.call = ("push_chunk", index + 1, middle)
                    lower.push_chunk(chunk)
                    end = clock()
                    if cpu:
                        all_metrics[index + 1].cpu_ns += cpu() - busy
                    self._count(index, chunk, rows, end - middle)
                else:
                    end = middle
            except Exception as error:
                raise chain.wrap_error(error, chain.call[1], chain.call[0]) from error
            moved = True
            metrics = all_metrics[index]
            metrics.pull_ns += middle - start
            if middle - start > metrics.longest_call_ns:
                metrics.longest_call_ns = middle - start
            if self.stopping:
                return moved, False
            if (end if slicing is None else slicing()) >= deadline:
                return moved, True
        chain.call = ("", 0, -1)
        return moved, False

    def _count(self, index: int, chunk: pa.RecordBatch, rows: int, push_ns: int) -> None:
        nbytes = self._bytes[index].estimate(chunk)
        upper, lower = self._chain.metrics[index], self._chain.metrics[index + 1]
        upper.chunks_out += 1
        upper.rows_out += rows
        upper.bytes_out += nbytes
        lower.chunks_in += 1
        lower.rows_in += rows
        lower.bytes_in += nbytes
        lower.push_ns += push_ns
        if push_ns > lower.longest_call_ns:
            lower.longest_call_ns = push_ns
        self.metrics.moves += 1

    def _is_late(self, deadline: int) -> bool:
        return (self._slicing or self._clock)() >= deadline

    def _count_slice(self, ran_ns: int) -> None:
        """Count the time run, and the overrun beyond a slice."""
        self.ran_ns += ran_ns
        if ran_ns > self._slice_ns:
            self.metrics.overruns += 1
            self.metrics.overrun_ns += ran_ns - self._slice_ns

    # --- the end ----------------------------------------------------------------------------------

    def _end(self) -> DriverState:
        blocked = self._chain.block_pending(self._waker)
        if blocked is not None:
            return self._blocked_by(blocked)
        errors: list[BaseException] = []
        self.close_all(errors)
        if errors:
            raise errors[0]
        return DriverState.FINISH

    def set_cancelled(self, errors: list[BaseException]) -> None:
        """End early: cancel every prepared operator that is not closed; collect the errors they raise."""
        self._waker.cancel()
        if self.state in BLOCKED:
            self._end_wait(self._clock())
        self._chain.set_cancelled(errors)
        if not self.is_done:
            self._go(DriverState.CANCELED)

    def close_all(self, errors: list[BaseException]) -> None:
        """Close every prepared operator that is not closed; collect the errors they raise."""
        self._chain.close(errors)

    def _blocked_by(self, blocked: Blocked) -> DriverState:
        """Record the operator that blocks the driver, and the reason; return the state that the driver enters."""
        self._blocker, self._reason = blocked.operator, blocked.reason.value
        return blocked.state

    def _end_wait(self, now: int) -> None:
        """Account the wait that ends at ``now`` to the operator that caused it."""
        self.metrics.add_blocked(self._reason, self._blocked_since, now)
        self._chain.metrics[self._blocker].add_blocked(self._reason, now - self._blocked_since)

    def _go(self, state: DriverState) -> None:
        self.machine.move(state)
        if state in BLOCKED:
            self._blocked_since = self._clock()

    def headline(self) -> str:
        """Describe, without polling an operator: the state, the blocker, the current call, the recent states."""
        blocker = ""
        if self.state in BLOCKED:
            blocker = f", waits for {self._reason}, because of {self.slots[self._blocker].id}"
        call = self._chain.current_call()
        inside = f", {call}" if call else ""
        return f"{self.name}: {self.state.name}{blocker}{inside} ({self.machine.story()})"

    def describe(self) -> str:
        """Describe for a dump: the headline, then the state of every operator."""
        return "\n".join([self.headline(), *self._chain.describe()])
