"""Sorts, top-n, limits and expands are decoded from the wire with the semantics of Spark's operators."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.expands import Expand
from pyspark_pipeline.plan.expr import ColumnRef, Literal
from pyspark_pipeline.plan.nodes import Limit, Project
from pyspark_pipeline.plan.sorts import Sort, TopN
from pyspark_pipeline.plan.wire import decode_node

A = {"id": 1, "name": "a", "type": "bigint", "nullable": True}
B = {"id": 2, "name": "b", "type": "string", "nullable": True}
REFS = {"a": {"ref": 1, "type": "bigint", "nullable": True}, "b": {"ref": 2, "type": "string", "nullable": True}}


def operator(op: str, output: list[Any], **fields: Any) -> dict[str, Any]:
    child = {"op": "Input", "output": [A, B], "input": 0}
    return {"op": op, "output": output, "fields": fields, "children": [child]}


def order(name: str, direction: str = "Ascending", nulls: str = "NullsFirst") -> dict[str, Any]:
    fields = {"direction": direction, "nullOrdering": nulls}
    return {"class": "SortOrder", "type": "bigint", "nullable": True, "args": [REFS[name]], "fields": fields}


def test_sort_keys_are_decoded() -> None:
    keys = [order("b", "Descending", "NullsLast"), order("a")]
    node = decode_node(operator("SortExec", [A, B], sortOrder=keys, **{"global": True}))
    assert isinstance(node, Sort)
    assert [(key.descending, key.nulls_first) for key in node.keys] == [(True, False), (False, True)]
    assert [key.expr.ordinal for key in node.keys if isinstance(key.expr, ColumnRef)] == [1, 0]


def test_unknown_sort_order_is_rejected() -> None:
    with pytest.raises(UnsupportedPlanError):
        decode_node(operator("SortExec", [A, B], sortOrder=[order("a", "Sideways")]))


def test_top_n_with_the_child_columns_has_no_projection() -> None:
    fields = {"limit": 8, "offset": 3, "sortOrder": [order("a")], "projectList": [REFS["a"], REFS["b"]]}
    node = decode_node(operator("TakeOrderedAndProjectExec", [A, B], **fields))
    assert isinstance(node, TopN)
    assert (node.limit, node.offset) == (8, 3)


def test_top_n_with_other_columns_has_a_projection() -> None:
    fields = {"limit": 8, "offset": 0, "sortOrder": [order("a")], "projectList": [REFS["b"]]}
    node = decode_node(operator("TakeOrderedAndProjectExec", [B], **fields))
    assert isinstance(node, Project)
    assert isinstance(node.child, TopN)
    assert [field.id for field in node.child.output] == [1, 2]


@pytest.mark.parametrize(
    ("op", "fields", "limit", "offset"),
    [
        ("LocalLimitExec", {"limit": 5}, 5, 0),
        ("GlobalLimitExec", {"limit": 5, "offset": 2}, 5, 2),
        ("GlobalLimitExec", {"limit": -1, "offset": 2}, None, 2),
    ],
)
def test_limits_are_decoded(op: str, fields: dict[str, int], limit: int | None, offset: int) -> None:
    node = decode_node(operator(op, [A, B], **fields))
    assert isinstance(node, Limit)
    assert (node.limit, node.offset) == (limit, offset)


def test_expand_is_decoded() -> None:
    null = {"literal": None, "type": "string"}
    node = decode_node(operator("ExpandExec", [A, B], projections=[[REFS["a"], REFS["b"]], [REFS["a"], null]]))
    assert isinstance(node, Expand)
    last = node.projections[1][1]
    assert isinstance(last, Literal)
    assert (str(last.type), last.value) == ("string", None)
