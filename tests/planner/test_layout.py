"""A worker refuses a control message that numbers the nodes of a fragment differently from its plan."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyspark_pipeline.errors import EngineBugError, UnsupportedPlanError
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.layout import WIRE_VERSION, check_layout, numbers_of
from pyspark_pipeline.plan.nodes import ExchangeSource, Fragment, Node, PartitionDependentNode, Range, ResultSink
from pyspark_pipeline.plan.unions import Union
from pyspark_pipeline.plan.wire import decode_fragment
from tests.operators.kit import DEFAULTS, fields

OUTPUT = fields("n:bigint")
COUNTS = {"scan": 2, "union": 2, "partitionDependent": 1, "input": 1, "broadcast": 1}


def union(number: int, *inputs: Node) -> Union:
    return Union(output=OUTPUT, inputs=inputs, number=number)


def plan(scan: int = 1) -> Fragment:
    numbers, more = Range(output=OUTPUT, input_id=0), Range(output=OUTPUT, input_id=scan)
    source, table = ExchangeSource(output=OUTPUT, input_id=0), BroadcastSource(output=OUTPUT, broadcast=0)
    placed = PartitionDependentNode(output=OUTPUT, number=0)
    root = union(0, numbers, union(1, source, table, placed), more)
    return Fragment(id=7, root=root, sink=ResultSink(), settings=DEFAULTS)


def control(**given: Any) -> dict[str, Any]:
    return {"version": WIRE_VERSION, "counts": COUNTS, **given}


def test_equal_counts_pass() -> None:
    pairs = {"scan": [0, 1], "union": [0, 1]}
    assert numbers_of(plan().root) == {**pairs, "partitionDependent": [0], "input": [0], "broadcast": [0]}
    check_layout(plan(), control())


@pytest.mark.parametrize("kind", sorted(COUNTS))
@pytest.mark.parametrize("difference", [-1, 1])
def test_another_count_is_refused(kind: str, difference: int) -> None:
    counts = {**COUNTS, kind: COUNTS[kind] + difference}
    message = rf"fragment 7: the control message counts {counts[kind]} nodes of kind {kind}, the plan numbers them \["
    with pytest.raises(EngineBugError, match=message):
        check_layout(plan(), control(counts=counts))


@pytest.mark.parametrize("scan", [0, 2])
def test_numbers_with_a_gap_or_a_duplicate_are_refused(scan: int) -> None:
    with pytest.raises(EngineBugError, match=rf"the plan numbers them \[0, {scan}\]"):
        check_layout(plan(scan), control())


@pytest.mark.parametrize("version", [None, WIRE_VERSION - 1, WIRE_VERSION + 1, str(WIRE_VERSION)])
def test_another_version_is_refused(version: object) -> None:
    with pytest.raises(UnsupportedPlanError, match=f"control message of fragment 7 has wire version {version}, this"):
        check_layout(plan(), control(version=version))
    with pytest.raises(UnsupportedPlanError, match=f"fragment 3 has wire version {version}, this worker reads"):
        decode_fragment(json.dumps({"version": version, "id": 3, "root": {}}))
