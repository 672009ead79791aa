"""The sinks of range partitioning: the exchange by ranges of sort keys, and the sampling before it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Sink
from pyspark_pipeline.plan.sorts import SortKey


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSample(Sink):
    """The ``keys`` of a random sample of each instance's rows, about ``rows`` in all, and its number of rows."""

    keys: tuple[SortKey, ...]
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The result of one instance's :class:`RangeSample`: the ``message`` of a chunk of keys, sampled from ``rows``."""

    rows: int
    message: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeExchange(Sink):
    """Rows go to partitions by ranges of ``keys``, so that the partitions in order have all rows in order.

    The bounds are computed from the ``samples`` of all instances; every instance computes the same bounds.
    """

    keys: tuple[SortKey, ...]
    num_partitions: int
    samples: tuple[Sample, ...]
