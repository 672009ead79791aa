"""The edges between fragments, derived from their inputs; raises if they are no valid query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.local.fragment import LocalFragment, nodes_of
from pyspark_pipeline.local.transport.request import Address
from pyspark_pipeline.plan.broadcasts import BroadcastExchange
from pyspark_pipeline.plan.joins import Join
from pyspark_pipeline.plan.nodes import ExchangeSource


class Edge(NamedTuple):
    """The exchange of ``sender`` feeds input ``input`` of ``receiver``.

    If there are more partitions than instances, each instance gets adjacent ones, as when Spark coalesces partitions.
    """

    sender: LocalFragment
    receiver: LocalFragment
    input: int

    def instance_of(self, partition: int) -> int:
        """Return the instance that a partition belongs to."""
        return partition * self.receiver.instances // self.sender.destinations

    def addresses(self) -> list[Address]:
        """Return the address of every partition."""
        instances = map(self.instance_of, range(self.sender.destinations))
        return [Address(self.receiver.id, instance, self.input) for instance in instances]

    def streams(self, instance: int) -> int:
        """Return the number of streams of one instance: one from each sending instance for each of its partitions."""
        return len(self.partitions_of(instance)) * self.sender.instances

    def partitions_of(self, instance: int) -> range:
        """Return the partitions that belong to an instance."""
        first, end = (-(-i * self.sender.destinations // self.receiver.instances) for i in (instance, instance + 1))
        return range(first, end)


class Wiring:
    """The edges of a query; ``root`` is the one fragment that sends to no other.

    ``fragments`` are the given ones, with the open numbers of partitions of their exchanges filled in.
    Raises :class:`UnsupportedPlanError` for fragments that do not form one tree.
    """

    def __init__(self, fragments: Sequence[LocalFragment]) -> None:
        self.fragments = _with_partitions(fragments)
        self._by_id = {fragment.id: fragment for fragment in self.fragments}
        if len(self._by_id) < len(fragments):
            raise UnsupportedPlanError("two fragments have the same id")
        self._from: dict[int, Edge] = {}
        self._addresses: dict[int, list[Address]] = {}
        for fragment in self.fragments:
            self._connect(fragment)
        roots = [fragment for fragment in self.fragments if fragment.id not in self._from]
        if len(roots) != 1:
            ids = [root.id for root in roots]
            raise UnsupportedPlanError(f"one fragment must send to no other and give the result; these do: {ids}")
        self.root = roots[0]
        self._check_connected()

    def edge_from(self, fragment: LocalFragment) -> Edge | None:
        """Return the edge from a fragment to its receiver; None for the root."""
        return self._from.get(fragment.id)

    def edge_to(self, fragment: LocalFragment, input_id: int) -> Edge:
        """Return the edge that feeds an input."""
        return self._from[fragment.inputs[input_id]]

    def addresses(self, edge: Edge) -> list[Address]:
        """Return the address of every partition of an edge: one list, shared by all sending instances."""
        found = self._addresses.get(edge.sender.id)
        if found is None:
            found = self._addresses[edge.sender.id] = edge.addresses()
        return found

    def _connect(self, fragment: LocalFragment) -> None:
        nodes = nodes_of(fragment.plan.root)
        wanted = {node.input_id for node in nodes if isinstance(node, ExchangeSource)}
        if wanted != set(fragment.inputs):
            raise UnsupportedPlanError(
                f"fragment {fragment.id} reads inputs {sorted(wanted)}, but is told of {sorted(fragment.inputs)}"
            )
        for input_id, sender_id in fragment.inputs.items():
            sender = self._by_id.get(sender_id)
            if sender is None:
                raise UnsupportedPlanError(f"fragment {fragment.id} reads from {sender_id}, which is not there")
            if sender_id in self._from:
                raise UnsupportedPlanError(f"two inputs read from fragment {sender_id}; it has one exchange")
            edge = self._from[sender_id] = Edge(sender, fragment, input_id)
            _check_types(edge)
            _check_broadcast(edge)

    def _check_connected(self) -> None:
        reached, pending = set(), [self.root.id]
        while pending:
            fragment = self._by_id[pending.pop()]
            reached.add(fragment.id)
            pending += fragment.inputs.values()
        if len(reached) < len(self._by_id):
            lost = sorted(set(self._by_id) - reached)
            raise UnsupportedPlanError(f"fragments {lost} send in a circle")


def _with_partitions(fragments: Sequence[LocalFragment]) -> list[LocalFragment]:
    """Set the number of partitions of broadcasts that leave it open to the number of reading instances."""
    readers = {sender: fragment.instances for fragment in fragments for sender in fragment.inputs.values()}
    filled = []
    for fragment in fragments:
        sink = fragment.plan.sink
        if isinstance(sink, BroadcastExchange) and sink.num_partitions is None:
            filled_sink = replace(sink, num_partitions=readers.get(fragment.id, 1))
            fragment = replace(fragment, plan=replace(fragment.plan, sink=filled_sink))
        filled.append(fragment)
    return filled


def _check_types(edge: Edge) -> None:
    sent = [field.type for field in edge.sender.plan.root.output]
    for node in nodes_of(edge.receiver.plan.root):
        if isinstance(node, ExchangeSource) and node.input_id == edge.input:
            if [field.type for field in node.output] != sent:
                reader = f"input {edge.input} of fragment {edge.receiver.id}"
                raise UnsupportedPlanError(f"{reader} has other columns than fragment {edge.sender.id}")


def _check_broadcast(edge: Edge) -> None:
    """Raise for a broadcast that an instance would get twice or never.

    Also for a join that would emit the unmatched rows of a broadcast build side once per instance.
    """
    if not isinstance(edge.sender.plan.sink, BroadcastExchange):
        return
    partitions, instances = edge.sender.destinations, edge.receiver.instances
    if partitions != instances:
        raise UnsupportedPlanError(
            f"the broadcast of fragment {edge.sender.id} has num_partitions={partitions}, but fragment"
            f" {edge.receiver.id}, which reads it, has instances={instances}: they must be equal"
        )
    if instances == 1:
        return
    for join in nodes_of(edge.receiver.plan.root):
        if isinstance(join, Join) and join.shape.tracks_build_matches:
            below = nodes_of(join.build)
            if any(isinstance(node, ExchangeSource) and node.input_id == edge.input for node in below):
                raise UnsupportedPlanError("every instance would give a broadcast side's rows that have no match")
