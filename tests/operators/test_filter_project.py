"""A filter and the projection above it share one batch; unused columns are dropped."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, execute
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Filter, Project
from tests.exec.kit import Made, Sink
from tests.operators.kit import Builder, Chunks, call, column, fields, literal

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
