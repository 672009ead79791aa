"""A fragment of a local query: a plan with its instances, drivers, inputs and splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark_pipeline.plan.nodes import Fragment, Node, PartitionDependentNode, Range


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFragment:
    """A plan as Spark's tasks run it (``plan``; ``decode_fragment`` decodes it from JSON), with properties of a stage.

    ``instances`` run it, each with ``dop`` drivers per pipeline. ``inputs`` maps the input id of each
    ``ExchangeSource`` to the id of the sending fragment. ``splits`` maps the input id of each scan to the splits of all
    instances, in the form of a task's control message; for a ``Range`` the first number, the count and the step.
    ``ordered``: chunks from one instance to another arrive in the order they were sent.
    """

    plan: Fragment
    instances: int = 1
    dop: int = 1
    inputs: Mapping[int, int] = field(default_factory=dict)
    splits: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    ordered: bool = False

    @property
    def id(self) -> int:
        """The fragment's number in the query."""
        return self.plan.id

    @property
    def destinations(self) -> int:
        """The number of partitions of its exchange."""
        count: int = getattr(self.plan.sink, "num_partitions", 1)
        return count

    def control(self, instance: int) -> dict[str, Any]:
        """Build the control message of one instance, as a task gets it."""
        nodes = list(nodes_of(self.plan.root))
        ranges = {node.input_id for node in nodes if isinstance(node, Range)}
        return {
            "partition": instance,
            "instances": self.instances,
            "splits": {
                str(scan): self._slice(splits, instance) if scan in ranges else splits[instance :: self.instances]
                for scan, splits in self.splits.items()
            },
            "branches": {},
            "partitions": {str(node.number): instance for node in nodes if isinstance(node, PartitionDependentNode)},
        }

    def _slice(self, numbers: Sequence[int], instance: int) -> tuple[int, int, int]:
        """Return one instance's slice of a range."""
        first, count, step = numbers
        start, end = (count * i // self.instances for i in (instance, instance + 1))
        return first + start * step, end - start, step


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield every node of a plan, parents before children."""
    yield root
    for child in root.children:
        yield from nodes_of(child)
