"""What one instance sends to another where both are in one process, and the handlers of its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exchange.codec import Payload
from pyspark_pipeline.exchange.query_statistics import QueryStatistics


class Address(NamedTuple):
    """Whom a request is for: an input of an instance of a fragment."""

    fragment: int
    instance: int
    input: int

    def __str__(self) -> str:
        return f"input {self.input} of instance {self.instance} of fragment {self.fragment}"


@dataclass(slots=True, kw_only=True)
class Request:
    """Chunks of one sender for one destination; the three lists are equally long.

    ``drivers`` says which driver there gets each chunk (−1: any), ``rows`` how many rows it has. ``eos``: the sender
    has no more for this destination. ``sequence`` is given when the request leaves, not before: −1 until then. Now and
    then ``statistics`` tells what the sender did since it last told any destination.
    """

    destination: int
    sender: int
    payloads: list[Payload] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    drivers: list[int] = field(default_factory=list)
    nbytes: int = 0
    eos: bool = False
    sequence: int = -1
    statistics: QueryStatistics | None = None

    def __str__(self) -> str:
        end = ", end of stream" if self.eos else ""
        return f"request {self.sequence} of sender {self.sender} to partition {self.destination}{end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """What is called once, when a request is answered or lost.

    ``answered`` gets None, or what the receiver found wrong; ``lost`` is told how.
    """

    answered: Callable[[PipelineError | None], None]
    lost: Callable[[str], None]


class Wire(Protocol):
    """Carries the requests of one sender."""

    def transmit(self, request: Request, closure: Closure) -> None:
        """Take a request to its destination; never waits, and calls the closure later, from another stack."""
