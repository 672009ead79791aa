"""Requests between instances of one process, and the callbacks of their answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exchange.codec import Payload
from pyspark_pipeline.exchange.query_statistics import QueryStatistics


class Address(NamedTuple):
    """The receiver of a request: an input of an instance of a fragment."""

    fragment: int
    instance: int
    input: int

    def __str__(self) -> str:
        return f"input {self.input} of instance {self.instance} of fragment {self.fragment}"


@dataclass(slots=True, kw_only=True)
class Request:
    """Chunks of one sender for one destination; the three lists have equal lengths.

    ``drivers`` names the receiving driver of each chunk (−1: any), ``rows`` its number of rows. ``eos`` marks the end
    of the sender's stream to this destination. ``sequence`` is −1 until the request is sent. Some requests carry
    ``statistics``: the change since the sender's last report to any destination.
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
    """The callbacks of a request, one of which is called, once: when it is answered or lost.

    The argument of ``answered`` is None or the receiver's error; that of ``lost`` is the reason.
    """

    answered: Callable[[PipelineError | None], None]
    lost: Callable[[str], None]


class Wire(Protocol):
    """Carries the requests of one sender."""

    def transmit(self, request: Request, closure: Closure) -> None:
        """Send a request to its destination; never waits, and calls the closure later, from another stack."""
