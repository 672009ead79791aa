"""Where the chunks of a fragment go whose rows are dealt out by ranges of their sort keys, and the samples before."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Sink
from pyspark_pipeline.plan.sorts import SortKey


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSample(Sink):
    """The ``keys`` of rows taken at random from each instance, about ``rows`` from all, and how many rows it has."""

    keys: tuple[SortKey, ...]
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one instance's :class:`RangeSample` gave: the ``message`` of a chunk of keys, taken from ``rows`` rows."""

    rows: int
    message: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeExchange(Sink):
    """Rows go to partitions by ranges of the ``keys``, so that the partitions' order is the rows' order.

    The ``samples`` of all instances decide the bounds; every instance finds the same.
    """

    keys: tuple[SortKey, ...]
    num_partitions: int
    samples: tuple[Sample, ...]
