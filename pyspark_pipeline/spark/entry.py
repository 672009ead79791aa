"""The functions that Spark's Python worker unpickles for a fragment's task.

The shim sends them as pickled calls by name, so this module's path and the functions' names are part of the protocol
between the two. The module imports nothing itself, so that a failing import of the engine is reported in one sentence.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from pyspark_pipeline.errors import WorkerStartError


def fragment_function(text: str) -> Any:
    """Return the callable that runs the fragment ``text`` (JSON) over batches of chunk rows.

    Raises:
        WorkerStartError: this interpreter cannot import the engine or a package that it needs.
    """
    try:
        worker = import_module("pyspark_pipeline.spark.worker")
    except Exception as error:
        cause = f"{sys.executable}: {type(error).__name__}: {error}"
        raise WorkerStartError(f"pyspark_pipeline does not load in the worker's Python {cause}") from error
    return worker.FragmentFunction(text)


def empty_function(_text: str) -> Any:
    """Return a callable that reads its input and produces nothing, for a worker that starts before the first task."""
    return lambda batches: (batch for batch in batches if batch is None)
