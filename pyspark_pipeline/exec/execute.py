"""Run a fragment instance, or several of one query together: the entry point of the engine."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from pyspark_pipeline.exec.operator_errors import add_note
from pyspark_pipeline.exec.runnable import Runnable
from pyspark_pipeline.exec.serial import SerialExecutor
from pyspark_pipeline.exec.threaded import ThreadedExecutor


def execute(instance: Runnable, threads: int = 1) -> Generator[Any, None, None]:
    """Run ``instance`` and yield the items that its sinks push into the output queue, in that order.

    With one thread the drivers run on the caller's thread, between two items; with more, on that many threads of the
    executor, while the caller's thread reads the input stream. Closing the generator cancels. At the end, in all cases,
    every operator is closed and no thread is left. Raises the operators' errors (see
    :func:`~.operator_errors.wrap_operator_error`); errors of the clean-up become notes of the first error.
    """
    executor = SerialExecutor(instance) if threads == 1 else ThreadedExecutor(instance, threads)
    try:
        yield from executor.run()
    except GeneratorExit:
        instance.close()
        raise
    except BaseException as error:
        for other in instance.close():
            add_note(error, f"then, while cleaning up: {other}")
        raise
    errors = instance.close()
    if errors:
        raise errors[0]
