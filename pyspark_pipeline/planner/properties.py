"""The negotiation of physical properties: from the root down, each node states what it requires of its children.

The rule of a node class is registered beside its operator (``requires`` of
:func:`~pyspark_pipeline.operators.registry.implements`); a class without one requires all columns in plain form, and so
does the sink. An exchange source is a leaf: its columns are those of the wire, whatever its consumer allows.
"""

from __future__ import annotations

from pyspark_pipeline.operators import required_inputs
from pyspark_pipeline.plan.nodes import Node
from pyspark_pipeline.plan.properties import ALL_PLAIN, RequiredOutput


class PlanProperties:
    """The requirements on the output of every node of a plan."""

    def __init__(self) -> None:
        self._required: dict[int, RequiredOutput] = {}
        self._roots: list[Node] = []

    def negotiate(self, root: Node, required: RequiredOutput = ALL_PLAIN) -> None:
        """Propagate ``required`` from ``root`` to all nodes below it, unless a plan with that node is negotiated."""
        if id(root) in self._required:
            return
        self._roots.append(root)  # as long as the nodes live, their ids are unique
        pending = [(root, required)]
        while pending:
            node, required = pending.pop()
            known = self._required.get(id(node))
            required = required if known is None else known.meet(required)
            self._required[id(node)] = required
            pending += zip(node.children, required_inputs(node, required), strict=True)

    def required_output(self, node: Node) -> RequiredOutput:
        """Return the requirement on the output of ``node``; for a node of no negotiated plan all columns, plain."""
        return self._required.get(id(node), ALL_PLAIN)
