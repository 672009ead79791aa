"""The interface to the code that calls Python functions: Spark's, which the engine itself does not import."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.python_functions import EvalPython

#: From a batch of the functions' arguments to a batch of their results.
Evaluate = Callable[[pa.RecordBatch], pa.RecordBatch]
LoadCalls = Callable[[EvalPython], Evaluate]

_loaders: list[LoadCalls] = []


def use_calls_of(load: LoadCalls) -> None:
    """Set the function that unpickles the functions of all nodes in this process."""
    _loaders[:] = [load]


def load_calls(node: EvalPython) -> Evaluate:
    """Unpickle the functions of a node; raise what the import of their modules raises."""
    if not _loaders:
        raise UnsupportedPlanError("Python functions run in Spark's workers only")
    return _loaders[0](node)
