"""A simulated transport between the instances of one process, on a clock of steps.

Everything in flight is an event with the step at which it happens: a request arrives, an answer arrives, a request
times out. The executor reads the transport like an input stream (:mod:`~pyspark_pipeline.exec.feed`): on the caller's
thread, when drivers wait for it. One ``pump`` is one step: the clock advances to the next event, and all events due at
that step run, including those they schedule for the same step. Nothing sleeps. With one executor thread the whole
query is deterministic: the same conditions and the same seed give the same events in the same order.

Conditions delay, reorder or lose requests and answers. By default there is no delay and no loss. Every request has a
deadline, counted from when it is sent: whatever keeps its answer (the request or the answer was lost, the latency is
too high, the receiver withholds the answer), the query fails when the clock passes the deadline.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark_pipeline.errors import EngineBugError, PipelineError
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.input_queue import FeedQueue
from pyspark_pipeline.local.transport.receiver import Receiver
from pyspark_pipeline.local.transport.request import Address, Closure, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The network between instances. Times are steps of the transport's clock.

    Every request and every answer takes ``latency`` plus a random 0 to ``jitter``, so that they overtake each other.
    ``loss`` is the share of lost requests; ``loses``, if given, selects them instead. ``answer_loss`` and
    ``loses_answer`` do the same for answers. A request without an answer fails after ``timeout``.
    """

    latency: int = 0
    jitter: int = 0
    loss: float = 0.0
    loses: Callable[[Address, Request], bool] | None = None
    answer_loss: float = 0.0
    loses_answer: Callable[[Address, Request], bool] | None = None
    timeout: int = 1_000_000
    seed: int = 0


class _Sent:
    """A request in flight, until it is answered or its deadline has passed."""

    __slots__ = ("address", "request", "closure", "deadline", "is_lost")

    def __init__(self, address: Address, request: Request, closure: Closure, deadline: int) -> None:
        self.address = address
        self.request = request
        self.closure = closure
        self.deadline = deadline
        self.is_lost = False


class LocalTransport:
    """The requests in flight between senders and registered receivers; a feed of the executor.

    ``pump`` and its callees run on one thread. Senders transmit and queues report room from any thread: ``_lock``
    guards the events, and no callback runs with it held.
    """

    def __init__(self, conditions: Conditions | None = None) -> None:
        self.wanted = Event("requests or answers are under way")
        self.now = 0
        self.arrived = 0
        self._conditions = conditions or Conditions()
        self._random = random.Random(self._conditions.seed)
        self._order = itertools.count()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._receivers: dict[Address, Receiver] = {}
        self._parked: dict[Address, list[_Sent]] = {}
        self._abandon_callbacks: dict[tuple[int, int], list[Callable[[Address], None]]] = {}
        self._sent: OrderedDict[_Sent, None] = OrderedDict()  # without an answer, by deadline
        self._lost = 0
        self._error: PipelineError | None = None
        self._lock = threading.Lock()

    # --- wiring -----------------------------------------------------------------------------------

    def register(self, address: Address, queue: FeedQueue, streams: int, *, ordered: bool = False) -> Receiver:
        """Deliver requests for ``address`` to ``queue``; those that arrived before are delivered at the next step."""
        if address in self._receivers:
            raise EngineBugError(f"{address} is registered twice")
        receiver = Receiver(
            queue,
            streams,
            ordered=ordered,
            schedule_release=self._schedule_release,
            on_abandoned=partial(self._notify_abandoned, address),
        )
        self._receivers[address] = receiver
        for sent in self._parked.pop(address, ()):
            self._schedule(0, partial(self._arrive, sent))
        return receiver

    def wire(self, addresses: Sequence[Address]) -> LocalWire:
        """Return the wire of a sender whose destination *i* is at ``addresses[i]``."""
        return LocalWire(self, addresses)

    def on_abandon(self, fragment: int, input_id: int, callback: Callable[[Address], None]) -> None:
        """Have the pump call ``callback`` with the address of each receiver of this input that is abandoned."""
        self._abandon_callbacks.setdefault((fragment, input_id), []).append(callback)

    def fail(self, error: PipelineError) -> None:
        """Have the pump raise ``error`` at the end of the step; the first error wins."""
        self._error = self._error or error

    # --- in flight --------------------------------------------------------------------------------

    def transmit(self, address: Address, request: Request, closure: Closure) -> None:
        """Send a request; it arrives at a later event, or never."""
        conditions = self._conditions
        is_lost = self._is_lost(conditions.loses, conditions.loss, address, request)
        with self._lock:
            sent = _Sent(address, request, closure, self.now + conditions.timeout)
            self._sent[sent] = None
        if is_lost:
            self._mark_lost(sent)
        else:
            self._schedule(self._delay(), partial(self._arrive, sent))

    def _arrive(self, sent: _Sent) -> None:
        receiver = self._receivers.get(sent.address)
        if receiver is None:
            self._parked.setdefault(sent.address, []).append(sent)
            return
        self.arrived += 1
        receiver.receive(sent.request, partial(self._answer, sent))

    def _answer(self, sent: _Sent, wrong: PipelineError | None) -> None:
        """Send the receiver's answer back."""
        conditions = self._conditions
        if self._is_lost(conditions.loses_answer, conditions.answer_loss, sent.address, sent.request):
            self._mark_lost(sent)
        else:
            self._schedule(self._delay(), partial(self._end, sent, wrong))

    def _end(self, sent: _Sent, wrong: PipelineError | None) -> None:
        with self._lock:
            is_late = sent not in self._sent
            self._sent.pop(sent, None)
        if not is_late:
            sent.closure.answered(wrong)

    def _mark_lost(self, sent: _Sent) -> None:
        with self._lock:
            sent.is_lost = True
            self._lost += 1
        self.wanted.notify()

    def _notify_abandoned(self, address: Address) -> None:
        for callback in self._abandon_callbacks.get((address.fragment, address.input), ()):
            self._schedule(self._delay(), partial(callback, address))

    def _schedule_release(self, receiver: Receiver) -> None:
        self._schedule(0, receiver.release_answers)

    def _schedule(self, delay: int, action: Callable[[], None]) -> None:
        with self._lock:
            first = not self._events
            heapq.heappush(self._events, (self.now + delay, next(self._order), action))
        if first:
            self.wanted.notify()

    def _delay(self) -> int:
        conditions = self._conditions
        if not conditions.jitter:
            return conditions.latency
        with self._lock:
            return conditions.latency + self._random.randint(0, conditions.jitter)

    def _is_lost(
        self, loses: Callable[[Address, Request], bool] | None, share: float, address: Address, request: Request
    ) -> bool:
        if loses is not None:
            return loses(address, request)
        if not share:
            return False
        with self._lock:
            return self._random.random() < share

    # --- the feed ---------------------------------------------------------------------------------

    def wants_input(self) -> bool:
        """Return whether anything is in flight."""
        return bool(self._events) or self._lost > 0

    def is_due(self) -> bool:
        """Return whether an event is due at the current step; the clock advances only when no driver is ready."""
        try:
            return self._events[0][0] <= self.now
        except IndexError:
            return False

    def is_ended(self) -> bool:
        """Return whether nothing is in flight now; later requests may follow."""
        return not self.wants_input()

    def pump(self) -> None:
        """Advance to the step of the next event and run all events of that step.

        Raises the error that :meth:`fail` got.
        """
        late = self._advance()
        if late is not None:
            late.closure.lost(f"no answer from {late.address} within {self._conditions.timeout} steps")
        action = self._next_due()
        while action is not None and self._error is None:
            action()
            action = self._next_due()
        if self._error is not None:
            raise self._error

    def _advance(self) -> _Sent | None:
        """Advance to the next step; return a request whose deadline passes before it."""
        with self._lock:
            late = None
            step = self._events[0][0] if self._events else self.now
            if self._events:
                first = next(iter(self._sent), None)
                late = first if first is not None and first.deadline < step else None
            elif self._lost:
                late = next(sent for sent in self._sent if sent.is_lost)
            if late is not None:
                step = late.deadline
                self._sent.pop(late)
                self._lost -= late.is_lost
            self.now = max(self.now, step)
            return late

    def _next_due(self) -> Callable[[], None] | None:
        with self._lock:
            if not self._events or self._events[0][0] > self.now:
                return None
            return heapq.heappop(self._events)[2]

    def break_deadlock(self) -> bool:
        """Have each receiver with a starved driver release one answer over its bound; return whether any did."""
        return any([receiver.force_admit() for receiver in self._receivers.values()])

    def describe(self) -> str:
        """Describe every receiver, the requests in flight, and those for unregistered addresses."""
        lines = [f"step {self.now}, {len(self._events)} events under way, {self.arrived} requests arrived"]
        lines += [f"  {address}: {receiver.describe()}" for address, receiver in self._receivers.items()]
        lines += [f"  {address}: nobody there, {len(held)} requests wait" for address, held in self._parked.items()]
        return "\n".join(lines)


class LocalWire:
    """The wire of one sender: its destinations by number."""

    def __init__(self, transport: LocalTransport, addresses: Sequence[Address]) -> None:
        self._transport = transport
        self._addresses = addresses

    def transmit(self, request: Request, closure: Closure) -> None:
        """Send a request to the address of its destination."""
        self._transport.transmit(self._addresses[request.destination], request, closure)
