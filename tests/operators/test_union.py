"""A task of a union runs only the input named by its control message, and reads only that input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.exchange import ChunkRow, StreamTransport
from pyspark_pipeline.exec import OutputQueue
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.exec.input_queue import InputFeed
from pyspark_pipeline.exec.instance import FragmentInstance
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.plan.nodes import ExchangeSource, Fragment, Node, Project, ResultSink
from pyspark_pipeline.plan.unions import Union
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.planner import FragmentBuilder
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import DEFAULTS, column, fields, run_rows, to_table

LEFT = ExchangeSource(output=fields("a:bigint"), input_id=0)
RIGHT = ExchangeSource(output=fields("b:bigint"), input_id=1)


def rows(first: int) -> list[ChunkRow]:
    table = pa.table({"k": pa.array(range(first, first + 3), pa.int64())})
    return run_rows(leaf("k:bigint", chunks_of(table, 2)))


def plus_nothing(child: Node) -> Project:
    """Return a node above ``child``, so that the union is not the root."""
    return Project(output=child.output, exprs=(column(child, child.output[0].name),), child=child)


def union(*inputs: Node, number: int = 0) -> Union:
    return Union(output=inputs[0].output, inputs=inputs, number=number)


def run_fragment(
    root: Node, control: Mapping[str, Any], stream: list[tuple[int, ChunkRow]], dop: int = 1
) -> list[Any]:
    fragment = Fragment(id=0, root=root, sink=ResultSink(), settings=DEFAULTS)
    queue = OutputQueue(4)
    builder = FragmentBuilder(fragment, {"partition": 0, "splits": {}, **control}, StreamTransport(queue), dop)
    pipelines = builder.build()
    assert sorted(builder.inputs) == sorted({number for number, _ in stream})
    feed = InputFeed(iter(stream), builder.inputs) if builder.inputs else None
    made = to_table(root, list(execute(FragmentInstance(pipelines, queue, feed=feed), dop)))
    values: list[Any] = made.column(0).to_pylist()
    return values


@pytest.mark.parametrize("branch", [0, 1])
def test_only_the_active_input_runs(branch: int) -> None:
    root = plus_nothing(union(LEFT, RIGHT))
    stream = [(branch, row) for row in rows(10 * branch)]
    assert run_fragment(root, {"branches": {"0": branch}}, stream) == [10 * branch + i for i in range(3)]


@pytest.mark.parametrize(
    ("branches", "wanted"),
    [({"0": 0, "1": 0}, 0), ({"0": 0, "1": 1}, 1), ({"0": 1, "2": 0}, 2), ({"0": 1, "2": 1}, 3)],
)
def test_nested_unions_run_the_input_named_for_their_number(branches: dict[str, int], wanted: int) -> None:
    leaves = [ExchangeSource(output=fields("a:bigint"), input_id=i) for i in range(4)]
    below = [union(leaves[0], leaves[1], number=1), union(leaves[2], leaves[3], number=2)]
    root = union(*map(plus_nothing, below))
    assert run_fragment(root, {"branches": branches}, [(wanted, row) for row in rows(0)]) == [0, 1, 2]


def test_unions_with_equal_inputs_are_numbered_separately() -> None:
    inner = [union(LEFT, RIGHT, number=1), union(LEFT, RIGHT, number=2)]
    assert run_fragment(union(*inner), {"branches": {"0": 1, "2": 1}}, [(1, row) for row in rows(5)]) == [5, 6, 7]


def test_inputs_of_different_types_are_rejected() -> None:
    other = ExchangeSource(output=fields("b:int"), input_id=1)
    with pytest.raises(UnsupportedPlanError):
        run_fragment(union(LEFT, other), {"branches": {"0": 0}}, [])


def test_union_is_decoded() -> None:
    attribute = {"id": 1, "name": "a", "type": "bigint", "nullable": True}
    inputs = [{"op": "Input", "output": [attribute], "input": i} for i in range(2)]
    text = {
        "version": WIRE_VERSION,
        "id": 1,
        "root": {"op": "UnionExec", "output": [attribute], "union": 2, "fields": {}, "children": inputs},
        "sink": {"kind": "result"},
        "settings": {"ansi": True, "timeZone": "UTC", "options": {}},
    }
    root = decode_fragment(json.dumps(text)).root
    assert isinstance(root, Union) and root.number == 2
    assert [child.input_id for child in root.children if isinstance(child, ExchangeSource)] == [0, 1]


@pytest.mark.parametrize("dop", [1, 3])
def test_partition_preserving_union_runs_all_inputs(dop: int) -> None:
    kept = union(LEFT, plus_nothing(RIGHT))
    given = [(place, row) for place in (0, 1) for row in rows(place * 10)]
    assert sorted(run_fragment(kept, {"branches": {}}, given, dop=dop)) == [0, 1, 2, 10, 11, 12]
