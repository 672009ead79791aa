"""The main thread of a worker makes the calls of functions while another thread runs the engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.operators.python_functions.calling_thread import CallingThread, current, with_calling_thread
from pyspark_pipeline.operators.python_functions.function_thread import FunctionThread
from tests.operators.function_thread_kit import Batches, drive


def called(work: Callable[[], int]) -> int:
    thread = current()
    assert thread is not None and not thread.is_current()
    return thread.call(work)


def on_main(value: int) -> int:
    assert threading.current_thread() is threading.main_thread()
    return value + 1


def through(function: Callable[[Batches], Batches], rows: int) -> Iterator[int]:
    """Yield, on the engine's thread, what a function over an iterator of ``rows`` batches returns on this one."""
    caller = current()
    assert caller is not None
    is_first = caller.claim()
    thread = FunctionThread(
        "f",
        lambda batches: caller.iterate(lambda: function(batches)) if is_first else function(batches),
        BackgroundWork(),
        lambda: None,
        caller if is_first else None,
    )
    try:
        yield from drive(thread, rows)
    finally:
        thread.stop()


def test_calls_run_on_the_thread_that_iterates() -> None:
    assert list(with_calling_thread(called(lambda i=i: on_main(i)) for i in range(50))) == list(range(1, 51))
    assert current() is None


def test_iterators_run_on_the_thread_that_iterates() -> None:
    def items() -> Iterator[int]:
        thread = current()
        assert thread is not None
        yield from thread.iterate(lambda: (on_main(i) for i in range(20)))

    assert list(with_calling_thread(items())) == list(range(1, 21))


def test_errors_of_calls_reach_the_caller() -> None:
    def fails() -> int:
        raise SystemExit(3)

    def items() -> Iterator[int]:
        with pytest.raises(SystemExit, match="3"):
            called(fails)
        yield called(lambda: on_main(0))

    assert list(with_calling_thread(items())) == [1]


def test_error_of_the_engine_follows_its_items() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("late")

    run = with_calling_thread(items())
    assert next(run) == 1
    with pytest.raises(ValueError, match="late"):
        next(run)


def test_function_over_an_iterator_runs_on_the_calling_thread() -> None:
    def function(batches: Batches) -> Batches:
        for found in batches:
            on_main(0)
            yield found

    assert list(with_calling_thread(through(function, 30))) == list(range(30))


def test_other_functions_are_called_while_one_waits_for_input() -> None:
    def items() -> Iterator[int]:
        def function(batches: Batches) -> Batches:
            yield from list(batches)

        for value in through(function, 5):
            yield called(lambda value=value: on_main(value))

    assert list(with_calling_thread(items())) == [1, 2, 3, 4, 5]


def test_second_function_over_an_iterator_has_a_thread_of_its_own() -> None:
    threads: list[bool] = []

    def function(batches: Batches) -> Batches:
        threads.append(threading.current_thread() is threading.main_thread())
        yield from list(batches)

    def items() -> Iterator[int]:
        for _ in through(function, 3):
            yield from through(function, 2)

    assert list(with_calling_thread(items())) == [0, 1] * 3
    assert threads == [True, False, False, False]


def test_input_may_be_read_by_another_thread_of_the_function() -> None:
    def function(batches: Batches) -> Batches:
        found: list[pa.RecordBatch] = []
        reader = threading.Thread(target=lambda: found.extend(batches))
        reader.start()
        reader.join()
        yield from found

    assert list(with_calling_thread(through(function, 8))) == list(range(8))


def test_early_end_ends_the_function_and_the_engine() -> None:
    ended: list[str] = []

    def function(batches: Batches) -> Batches:
        try:
            yield from batches
        finally:
            ended.append("function")

    def items() -> Iterator[int]:
        try:
            yield from through(function, 1000)
        finally:
            ended.append("engine")

    run = with_calling_thread(items())
    assert [next(run), next(run)] == [0, 1]
    run.close()
    assert "engine" in ended
    assert current() is None


def test_call_after_the_end_of_the_task_raises() -> None:
    threads: list[CallingThread] = []

    def items() -> Iterator[int]:
        thread = current()
        assert thread is not None
        threads.append(thread)
        yield 1

    list(with_calling_thread(items()))
    errors: list[str] = []

    def call() -> None:
        try:
            threads[0].call(lambda: 1)
        except RuntimeError as error:
            errors.append(str(error))

    late = threading.Thread(target=call)
    late.start()
    late.join()
    assert errors == ["the task of this thread has ended"]
