"""Carries requests between the instances of one process, over a clock of steps that a test decides about.

Everything under way is an event with the step at which it happens: a request arrives, an answer comes back, a
request is found lost. The executor reads the transport like an input stream (:mod:`~pyspark_pipeline.exec.feed`): on
the caller's thread, and when drivers wait for it. One ``pump`` is one step: the clock goes to the next event, and
everything due then happens, with what it causes at that same step. Nothing sleeps. With one executor thread the
whole query is deterministic: the same conditions and the same seed give the same events in the same order.

Conditions make the way slow, let later requests and answers overtake earlier ones, or lose requests. By default there
is no delay and no loss.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
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
    so they overtake each other. ``loss`` is the share of requests that get lost; ``loses`` names them instead. What is
    lost is noticed after ``timeout``.
    """

    latency: int = 0
    jitter: int = 0
    loss: float = 0.0
    loses: Callable[[Address, Request], bool] | None = None
    timeout: int = 1000
    seed: int = 0


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
        self._parked: dict[Address, list[tuple[Request, Closure]]] = {}
        self._leavers: dict[Address, list[Callable[[], None]]] = {}
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
        for request, closure in self._parked.pop(address, ()):
            self._later(0, partial(self._arrive, address, request, closure))
        return receiver

    def wire(self, addresses: Sequence[Address]) -> LocalWire:
        """Give the wire of a sender whose destination *i* is at ``addresses[i]``."""
        return LocalWire(self, addresses)

    def on_leave(self, address: Address, leave: Callable[[], None]) -> None:
        """Call ``leave``, from the pump, when the receiver at ``address`` wants nothing more."""
        self._leavers.setdefault(address, []).append(leave)

    def fail(self, error: PipelineError) -> None:
        """Let the pump raise ``error`` when it has done the step; the first counts."""
        self._error = self._error or error

    # --- under way --------------------------------------------------------------------------------

    def transmit(self, address: Address, request: Request, closure: Closure) -> None:
        """Take a request; it arrives later, or never."""
        if self._is_lost(address, request):
            how = f"no answer from {address} within {self._conditions.timeout} steps"
            self._later(self._conditions.timeout, partial(closure.lost, how))
        else:
            self._later(self._delay(), partial(self._arrive, address, request, closure))

    def _arrive(self, address: Address, request: Request, closure: Closure) -> None:
        receiver = self._receivers.get(address)
        if receiver is None:
            self._parked.setdefault(address, []).append((request, closure))
            return
        self.arrived += 1
        receiver.receive(request, lambda wrong: self._later(self._delay(), partial(closure.answered, wrong)))

    def _leave(self, address: Address) -> None:
        for leave in self._leavers.get(address, ()):
            self._later(self._delay(), leave)

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

    def _is_lost(self, address: Address, request: Request) -> bool:
        conditions = self._conditions
        if conditions.loses is not None:
            return conditions.loses(address, request)
        if not conditions.loss:
            return False
        with self._lock:
            return self._chance.random() < conditions.loss

    # --- the feed ---------------------------------------------------------------------------------

    def wants_input(self) -> bool:
        """Say whether anything is under way."""
        return bool(self._events)

    def is_ended(self) -> bool:
        """Say whether nothing is under way now; more may be, later."""
        return not self._events

    def pump(self) -> None:
        """Go to the next step at which something happens, and let everything of that step happen.

        Raises what a failed request was reported as.
        """
        with self._lock:
            if self._events:
                self.now = max(self.now, self._events[0][0])
        action = self._due()
        while action is not None:
            action()
            if self._error is not None:
                raise self._error
            action = self._due()

    def _due(self) -> Callable[[], None] | None:
        with self._lock:
            if not self._events or self._events[0][0] > self.now:
                return None
            return heapq.heappop(self._events)[2]

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
