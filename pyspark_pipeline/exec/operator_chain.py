"""The operator chain of one driver: polls of the operators, and the calls of their life cycle.

Every call is measured, so operators measure no time, and the once-only calls of the contract are made once. An error is
attributed to the operator and the call: errors of :mod:`pyspark_pipeline.errors` get a note, any other error is a bug
of the engine and becomes :class:`EngineBugError` with its traceback.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time_ns
from typing import NamedTuple, TypeVar

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec.blocking import REASONS, Blocked, BlockingReason
from pyspark_pipeline.exec.clock import Clock
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.operator import Operator, OperatorFactory
from pyspark_pipeline.exec.operator_errors import wrap_operator_error
from pyspark_pipeline.exec.stages import OperatorStage, StageRecord
from pyspark_pipeline.exec.states import DriverState
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.memory import RECLAIMS, MemoryTracker
from pyspark_pipeline.metrics import OperatorMetrics

Result = TypeVar("Result")


class OperatorSlot(NamedTuple):
    """An operator with its id, factory and metrics."""

    id: OperatorId
    factory: OperatorFactory
    operator: Operator
    metrics: OperatorMetrics


class OperatorChain:
    """The operators of a driver, source first. ``first`` is the index of the first one that is still active.

    ``call`` is the current call: its name, the index of its operator, and its start time (-1: not timed).
    """

    def __init__(self, slots: list[OperatorSlot], *, cpu_time: bool, clock: Clock) -> None:
        self.slots = slots
        self._clock = clock
        self.operators = [slot.operator for slot in slots]
        self.metrics = [slot.metrics for slot in slots]
        self.cpu_clock = thread_time_ns if cpu_time else None
        self.first = 0
        self.call = ("", 0, -1)
        self._contexts: list[OperatorContext] = []
        self._stages = StageRecord([slot.id.name for slot in slots])
        self._reclaimable: list[tuple[int, MemoryTracker]] = []
        self._preconditions = [i for i, slot in enumerate(slots) if _has_precondition(slot.factory)]
        self._may_wait = [i for i, slot in enumerate(slots) if _may_wait(slot.operator)]

    # --- polls ------------------------------------------------------------------------------------

    def can_move(self) -> bool:
        """Return whether a chunk can move, the end of an operator can be propagated, or memory must be reclaimed."""
        operators = self.operators
        if self.reclaim_requested() or self.is_sink_finished():
            return True
        if self.unready_precondition() is not None:
            return False
        call, polled = "", 0
        try:
            for index in range(self.first, len(operators) - 1):
                call, polled = "is_finished", index
                if operators[index].is_finished():
                    return True
                call, polled = "need_input", index + 1
                if operators[index + 1].need_input():
                    call, polled = "has_output", index
                    if operators[index].has_output():
                        return True
        except Exception as error:
            raise self.wrap_error(error, polled, call) from error
        return False

    def reclaim_requested(self) -> bool:
        """Return whether an operator must reclaim memory."""
        for _, memory in self._reclaimable:  # noqa: SIM110 (any() costs more; called in every pass)
            if memory.reclaim_requested:
                return True
        return False

    def is_sink_finished(self) -> bool:
        """Return whether the sink is finished."""
        last = len(self.operators) - 1
        return self.poll("is_finished", last, self.operators[last].is_finished)

    def unready_precondition(self) -> int | None:
        """Return the index of the first operator whose precondition is not met; None if all are."""
        for index in self._preconditions:
            if not self.poll("precondition_ready", index, self.slots[index].factory.precondition_ready):
                return index
        return None

    def clear_preconditions(self) -> None:
        """Stop polling preconditions: all are met."""
        self._preconditions = []

    def find_pending(self) -> int | None:
        """Return the index of the first operator that background work still uses; None if there is none."""
        for index, operator in enumerate(self.operators):
            is_open = self._stages[index] < OperatorStage.CLOSED
            if is_open and self.poll("pending_finish", index, operator.pending_finish):
                return index
        return None

    # --- blocking ---------------------------------------------------------------------------------

    def block(self, waker: Waker) -> Blocked | None:
        """Register ``waker`` with every operator whose change may unblock the driver, *then* poll once more.

        Returns why the driver is blocked; None, with nothing registered, if it can run by now.
        """
        unready, last = self.unready_precondition(), len(self.operators) - 1
        asked = range(self.first, last + 1) if unready is None else (unready, last)
        reasons = {index: self._register(index, waker) for index in self._may_wait if index in asked}
        if self.unready_precondition() == unready and not self.can_move():
            state, index = self._blocker() if unready is None else (DriverState.PRECONDITION_BLOCK, unready)
            return Blocked(state, index, reasons.get(index) or REASONS[state])
        waker.cancel()
        return None

    def block_pending(self, waker: Waker) -> Blocked | None:
        """As :meth:`block`, after the end of all operators: None if background work uses none of them."""
        while (index := self.find_pending()) is not None:
            reason = self._register(index, waker)
            if self.find_pending() == index:
                return Blocked(DriverState.PENDING_FINISH, index, reason or REASONS[DriverState.PENDING_FINISH])
            waker.cancel()
        return None

    def _register(self, index: int, waker: Waker) -> BlockingReason | None:
        return self.poll("is_blocked", index, partial(self.operators[index].is_blocked, waker))

    def _blocker(self) -> tuple[DriverState, int]:
        """Return the blocked state and the operator that causes it, searched from the sink to the source."""
        last = len(self.operators) - 1
        for index in range(last, self.first, -1):
            if not self.poll("need_input", index, self.operators[index].need_input):
                return (DriverState.OUTPUT_FULL if index == last else DriverState.OPERATOR_BLOCK), index
        return (DriverState.INPUT_EMPTY if self.first == 0 < last else DriverState.OPERATOR_BLOCK), self.first

    # --- life cycle -------------------------------------------------------------------------------

    def prepare(self, contexts: list[OperatorContext]) -> None:
        """Call ``prepare`` of every operator, source first, each with its context."""
        self._contexts = contexts
        for index, (operator, context) in enumerate(zip(self.operators, contexts, strict=True)):
            self._stages.enter(index, OperatorStage.PREPARED)
            self.metrics[index].prepare_ns += self._measure(index, "prepare", partial(operator.prepare, context))
        self._reclaimable = [
            (i, context.memory) for i, context in enumerate(contexts) if _can_reclaim(self.operators[i])
        ]

    def reclaim(self) -> None:
        """Call ``reclaim`` of every operator whose memory is requested."""
        for index, memory in self._reclaimable:
            if memory.reclaim_requested:
                self.metrics[index].reclaim_ns += self._measure(index, "reclaim", self.operators[index].reclaim)
                self.metrics[index].add(RECLAIMS)
                memory.reclaim_done()

    def skip_failed(self) -> None:
        """Deactivate the operator of the current call and all before it; make the later ones release buffered rows."""
        last = len(self.operators) - 1
        self.first = min(self.call[1] + 1, last)
        for index in range(self.first, last):
            self._measure(index, "release", self.operators[index].release)

    def has_output(self) -> bool:
        """Return whether an active operator other than the sink has output."""
        inner = range(self.first, len(self.operators) - 1)
        return any(self.poll("has_output", index, self.operators[index].has_output) for index in inner)

    def propagate_finish(self) -> bool:
        """Finish all operators up to the last finished one; end the input of the next. Return whether there was one."""
        operators = self.operators
        for index in range(len(operators) - 2, self.first - 1, -1):
            if self.poll("is_finished", index, operators[index].is_finished):
                for upper in range(self.first, index + 1):
                    self._set_finished(upper)
                self._set_finishing(index + 1)
                self.first = index + 1
                return True
        return False

    def finish_all(self) -> None:
        """Call ``set_finished`` of every operator."""
        for index in range(len(self.operators)):
            self._set_finished(index)
        self.first = len(self.operators) - 1

    @property
    def is_finished(self) -> bool:
        """True if ``set_finished`` of all operators was called."""
        return self._stages[len(self.operators) - 1] >= OperatorStage.FINISHED

    def set_cancelled(self, errors: list[BaseException]) -> None:
        """Cancel every prepared operator that is not closed; collect the errors they raise."""
        for index, operator in enumerate(self.operators):
            if OperatorStage.CREATED < self._stages[index] < OperatorStage.CANCELLED:
                self._stages.enter(index, OperatorStage.CANCELLED)
                self._collect_errors(errors, index, "set_cancelled", operator.set_cancelled)

    def close(self, errors: list[BaseException]) -> None:
        """Close every prepared operator that is not closed; collect the errors they raise."""
        for index, operator in enumerate(self.operators):
            if OperatorStage.CREATED < self._stages[index] < OperatorStage.CLOSED:
                self._stages.enter(index, OperatorStage.CLOSED)
                start = self._clock()
                busy = self.cpu_clock() if self.cpu_clock else 0
                self._collect_errors(errors, index, "close", operator.close)
                self.metrics[index].close_ns += self._clock() - start
                if self.cpu_clock:
                    self.metrics[index].cpu_ns += self.cpu_clock() - busy

    def _set_finishing(self, index: int) -> None:
        if self._stages[index] < OperatorStage.FINISHING:
            self._stages.enter(index, OperatorStage.FINISHING)
            spent = self._measure(index, "set_finishing", self.operators[index].set_finishing)
            self.metrics[index].finishing_ns += spent

    def _set_finished(self, index: int) -> None:
        self._set_finishing(index)
        if self._stages[index] < OperatorStage.FINISHED:
            self._stages.enter(index, OperatorStage.FINISHED)
            spent = self._measure(index, "set_finished", self.operators[index].set_finished)
            self.metrics[index].finished_ns += spent

    # --- calls ------------------------------------------------------------------------------------

    def poll(self, call: str, index: int, method: Callable[[], Result]) -> Result:
        """Return the result of a poll; not measured."""
        try:
            return method()
        except Exception as error:
            raise self.wrap_error(error, index, call) from error

    def wrap_error(self, error: Exception, index: int, call: str) -> PipelineError:
        """Return the error that leaves the engine for an operator's ``error``."""
        memory = self._contexts[index].memory if self._contexts else None
        return wrap_operator_error(error, self.slots[index].id, call, memory)

    def _measure(self, index: int, call: str, action: Callable[[], None]) -> int:
        start = self._clock()
        busy = self.cpu_clock() if self.cpu_clock else 0
        self.call = (call, index, start)
        try:
            action()
        except Exception as error:
            raise self.wrap_error(error, index, call) from error
        spent = self._clock() - start
        metrics = self.metrics[index]
        if self.cpu_clock:
            metrics.cpu_ns += self.cpu_clock() - busy
        if spent > metrics.longest_call_ns:
            metrics.longest_call_ns = spent
        self.call = ("", 0, -1)
        return spent

    def _collect_errors(self, errors: list[BaseException], index: int, call: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            errors.append(self.wrap_error(error, index, call))

    # --- dumps ------------------------------------------------------------------------------------

    def current_call(self) -> str:
        """Describe the current call and its duration; '' if there is none."""
        call, index, since = self.call
        return f"{(self._clock() - since) / 1e9:.3f} s in {call} of {self.slots[index].id}" if since >= 0 else ""

    def describe(self) -> list[str]:
        """Return a line for every operator: its stage and the results of its polls."""
        return [
            f"  {slot.id.name}: {self._stages[index].name} {_poll_state(slot.operator)}"
            for index, slot in enumerate(self.slots)
        ]


def _has_precondition(factory: OperatorFactory) -> bool:
    return type(factory).precondition_ready is not OperatorFactory.precondition_ready


def _may_wait(operator: Operator) -> bool:
    return type(operator).is_blocked is not Operator.is_blocked


def _can_reclaim(operator: Operator) -> bool:
    return type(operator).reclaim is not Operator.reclaim


def _poll_state(operator: Operator) -> str:
    """Describe the polls of an operator for a dump; an error becomes part of the description."""
    try:
        return (
            f"need_input={operator.need_input()} has_output={operator.has_output()} "
            f"is_finished={operator.is_finished()} pending_finish={operator.pending_finish()}"
        )
    except Exception as error:  # a dump must not fail
        return f"does not answer: {error!r}"
