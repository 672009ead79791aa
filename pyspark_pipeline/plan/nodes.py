"""Nodes of a fragment's plan: what runs below one sink in one Python worker.

Column references are bound: an expression of a node names columns of its child's chunks by ordinal
(:class:`~pyspark_pipeline.plan.expr.ColumnRef`). ``output`` gives the columns of the chunks a node makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.expr import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One output column: Spark's expression id, name, type, and whether it may be NULL."""

    id: int
    name: str
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What every node has: the columns of the chunks it makes."""

    output: tuple[Field, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes whose chunks this one takes, in order."""
        child = getattr(self, "child", None)
        return () if child is None else (child,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSplit:
    """A byte range of one Parquet file: the row groups whose midpoint lies in it are read."""

    path: str
    start: int
    length: int
    partition_values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorCalendar:
    """What the executor knows of the hybrid Julian calendar that old Spark wrote in; None for what it does not say.

    ``time_zone`` is the JVM's default, which Spark takes for files that name none; ``table`` is the URL of the
    table of rebases in Spark's jars.
    """

    time_zone: str | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetScan(Node):
    """Read Parquet files. ``output`` is ``columns`` data columns (by name in the file) then partition columns.

    ``pushed`` holds conjuncts bound to ``output`` that may prune row groups by statistics; they do not
    have to filter rows (a :class:`Filter` above does).
    """

    input_id: int
    num_data_columns: int
    pushed: tuple[Expr, ...] = ()
    case_sensitive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeSource(Node):
    """Chunks that an earlier fragment's exchange sink made, or the JVM from rows of an operator that stayed in Spark.

    Where ``drivers`` is above 1 each message names its driver, and rows of equal ``dealt_by`` (bound to the output)
    have the same one. Chunks of different senders stay apart unless it ``joins_senders``.
    """

    input_id: int
    dealt_by: tuple[Expr, ...] = ()
    drivers: int = 1
    joins_senders: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Range(Node):
    """The numbers start, start + step, … of one bigint column; the task's control message says which slice."""

    input_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Node):
    """Keep the rows for which ``condition`` is true."""

    condition: Expr
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Node):
    """Compute ``exprs``, one output column each."""

    exprs: tuple[Expr, ...]
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateCall:
    """One aggregate function of an :class:`Aggregate`.

    ``mode`` is Partial, PartialMerge, Final or Complete. Update modes (Partial, Complete) read ``args``
    and ``filter``, bound to the child; merge modes read the function's buffer columns, which are the last
    columns of the child, in the order of the merging calls. ``buffer`` is Spark's buffer layout.
    """

    function: str
    mode: str
    args: tuple[Expr, ...]
    filter: Expr | None
    type: DataType
    buffer: tuple[DataType, ...]
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    context: int = -1

    @property
    def merges(self) -> bool:
        """Whether the call reads buffers instead of arguments."""
        return self.mode in ("PartialMerge", "Final")

    @property
    def finalizes(self) -> bool:
        """Whether the call gives a value instead of buffers."""
        return self.mode in ("Final", "Complete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Node):
    """Group by ``grouping`` and compute ``calls``.

    With ``results`` None the output is the grouping columns, then the buffers of all calls; else it is
    ``results``, bound to the grouping columns followed by one value a call.
    """

    grouping: tuple[Expr, ...]
    calls: tuple[AggregateCall, ...]
    results: tuple[Expr, ...] | None
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Node):
    """The rows of this instance from row ``offset`` (from 0) up to row ``limit``; to the last where that is None.

    As in Spark's ``GlobalLimitExec``, ``limit`` counts the rows that the offset leaves out too.
    """

    limit: int | None
    child: Node
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Where the chunks of a fragment's root go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSink(Sink):
    """Chunks leave for the JVM in the order they come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HashExchange(Sink):
    """Row r goes to partition ``pmod(murmur3(keys, seed 42), num_partitions)``; keys bound to the root's output.

    ``drivers`` is the parallelism of the instances that read it: each message names one of them.
    """

    keys: tuple[Expr, ...]
    num_partitions: int
    drivers: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleExchange(Sink):
    """Everything goes to partition 0."""

    num_partitions: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRobinExchange(Sink):
    """Rows are dealt out evenly over the partitions."""

    num_partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What of the session an instance must know: ANSI mode, the session time zone, the engine's options."""

    ansi: bool
    time_zone: str
    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """The plan that one task of one stage runs; ``broadcasts`` are Spark's ids of those it reads, by number."""

    id: int
    root: Node
    sink: Sink
    settings: Settings
    broadcasts: tuple[int, ...] = ()
