"""Plans as deep as the JVM converts: some hundred levels of expressions and operators."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from pyspark_pipeline.exchange import pack_rows, unpack_rows
from pyspark_pipeline.plan.depth import raised_recursion_limit
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.plan.nodes import Fragment
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.task.run import run_plan
from tests.operators.kit import to_table
from tests.task.kit import CPUS, control

LEVELS = 500
ROWS = 6

Json = dict[str, Any]

ID: Json = {"ref": 1, "type": "bigint", "nullable": False}
RANGE: Json = {"op": "RangeExec", "scan": 0, "output": [{"id": 1, "name": "id", "type": "bigint", "nullable": False}]}


def literal(value: int) -> Json:
    return {"literal": value, "type": "bigint", "nullable": False}


def call(name: str, *args: int, type: str = "bigint", **fields: Any) -> Json:
    return {"class": name, "type": type, "nullable": True, "args": list(args), "fields": fields}


def case(level: int, below: int) -> list[Json]:
    """``CASE WHEN id = level THEN level ELSE below END``"""
    place = below + 1
    return [ID, literal(level), call("EqualTo", place, place + 1, type="boolean"), literal(level),
            call("CaseWhen", place + 2, place + 3, below)]  # fmt: skip


def if_(level: int, below: int) -> list[Json]:
    place = below + 1
    return [ID, literal(level), call("EqualTo", place, place + 1, type="boolean"), literal(level),
            call("If", place + 2, place + 3, below)]  # fmt: skip


def coalesce(level: int, below: int) -> list[Json]:
    place = below + 1
    none = {"literal": None, "type": "bigint", "nullable": True}
    return [none, ID, call("Add", place + 1, place, evalMode="ANSI"), call("Coalesce", place + 2, below)]


def add(level: int, below: int) -> list[Json]:
    return [ID, call("Add", below, below + 1, evalMode="ANSI")]


def negate(level: int, below: int) -> list[Json]:
    return [call("UnaryMinus", below, failOnError=True)]


SHAPES: dict[Callable[[int, int], list[Json]], Callable[[int], int]] = {
    case: lambda x: x,
    if_: lambda x: x,
    coalesce: lambda x: x,
    add: lambda x: (LEVELS + 1) * x,
    negate: lambda x: x if LEVELS % 2 == 0 else -x,
}


def deep(shape: Callable[[int, int], list[Json]]) -> Json:
    """Nest ``shape`` in its own first argument."""
    nodes: list[Json] = [ID]
    for level in range(LEVELS):
        nodes += shape(level, len(nodes) - 1)
    return {"postorder": nodes}


def fragment(root: Json, depth: int) -> Fragment:
    settings = {"ansi": True, "timeZone": "UTC", "options": {}}
    head = {"version": WIRE_VERSION, "id": 0, "root": root, "depth": depth}
    content = {**head, "sink": {"kind": "result"}, "settings": settings}
    with raised_recursion_limit(depth):
        text = json.dumps(content)
    return decode_fragment(text)


def project(child: Json, expr: Json) -> Json:
    output = [{"id": 1, "name": "x", "type": "bigint", "nullable": True}]
    return {"op": "ProjectExec", "output": output, "fields": {"projectList": [expr]}, "children": [child]}


def answers(plan: Fragment, cpus: int) -> list[int]:
    batches = run_plan(plan, iter([pack_rows([control(plan.root, cpus, {0: [0, ROWS, 1]})])]))
    rows = [row for batch in batches for row in unpack_rows(batch) if row.partition >= 0]
    values: list[int] = to_table(plan.root, rows).column(0).to_pylist()
    return values


@pytest.mark.parametrize("cpus", CPUS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_deep_expressions_are_evaluated(shape: Callable[[int, int], list[Json]], cpus: int) -> None:
    limit = sys.getrecursionlimit()
    plan = fragment(project(RANGE, deep(shape)), LEVELS + 2)
    assert answers(plan, cpus) == [SHAPES[shape](x) for x in range(ROWS)]
    assert sys.getrecursionlimit() == limit


def test_deep_filter_is_evaluated() -> None:
    nodes = [*deep(case)["postorder"], literal(3)]
    nodes.append(call("GreaterThan", len(nodes) - 2, len(nodes) - 1, type="boolean"))
    output = RANGE["output"]
    root = {"op": "FilterExec", "output": output, "fields": {"condition": {"postorder": nodes}}, "children": [RANGE]}
    assert answers(fragment(root, LEVELS + 3), 1) == [4, 5]


def test_long_chain_of_operators_runs() -> None:
    root = RANGE
    for _ in range(LEVELS - 10):
        root = project(root, {"class": "Add", "type": "bigint", "nullable": False, "args": [ID, literal(1)],
                              "fields": {"evalMode": "ANSI"}})  # fmt: skip
    assert answers(fragment(root, LEVELS), 1) == [x + LEVELS - 10 for x in range(ROWS)]
