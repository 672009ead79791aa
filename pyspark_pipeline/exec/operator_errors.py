"""The location of an error, added once, by the driver."""

from __future__ import annotations

import traceback

from pyspark_pipeline.errors import EngineBugError, PipelineError, ResourceExhaustedError
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.memory import MemoryTracker


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an error, as ``BaseException.add_note`` of Python 3.11 does; notes pickle."""
    notes = getattr(error, "__notes__", None)
    if notes is None:
        notes = []
        error.__notes__ = notes  # type: ignore[attr-defined,unused-ignore]
    notes.append(note)


def wrap_operator_error(
    error: Exception, operator: OperatorId, call: str, memory: MemoryTracker | None = None
) -> PipelineError:
    """Return the error that leaves the engine for an ``error`` that ``operator`` raised in ``call``.

    An error of :mod:`pyspark_pipeline.errors` is kept and gets a note. A MemoryError (pyarrow's too) becomes
    :class:`ResourceExhaustedError`. Its message names the largest holders known to the operator's tracker ``memory``
    and its parents, unless a tracker raised it. Any other error violates the contract: :class:`EngineBugError` with the
    original traceback as text, since the original may not pickle.
    """
    where = f"in {call} of {operator}"
    known = f"; {memory.describe()}" if memory is not None else ""
    if isinstance(error, ResourceExhaustedError) and not error.names_holders:
        error.args = (f"{error}{known}",)
        error.names_holders = True
    if isinstance(error, PipelineError):
        add_note(error, where)
        return error
    if isinstance(error, MemoryError):
        return ResourceExhaustedError(f"{where}: the allocator has no memory left: {error}{known}", names_holders=True)
    trace = "".join(traceback.format_exception(error))
    return EngineBugError(f"{type(error).__name__}: {error}\n{where}\n{trace}")
