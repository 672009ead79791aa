"""The function that Spark's Python worker calls for a fragment's task (its Arrow map evaluation).

The worker reaches it through ``entry.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark import worker as spark_worker

from pyspark_pipeline.errors import UserFunctionError
from pyspark_pipeline.kernels.buffers import RETAINING_POOL
from pyspark_pipeline.operators.python_functions.calling_thread import with_calling_thread
from pyspark_pipeline.operators.python_functions.calls import use_calls_of
from pyspark_pipeline.spark.broadcasts import read_broadcast
from pyspark_pipeline.spark.python_calls import load_calls
from pyspark_pipeline.task import needs_calling_thread, run_fragment

# Spark already runs a task per core: Arrow's own thread pools would oversubscribe the cores.
pa.set_cpu_count(1)
pa.set_io_thread_count(1)

# jemalloc would return arrays of 8 MiB and more to the system at once (docs/decisions/memory-pools.md).
pa.set_memory_pool(RETAINING_POOL)


def _reports_user_errors(report: Callable[..., None]) -> Callable[..., None]:
    """Return Spark's function that reports the error of a task, for errors of user functions without our frames."""

    def report_error(error: BaseException, *args: object, **options: object) -> None:
        if not isinstance(error, UserFunctionError):
            report(error, *args, **options)
            return
        context, is_suppressed = error.error.__context__, error.error.__suppress_context__
        try:
            raise error.error
        except BaseException as own:  # Spark reports the error that is handled
            own.__traceback__, own.__context__, own.__suppress_context__ = error.trace, context, is_suppressed
            report(own, *args, **options)

    return report_error


use_calls_of(load_calls)

_REPORT = "handle_worker_exception"
setattr(spark_worker, _REPORT, _reports_user_errors(getattr(spark_worker, _REPORT)))


class FragmentFunction:
    """A callable from batches of chunk rows to batches of chunk rows, for one fragment (JSON)."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        output = run_fragment(self._text, batches, read_broadcast)
        context = TaskContext.get()
        needs_thread = needs_calling_thread(self._text, 1 if context is None else context.cpus())
        return with_calling_thread(output) if needs_thread else output
