"""The registry of the functions that turn a plan node into operator factories, and the manifest of operators.

``decompose_to_pipeline``: the function of a node first decomposes the child. A streaming node then appends its factory
to the open pipeline; a blocking node calls ``break_pipeline`` with its sink and its source and returns the new open
pipeline. The builder chooses the parallelism; a function only requests which rows reach the same driver: those of equal
keys (``local_shuffle``) or all (``gather``).

``requires``: the rule of a node states the columns and forms that it requires of its children. The planner applies the
rules to the whole plan first (:mod:`pyspark_pipeline.planner.properties`); the result for a node is
``builder.required_output(node)``.

``lineage``: the rule of a node that passes on columns of one child states which, so that runtime filters on them reach
the child. ``order``: the rule of a node whose output has the order of a window.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.memory import MemoryTracker, SizedValue
from pyspark_pipeline.operators.runtime_filters import RuntimeFilters
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ExecutorCalendar, Node, PartitionDependentNode, ScanSplit, Settings
from pyspark_pipeline.plan.properties import ALL_PLAIN, RequiredOutput
from pyspark_pipeline.plan.unions import Union
from pyspark_pipeline.plan.windows import WindowSpec


class PipelineBuilder(Protocol):
    """The planner's interface for the functions registered here."""

    @property
    def settings(self) -> Settings:
        """The settings of the fragment."""

    @property
    def dop(self) -> int:
        """The parallelism of the instance: its number of threads."""

    @property
    def runtime_filters(self) -> RuntimeFilters:
        """The filters that the joins decomposed so far registered for nodes below them."""

    def decompose(self, node: Node) -> list[OperatorFactory]:
        """Decompose the tree at ``node``; return the factories of the open pipeline at its root."""

    def required_output(self, node: Node) -> RequiredOutput:
        """Return the columns and forms that the consumer of ``node`` requires."""

    def add_pipeline(self, factories: Sequence[OperatorFactory]) -> None:
        """Close a pipeline: the last factory makes sinks."""

    def break_pipeline(
        self, below: Sequence[OperatorFactory], sink: OperatorFactory, source: OperatorFactory
    ) -> list[OperatorFactory]:
        """Close the open pipeline ``below`` with ``sink``; open one with ``source`` and the same parallelism."""

    def local_shuffle(self, below: Sequence[OperatorFactory], keys: Sequence[Expr]) -> list[OperatorFactory]:
        """Return an open pipeline in which one driver gets all rows of equal ``keys`` (bound to ``below``'s chunks)."""

    def gather(self, below: Sequence[OperatorFactory]) -> list[OperatorFactory]:
        """Return an open pipeline of one driver that gets all rows."""

    def adapt_parallelism(self, below: Sequence[OperatorFactory]) -> list[OperatorFactory]:
        """Return an open pipeline whose parallelism follows the number of rows; any driver may get any row."""

    def splits(self, input_id: int) -> Sequence[ScanSplit]:
        """Return the file splits of a scan of this instance."""

    def calendar(self) -> ExecutorCalendar:
        """Return the executor's data of the hybrid calendar."""

    def range_slice(self, input_id: int) -> tuple[int, int, int]:
        """Return this instance's slice of a range: first number, count of numbers, step."""

    def local_rows(self, input_id: int) -> Sequence[bytes]:
        """Return the Arrow messages with this instance's rows of a local table."""

    def python_partition(self, input_id: int) -> tuple[int, bytes]:
        """Return the index, from 0, and the pickle of the data source's partition that this instance reads."""

    def union_all(self, branches: Sequence[Sequence[OperatorFactory]]) -> list[OperatorFactory]:
        """Return an open pipeline that gets the rows of all the open pipelines ``branches``."""

    def active_input(self, union: Union) -> int | None:
        """Return the index, from 0, of the input of a union that this instance runs; None for all inputs."""

    def partition_of(self, node: PartitionDependentNode) -> int:
        """Return the index, from 0, of the partition of ``node`` that this instance computes."""

    def staging_folder(self) -> str:
        """Return the path of the folder in which this instance writes files."""

    @property
    def collected_metrics(self) -> dict[int, Chunk]:
        """The buffers of the metrics that were collected, one row each, by the number of the node."""

    def broadcast_id(self, source: BroadcastSource) -> int:
        """Return Spark's id of a broadcast."""

    def broadcast_value(
        self,
        source: BroadcastSource,
        key: Hashable,
        make: Callable[[Sequence[Chunk]], SizedValue],
        user: MemoryTracker,
    ) -> SizedValue:
        """Return the value that ``make`` builds from a broadcast's chunks, all with rows; built once a process and key.

        ``key`` identifies all other inputs of ``make`` (the kind of value, the key columns). The value is shared with
        other threads, tasks and fragments and must not change. ``user`` accounts for a value built by this call until
        :meth:`release_broadcasts`; raises :class:`ResourceExhaustedError` if it does not fit.
        """

    def release_broadcasts(self, user: MemoryTracker) -> None:
        """Transfer the broadcast memory that ``user`` accounts for to the worker, which keeps it for later tasks."""


Decompose = Callable[[Any, PipelineBuilder], list[OperatorFactory]]
#: Returns the requirements on the children of a node, in order, from the requirement on its output.
Requires = Callable[[Any, RequiredOutput], Sequence[RequiredOutput]]
#: Ordinals of columns; None for one that is not a column of the node.
Ordinals = tuple[int | None, ...]
#: Returns the child that output columns come from, and their ordinals there; None if no row may be dropped below.
Lineage = Callable[[Any, Ordinals, ExpressionSettings], tuple[Node, Ordinals] | None]
_D = TypeVar("_D", bound=Decompose)

_DECOMPOSERS: dict[type[Node], Decompose] = {}
_REQUIREMENTS: dict[type[Node], Requires] = {}
_LINEAGES: dict[type[Node], Lineage] = {}
_ORDERS: dict[type[Node], Callable[[Any], WindowSpec]] = {}
_OPERATORS: dict[str, dict[str, Any]] = {}


def implements(
    node: type[Node],
    *,
    execs: Sequence[str],
    pipeline: Sequence[str],
    requires: Requires | None = None,
    lineage: Lineage | None = None,
    order: Callable[[Any], WindowSpec] | None = None,
) -> Callable[[_D], _D]:
    """Register the decorated function and the rules for ``node``.

    Without a rule a node requires all columns in plain form, is the origin of its columns, and has no order.

    ``execs`` are the simple names of Spark's physical operators that become this node, ``pipeline`` the names
    of the engine's operators they become, for explain. If a class becomes one of several nodes, one of them lists it,
    and its rule in the shim names the operators. Raises ValueError if two nodes list a class.
    """

    def register(function: _D) -> _D:
        _DECOMPOSERS[node] = function
        if requires is not None:
            _REQUIREMENTS[node] = requires
        if lineage is not None:
            _LINEAGES[node] = lineage
        if order is not None:
            _ORDERS[node] = order
        for name in execs:
            if name in _OPERATORS and _OPERATORS[name]["node"] != node.__name__:
                raise ValueError(f"{name} becomes {_OPERATORS[name]['node']} already, not {node.__name__}")
            _OPERATORS[name] = {"node": node.__name__, "pipeline": list(pipeline)}
        return function

    return register


def is_implemented(node: type[Node]) -> bool:
    """Return whether a function is registered for the node class."""
    return node in _DECOMPOSERS


def decompose_node(node: Node, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Call the function registered for ``node``; raise :class:`UnsupportedPlanError` if there is none."""
    function = _DECOMPOSERS.get(type(node))
    if function is None:
        raise UnsupportedPlanError(f"no operator implements {type(node).__name__}")
    return function(node, builder)


def required_inputs(node: Node, required: RequiredOutput) -> Sequence[RequiredOutput]:
    """Return the requirements of ``node`` on its children, in order, if its consumer requires ``required`` of it."""
    rule = _REQUIREMENTS.get(type(node))
    return [ALL_PLAIN] * len(node.children) if rule is None else rule(node, required)


def column_lineage(node: Node, columns: Ordinals, settings: ExpressionSettings) -> tuple[Node, Ordinals] | None:
    """Return the child that ``columns`` come from, and their ordinals there; None if no row may be dropped below."""
    rule = _LINEAGES.get(type(node))
    return None if rule is None else rule(node, columns, settings)


def output_order(node: Node) -> WindowSpec | None:
    """Return the window by which the output is partitioned and sorted, each partition in one driver; None: none."""
    rule = _ORDERS.get(type(node))
    return None if rule is None else rule(node)


def operator_manifest() -> Mapping[str, Any]:
    """Return the supported operators of Spark, by class name."""
    return dict(sorted(_OPERATORS.items()))
