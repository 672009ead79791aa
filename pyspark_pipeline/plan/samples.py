"""The Sample node: a random share of the rows, without replacement."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Field, Node, PartitionDependentNode
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(PartitionDependentNode):
    """Keeps the rows of ``child`` whose random number, from 0 to 1, lies in [``lower``, ``upper``).

    The numbers are a sequence for each partition, seeded with ``seed`` + the index of the partition.
    """

    lower: float
    upper: float
    seed: int
    child: Node


@decodes("SampleExec")
def _sample(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    fields = node["fields"]
    return Sample(
        output=output,
        number=node["partitionDependent"],
        lower=fields["lowerBound"],
        upper=fields["upperBound"],
        seed=node["seed"],
        child=children[0],
    )
