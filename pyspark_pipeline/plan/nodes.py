"""Nodes of a fragment's plan: the operators below one sink in one Python worker.

Column references are bound: an expression of a node refers to columns of its child's chunks by ordinal
(:class:`~pyspark_pipeline.plan.expr.ColumnRef`). ``output`` describes the columns of the chunks a node emits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.eval_mode import EvalMode, eval_mode, has_eval_mode
from pyspark_pipeline.plan.expr import Expr, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One output column: Spark's expression id, name, type, and whether it may be NULL."""

    id: int
    name: str
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A plan node; ``output`` describes the columns of the chunks it emits."""

    output: tuple[Field, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The input nodes, in order."""
        child = getattr(self, "child", None)
        return () if child is None else (child,)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDependentNode(Node):
    """A node whose rows depend on the index of its partition, and on the order of its input.

    ``number`` is its number among these nodes of its fragment, by which the control message has the index.
    """

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSplit:
    """A byte range of one file; the reader of the format decides which row groups belong to it.

    ``spread_bytes`` is the size of a file whose row groups are spread: neighbours belong to different splits.
    """

    path: str
    start: int
    length: int
    spread_bytes: int | None = None
    partition_values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorCalendar:
    """The executor's settings for the hybrid Julian calendar used by old Spark versions; None if not sent.

    ``time_zone`` is the JVM's default, which Spark assumes for files without one; ``table`` is the URL of the
    rebase table in Spark's jars.
    """

    time_zone: str | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileScan(Node):
    """Reads files of one ``format``. ``output``: ``num_data_columns`` data columns (by name), then partition columns.

    ``pushed`` holds conjuncts bound to ``output`` that may prune row groups by statistics; they need not
    filter rows (a :class:`Filter` above does). ``filters`` are those that Spark's own reader applies to the rows of
    damaged files. ``options`` are those of the format's reader.
    """

    input_id: int
    format: str
    num_data_columns: int
    pushed: tuple[Expr, ...] = ()
    filters: tuple[Expr, ...] = ()
    case_sensitive: bool = False
    options: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeSource(Node):
    """Reads chunks of an earlier fragment's exchange sink, or chunks that the JVM made of a Spark operator's rows.

    If ``drivers`` is above 1, each message names its driver, and rows with equal ``partitioning`` values (bound to the
    output) have the same driver. Chunks of different senders are coalesced only if ``merge_senders``.
    """

    input_id: int
    partitioning: tuple[Expr, ...] = ()
    drivers: int = 1
    merge_senders: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Range(Node):
    """Emits start, start + step, … in one bigint column; the task's control message contains the slice."""

    input_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Node):
    """Keeps the rows for which ``condition`` is true."""

    condition: Expr
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Node):
    """Computes ``exprs``, one output column each."""

    exprs: tuple[Expr, ...]
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateCall:
    """One aggregate function call of an :class:`Aggregate`.

    ``mode`` is Partial, PartialMerge, Final or Complete. Update modes (Partial, Complete) read ``args``
    and ``filter``, bound to the child; merge modes read the function's buffer columns, which are the last
    columns of the child, in the order of the merging calls. In every mode ``arg_types`` are the types of the arguments
    and ``constants`` those that are literals, the others None; ``buffer`` is Spark's buffer layout. ``orders``: of the
    arguments that are sort orders, whether it is descending and has NULLs first; ``is_sorted_by_first``: there is none,
    or only one, of the first argument. ``has_zeros``: for a sum, a row that fails ``filter`` counts as 0.
    """

    function: str
    mode: str
    args: tuple[Expr, ...]
    arg_types: tuple[DataType, ...]
    filter: Expr | None
    type: DataType
    buffer: tuple[DataType, ...]
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    context: int = -1
    constants: tuple[Literal | None, ...] = ()
    orders: tuple[tuple[bool, bool], ...] = ()
    is_sorted_by_first: bool = False
    has_zeros: bool = False

    def constant(self, position: int) -> Any:
        """Return the value of an argument that is a literal; an int, float, string, … as :class:`Literal` says."""
        literal = self.constants[position]
        if literal is None:
            raise EngineBugError(f"argument {position} of {self.function} is no literal")
        return literal.value

    @property
    def eval_mode(self) -> EvalMode | None:
        """Return the evaluation mode; None if the function has none and follows the session's ANSI mode."""
        return eval_mode(self.function, self.fields) if has_eval_mode(self.fields) else None

    @property
    def merges(self) -> bool:
        """Whether the call reads buffers instead of arguments."""
        return self.mode in ("PartialMerge", "Final")

    @property
    def finalizes(self) -> bool:
        """Whether the call returns a value instead of buffers."""
        return self.mode in ("Final", "Complete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Node):
    """Groups by ``grouping`` and computes ``calls``.

    If ``results`` is None, the output is the grouping columns, then the buffers of all calls; else it is
    ``results``, bound to the grouping columns followed by one value per call.
    """

    grouping: tuple[Expr, ...]
    calls: tuple[AggregateCall, ...]
    results: tuple[Expr, ...] | None
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Node):
    """Keeps the rows of this instance from row ``offset`` (from 0) up to row ``limit``; None: to the last row.

    As in Spark's ``GlobalLimitExec``, ``limit`` also counts the rows skipped by ``offset``.
    """

    limit: int | None
    child: Node
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """The destination of the chunks of a fragment's root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSink(Sink):
    """Chunks go to the JVM in input order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HashExchange(Sink):
    """Row r goes to partition ``pmod(murmur3(keys, seed 42), num_partitions)``; keys bound to the root's output.

    ``drivers`` is the parallelism of the reading instances: each message names one driver.
    """

    keys: tuple[Expr, ...]
    num_partitions: int
    drivers: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleExchange(Sink):
    """All chunks go to partition 0."""

    num_partitions: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRobinExchange(Sink):
    """Rows are distributed evenly over the partitions."""

    num_partitions: int


EvaluateInJvm: TypeAlias = Callable[[int, pa.RecordBatch, Sequence[DataType]], list[pa.Array]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The session settings of an instance: ANSI mode, the session time zone, the engine's options, versions.

    ``spark`` is Spark's version, empty for the first supported one; ``java`` is the release of the driver's Java.
    ``evaluate_in_jvm`` returns the values, of the given types, of a call that Spark evaluates, by its number, for the
    rows of a chunk of the columns that it reads; None outside of Spark's tasks.
    """

    ansi: bool
    time_zone: str
    options: Options
    spark: str = ""
    java: int = 17
    evaluate_in_jvm: EvaluateInJvm | None = None

    def is_spark(self, major: int, minor: int) -> bool:
        """Return whether Spark's version is this one or later."""
        found = [int(part) for part in self.spark.split(".")[:2] if part]
        return found >= [major, minor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """The plan that one task of one stage runs.

    ``broadcasts`` are the Spark ids of its broadcasts, by number; ``depth`` is the maximum number of levels of
    operators and expressions. If ``ordered``, an operator above the sink depends on the order of the rows.
    """

    id: int
    root: Node
    sink: Sink
    settings: Settings
    broadcasts: tuple[int, ...] = ()
    depth: int = 0
    ordered: bool = False
