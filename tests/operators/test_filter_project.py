"""A filter and the projection above it share one batch; unused columns are dropped."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, execute
from pyspark_pipeline.operators.filter import FilterFactory
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.joins import JoinType
from pyspark_pipeline.plan.nodes import Filter, Project
from pyspark_pipeline.planner.properties import PlanProperties
from tests.exec.kit import Made, Sink
from tests.operators.join_kit import join
from tests.operators.kit import Builder, Chunks, call, column, fields, literal, run

ROWS = 1000
TEXTS = pa.array([f"text {i}" for i in range(ROWS)])
KEYS = pa.array(np.arange(ROWS))
CHUNK = pa.record_batch([KEYS, pa.array(np.arange(ROWS) * 7), TEXTS], names=["c0", "c1", "c2"])
LEAF = Chunks(output=fields("k:bigint, v:bigint, t:string"), chunks=(CHUNK,))
EVEN = call("EqualTo", "boolean", call("Remainder", "bigint", column(LEAF, "k"), literal(2, "bigint"),
                                       evalMode="LEGACY"), literal(0, "bigint"))  # fmt: skip
CONDITIONS = {
    "all rows by a range": call("GreaterThanOrEqual", "boolean", column(LEAF, "k"), literal(0, "bigint")),
    "all rows": call("Or", "boolean", EVEN, call("Not", "boolean", EVEN)),
    "some rows by a range": call("LessThan", "boolean", column(LEAF, "k"), literal(300, "bigint")),
    "some rows": EVEN,
}


def addresses(values: pa.Array) -> list[int]:
    return [buffer.address for buffer in values.buffers() if buffer is not None]


def moved(condition: Expr, *names: str) -> dict[str, Chunk]:
    """Run a filter and a projection of the columns ``names``; return the single output chunk of each operator."""
    filtered = Filter(output=LEAF.output, condition=condition, child=LEAF)
    exprs = tuple(column(LEAF, name) for name in names)
    project = Project(output=tuple(LEAF.output[e.ordinal] for e in exprs), exprs=exprs, child=filtered)
    builder, queue, seen = Builder(), OutputQueue(), {}
    builder.add_pipeline([*builder.decompose(project), Made("Sink", lambda _: Sink(queue))])
    assert [factory.name for factory in builder.pipelines[0].factories] == ["Chunks", "Filter", "Project", "Sink"]

    def note(chunk: Chunk, operator: object) -> None:
        seen[operator.name] = chunk  # type: ignore[attr-defined]

    assert [chunk for chunk in execute(FragmentInstance(builder.pipelines, queue, check=note))] == [seen["Project"]]
    return seen


@pytest.mark.parametrize("name", CONDITIONS)
def test_projection_forwards_the_filtered_columns_without_a_copy(name: str) -> None:
    seen = moved(CONDITIONS[name], "t", "k")
    given, projected = seen["Filter"], seen["Project"]
    assert addresses(projected.column(0)) == addresses(given.column(2))
    assert addresses(projected.column(1)) == addresses(given.column(0))
    wanted = {"some rows by a range": list(range(300)), "some rows": list(range(0, ROWS, 2))}
    assert projected.column(1).to_pylist() == wanted.get(name, list(range(ROWS)))
    if name.startswith("all"):
        assert addresses(projected.column(0)) == addresses(TEXTS)


@pytest.mark.parametrize("name", ["some rows by a range", "some rows"])
def test_columns_unused_by_the_projection_are_not_filtered(name: str) -> None:
    seen = moved(CONDITIONS[name], "v")
    assert [str(column.type) for column in seen["Filter"].columns] == ["null", "int64", "null"]
    kept = seen["Project"].column(0).to_pylist()
    assert kept == [7 * k for k in (range(300) if "range" in name else range(0, ROWS, 2))]


def _without_nulls(values: pa.Array, *more: Expr) -> tuple[pa.Table, list[int]]:
    """Join the rows whose key is not NULL (and ``more``); return the join and the rows that leave the filter."""
    numbers = pa.array(range(len(values)), pa.int64())
    leaf = Chunks(output=fields("k:bigint, v:bigint"), chunks=(pa.record_batch([values, numbers], names=["c0", "c1"]),))
    conjuncts = [call("IsNotNull", "boolean", column(leaf, "k")), *more]
    condition = functools.reduce(lambda left, right: call("And", "boolean", left, right), conjuncts)
    probe = Filter(output=leaf.output, condition=condition, child=leaf)
    keys = pa.record_batch([pa.array([0, 1, 2, None], pa.int64())], names=["c0"])
    node = join(probe, Chunks(output=fields("k:bigint"), chunks=(keys,)), JoinType.INNER, False, ["k"])
    builder = Builder()
    table = run(node, builder=builder)
    properties = PlanProperties()
    properties.negotiate(node)
    factory = FilterFactory(probe, builder.settings, properties.required_output(probe))
    return table, factory.create(1, 0).transform(leaf.chunks[0]).column(1).to_pylist()


@pytest.mark.parametrize(
    ("keys", "passing"), [([0, 1, None, 2, 9], [0, 1, 2, 3, 4]), ([0, None, None, 2, 9], [0, 3, 4]), ([None] * 5, [])]
)
def test_filter_leaves_few_nulls_to_the_join_above(keys: list[int | None], passing: list[int]) -> None:
    table, left = _without_nulls(pa.array(keys, pa.int64()))
    assert sorted(table.column(1).to_pylist()) == [i for i, key in enumerate(keys) if key in (0, 1, 2)]
    assert left == passing


def test_filter_drops_nulls_before_a_condition_that_can_raise() -> None:
    leaf = Chunks(output=fields("k:bigint, v:bigint"), chunks=())
    quotient = call("IntegralDivide", "bigint", literal(10, "bigint"), column(leaf, "v"), evalMode="ANSI")
    raising = call("GreaterThan", "boolean", quotient, literal(0, "bigint"))
    table, left = _without_nulls(pa.array([None, 1, 2, None, 9, 9, 9, 9], pa.int64()), raising)
    assert sorted(table.column(1).to_pylist()) == [1, 2] and left == [1, 2, 4, 5, 6, 7]
