"""Calls of operators come in the order that a test gives, or the test fails and says what was waited for."""

from __future__ import annotations

import threading

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, execute
from pyspark_pipeline.testing import Call, OrderNotMetError, Sequencer
from tests.exec.kit import Sink, Source, Step, chunks, pipeline, values


class Noted(Step):
    """Notes its number when it gets a chunk, and when it is closed."""

    def __init__(self, number: int, order: list[str]) -> None:
        super().__init__()
        self.number, self.order = number, order

    def push_chunk(self, given: Chunk) -> None:
        super().push_chunk(given)
        self.order.append(f"push {self.number}")

    def close(self) -> None:
        super().close()
        self.order.append(f"close {self.number}")


def two(order: list[str], chunks_each: int = 2) -> FragmentInstance:
    """Two pipelines of a driver each."""
    queue = OutputQueue(100)
    return FragmentInstance(
        [pipeline(Source(chunks(chunks_each)), Noted(i, order), Sink(queue), number=i) for i in range(2)], queue
    )


def push(pipeline: int, number: int = 1) -> Call:
    return Call(name="push_chunk", operator=1, pipeline=pipeline, number=number)


def close(pipeline: int) -> Call:
    return Call(name="close", operator=1, pipeline=pipeline)


@pytest.mark.parametrize("first", [0, 1])
def test_a_driver_makes_a_call_only_after_another_has(first: int) -> None:
    order: list[str] = []
    instance = two(order)
    with Sequencer(instance) as sequencer:
        sequencer.order(close(first), push(1 - first))
        assert len(list(execute(instance, 2))) == 4
    assert order == [
        *(f"push {first}", f"push {first}", f"close {first}"),
        *(f"push {1 - first}", f"push {1 - first}", f"close {1 - first}"),
    ]


def test_drivers_take_turns_where_a_test_says_so() -> None:
    order: list[str] = []
    instance = two(order, 3)
    turns = [push(1, 1), push(0, 1), push(0, 2), push(1, 2), push(1, 3), push(0, 3)]
    with Sequencer(instance) as sequencer:
        sequencer.order(*turns)
        list(execute(instance, 2))
    assert [name for name in order if name.startswith("push")] == [f"push {call.pipeline}" for call in turns]


def test_the_tests_own_code_takes_part() -> None:
    order: list[str] = []
    instance = two(order)
    with Sequencer(instance) as sequencer:
        sequencer.order(push(0, 2), "published", push(1))

        def publish() -> None:
            with sequencer.step("published"):
                order.append("published")

        publisher = threading.Thread(target=publish)
        publisher.start()
        list(execute(instance, 2))
        publisher.join()
    assert order.index("push 0") < order.index("published") < order.index("push 1")


def test_one_thread_meets_an_order_that_is_its_own_and_no_other() -> None:
    order: list[str] = []
    with Sequencer(instance := two(order)) as sequencer:
        sequencer.order(push(0), push(1))
        assert values(list(execute(instance))) == list(range(8)) * 2
    with pytest.raises(OrderNotMetError, match="it would have to come from the thread that waits") as caught:
        with Sequencer(instance := two(order), bound_s=1000) as sequencer:
            sequencer.order(push(1), push(0))
            list(execute(instance))
    said = str(caught.value)
    assert said.startswith(f"{push(0)} has to wait for {push(1)}: ") and "came: nothing" in said
    assert "driver 0 of pipeline 0: RUNNING" in said and "driver 0 of pipeline 1: READY" in said
    assert isinstance(caught.value.__cause__, EngineBugError)


def test_what_a_driver_has_ended_without_cannot_be_waited_for() -> None:
    with pytest.raises(OrderNotMetError, match="driver 0 of pipeline 0 has ended without it"):
        with Sequencer(instance := two([]), bound_s=1000) as sequencer:
            sequencer.order(push(0, number=9), push(1))
            list(execute(instance, 2))


def test_an_order_that_is_never_met_fails_after_the_bound() -> None:
    """Each of both threads waits for what only the test's code could do."""
    with pytest.raises(OrderNotMetError, match="has to wait for go: not within 0.2 s") as caught:
        with Sequencer(instance := two([]), bound_s=0.2) as sequencer:
            sequencer.order("go", push(0))
            sequencer.order("go", push(1))
            list(execute(instance, 2))
    assert "waiting: push_chunk of operator 1" in str(caught.value)


def test_a_step_that_never_came_shows_nothing() -> None:
    with pytest.raises(OrderNotMetError, match=f"{push(1, 7)} never came"):
        with Sequencer(instance := two([])) as sequencer:
            sequencer.order(push(0), push(1, 7))
            list(execute(instance, 2))


def test_a_run_that_is_closed_lets_its_waiting_calls_go_and_says_so() -> None:
    with pytest.raises(OrderNotMetError, match=r"had to wait for go, but all was stopped\ngo never came"):
        with Sequencer(instance := two([]), bound_s=1000) as sequencer:
            sequencer.order("go", push(1))
            items = execute(instance, 2)
            next(items)
            items.close()


def test_the_runs_own_error_is_the_tests() -> None:
    queue = OutputQueue()
    instance = FragmentInstance([pipeline(Source(chunks(1), fails="pull_chunk"), Sink(queue))], queue)
    with pytest.raises(EngineBugError, match="told to fail in pull_chunk"):
        with Sequencer(instance) as sequencer:
            sequencer.order(Call(name="pull_chunk", operator=0), Call(name="push_chunk", operator=1))
            list(execute(instance, 2))


def test_orders_that_cannot_be_are_refused() -> None:
    sequencer = Sequencer(two([]))
    sequencer.order(push(0), push(1), close(0))
    with pytest.raises(ValueError, match="cannot come before"):
        sequencer.order(close(0), push(0))
    with pytest.raises(ValueError, match="cannot come before"):
        sequencer.order(push(0), push(0))
    with pytest.raises(ValueError, match="no such operator"):
        sequencer.order(push(5), push(0))
    with pytest.raises(ValueError, match="not a call that can be put in an order"):
        sequencer.order(Call(name="has_output", operator=0), push(0))
