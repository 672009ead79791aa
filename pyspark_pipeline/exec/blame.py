"""Where an error happened, added once, by the driver."""

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


def blamed(error: Exception, operator: OperatorId, call: str, memory: MemoryTracker | None = None) -> PipelineError:
    """Turn what an operator raised into what leaves the engine.

    An error of the engine's own tree stays itself and gets a note. A MemoryError (pyarrow's too) becomes
    :class:`ResourceExhaustedError`. That tells what the operator's tracker ``memory`` and those above it
    know, unless a tracker raised it. Everything else is a promise broken: :class:`EngineBugError` with
    the original traceback as text, for the original may not pickle.
    """
    where = f"in {call} of {operator}"
    known = f"; {memory.account()}" if memory is not None else ""
    if isinstance(error, ResourceExhaustedError) and not error.tells_holders:
        error.args = (f"{error}{known}",)
        error.tells_holders = True
    if isinstance(error, PipelineError):
        add_note(error, where)
        return error
    if isinstance(error, MemoryError):
        return ResourceExhaustedError(f"{where}: the allocator has no memory left: {error}{known}", tells_holders=True)
    trace = "".join(traceback.format_exception(error))
    return EngineBugError(f"{type(error).__name__}: {error}\n{where}\n{trace}")
