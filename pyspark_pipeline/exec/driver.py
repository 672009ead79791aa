"""A driver moves chunks through one instance of a pipeline, source to sink, a time slice at a time.

``process`` is the loop (StarRocks' ``PipelineDriver::process``): go over the pairs of neighbours front to
back; move a chunk where the upper one has output and the lower one needs input; where the upper one is
finished, tell the lower one (``set_finishing``) and leave everything above behind (``set_finished``).
The sink finished ⇒ everything is. Nothing moved ⇒ blocked, with the reason and the operator that causes
it. The slice used up ⇒ yield.

The driver measures every call, so operators hold no timing. The driver alone says where an error
happened: errors of :mod:`pyspark_pipeline.errors` pass through with a note, anything else is a bug of the
engine and becomes :class:`EngineBugError` with its traceback.

A driver is run by one thread at a time. ``wake`` and ``can_progress`` (while blocked) may be called from
any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter_ns as clock
from time import thread_time_ns
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec.blame import blamed
from pyspark_pipeline.exec.blocking import REASONS
from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Operator, OperatorFactory
from pyspark_pipeline.exec.stages import OperatorStage, StageRecord
from pyspark_pipeline.exec.states import BLOCKED, FINAL, DriverState, StateMachine
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.metrics import DriverMetrics, OperatorMetrics

Answer = TypeVar("Answer")
ChunkCheck = Callable[[pa.RecordBatch, OperatorId], None]


class Scheduler(Protocol):
    """Who runs the driver; told when it should look again."""

    def driver_woken(self, driver: Driver) -> None:
        """Take note that ``driver`` may make progress; any thread."""


class Seat(NamedTuple):
    """An operator with what the driver keeps about it."""

    id: OperatorId
    factory: OperatorFactory
    operator: Operator
    metrics: OperatorMetrics


class Driver:
    """One driver: the operators of one sequence number of a pipeline."""

    def __init__(
        self,
        name: str,
        seats: list[Seat],
        *,
        slice_ns: int,
        check: ChunkCheck | None = None,
        cpu_time: bool = False,
        timeline: bool = False,
    ) -> None:
        self.name = name
        self.seats = seats
        self.machine = StateMachine(name)
        self.metrics = DriverMetrics(timeline=timeline)
        self.woken = False
        self.stopping = False
        self.scheduler: Scheduler | None = None
        self._operators = [seat.operator for seat in seats]
        self._operator_metrics = [seat.metrics for seat in seats]
        self._contexts: list[OperatorContext] = []
        self._stages = StageRecord([seat.id.name for seat in seats])
        self._bytes = [ChunkBytes() for _ in seats]
        self._slice_ns = slice_ns
        self._check = check
        self._cpu_clock = thread_time_ns if cpu_time else None
        self._first = 0
        self._preconditions = [i for i, seat in enumerate(seats) if _has_precondition(seat.factory)]
        self._blocked_since = 0
        self._blocker = 0
        self._reason = ""
        self._call = ("", 0, 0)

    # --- scheduling -------------------------------------------------------------------------------

    @property
    def state(self) -> DriverState:
        """Where the driver stands."""
        return self.machine.state

    @property
    def is_done(self) -> bool:
        """Say whether the driver is in a last state."""
        return self.machine.state in FINAL

    def wake(self) -> None:
        """Make the driver look again soon; any thread, any time."""
        if not self.woken:
            self.woken = True
            if self.scheduler is not None:
                self.scheduler.driver_woken(self)

    def prepare(self, contexts: list[OperatorContext]) -> None:
        """Call ``prepare`` of every operator, source first, each with its context."""
        self._contexts = contexts
        for index, (operator, context) in enumerate(zip(self._operators, contexts, strict=True)):
            self._stages.enter(index, OperatorStage.PREPARED)
            spent = self._measured(index, "prepare", partial(operator.prepare, context))
            self._operator_metrics[index].prepare_ns += spent

    def submit(self) -> DriverState:
        """Leave NOT_READY: READY where there is something to do, else the blocked state that says why not."""
        state = DriverState.READY
        if not self.can_progress():
            state = self._blocked_by(*self._what_blocks())
            if state not in (DriverState.PRECONDITION_BLOCK, DriverState.INPUT_EMPTY):
                state = DriverState.READY
        self._go(state)
        return state

    def resume(self) -> None:
        """Go from a blocked state to READY, accounting the wait to the operator that caused it."""
        now = clock()
        self.machine.move(DriverState.READY)
        self.metrics.add_blocked(self._reason, self._blocked_since, now)
        self._operator_metrics[self._blocker].add_blocked(self._reason, now - self._blocked_since)

    def can_progress(self) -> bool:
        """Say whether running now would move, finish or end anything. Free of side effects."""
        try:
            return self._can_progress()
        except Exception:  # the driver meets the error again when it runs, and says where
            return True

    def _can_progress(self) -> bool:
        if self.machine.state is DriverState.PENDING_FINISH:
            return self._pending() is None
        operators = self._operators
        if operators[-1].is_finished():
            return True
        if self._unready_precondition() is not None:
            return False
        for index in range(self._first, len(operators) - 1):
            upper = operators[index]
            if upper.is_finished() or (operators[index + 1].need_input() and upper.has_output()):
                return True
        return False

    # --- running ----------------------------------------------------------------------------------

    def process(self) -> DriverState:
        """Run for at most a slice; return READY, a blocked state, FINISH, or CANCELED where told to stop.

        After an error the operators still need :meth:`set_cancelled` and :meth:`close_all`.
        """
        self.machine.move(DriverState.RUNNING)
        self.woken = False
        self.metrics.scheduled += 1
        start = clock()
        try:
            state = self._run(start + self._slice_ns)
        except BaseException:
            self._go(DriverState.INTERNAL_ERROR)
            raise
        finally:
            self.metrics.add_active(start, clock())
        self._go(state)
        return state

    def _run(self, deadline: int) -> DriverState:
        operators = self._operators
        last = len(operators) - 1
        sink = operators[last]
        while True:
            if self.stopping:
                return DriverState.CANCELED
            if self._stages[last] >= OperatorStage.FINISHED:
                return self._end()
            if self._ask("is_finished", last, sink.is_finished):
                self._finish_all()
                return self._end()
            unready = self._unready_precondition()
            if unready is not None:
                return self._blocked_by(DriverState.PRECONDITION_BLOCK, unready)
            self._preconditions = []
            self._leave_finished()
            moved, late = self._pass(deadline)
            if self._ask("is_finished", last, sink.is_finished):
                continue
            if late:
                self.metrics.yields += 1
                return DriverState.READY
            if not moved and not self._leave_finished():
                return self._blocked_by(*self._what_blocks())

    def _pass(self, deadline: int) -> tuple[bool, bool]:
        """Go over the pairs once; say whether a chunk moved and whether the slice is used up."""
        operators, all_metrics = self._operators, self._operator_metrics
        cpu = self._cpu_clock
        moved = False
        for index in range(self._first, len(operators) - 1):
            upper, lower = operators[index], operators[index + 1]
            self._call = ("need_input", index + 1, 0)
            try:
                if not lower.need_input():
                    continue
                self._call = ("has_output", index, 0)
                if not upper.has_output():
                    continue
                start = clock()
                self._call = ("pull_chunk", index, start)
                busy = cpu() if cpu else 0
                chunk = upper.pull_chunk()
                if cpu:
                    busy, before = cpu(), busy
                    all_metrics[index].cpu_ns += busy - before
                middle = clock()
                if chunk is not None and (rows := chunk.num_rows):
                    if self._check is not None:
                        self._check(chunk, self.seats[index].id)
                    self._call = ("push_chunk", index + 1, middle)
                    lower.push_chunk(chunk)
                    end = clock()
                    if cpu:
                        all_metrics[index + 1].cpu_ns += cpu() - busy
                    self._count(index, chunk, rows, end - middle)
                else:
                    end = middle
            except Exception as error:
                raise self._blamed(error, self._call[1], self._call[0]) from error
            moved = True
            metrics = all_metrics[index]
            metrics.pull_ns += middle - start
            if middle - start > metrics.longest_call_ns:
                metrics.longest_call_ns = middle - start
            if self.stopping:
                return moved, False
            if end >= deadline:
                self._note_overrun(end - deadline)
                return moved, True
        self._call = ("", 0, 0)
        return moved, False

    def _count(self, index: int, chunk: pa.RecordBatch, rows: int, push_ns: int) -> None:
        nbytes = self._bytes[index].estimate(chunk)
        upper, lower = self._operator_metrics[index], self._operator_metrics[index + 1]
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

    def _note_overrun(self, late_ns: int) -> None:
        """Count a call so slow that it overran a slice by more than another slice."""
        if late_ns > self._slice_ns:
            self.metrics.overruns += 1
            self.metrics.overrun_ns += late_ns

    # --- the end of operators ---------------------------------------------------------------------

    def _leave_finished(self) -> bool:
        """Tell the operator below the lowest finished one that its input ended; end everything above it."""
        operators = self._operators
        for index in range(len(operators) - 2, self._first - 1, -1):
            if self._ask("is_finished", index, operators[index].is_finished):
                for upper in range(self._first, index + 1):
                    self._set_finished(upper)
                self._set_finishing(index + 1)
                self._first = index + 1
                return True
        return False

    def _finish_all(self) -> None:
        for index in range(len(self._operators)):
            self._set_finished(index)
        self._first = len(self._operators) - 1

    def _set_finishing(self, index: int) -> None:
        if self._stages[index] < OperatorStage.FINISHING:
            self._stages.enter(index, OperatorStage.FINISHING)
            spent = self._measured(index, "set_finishing", self._operators[index].set_finishing)
            self._operator_metrics[index].finishing_ns += spent

    def _set_finished(self, index: int) -> None:
        self._set_finishing(index)
        if self._stages[index] < OperatorStage.FINISHED:
            self._stages.enter(index, OperatorStage.FINISHED)
            spent = self._measured(index, "set_finished", self._operators[index].set_finished)
            self._operator_metrics[index].finished_ns += spent

    def _end(self) -> DriverState:
        pending = self._pending()
        if pending is not None:
            return self._blocked_by(DriverState.PENDING_FINISH, pending)
        self.close()
        return DriverState.FINISH

    def _pending(self) -> int | None:
        for index, operator in enumerate(self._operators):
            if self._stages[index] < OperatorStage.CLOSED and operator.pending_finish():
                return index
        return None

    def set_cancelled(self, errors: list[BaseException]) -> None:
        """End early: tell every prepared operator that is not closed; collect the errors they raise."""
        for index, operator in enumerate(self._operators):
            if OperatorStage.CREATED < self._stages[index] < OperatorStage.CANCELLED:
                self._stages.enter(index, OperatorStage.CANCELLED)
                self._collected(errors, index, "set_cancelled", operator.set_cancelled)
        if not self.is_done:
            self._go(DriverState.CANCELED)

    def close(self) -> None:
        """Close every prepared operator that is not closed; raise the first error after closing all."""
        errors: list[BaseException] = []
        self.close_all(errors)
        if errors:
            raise errors[0]

    def close_all(self, errors: list[BaseException]) -> None:
        """Close every prepared operator that is not closed; collect the errors they raise."""
        for index, operator in enumerate(self._operators):
            if OperatorStage.CREATED < self._stages[index] < OperatorStage.CLOSED:
                self._stages.enter(index, OperatorStage.CLOSED)
                start = clock()
                busy = self._cpu_clock() if self._cpu_clock else 0
                self._collected(errors, index, "close", operator.close)
                self._operator_metrics[index].close_ns += clock() - start
                if self._cpu_clock:
                    self._operator_metrics[index].cpu_ns += self._cpu_clock() - busy

    # --- what blocks, and calls -------------------------------------------------------------------

    def _unready_precondition(self) -> int | None:
        """Give the first operator whose precondition is not met."""
        for index in self._preconditions:
            if not self._ask("precondition_ready", index, self.seats[index].factory.precondition_ready):
                return index
        return None

    def _what_blocks(self) -> tuple[DriverState, int]:
        """Find, from the sink upwards, the operator because of which no chunk moves."""
        unready = self._unready_precondition()
        if unready is not None:
            return DriverState.PRECONDITION_BLOCK, unready
        last = len(self._operators) - 1
        if not self._operators[last].need_input() and self._first < last:
            return DriverState.OUTPUT_FULL, last
        for index in range(last - 1, self._first, -1):
            if not self._operators[index].need_input():
                return DriverState.OPERATOR_BLOCK, index
        return (DriverState.INPUT_EMPTY if self._first == 0 < last else DriverState.OPERATOR_BLOCK), self._first

    def _blocked_by(self, state: DriverState, index: int) -> DriverState:
        """Note who causes the driver to go to the blocked ``state``, and why."""
        self._blocker = index
        said = self._ask("blocking_reason", index, self._operators[index].blocking_reason)
        self._reason = (said or REASONS[state]).value
        return state

    def _ask(self, call: str, index: int, question: Callable[[], Answer]) -> Answer:
        try:
            return question()
        except Exception as error:
            raise self._blamed(error, index, call) from error

    def _measured(self, index: int, call: str, action: Callable[[], None]) -> int:
        start = clock()
        busy = self._cpu_clock() if self._cpu_clock else 0
        self._call = (call, index, start)
        try:
            action()
        except Exception as error:
            raise self._blamed(error, index, call) from error
        spent = clock() - start
        metrics = self._operator_metrics[index]
        if self._cpu_clock:
            metrics.cpu_ns += self._cpu_clock() - busy
        if spent > metrics.longest_call_ns:
            metrics.longest_call_ns = spent
        self._call = ("", 0, 0)
        return spent

    def _collected(self, errors: list[BaseException], index: int, call: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            errors.append(self._blamed(error, index, call))

    def _blamed(self, error: Exception, index: int, call: str) -> PipelineError:
        memory = self._contexts[index].memory if self._contexts else None
        return blamed(error, self.seats[index].id, call, memory)

    def _go(self, state: DriverState) -> None:
        self.machine.move(state)
        if state in BLOCKED:
            self._blocked_since = clock()

    def describe(self) -> str:
        """Tell for a dump: state, whom it waits for, the call it is in, its states so far, and every operator."""
        blocker = ""
        if self.state in BLOCKED:
            blocker = f", waits for {self._reason}, because of {self.seats[self._blocker].id}"
        call, index, since = self._call
        inside = f", {(clock() - since) / 1e9:.3f} s in {call} of {self.seats[index].id}" if since else ""
        lines = [f"{self.name}: {self.state.name}{blocker}{inside} ({self.machine.story()})"]
        for index, operator in enumerate(self._operators):
            lines.append(f"  {self.seats[index].id.name}: {self._stages[index].name} {_answers(operator)}")
        return "\n".join(lines)


def _has_precondition(factory: OperatorFactory) -> bool:
    return type(factory).precondition_ready is not OperatorFactory.precondition_ready


def _answers(operator: Operator) -> str:
    """Ask an operator what it would do, for a dump; its error is part of the answer."""
    try:
        return (
            f"need_input={operator.need_input()} has_output={operator.has_output()} "
            f"is_finished={operator.is_finished()} pending_finish={operator.pending_finish()}"
        )
    except Exception as error:  # a dump must not fail
        return f"does not answer: {error!r}"
