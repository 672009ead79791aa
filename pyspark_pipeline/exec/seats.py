"""The operators of one driver: what is asked of them, and the calls of the contract that begin and end their lives.

Every call is measured, so operators hold no timing, and made once where the contract says once. An error is blamed on
the operator and the call: errors of :mod:`pyspark_pipeline.errors` pass through with a note, anything else is a bug
of the engine and becomes :class:`EngineBugError` with its traceback.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time_ns
from typing import NamedTuple, TypeVar

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec.blame import blamed
from pyspark_pipeline.exec.clock import Clock
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Operator, OperatorFactory
from pyspark_pipeline.exec.stages import OperatorStage, StageRecord
from pyspark_pipeline.exec.states import DriverState
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.memory import REVOCATIONS, MemoryTracker
from pyspark_pipeline.metrics import OperatorMetrics

Answer = TypeVar("Answer")


class Seat(NamedTuple):
    """An operator with what the driver keeps about it."""

    id: OperatorId
    factory: OperatorFactory
    operator: Operator
    metrics: OperatorMetrics


class Seats:
    """The operators of a driver, source first. ``first`` is the uppermost that is not left behind.

    ``call`` is what is being called: name, operator, and when it began (-1: not timed).
    """

    def __init__(self, seats: list[Seat], *, cpu_time: bool, clock: Clock) -> None:
        self.all = seats
        self._clock = clock
        self.operators = [seat.operator for seat in seats]
        self.metrics = [seat.metrics for seat in seats]
        self.cpu_clock = thread_time_ns if cpu_time else None
        self.first = 0
        self.call = ("", 0, -1)
        self._contexts: list[OperatorContext] = []
        self._stages = StageRecord([seat.id.name for seat in seats])
        self._revocable: list[tuple[int, MemoryTracker]] = []
        self._preconditions = [i for i, seat in enumerate(seats) if _has_precondition(seat.factory)]

    # --- questions --------------------------------------------------------------------------------

    def can_move(self) -> bool:
        """Say whether a chunk could move, the end of an operator be passed on, or memory be given back."""
        operators = self.operators
        if self.is_asked() or self.is_sink_finished():
            return True
        if self.unready_precondition() is not None:
            return False
        call, asked = "", 0
        try:
            for index in range(self.first, len(operators) - 1):
                call, asked = "is_finished", index
                if operators[index].is_finished():
                    return True
                call, asked = "need_input", index + 1
                if operators[index + 1].need_input():
                    call, asked = "has_output", index
                    if operators[index].has_output():
                        return True
        except Exception as error:
            raise self.blamed(error, asked, call) from error
        return False

    def is_asked(self) -> bool:
        """Say whether an operator is to put aside what it holds."""
        for _, memory in self._revocable:  # noqa: SIM110 (any() costs more; asked in every pass)
            if memory.is_asked:
                return True
        return False

    def is_sink_finished(self) -> bool:
        """Say whether the sink takes no more."""
        last = len(self.operators) - 1
        return self.ask("is_finished", last, self.operators[last].is_finished)

    def unready_precondition(self) -> int | None:
        """Give the first operator whose precondition is not met."""
        for index in self._preconditions:
            if not self.ask("precondition_ready", index, self.all[index].factory.precondition_ready):
                return index
        return None

    def forget_preconditions(self) -> None:
        """Ask for no precondition again: all are met."""
        self._preconditions = []

    def what_blocks(self) -> tuple[DriverState, int] | None:
        """Find, from the sink upwards, the operator because of which no chunk moves; None where one can by now.

        An operator that answers yes stands in no line any more: none may block after that for what it asked for.
        """
        unready = self.unready_precondition()
        if unready is not None:
            return DriverState.PRECONDITION_BLOCK, unready
        last = len(self.operators) - 1
        if self.first < last and not self.ask("need_input", last, self.operators[last].need_input):
            return DriverState.OUTPUT_FULL, last
        if self.can_move():
            return None
        for index in range(last - 1, self.first, -1):
            if not self.ask("need_input", index, self.operators[index].need_input):
                return DriverState.OPERATOR_BLOCK, index
        return (DriverState.INPUT_EMPTY if self.first == 0 < last else DriverState.OPERATOR_BLOCK), self.first

    def pending(self) -> int | None:
        """Give the first operator that background work still holds."""
        for index, operator in enumerate(self.operators):
            is_open = self._stages[index] < OperatorStage.CLOSED
            if is_open and self.ask("pending_finish", index, operator.pending_finish):
                return index
        return None

    # --- lives ------------------------------------------------------------------------------------

    def prepare(self, contexts: list[OperatorContext]) -> None:
        """Call ``prepare`` of every operator, source first, each with its context."""
        self._contexts = contexts
        for index, (operator, context) in enumerate(zip(self.operators, contexts, strict=True)):
            self._stages.enter(index, OperatorStage.PREPARED)
            self.metrics[index].prepare_ns += self._measured(index, "prepare", partial(operator.prepare, context))
        self._revocable = [(i, context.memory) for i, context in enumerate(contexts) if _revokes(self.operators[i])]

    def revoke(self) -> None:
        """Have every operator that is asked put aside what it holds."""
        for index, memory in self._revocable:
            if memory.is_asked:
                self.metrics[index].revoke_ns += self._measured(index, "revoke", self.operators[index].revoke)
                self.metrics[index].add(REVOCATIONS)
                memory.answer()

    def leave_finished(self) -> bool:
        """Tell the operator below the lowest finished one that its input ended; end everything above it."""
        operators = self.operators
        for index in range(len(operators) - 2, self.first - 1, -1):
            if self.ask("is_finished", index, operators[index].is_finished):
                for upper in range(self.first, index + 1):
                    self._set_finished(upper)
                self._set_finishing(index + 1)
                self.first = index + 1
                return True
        return False

    def finish_all(self) -> None:
        """Tell every operator that nobody wants its output."""
        for index in range(len(self.operators)):
            self._set_finished(index)
        self.first = len(self.operators) - 1

    @property
    def are_finished(self) -> bool:
        """Whether all were told so."""
        return self._stages[len(self.operators) - 1] >= OperatorStage.FINISHED

    def set_cancelled(self, errors: list[BaseException]) -> None:
        """Tell every prepared operator that is not closed; collect the errors they raise."""
        for index, operator in enumerate(self.operators):
            if OperatorStage.CREATED < self._stages[index] < OperatorStage.CANCELLED:
                self._stages.enter(index, OperatorStage.CANCELLED)
                self._collected(errors, index, "set_cancelled", operator.set_cancelled)

    def close(self, errors: list[BaseException]) -> None:
        """Close every prepared operator that is not closed; collect the errors they raise."""
        for index, operator in enumerate(self.operators):
            if OperatorStage.CREATED < self._stages[index] < OperatorStage.CLOSED:
                self._stages.enter(index, OperatorStage.CLOSED)
                start = self._clock()
                busy = self.cpu_clock() if self.cpu_clock else 0
                self._collected(errors, index, "close", operator.close)
                self.metrics[index].close_ns += self._clock() - start
                if self.cpu_clock:
                    self.metrics[index].cpu_ns += self.cpu_clock() - busy

    def _set_finishing(self, index: int) -> None:
        if self._stages[index] < OperatorStage.FINISHING:
            self._stages.enter(index, OperatorStage.FINISHING)
            spent = self._measured(index, "set_finishing", self.operators[index].set_finishing)
            self.metrics[index].finishing_ns += spent

    def _set_finished(self, index: int) -> None:
        self._set_finishing(index)
        if self._stages[index] < OperatorStage.FINISHED:
            self._stages.enter(index, OperatorStage.FINISHED)
            spent = self._measured(index, "set_finished", self.operators[index].set_finished)
            self.metrics[index].finished_ns += spent

    # --- calls ------------------------------------------------------------------------------------

    def ask(self, call: str, index: int, question: Callable[[], Answer]) -> Answer:
        """Give an operator's answer; not measured."""
        try:
            return question()
        except Exception as error:
            raise self.blamed(error, index, call) from error

    def blamed(self, error: Exception, index: int, call: str) -> PipelineError:
        """Make what leaves the engine of what an operator raised."""
        memory = self._contexts[index].memory if self._contexts else None
        return blamed(error, self.all[index].id, call, memory)

    def _measured(self, index: int, call: str, action: Callable[[], None]) -> int:
        start = self._clock()
        busy = self.cpu_clock() if self.cpu_clock else 0
        self.call = (call, index, start)
        try:
            action()
        except Exception as error:
            raise self.blamed(error, index, call) from error
        spent = self._clock() - start
        metrics = self.metrics[index]
        if self.cpu_clock:
            metrics.cpu_ns += self.cpu_clock() - busy
        if spent > metrics.longest_call_ns:
            metrics.longest_call_ns = spent
        self.call = ("", 0, -1)
        return spent

    def _collected(self, errors: list[BaseException], index: int, call: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            errors.append(self.blamed(error, index, call))

    # --- dumps ------------------------------------------------------------------------------------

    def current_call(self) -> str:
        """Tell which call is being made, for how long; nothing where none is."""
        call, index, since = self.call
        return f"{(self._clock() - since) / 1e9:.3f} s in {call} of {self.all[index].id}" if since >= 0 else ""

    def describe(self) -> list[str]:
        """Tell a line for every operator: its stage, and what it would do."""
        return [
            f"  {seat.id.name}: {self._stages[index].name} {_answers(seat.operator)}"
            for index, seat in enumerate(self.all)
        ]


def _has_precondition(factory: OperatorFactory) -> bool:
    return type(factory).precondition_ready is not OperatorFactory.precondition_ready


def _revokes(operator: Operator) -> bool:
    return type(operator).revoke is not Operator.revoke


def _answers(operator: Operator) -> str:
    """Ask an operator what it would do, for a dump; its error is part of the answer."""
    try:
        return (
            f"need_input={operator.need_input()} has_output={operator.has_output()} "
            f"is_finished={operator.is_finished()} pending_finish={operator.pending_finish()}"
        )
    except Exception as error:  # a dump must not fail
        return f"does not answer: {error!r}"
