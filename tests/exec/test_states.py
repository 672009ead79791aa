"""Driver states and operator stages: legal transitions pass, illegal ones raise with the recent states."""

from __future__ import annotations

import itertools

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.stages import OperatorStage, StageRecord
from pyspark_pipeline.exec.states import BLOCKED, FINAL, TRANSITIONS, DriverState, StateMachine


def at(state: DriverState) -> StateMachine:
    """Return a state machine in ``state``."""
    machine = StateMachine("driver 0")
    machine.state = state
    return machine


@pytest.mark.parametrize(("start", "to"), list(itertools.product(DriverState, DriverState)))
def test_state_machine_allows_exactly_the_transitions_of_the_table(start: DriverState, to: DriverState) -> None:
    machine = at(start)
    if to in TRANSITIONS[start]:
        machine.move(to)
        assert machine.state is to
    else:
        with pytest.raises(EngineBugError, match=f"may not go from {start.name} to {to.name}"):
            machine.move(to)
        assert machine.state is start


def test_table_is_complete_and_final_states_have_no_transition() -> None:
    assert set(TRANSITIONS) == set(DriverState)
    assert all(not TRANSITIONS[state] for state in FINAL)
    assert all(DriverState.CANCELED in TRANSITIONS[state] for state in set(DriverState) - FINAL)
    assert all(DriverState.RUNNING not in TRANSITIONS[state] for state in BLOCKED)


def test_illegal_transition_reports_recent_states() -> None:
    machine = StateMachine("driver 3 of pipeline 1")
    for state in (DriverState.READY, DriverState.RUNNING, DriverState.FINISH):
        machine.move(state)
    with pytest.raises(EngineBugError) as caught:
        machine.move(DriverState.RUNNING)
    assert "driver 3 of pipeline 1" in str(caught.value)
    assert "NOT_READY → READY → RUNNING → FINISH" in str(caught.value)


def test_state_history_is_bounded() -> None:
    machine = StateMachine("driver 0")
    machine.move(DriverState.READY)
    for _ in range(1000):
        machine.move(DriverState.RUNNING)
        machine.move(DriverState.READY)
    assert machine.story().count("→") < 20


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (OperatorStage.CREATED, OperatorStage.CLOSED),
        (OperatorStage.CREATED, OperatorStage.FINISHING),
        (OperatorStage.PREPARED, OperatorStage.PREPARED),
        (OperatorStage.FINISHED, OperatorStage.FINISHING),
        (OperatorStage.FINISHED, OperatorStage.FINISHED),
        (OperatorStage.CANCELLED, OperatorStage.FINISHED),
        (OperatorStage.CLOSED, OperatorStage.CLOSED),
    ],
)
def test_entering_a_stage_twice_or_backwards_raises(first: OperatorStage, then: OperatorStage) -> None:
    record = StageRecord(["scan"])
    if first is not OperatorStage.CREATED:
        record.enter(0, OperatorStage.PREPARED)
        if first is not OperatorStage.PREPARED:
            record.enter(0, first)
    with pytest.raises(EngineBugError, match=rf"operator 0 \(scan\) may not go from {first.name} to {then.name}"):
        record.enter(0, then)
