"""A driver moves chunks through one instance of a pipeline, source to sink, a time slice at a time.

``process`` is the loop (StarRocks' ``PipelineDriver::process``): go over the pairs of neighbours front to
back; move a chunk where the upper one has output and the lower one needs input; where the upper one is
finished, tell the lower one (``set_finishing``) and leave everything above behind (``set_finished``).
The sink finished ⇒ everything is. Nothing moved ⇒ blocked, with the reason and the operator that causes
it. The slice used up ⇒ yield; whatever a slice took more is its overrun, be it in a call that moves a chunk or in
one that ends an operator. Before each round, operators that are asked for memory put it aside.

A driver is run by one thread at a time. ``wake`` and ``can_progress`` (while blocked) may be called from
any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec.blocking import REASONS
from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.clock import REAL, Clocks
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.seats import Seat, Seats
from pyspark_pipeline.exec.states import BLOCKED, FINAL, DriverState, StateMachine
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.metrics import DriverMetrics

ChunkCheck = Callable[[pa.RecordBatch, OperatorId], None]


class Scheduler(Protocol):
    """Who runs the driver; told when it should look again."""

    def driver_woken(self, driver: Driver) -> None:
        """Take note that ``driver`` may make progress; any thread."""


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
        clocks: Clocks = REAL,
    ) -> None:
        self.name = name
        self.machine = StateMachine(name)
        self.metrics = DriverMetrics(timeline=timeline)
        #: How long it has run, by the clock that ends slices: what the ready queue goes by.
        self.ran_ns = 0
        self.woken = False
        self.stopping = False
        self.scheduler: Scheduler | None = None
        self._clock = clocks.measuring
        self._slicing = None if clocks.slicing is clocks.measuring else clocks.slicing
        self._seats = Seats(seats, cpu_time=cpu_time, clock=clocks.measuring)
        self._bytes = [ChunkBytes() for _ in seats]
        self._slice_ns = slice_ns
        self._check = check
        self._blocked_since = 0
        self._blocker = 0
        self._reason = ""
        self._found: PipelineError | None = None

    @property
    def seats(self) -> list[Seat]:
        """The operators, source first, each with what is kept about it."""
        return self._seats.all

    # --- scheduling -------------------------------------------------------------------------------

    @property
    def state(self) -> DriverState:
        """Where the driver stands."""
        return self.machine.state

    @property
    def is_done(self) -> bool:
        """Say whether the driver is in a last state."""
        return self.machine.state in FINAL

    @property
    def is_asked(self) -> bool:
        """Whether an operator is to put aside what it holds: whoever runs drivers runs this one first."""
        return self._seats.is_asked()

    def wake(self) -> None:
        """Make the driver look again soon; any thread, any time."""
        if not self.woken or self.is_asked:
            self.woken = True
            if self.scheduler is not None:
                self.scheduler.driver_woken(self)

    def prepare(self, contexts: list[OperatorContext]) -> None:
        """Call ``prepare`` of every operator, source first, each with its context."""
        self._seats.prepare(contexts)

    def submit(self) -> DriverState:
        """Leave NOT_READY: READY where there is something to do, else the blocked state that says why not."""
        state = DriverState.READY
        if not self.can_progress():
            blocked = self._seats.what_blocks()
            if blocked is not None and blocked[0] in (DriverState.PRECONDITION_BLOCK, DriverState.INPUT_EMPTY):
                state = self._blocked_by(*blocked)
        self._go(state)
        return state

    def resume(self) -> None:
        """Go from a blocked state to READY, accounting the wait to the operator that caused it."""
        now = self._clock()
        self.machine.move(DriverState.READY)
        self._end_wait(now)

    def can_progress(self) -> bool:
        """Say whether running now would move, finish or end anything, or raise what an operator raised when asked."""
        turn = self.metrics.scheduled
        try:
            if self.machine.state is DriverState.PENDING_FINISH:
                return self._seats.pending() is None
            return self._seats.can_move()
        except PipelineError as error:
            # Where the driver has been run meanwhile, an operator was asked in the middle of its work.
            if self.metrics.scheduled == turn:
                self._found = error
            return True

    # --- running ----------------------------------------------------------------------------------

    def process(self) -> DriverState:
        """Run for at most a slice; return READY, a blocked state, FINISH, or CANCELED where told to stop.

        After an error the operators still need :meth:`set_cancelled` and :meth:`close_all`.
        """
        self.machine.move(DriverState.RUNNING)
        self.woken = False
        self.metrics.scheduled += 1
        start = self._clock()
        began = start if self._slicing is None else self._slicing()
        try:
            if self._found is not None:
                raise self._found
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
        seats = self._seats
        while True:
            if self.stopping:
                return DriverState.CANCELED
            if seats.is_asked():
                seats.revoke()
            if seats.are_finished:
                return self._end()
            if seats.is_sink_finished():
                seats.finish_all()
                return self._end()
            unready = seats.unready_precondition()
            if unready is not None:
                return self._blocked_by(DriverState.PRECONDITION_BLOCK, unready)
            seats.forget_preconditions()
            moved, late = False, seats.leave_finished() and self._is_late(deadline)
            if not late:
                moved, late = self._pass(deadline)
            if seats.is_sink_finished():
                continue
            if not moved and not late:
                if not seats.leave_finished():
                    blocked = seats.what_blocks()
                    if blocked is None:
                        continue
                    return self._blocked_by(*blocked)
                late = self._is_late(deadline)
            if late:
                self.metrics.yields += 1
                return DriverState.READY

    def _pass(self, deadline: int) -> tuple[bool, bool]:
        """Go over the pairs once; say whether a chunk moved and whether the slice is used up."""
        seats = self._seats
        operators, all_metrics, cpu = seats.operators, seats.metrics, seats.cpu_clock
        clock, slicing = self._clock, self._slicing
        moved = False
        for index in range(seats.first, len(operators) - 1):
            upper, lower = operators[index], operators[index + 1]
            seats.call = ("need_input", index + 1, -1)
            try:
                if not lower.need_input():
                    continue
                seats.call = ("has_output", index, -1)
                if not upper.has_output():
                    continue
                start = clock()
                seats.call = ("pull_chunk", index, start)
                busy = cpu() if cpu else 0
                chunk = upper.pull_chunk()
                if cpu:
                    busy, before = cpu(), busy
                    all_metrics[index].cpu_ns += busy - before
                middle = clock()
                if chunk is not None and (rows := chunk.num_rows):
                    if self._check is not None:
                        self._check(chunk, seats.all[index].id)
                    seats.call = ("push_chunk", index + 1, middle)
                    lower.push_chunk(chunk)
                    end = clock()
                    if cpu:
                        all_metrics[index + 1].cpu_ns += cpu() - busy
                    self._count(index, chunk, rows, end - middle)
                else:
                    end = middle
            except Exception as error:
                raise seats.blamed(error, seats.call[1], seats.call[0]) from error
            moved = True
            metrics = all_metrics[index]
            metrics.pull_ns += middle - start
            if middle - start > metrics.longest_call_ns:
                metrics.longest_call_ns = middle - start
            if self.stopping:
                return moved, False
            if (end if slicing is None else slicing()) >= deadline:
                return moved, True
        seats.call = ("", 0, -1)
        return moved, False

    def _count(self, index: int, chunk: pa.RecordBatch, rows: int, push_ns: int) -> None:
        nbytes = self._bytes[index].estimate(chunk)
        upper, lower = self._seats.metrics[index], self._seats.metrics[index + 1]
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
        """Count what was run, and by how much that was more than a slice."""
        self.ran_ns += ran_ns
        if ran_ns > self._slice_ns:
            self.metrics.overruns += 1
            self.metrics.overrun_ns += ran_ns - self._slice_ns

    # --- the end ----------------------------------------------------------------------------------

    def _end(self) -> DriverState:
        pending = self._seats.pending()
        if pending is not None:
            return self._blocked_by(DriverState.PENDING_FINISH, pending)
        errors: list[BaseException] = []
        self.close_all(errors)
        if errors:
            raise errors[0]
        return DriverState.FINISH

    def set_cancelled(self, errors: list[BaseException]) -> None:
        """End early: tell every prepared operator that is not closed; collect the errors they raise."""
        if self.state in BLOCKED:
            self._end_wait(self._clock())
        self._seats.set_cancelled(errors)
        if not self.is_done:
            self._go(DriverState.CANCELED)

    def close_all(self, errors: list[BaseException]) -> None:
        """Close every prepared operator that is not closed; collect the errors they raise."""
        self._seats.close(errors)

    def _blocked_by(self, state: DriverState, index: int) -> DriverState:
        """Note who causes the driver to go to the blocked ``state``, and why."""
        self._blocker = index
        said = self._seats.ask("blocking_reason", index, self._seats.operators[index].blocking_reason)
        self._reason = (said or REASONS[state]).value
        return state

    def _end_wait(self, now: int) -> None:
        """Account the wait that ends ``now`` to the operator that caused it."""
        self.metrics.add_blocked(self._reason, self._blocked_since, now)
        self._seats.metrics[self._blocker].add_blocked(self._reason, now - self._blocked_since)

    def _go(self, state: DriverState) -> None:
        self.machine.move(state)
        if state in BLOCKED:
            self._blocked_since = self._clock()

    def headline(self) -> str:
        """Tell, without asking an operator: state, whom it waits for, the call it is in, and its states so far."""
        blocker = ""
        if self.state in BLOCKED:
            blocker = f", waits for {self._reason}, because of {self.seats[self._blocker].id}"
        call = self._seats.current_call()
        inside = f", {call}" if call else ""
        return f"{self.name}: {self.state.name}{blocker}{inside} ({self.machine.story()})"

    def describe(self) -> str:
        """Tell for a dump: the headline, and what every operator would do."""
        return "\n".join([self.headline(), *self._seats.describe()])
