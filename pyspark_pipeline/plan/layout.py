"""The numbers of a fragment's nodes, and the check that a task's control message counts the same nodes.

Scans, unions, partition-dependent nodes, streamed inputs and broadcasts have numbers, each kind from 0. The shim
alone assigns them (``FragmentLayout.scala``) and writes them into the plan's JSON; splits, partitions, branches and
broadcasts of a task refer to them. A plan and a control message that number their nodes differently would return
wrong rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark_pipeline.errors import EngineBugError, UnsupportedPlanError
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.local_rows import LocalRows
from pyspark_pipeline.plan.nodes import ExchangeSource, FileScan, Fragment, Node, PartitionDependentNode, Range
from pyspark_pipeline.plan.python_functions import PythonScan
from pyspark_pipeline.plan.unions import Union

#: The version of a fragment's JSON and of the control message; ``PlanJson.Version`` in the shim.
WIRE_VERSION = 4

#: The kinds of numbered nodes by the key of their number in the JSON.
KINDS = ("scan", "union", "partitionDependent", "input", "broadcast")

_NUMBERS: Mapping[type[Node], tuple[str, Callable[[Any], int]]] = {
    FileScan: ("scan", lambda node: node.input_id),
    Range: ("scan", lambda node: node.input_id),
    LocalRows: ("scan", lambda node: node.input_id),
    PythonScan: ("scan", lambda node: node.input_id),
    Union: ("union", lambda node: node.number),
    PartitionDependentNode: ("partitionDependent", lambda node: node.number),
    ExchangeSource: ("input", lambda node: node.input_id),
    BroadcastSource: ("broadcast", lambda node: node.broadcast),
}


def numbers_of(root: Node) -> dict[str, list[int]]:
    """Return the numbers of a plan's nodes by kind, in preorder."""
    found: dict[str, list[int]] = {kind: [] for kind in KINDS}
    pending = [root]
    while pending:
        node = pending.pop()
        pending.extend(reversed(node.children))
        for node_class, (kind, number) in _NUMBERS.items():
            if isinstance(node, node_class):
                found[kind].append(number(node))
    return found


def check_version(version: object, where: str) -> None:
    """Raise :class:`UnsupportedPlanError` if ``version``, which ``where`` names, is not that of this worker."""
    if version != WIRE_VERSION:
        raise UnsupportedPlanError(
            f"{where} has wire version {version}, this worker reads version {WIRE_VERSION}: the driver's jar and "
            "the workers' pyspark_pipeline are of different releases"
        )


def check_layout(fragment: Fragment, control: Mapping[str, Any]) -> None:
    """Raise unless ``control`` is of this version and its counts are those of the fragment's numbered nodes.

    Raises :class:`UnsupportedPlanError` for another version, :class:`EngineBugError` for other counts or numbers.
    """
    check_version(control.get("version"), f"the control message of fragment {fragment.id}")
    counts = control.get("counts", {})
    for kind, numbers in numbers_of(fragment.root).items():
        count = counts.get(kind, 0)
        if sorted(numbers) != list(range(count)):
            raise EngineBugError(
                f"fragment {fragment.id}: the control message counts {count} nodes of kind {kind}, "
                f"the plan numbers them {numbers}"
            )
