"""CollectMetrics: rows pass unchanged; the buffers are those of a partial aggregation of all rows."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from pyspark_pipeline.plan.expr import ColumnRef
from pyspark_pipeline.plan.nodes import AggregateCall, Node
from pyspark_pipeline.plan.observations import CollectMetrics
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Builder, fields, run

BIGINT = fields("k:bigint")[0].type
COUNT = AggregateCall(
    function="Count", mode="Partial", args=(ColumnRef(type=BIGINT, ordinal=0),), arg_types=(BIGINT,), filter=None,
    type=BIGINT, buffer=(BIGINT,),
)  # fmt: skip
MAX = replace(COUNT, function="Max")


def _node(values: list[int | None], chunk_rows: int) -> CollectMetrics:
    child = leaf("k:bigint", chunks_of(pa.table({"k": pa.array(values, pa.int64())}), chunk_rows))
    return CollectMetrics(output=child.output, number=3, calls=(COUNT, MAX), child=child)


def _run(node: Node) -> tuple[list[int | None], dict[int, list[int | None]]]:
    """Return the rows, and the buffers by the number of the node."""
    builder = Builder()
    rows: list[int | None] = run(node, builder=builder)["k"].to_pylist()
    collected = builder.collected_metrics.items()
    return rows, {number: [column.to_pylist()[0] for column in chunk.columns] for number, chunk in collected}


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_rows_pass_and_are_counted(chunk_rows: int) -> None:
    values = [3, None, 7, 5, None]
    assert _run(_node(values, chunk_rows)) == (values, {3: [3, 7]})


def test_no_rows_have_no_buffers() -> None:
    assert _run(_node([], 10)) == ([], {})
