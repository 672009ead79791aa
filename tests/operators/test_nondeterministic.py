"""Nondeterministic functions return the values of Spark, however the rows are cut into chunks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.plan.expr import Call, Literal
from pyspark_pipeline.plan.nodes import Field
from pyspark_pipeline.plan.nondeterministic import NondeterministicColumns
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Builder, run


def call(name: str, kind: str, *args: int | None) -> Call:
    literals = tuple(Literal(type=parse_type("int"), value=value) for value in args)
    return Call(type=parse_type(kind), nullable=False, name=name, args=literals)


def values(made: Call, rows: int = 5, chunk_rows: int = 2, partition: int = 0) -> list[Any]:
    child = leaf("k:bigint", chunks_of(pa.table({"k": pa.array(range(rows), pa.int64())}), chunk_rows))
    column = Field(id=9, name="v", type=made.type)
    node = NondeterministicColumns(output=(*child.output, column), number=0, calls=(made,), child=child)
    found: list[Any] = run(node, builder=Builder(partition=partition))["v"].to_pylist()
    return found


def test_first_values_are_those_of_spark() -> None:
    assert values(call("Rand", "double", 0))[0] == 0.7604953758285915
    assert values(call("Rand", "double", None))[0] == 0.7604953758285915
    assert values(call("Randn", "double", 0))[0] == 1.6034991609278433
    assert values(call("RandStr", "string", 5, 0))[:2] == ["ceV0P", "XaR2I"]


def test_first_uuids_are_those_of_spark() -> None:
    made = replace(call("Uuid", "string"), fields={"randomSeed": 3167903595518463397})
    assert values(made)[:2] == ["e448850b-5ded-45e9-970b-328a0dfa166d", "36c73335-90bc-4c46-8ddf-edd7cbd87bda"]
    made = replace(call("Uuid", "string"), fields={"randomSeed": -7})
    assert values(made, partition=2)[0] == "e338c8ff-0ff5-447d-95a9-d0fbf8bc6331"


@pytest.mark.parametrize("name", ["Rand", "Randn", "RandStr"])
@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
def test_chunks_and_partitions_continue_the_same_numbers(name: str, chunk_rows: int) -> None:
    made = call(name, "string", 3, 5) if name == "RandStr" else call(name, "double", 5)
    later = call(name, "string", 3, 7) if name == "RandStr" else call(name, "double", 7)
    assert values(made, 50, chunk_rows) == values(made, 50, 50)
    assert values(made, 50, chunk_rows, partition=2) == values(later, 50, 7)


def test_partitions_are_counted() -> None:
    assert values(call("MonotonicallyIncreasingID", "bigint"), 3, partition=2) == [2**34, 2**34 + 1, 2**34 + 2]
    assert values(call("SparkPartitionID", "int"), 2, partition=3) == [3, 3]


def test_arrays_have_the_order_of_spark() -> None:
    array = Literal(type=parse_type("array<int>"), value=(1, 20, 3, 5))
    made = replace(call("Shuffle", "array<int>"), args=(array,), fields={"randomSeed": 4})
    assert values(made, 3) == [[20, 3, 5, 1], [5, 1, 3, 20], [20, 5, 1, 3]]
    assert values(made, 40, 7) == values(made, 40, 40)
