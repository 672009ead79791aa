"""Carries requests between the instances of one process, over a clock of steps that a test decides about.

Everything under way is an event with the step at which it happens: a request arrives, an answer comes back, a
request is found lost. The executor reads the transport like an input stream (:mod:`~pyspark_pipeline.exec.feed`): on
the caller's thread, and when drivers wait for it. One ``pump`` is one step: the clock goes to the next event, and
everything due then happens, with what it causes at that same step. Nothing sleeps. With one executor thread the
whole query is deterministic: the same conditions and the same seed give the same events in the same order.

Conditions make the way slow, let later requests and answers overtake earlier ones, or lose either. By default there
is no delay and no loss. Every request has a deadline, from when it leaves: whatever keeps its answer (it was lost, or
the answer was, or the way is long, or the receiver withholds it), the query fails when the clock passes that.
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
from pyspark_pipeline.exchange.receiver import Receiver
from pyspark_pipeline.exchange.request import Address, Closure, Request
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.input_queue import FedQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The way between instances. Times are steps of the transport's clock.

    ``latency`` is the time of every request and every answer, to which each adds 0 to ``jitter`` more, drawn at random:
    so they overtake each other. ``loss`` is the share of requests that get lost; ``loses`` names them instead.
    ``answer_loss`` and ``loses_answer`` do so for the answers. A request without an answer fails after ``timeout``.
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
    """A request on its way, until it is answered or its deadline has passed."""

    __slots__ = ("address", "request", "closure", "deadline", "is_lost")

    def __init__(self, address: Address, request: Request, closure: Closure, deadline: int) -> None:
        self.address = address
        self.request = request
        self.closure = closure
        self.deadline = deadline
        self.is_lost = False


class LocalTransport:
    """The requests under way between senders and the receivers that have registered; a feed of the executor.

    ``pump`` and what it calls run on one thread. Senders transmit and queues report room from any thread: ``_lock``
    guards the events, and nothing is called with it held.
    """

    def __init__(self, conditions: Conditions | None = None) -> None:
        self.wanted = Event("requests or answers are under way")
        self.now = 0
        self.arrived = 0
        self._conditions = conditions or Conditions()
        self._chance = random.Random(self._conditions.seed)
        self._order = itertools.count()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._receivers: dict[Address, Receiver] = {}
        self._parked: dict[Address, list[_Sent]] = {}
        self._leavers: dict[tuple[int, int], list[Callable[[Address], None]]] = {}
        self._sent: OrderedDict[_Sent, None] = OrderedDict()  # those without an answer, by deadline
        self._lost = 0
        self._error: PipelineError | None = None
        self._lock = threading.Lock()

    # --- wiring -----------------------------------------------------------------------------------

    def register(self, address: Address, queue: FedQueue, streams: int, *, ordered: bool = False) -> Receiver:
        """Let ``queue`` get what is sent to ``address``; requests that came before are delivered at the next step."""
        if address in self._receivers:
            raise EngineBugError(f"{address} is registered twice")
        receiver = Receiver(
            queue, streams, ordered=ordered, look_soon=self._look_soon, leave=partial(self._leave, address)
        )
        self._receivers[address] = receiver
        for sent in self._parked.pop(address, ()):
            self._later(0, partial(self._arrive, sent))
        return receiver

    def wire(self, addresses: Sequence[Address]) -> LocalWire:
        """Give the wire of a sender whose destination *i* is at ``addresses[i]``."""
        return LocalWire(self, addresses)

    def on_leave(self, fragment: int, input_id: int, leave: Callable[[Address], None]) -> None:
        """Call ``leave``, from the pump, with the address of each receiver of this input that wants nothing more."""
        self._leavers.setdefault((fragment, input_id), []).append(leave)

    def fail(self, error: PipelineError) -> None:
        """Let the pump raise ``error`` when it has done the step; the first counts."""
        self._error = self._error or error

    # --- under way --------------------------------------------------------------------------------

    def transmit(self, address: Address, request: Request, closure: Closure) -> None:
        """Take a request; it arrives later, or never."""
        conditions = self._conditions
        is_lost = self._is_lost(conditions.loses, conditions.loss, address, request)
        with self._lock:
            sent = _Sent(address, request, closure, self.now + conditions.timeout)
            self._sent[sent] = None
        if is_lost:
            self._lose(sent)
        else:
            self._later(self._delay(), partial(self._arrive, sent))

    def _arrive(self, sent: _Sent) -> None:
        receiver = self._receivers.get(sent.address)
        if receiver is None:
            self._parked.setdefault(sent.address, []).append(sent)
            return
        self.arrived += 1
        receiver.receive(sent.request, partial(self._answer, sent))

    def _answer(self, sent: _Sent, wrong: PipelineError | None) -> None:
        """Take the receiver's answer on its way back."""
        conditions = self._conditions
        if self._is_lost(conditions.loses_answer, conditions.answer_loss, sent.address, sent.request):
            self._lose(sent)
        else:
            self._later(self._delay(), partial(self._end, sent, wrong))

    def _end(self, sent: _Sent, wrong: PipelineError | None) -> None:
        with self._lock:
            is_late = sent not in self._sent
            self._sent.pop(sent, None)
        if not is_late:
            sent.closure.answered(wrong)

    def _lose(self, sent: _Sent) -> None:
        with self._lock:
            sent.is_lost = True
            self._lost += 1
        self.wanted.notify()

    def _leave(self, address: Address) -> None:
        for leave in self._leavers.get((address.fragment, address.input), ()):
            self._later(self._delay(), partial(leave, address))

    def _look_soon(self, receiver: Receiver) -> None:
        self._later(0, receiver.look)

    def _later(self, delay: int, action: Callable[[], None]) -> None:
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
            return conditions.latency + self._chance.randint(0, conditions.jitter)

    def _is_lost(
        self, loses: Callable[[Address, Request], bool] | None, share: float, address: Address, request: Request
    ) -> bool:
        if loses is not None:
            return loses(address, request)
        if not share:
            return False
        with self._lock:
            return self._chance.random() < share

    # --- the feed ---------------------------------------------------------------------------------

    def wants_input(self) -> bool:
        """Say whether anything is under way."""
        return bool(self._events) or self._lost > 0

    def is_due(self) -> bool:
        """Say whether something happens at this step of the clock, which moves only when no driver is ready."""
        try:
            return self._events[0][0] <= self.now
        except IndexError:
            return False

    def is_ended(self) -> bool:
        """Say whether nothing is under way now; more may be, later."""
        return not self.wants_input()

    def pump(self) -> None:
        """Go to the next step at which something happens, and let everything of that step happen.

        Raises what a failed request was reported as.
        """
        late = self._advance()
        if late is not None:
            late.closure.lost(f"no answer from {late.address} within {self._conditions.timeout} steps")
        action = self._due()
        while action is not None and self._error is None:
            action()
            action = self._due()
        if self._error is not None:
            raise self._error

    def _advance(self) -> _Sent | None:
        """Go to the next step; give a request whose deadline passes on the way."""
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

    def _due(self) -> Callable[[], None] | None:
        with self._lock:
            if not self._events or self._events[0][0] > self.now:
                return None
            return heapq.heappop(self._events)[2]

    def relieve(self) -> bool:
        """Let a receiver answer over its bound where a driver has nothing to do because of another that has much."""
        return any([receiver.relieve() for receiver in self._receivers.values()])

    def describe(self) -> str:
        """Tell of every receiver, of what is under way, and of what nobody has registered for."""
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
