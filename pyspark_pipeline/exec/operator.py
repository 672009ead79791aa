"""The operator contract: the calls that the driver makes, and the guarantees that an operator gives.

A pipeline is a chain *source → … → sink*. A driver owns one operator of each factory of the chain and moves chunks
(``pyarrow.RecordBatch``) from operator *i* to operator *i+1*, front to back, if and only if
``op[i].has_output() and op[i+1].need_input()``: then it calls ``op[i+1].push_chunk(op[i].pull_chunk())``.

The driver calls each of these at most once, in this order, and any number of pushes and pulls in between::

    prepare → (push/pull)* → set_finishing → (pull)* → set_finished → [set_cancelled] → close

``set_finishing``  the input has ended: flush. ``is_finished`` turns true only after it, except for sources and for
                   operators that need no more input (LIMIT).
``set_finished``   the output is no longer needed: drop buffers, close both ends.
``reclaim``        spill the memory that was registered as reclaimable. Called any number of times before
                   ``set_finishing``; for a source, before ``set_finished``.
``set_cancelled``  the query ended early. Called before ``close``, possibly from another thread.
``close``          always called, also after errors: release memory and files.

An operator guarantees:

* The polls ``has_output``, ``need_input``, ``is_finished`` and ``pending_finish`` are cheap and change nothing: they
  may be called any number of times, also by the thread that polls blocked drivers or dumps them. ``is_finished`` is
  monotone.
* ``is_blocked`` is the only call that registers for a wake-up. The driver calls it when it is about to block, then
  polls once more; when it runs again, it cancels what was registered. So an operator subscribes and need not check
  again.
* No call blocks its thread. Work that must wait runs in the background: meanwhile ``has_output`` returns False (or
  ``pending_finish`` True), and when it ends it notifies an :class:`~.event.Event` or calls ``context.wake``.
* One thread at a time uses an operator. State shared between drivers lives in objects that the factory owns, and is
  guarded by a lock of its own.
* An operator measures no time: the driver measures every call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.event import Waker

if TYPE_CHECKING:
    from pyspark_pipeline.exec.context import OperatorContext

Chunk: TypeAlias = pa.RecordBatch


class Operator(ABC):
    """Base class of operators: one instance per driver. Subclasses override the calls that their position needs."""

    def prepare(self, context: OperatorContext) -> None:
        """Store the driver's context (memory tracker, counters, waker). Large resources are acquired here or later."""
        self.context = context

    def need_input(self) -> bool:
        """Return whether ``push_chunk`` may be called now; False after ``set_finishing`` and ``set_finished``."""
        return False

    def push_chunk(self, chunk: Chunk) -> None:
        """Add one input chunk of at least one row. Called only if ``need_input`` returned True."""
        raise NotImplementedError(type(self).__name__)

    def has_output(self) -> bool:
        """Return whether ``pull_chunk`` may be called now."""
        return False

    def pull_chunk(self) -> Chunk | None:
        """Return the next output chunk, or None if this step of work produced no rows."""
        raise NotImplementedError(type(self).__name__)

    @abstractmethod
    def is_finished(self) -> bool:
        """Return whether the operator needs no more input and produces no more output; monotone."""

    def pending_finish(self) -> bool:
        """Return whether background work (I/O, a queue being drained) still uses the operator after its end."""
        return False

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        """Subscribe ``waker`` to every event that may change a poll of this operator while its driver is blocked.

        Returns the reason why this operator waits; None if it does not, or for the default of the driver's state. An
        operator that waits for nothing subscribes too if another driver may finish it (LIMIT, a join's build).
        """
        return None

    def release(self) -> None:  # noqa: B027 (optional)
        """Make all buffered rows available as output: the input failed after the last chunk that was pushed."""

    def reclaim(self) -> None:  # noqa: B027 (optional)
        """Spill the memory registered by :meth:`~.context.OperatorContext.register_reclaimable`."""

    def set_finishing(self) -> None:  # noqa: B027 (optional)
        """Handle the end of the input."""

    def set_finished(self) -> None:  # noqa: B027 (optional)
        """Handle the end of the demand: the output is no longer needed."""

    def set_cancelled(self) -> None:  # noqa: B027 (optional)
        """Handle the cancellation of the query."""

    def close(self) -> None:  # noqa: B027 (optional)
        """Release all memory, files and threads."""


class OperatorFactory(ABC):
    """Creates the operators at one position of a pipeline, one per driver, and owns the state that they share."""

    name: str = "Operator"
    #: Text besides the name in profiles: the names of the user's functions.
    detail: str = ""
    #: State shared by a sink and the operator of another pipeline that consumes its data: the same object in both.
    shared_state: object | None = None
    #: Name of the parts of the fragment, besides chunks and shared state, without which a recorded operator cannot be
    #: replayed; empty: none.
    replay_dependencies: str = ""
    #: True if every input row has one output row, in order: a LIMIT may drop rows before this operator.
    maps_rows: bool = False
    #: True for a source whose number of rows is unknown until they arrive, from which any driver may take them.
    has_unknown_rows: bool = False

    @abstractmethod
    def create(self, dop: int, driver_sequence: int) -> Operator:
        """Create the operator of driver ``driver_sequence``, a number in [0, ``dop``)."""

    def precondition_ready(self) -> bool:
        """Return whether the state needed before the first chunk (a join's hash table, a filter) exists."""
        return True

    def use_driver_queues(self, keys: Sequence[object], drivers: int) -> bool:
        """Send all rows of equal ``keys`` to one of ``drivers`` if this source can; return whether it does."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A chain of factories, run by ``dop`` drivers: the first creates sources, the last creates sinks."""

    id: int
    factories: tuple[OperatorFactory, ...]
    dop: int = 1
