"""Expand outputs every row once for each projection, NULL literals with the type of their column."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.expands import Expand
from pyspark_pipeline.plan.nodes import Limit
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Chunks, call, column, fields, literal, run, run_rows

SPEC = "a:string, b:bigint, id:int"


def child(rows: int = 7, chunk_rows: int = 3) -> Chunks:
    table = pa.table({"a": [f"s{i % 2}" for i in range(rows)], "b": pa.array(range(rows), pa.int64())})
    return leaf("a:string, b:bigint", chunks_of(table, chunk_rows))


def expand(below: Chunks) -> Expand:
    a, b = column(below, "a"), column(below, "b")
    return Expand(
        output=fields(SPEC),
        child=below,
        projections=(
            (a, b, literal(0, "int")),
            (a, literal(None, "bigint"), literal(1, "int")),
            (literal(None, "string"), literal(None, "bigint"), literal(3, "int")),
        ),
    )


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 7])
@pytest.mark.parametrize("dop", [1, 3])
def test_expand_outputs_every_row_once_for_each_projection(rows: int, dop: int) -> None:
    made = run(expand(child(rows)), dop=dop, threads=dop)
    assert made.schema.types == [field.type.arrow for field in fields(SPEC)]
    plain = [(f"s{i % 2}", i) for i in range(rows)]
    wanted = [(a, b, 0) for a, b in plain] + [(a, None, 1) for a, _ in plain] + [(None, None, 3)] * rows
    assert sorted(map(repr, zip(*made.to_pydict().values(), strict=True))) == sorted(map(repr, wanted))


def test_limit_downstream_ends_expand_early() -> None:
    node = expand(child(100, 10))
    limited = Limit(output=node.output, limit=15, child=node)
    assert run(limited).num_rows == 15


def test_expand_without_columns_keeps_the_row_count() -> None:
    below = child(5)
    node = Expand(output=(), projections=((), ()), child=below)
    assert sum(row.rows for row in run_rows(node)) == 10


def test_unsupported_projection_is_rejected_before_execution() -> None:
    below = child()
    node = Expand(output=fields("x:int"), projections=((call("NoSuchFunction", "int"),),), child=below)
    with pytest.raises(UnsupportedPlanError):
        run(node)
