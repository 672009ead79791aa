"""Generate: bounded chunks, empty input, NULLs, outer rows, an early end, an error after rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.operators.generate import GenerateOperator, generator_of
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal
from pyspark_pipeline.plan.generates import Generate
from pyspark_pipeline.plan.nodes import Field, Node

_ARRAY = parse_type("array<int>")
_INT = parse_type("int")


def _operator(
    argument: Expr, *, generator: str = "Explode", is_outer: bool = False, batch_rows: int = 3
) -> GenerateOperator:
    kinds = {"Explode": ["int", "int"], "PosExplode": ["int", "int", "int"]}[generator]
    output = tuple(Field(id=place, name="c", type=parse_type(kind), nullable=True) for place, kind in enumerate(kinds))
    child, arguments = Node(output=()), (argument,)
    node = Generate(
        output=output, generator=generator, arguments=arguments, carried=(0,), is_outer=is_outer, child=child
    )
    settings = ExpressionSettings()
    return GenerateOperator(
        node, generator_of(node, settings), compile_expressions([argument], settings), batch_rows, frozenset()
    )


def _pulled(operator: GenerateOperator) -> list[list[tuple[int | None, ...]]]:
    chunks = []
    while operator.has_output():
        chunk = operator.pull_chunk()
        if chunk is not None:
            chunks.append(list(zip(*(column.to_pylist() for column in chunk.columns), strict=True)))
    return chunks


def _chunk(arrays: list[list[int | None] | None]) -> pa.RecordBatch:
    columns = [pa.array(range(len(arrays)), pa.int32()), pa.array(arrays, pa.list_(pa.int32()))]
    return pa.RecordBatch.from_arrays(columns, ["a", "b"])


_COLUMN = ColumnRef(type=_ARRAY, ordinal=1)
_ROWS: list[list[int | None] | None] = [[1, 2], None, [], [3, None, 5, 6], [7]]


def test_chunks_are_bounded_and_rows_are_in_order() -> None:
    operator = _operator(_COLUMN)
    operator.push_chunk(_chunk(_ROWS))
    assert not operator.need_input()
    assert _pulled(operator) == [[(0, 1), (0, 2), (3, 3)], [(3, None), (3, 5), (3, 6)], [(4, 7)]]
    assert operator.need_input()


def test_chunks_that_repeat_long_values_are_smaller() -> None:
    operator = _operator(_COLUMN, batch_rows=4)
    texts = ["x" * (20 << 20), "y"]
    arrays = pa.array([[1, 2, 3], [4, 5]], pa.list_(pa.int32()))
    operator.push_chunk(pa.RecordBatch.from_arrays([pa.array(texts), arrays], ["a", "b"]))
    sizes = [[element for _, element in chunk] for chunk in _pulled(operator)]
    assert sizes == [[1], [2], [3, 4, 5]]


def test_a_chunk_of_too_many_elements_is_halved() -> None:
    numbers = ColumnRef(type=_INT, ordinal=0)
    sequence = Call(name="Sequence", type=_ARRAY, args=(numbers, Literal(type=_INT, value=0)))
    operator = _operator(sequence, batch_rows=1 << 22)
    starts = [5_000_000, 2, 6_000_000, 7_000_000]
    operator.push_chunk(pa.RecordBatch.from_arrays([pa.array(starts, pa.int32())], ["a"]))
    rows = 0
    while operator.has_output():
        chunk = operator.pull_chunk()
        rows += 0 if chunk is None else chunk.num_rows
    assert rows == sum(starts) + len(starts)


def test_outer_rows_are_null() -> None:
    operator = _operator(_COLUMN, generator="PosExplode", is_outer=True, batch_rows=4)
    operator.push_chunk(_chunk(_ROWS)[1:])
    assert _pulled(operator) == [
        [(1, None, None), (2, None, None), (3, 0, 3), (3, 1, None)],
        [(3, 2, 5), (3, 3, 6), (4, 0, 7)],
    ]


@pytest.mark.parametrize("rows", [[], [None], [[]]])
def test_rows_without_elements_generate_nothing(rows: list[list[int | None] | None]) -> None:
    operator = _operator(_COLUMN)
    operator.push_chunk(_chunk(rows))
    assert _pulled(operator) == []
    operator.set_finishing()
    assert operator.is_finished()


def test_an_early_end_drops_the_chunk() -> None:
    operator = _operator(_COLUMN)
    operator.push_chunk(_chunk(_ROWS))
    assert operator.pull_chunk() is not None
    operator.set_finished()
    assert operator.is_finished() and not operator.has_output()


def test_rows_before_an_error_are_generated() -> None:
    fields = {"failOnError": True}
    element = Call(name="GetArrayItem", type=_INT, args=(_COLUMN, Literal(type=_INT, value=1)), fields=fields)
    operator = _operator(Call(name="CreateArray", type=_ARRAY, args=(element, element)))
    operator.push_chunk(_chunk([[1, 2], None, [5, 6], [7]]))
    with pytest.raises(SparkConditionError) as caught:
        while operator.has_output():
            chunk = operator.pull_chunk()
            if chunk is not None:
                assert chunk.column(0).to_pylist() in ([0, 0, 1], [1, 2, 2])
    assert caught.value.condition == "INVALID_ARRAY_INDEX"
