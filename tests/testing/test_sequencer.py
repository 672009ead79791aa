"""Operator calls come in the order that a test gives, or the test fails and names the missing calls."""

from __future__ import annotations

import threading

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, execute
from pyspark_pipeline.testing import Call, OrderNotMetError, Sequencer
from tests.exec.kit import Sink, Source, Step, chunks, pipeline, values


class Noted(Step):
    """Records its number when a chunk is pushed, and when it is closed."""

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
    """Return an instance of two pipelines of one driver each."""
    queue = OutputQueue(100)
    return FragmentInstance(
        [pipeline(Source(chunks(chunks_each)), Noted(i, order), Sink(queue), number=i) for i in range(2)], queue
    )


def push(pipeline: int, number: int = 1) -> Call:
    return Call(name="push_chunk", operator=1, pipeline=pipeline, number=number)


def close(pipeline: int) -> Call:
    return Call(name="close", operator=1, pipeline=pipeline)


@pytest.mark.parametrize("first", [0, 1])
def test_call_waits_for_the_call_ordered_before_it(first: int) -> None:
    order: list[str] = []
    instance = two(order)
    with Sequencer(instance) as sequencer:
        sequencer.order(close(first), push(1 - first))
        assert len(list(execute(instance, 2))) == 4
    assert order == [
        *(f"push {first}", f"push {first}", f"close {first}"),
        *(f"push {1 - first}", f"push {1 - first}", f"close {1 - first}"),
    ]


def test_order_alternates_the_calls_of_two_drivers() -> None:
    order: list[str] = []
    instance = two(order, 3)
    turns = [push(1, 1), push(0, 1), push(0, 2), push(1, 2), push(1, 3), push(0, 3)]
    with Sequencer(instance) as sequencer:
        sequencer.order(*turns)
        list(execute(instance, 2))
    assert [name for name in order if name.startswith("push")] == [f"push {call.pipeline}" for call in turns]


def test_order_includes_steps_of_test_code() -> None:
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


def test_one_thread_fails_at_once_on_an_order_it_cannot_meet() -> None:
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


def test_wait_for_a_call_of_a_finished_driver_fails_at_once() -> None:
    with pytest.raises(OrderNotMetError, match="driver 0 of pipeline 0 has ended without it"):
        with Sequencer(instance := two([]), bound_s=1000) as sequencer:
            sequencer.order(push(0, number=9), push(1))
            list(execute(instance, 2))


def test_unmet_order_fails_after_the_bound() -> None:
    """Both threads wait for a step that only the test's code could make."""
    with pytest.raises(OrderNotMetError, match="has to wait for go: not within 0.2 s") as caught:
        with Sequencer(instance := two([]), bound_s=0.2) as sequencer:
            sequencer.order("go", push(0))
            sequencer.order("go", push(1))
            list(execute(instance, 2))
    assert "waiting: push_chunk of operator 1" in str(caught.value)


def test_step_that_never_came_fails_the_test() -> None:
    with pytest.raises(OrderNotMetError, match=f"{push(1, 7)} never came"):
        with Sequencer(instance := two([])) as sequencer:
            sequencer.order(push(0), push(1, 7))
            list(execute(instance, 2))


def test_closed_run_releases_waiting_calls_and_reports_them() -> None:
    with pytest.raises(OrderNotMetError, match=r"had to wait for go, but all was stopped\ngo never came"):
        with Sequencer(instance := two([]), bound_s=1000) as sequencer:
            sequencer.order("go", push(1))
            items = execute(instance, 2)
            next(items)
            items.close()


def test_error_of_the_run_propagates() -> None:
    queue = OutputQueue()
    instance = FragmentInstance([pipeline(Source(chunks(1), fails="pull_chunk"), Sink(queue))], queue)
    with pytest.raises(EngineBugError, match="told to fail in pull_chunk"):
        with Sequencer(instance) as sequencer:
            sequencer.order(Call(name="pull_chunk", operator=0), Call(name="push_chunk", operator=1))
            list(execute(instance, 2))


def test_impossible_orders_raise_value_error() -> None:
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
