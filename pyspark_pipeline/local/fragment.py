"""A fragment of a local query: a plan, and how many instances run it on what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark_pipeline.plan.nodes import Fragment, Node, Range


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFragment:
    """A plan as Spark's tasks run it (``plan``; ``decode_fragment`` makes it of JSON), and what a stage adds to it.

    ``instances`` run it, each with ``dop`` drivers in a pipeline. ``inputs`` says for each ``ExchangeSource``, by its
    input, the id of the fragment that sends there. ``splits`` holds for each scan, by its input, the splits of all
    instances, in the form of a task's control message; for a ``Range`` the first number, the count and the step.
    ``ordered``: what one instance sends to another arrives in the order it was sent.
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
        """The number of partitions that its exchange sends to."""
        count: int = getattr(self.plan.sink, "num_partitions", 1)
        return count

    def control(self, instance: int) -> dict[str, Any]:
        """Make the control message that a task gets, for one of the instances."""
        ranges = {node.input_id for node in nodes_of(self.plan.root) if isinstance(node, Range)}
        return {
            "partition": instance,
            "instances": self.instances,
            "splits": {
                str(scan): self._slice(splits, instance) if scan in ranges else splits[instance :: self.instances]
                for scan, splits in self.splits.items()
            },
            "branches": {},
        }

    def _slice(self, numbers: Sequence[int], instance: int) -> tuple[int, int, int]:
        """Give one instance's part of a range."""
        first, count, step = numbers
        start, end = (count * i // self.instances for i in (instance, instance + 1))
        return first + start * step, end - start, step


def nodes_of(root: Node) -> Iterator[Node]:
    """Give every node of a plan, each before those below it."""
    yield root
    for child in root.children:
        yield from nodes_of(child)
