"""The operator contract: what the driver promises an operator, and what the operator promises back.

A pipeline is a chain *source → … → sink*. A driver owns one operator of each factory and moves chunks
(``pyarrow.RecordBatch``) from operator *i* to operator *i+1*, front to back, always as
``op[i].has_output() and op[i+1].need_input()`` then ``op[i+1].push_chunk(op[i].pull_chunk())``.

The life of an operator (each step at most once, in this order)::

    prepare → (push/pull)* → set_finishing → (pull)* → set_finished → [set_cancelled] → close

``set_finishing``  no more input comes: flush. ``is_finished`` may turn true only after it, except for
                   sources and operators that need no more input (LIMIT).
``set_finished``   nobody wants the output any more: drop buffers, close both ends.
``revoke``         put aside what was offered: another needs the memory; any time before ``set_finishing``, and
                   of a source before ``set_finished``.
``set_cancelled``  the query ended early; called before ``close`` and maybe from another thread.
``close``          always called, also after errors; releases memory and files.

Promises of an operator:

* ``has_output``, ``need_input``, ``is_finished``, ``pending_finish`` and ``blocking_reason`` are cheap, free of
  side effects and safe to call from the thread that polls blocked drivers; ``is_finished`` is monotone.
* Nothing waits. Work that must wait is done elsewhere, and the operator says so (``has_output`` false,
  or ``pending_finish`` true until it is over) and notifies its :class:`~.event.Event`.
* An operator is used by one thread at a time; what is shared between drivers lives in the factory's
  context objects and locks itself.
* Operators hold no timing: the driver measures every call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from pyspark_pipeline.exec.blocking import BlockingReason

if TYPE_CHECKING:
    from pyspark_pipeline.exec.context import OperatorContext

Chunk: TypeAlias = pa.RecordBatch


class Operator(ABC):
    """One running operator of one driver. Subclasses override what their place in the chain needs."""

    def prepare(self, context: OperatorContext) -> None:
        """Take the driver's context (memory tracker, counters, settings); open nothing heavy before this."""
        self.context = context

    def need_input(self) -> bool:
        """Say whether ``push_chunk`` may be called now. False after ``set_finishing``/``set_finished``."""
        return False

    def push_chunk(self, chunk: Chunk) -> None:
        """Take one chunk with at least one row."""
        raise NotImplementedError(type(self).__name__)

    def has_output(self) -> bool:
        """Say whether ``pull_chunk`` may be called now."""
        return False

    def pull_chunk(self) -> Chunk | None:
        """Hand over the next chunk, or None where the work done produced no rows."""
        raise NotImplementedError(type(self).__name__)

    @abstractmethod
    def is_finished(self) -> bool:
        """Say whether the operator will neither take input nor give output again."""

    def pending_finish(self) -> bool:
        """Say whether background work (I/O, a queue being drained) still holds the operator after the end."""
        return False

    def blocking_reason(self) -> BlockingReason | None:
        """Say what is waited for, where the driver is blocked because of this operator; None: what its state says."""
        return None

    def revoke(self) -> None:  # noqa: B027 (optional)
        """Put aside what was offered (:meth:`~.context.OperatorContext.offer`): another needs the memory."""

    def set_finishing(self) -> None:  # noqa: B027 (optional)
        """Learn that no more input comes."""

    def set_finished(self) -> None:  # noqa: B027 (optional)
        """Learn that the output is no longer wanted."""

    def set_cancelled(self) -> None:  # noqa: B027 (optional)
        """Learn that the query was cancelled."""

    def close(self) -> None:  # noqa: B027 (optional)
        """Release everything held."""


class OperatorFactory(ABC):
    """Makes the operators of one place in a pipeline, one per driver, and holds what they share."""

    name: str = "Operator"
    #: What a sink shares with the operator of another pipeline that goes on with what it took: the same object in both.
    meeting_place: object | None = None
    #: Ordinals of output columns that the operator above does not read: they may leave as columns of the null type.
    unread: frozenset[int] = frozenset()
    #: What else of the fragment the operator works with beside its chunks and its meeting place, so that it cannot run
    #: without that; empty: nothing.
    works_with: str = ""
    #: Whether decimals may leave as the integers they are stored as, because the operator above asked for that.
    gives_stored_decimals: bool = False

    @abstractmethod
    def create(self, dop: int, driver_sequence: int) -> Operator:
        """Make the operator of driver ``driver_sequence`` (0 ≤ it < ``dop``)."""

    def precondition_ready(self) -> bool:
        """Say whether what must exist before the first chunk (a join's table, a filter) exists."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A chain of factories run by ``dop`` drivers: the first makes sources, the last makes sinks."""

    id: int
    factories: tuple[OperatorFactory, ...]
    dop: int = 1
