"""The common part of operators whose function pulls an iterator over the batches of a partition.

The worker's main thread calls it, as in Spark. If a task has several such functions, the others have their own threads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.operators.python_functions.calling_thread import current
from pyspark_pipeline.operators.python_functions.calls import load_calls, load_calls_here, user_error
from pyspark_pipeline.operators.python_functions.function_thread import FunctionThread
from pyspark_pipeline.operators.python_functions.row_batches import RowBatches
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.python_functions import PythonFunctions


@contextmanager
def _event_loop(functions: PythonFunctions) -> Iterator[None]:
    """Set an event loop of asyncio for this thread if the functions may need one; the main thread always has one."""
    commands = (command for call in functions.calls for command in call.commands)
    if "asyncio" not in sys.modules and not any(b"asyncio" in command for command in commands):
        yield
        return
    import asyncio  # here: it takes 0.1 s, which other functions need not pay

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class ThreadOperator(Operator):
    """Sends batches to the function's thread. A subclass converts them, and the batches that the function returns."""

    def __init__(self, functions: PythonFunctions, partition: int, settings: Settings) -> None:
        self._functions = functions
        self._partition = partition
        self._settings = settings
        self._rows = RowBatches(functions.limits, self._batch)
        self._finishing = False
        self._thread: FunctionThread

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        thread = current()
        caller = thread if thread is not None and thread.claim() else None
        evaluate = self._evaluate_here if caller is None else self._evaluate
        self._thread = FunctionThread(self._functions.names, evaluate, context.background, context.wake, caller)

    def _evaluate(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return load_calls(self._functions, self._settings)(self._partition, batches)

    def _evaluate_here(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        evaluate = load_calls_here(self._functions, self._settings)
        with _event_loop(self._functions):
            yield from evaluate(self._partition, batches)

    def _batch(self, rows: Chunk) -> pa.RecordBatch:
        """Return the batch that the function gets for ``rows``."""
        raise NotImplementedError

    def _will_send(self, rows: Chunk) -> None:
        """Is called before the batch of ``rows`` is sent."""

    def need_input(self) -> bool:
        return not self._finishing and self._thread.needs_input()

    def push_chunk(self, chunk: Chunk) -> None:
        self._rows.add(chunk)
        while self._rows.may_have_batch():
            self._send(self._rows.take())

    def set_finishing(self) -> None:
        self._finishing = True
        while self._rows.num_rows:
            self._send(self._rows.take(is_end=True))
        self._thread.end_input()

    def _send(self, batches: list[tuple[Chunk, pa.RecordBatch]]) -> None:
        for rows, batch in batches:
            self._will_send(rows)
            self._thread.put(batch)

    def has_output(self) -> bool:
        return self._thread.has_output()

    def _returned(self) -> pa.RecordBatch:
        """Return the next batch of the function; raise :func:`user_error`."""
        try:
            return self._thread.take()
        except PipelineError:
            raise
        except BaseException as error:
            raise user_error(self._functions.names, error) from error

    def is_finished(self) -> bool:
        return self._thread.is_finished()

    def pending_finish(self) -> bool:
        return not self._thread.is_done

    def set_finished(self) -> None:
        self._finishing = True
        self.close()

    def close(self) -> None:
        self._rows.clear()
        if hasattr(self, "_thread"):  # prepared
            self._thread.stop()


class SlicingThreadOperator(ThreadOperator):
    """Outputs the batches that the function returns, in chunks of at most ``batch_rows`` rows."""

    def __init__(self, functions: PythonFunctions, partition: int, settings: Settings) -> None:
        super().__init__(functions, partition, settings)
        self._chunk_rows: int = settings.options.batch_rows
        self._chunks: list[Chunk] = []  # cut from one batch of output, the first one last

    def _rows_of(self, batch: pa.RecordBatch) -> Chunk:
        """Return the rows of output for a batch that the function returned."""
        raise NotImplementedError

    def has_output(self) -> bool:
        return bool(self._chunks) or super().has_output()

    def pull_chunk(self) -> Chunk | None:
        if not self._chunks:
            rows = self._rows_of(self._returned())
            starts = range(0, rows.num_rows, self._chunk_rows)
            self._chunks = [rows.slice(start, self._chunk_rows) for start in reversed(starts)]
        return self._chunks.pop() if self._chunks else None

    def is_finished(self) -> bool:
        return not self._chunks and super().is_finished()

    def close(self) -> None:
        self._chunks = []
        super().close()


class ThreadFactory(OperatorFactory):
    """Makes the operator ``name`` of the only driver: ``functions`` are called once a partition."""

    def __init__(self, name: str, functions: PythonFunctions, make: Callable[[], ThreadOperator]) -> None:
        self.name = name
        self.detail = functions.names
        self._make = make

    def create(self, dop: int, driver_sequence: int) -> ThreadOperator:
        return self._make()
