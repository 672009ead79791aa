"""Threads of functions over iterators for tests: batches of one number, and the polling of a driver."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.operators.python_functions.function_thread import FunctionThread

Batches = Iterator[pa.RecordBatch]


def batch(value: int) -> pa.RecordBatch:
    """Return a batch of one row."""
    return pa.RecordBatch.from_pydict({"k": [value]})


def value(found: pa.RecordBatch) -> int:
    """Return the number of a batch's first row."""
    number: int = found["k"][0].as_py()
    return number


def drive(thread: FunctionThread, rows: int) -> Iterator[int]:
    """Yield the output for batches 0 to ``rows`` − 1.

    Poll as a driver does: put whenever the function needs input, take whenever there is output.
    """
    left = [batch(i) for i in range(rows)]
    has_ended = False
    end = time.monotonic() + 20
    while not thread.is_finished():
        assert time.monotonic() < end
        if thread.has_output():
            yield value(thread.take())
        elif left and thread.needs_input():
            thread.put(left.pop(0))
        elif not left and not has_ended:
            thread.end_input()
            has_ended = True
        else:
            time.sleep(0.0005)
