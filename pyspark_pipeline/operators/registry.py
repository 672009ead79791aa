"""Which function turns a plan node into operator factories, and what the engine says it can run.

``decompose_to_pipeline``: the function of a node first decomposes the child, then either appends its
factory to the list still open, or, where it blocks, has the builder ``cut`` the pipeline between its sink and
its source, and gives the new list. How many drivers a pipeline has is the builder's business; a function only
says which rows must meet: those of equal keys (``local_shuffle``) or all (``gather``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.memory import MemoryTracker, SizedValue
from pyspark_pipeline.operators.runtime_filters import RuntimeFilters
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ExecutorCalendar, Node, ScanSplit, Settings


class PipelineBuilder(Protocol):
    """What the planner gives to the functions registered here."""

    @property
    def settings(self) -> Settings:
        """The settings of the fragment."""

    @property
    def dop(self) -> int:
        """The parallelism of the instance: its threads."""

    @property
    def runtime_filters(self) -> RuntimeFilters:
        """What the joins cut so far offered to the nodes below them."""

    def decompose(self, node: Node) -> list[OperatorFactory]:
        """Cut the tree below ``node``; give the factories of the pipeline still open at its root."""

    def add_pipeline(self, factories: Sequence[OperatorFactory]) -> None:
        """Close a pipeline: the last factory makes sinks."""

    def cut(
        self, below: Sequence[OperatorFactory], sink: OperatorFactory, source: OperatorFactory
    ) -> list[OperatorFactory]:
        """Close the open pipeline ``below`` with ``sink``; open one of as many drivers with ``source``."""

    def local_shuffle(self, below: Sequence[OperatorFactory], keys: Sequence[Expr]) -> list[OperatorFactory]:
        """Give an open pipeline in which rows of equal ``keys`` (bound to ``below``'s chunks) meet in one driver."""

    def gather(self, below: Sequence[OperatorFactory]) -> list[OperatorFactory]:
        """Give an open pipeline of one driver that gets all rows."""

    def fit(self, below: Sequence[OperatorFactory]) -> list[OperatorFactory]:
        """Give an open pipeline of as many drivers as the rows of ``below`` are worth; any driver may get any row."""

    def splits(self, input_id: int) -> Sequence[ScanSplit]:
        """Give the file splits of a scan of this instance."""

    def calendar(self) -> ExecutorCalendar:
        """Give what the executor knows of the hybrid calendar."""

    def range_slice(self, input_id: int) -> tuple[int, int, int]:
        """Give this instance's slice of a range: first number, count of numbers, step."""

    def unite(self, branches: Sequence[Sequence[OperatorFactory]]) -> list[OperatorFactory]:
        """Give an open pipeline that gets the rows of all the open pipelines ``branches``."""

    def branch(self, union: Node) -> int | None:
        """Say which input of a union this instance runs: its place, from 0; None for all."""

    def broadcast_value(
        self,
        source: BroadcastSource,
        key: Hashable,
        make: Callable[[Sequence[Chunk]], SizedValue],
        user: MemoryTracker,
    ) -> SizedValue:
        """Give what ``make`` makes of a broadcast's chunks, all with rows; once a worker process for each ``key``.

        ``key`` is all else that decides what is made (what it is, the key columns). The value is shared with other
        threads, tasks and fragments: it must not change after. What is made by this call is held by ``user`` until
        :meth:`leave_broadcasts`; raises :class:`ResourceExhaustedError` where that may not hold it.
        """

    def leave_broadcasts(self, user: MemoryTracker) -> None:
        """Say that what ``user`` holds of broadcasts is for later tasks only, and the worker's."""


Decompose = Callable[[Any, PipelineBuilder], list[OperatorFactory]]
_D = TypeVar("_D", bound=Decompose)

_DECOMPOSERS: dict[type[Node], Decompose] = {}
_OPERATORS: dict[str, dict[str, Any]] = {}


def implements(node: type[Node], *, execs: Sequence[str], pipeline: Sequence[str]) -> Callable[[_D], _D]:
    """Register the decorated function for ``node``.

    ``execs`` are the simple names of Spark's physical operators that become this node, ``pipeline`` the names
    of the engine's operators they become, for explain.
    """

    def register(function: _D) -> _D:
        _DECOMPOSERS[node] = function
        for name in execs:
            _OPERATORS[name] = {"node": node.__name__, "pipeline": list(pipeline)}
        return function

    return register


def is_implemented(node: type[Node]) -> bool:
    """Say whether a function is registered for the node class."""
    return node in _DECOMPOSERS


def decompose_node(node: Node, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Call the function registered for ``node``; raise :class:`UnsupportedPlanError` where there is none."""
    function = _DECOMPOSERS.get(type(node))
    if function is None:
        raise UnsupportedPlanError(f"no operator implements {type(node).__name__}")
    return function(node, builder)


def operator_manifest() -> Mapping[str, Any]:
    """Give Spark's operators that the engine runs, by class name."""
    return dict(sorted(_OPERATORS.items()))
