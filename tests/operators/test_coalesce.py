"""A coalesce reads what its instance is assigned, several partitions in order, in the pipeline of its input."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.plan.coalesces import Coalesce
from pyspark_pipeline.plan.nodes import ExchangeSource, Limit, Project
from pyspark_pipeline.plan.wire import decode_node
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Builder, Chunks, column, fields, run, run_rows


def numbers(rows: int, chunk_rows: int = 4) -> Chunks:
    return leaf("k:bigint", chunks_of(pa.table({"k": pa.array(range(rows), pa.int64())}), chunk_rows))


def coalesce(child: Chunks | ExchangeSource) -> Coalesce:
    return Coalesce(output=child.output, child=child)


@pytest.mark.parametrize("rows", [0, 1, 4, 5])
def test_rows_pass_in_order(rows: int) -> None:
    assert run(coalesce(numbers(rows)))["k"].to_pylist() == list(range(rows))


def test_messages_of_several_partitions_are_one_input() -> None:
    source = ExchangeSource(output=fields("k:bigint"), input_id=0)
    partitions = [run_rows(numbers(rows)) for rows in (5, 0, 3)]
    inputs = [(0, row) for rows in partitions for row in rows]
    assert run(coalesce(source), inputs=inputs)["k"].to_pylist() == [0, 1, 2, 3, 4, 0, 1, 2]


def test_coalesce_adds_no_operator_and_no_pipeline() -> None:
    child = numbers(3)
    node = coalesce(child)
    above = Project(output=node.output, exprs=(column(node, "k"),), child=node)
    assert [factory.name for factory in Builder().decompose(above)] == ["Chunks", "Project"]
    assert run(Limit(output=node.output, limit=2, child=above))["k"].to_pylist() == [0, 1]


def test_decoder_passes_the_output_on() -> None:
    output = [{"id": 1, "name": "k", "type": "bigint", "nullable": True}]
    made = decode_node(
        {"op": "CoalesceExec", "output": output, "children": [{"op": "RangeExec", "output": output, "scan": 0}]}
    )
    assert isinstance(made, Coalesce) and made.output == made.child.output
