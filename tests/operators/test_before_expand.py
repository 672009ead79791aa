"""Grouping sets: groups of all keys are expanded instead of rows, where that gives the same partial groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.operators.aggregation import grouping_sets
from pyspark_pipeline.operators.aggregation.before_expand import group_before_expand
from pyspark_pipeline.operators.aggregation.grouping_sets import GroupingSetsOperator
from pyspark_pipeline.plan.expands import Expand
from pyspark_pipeline.plan.expr import Expr, Literal
from pyspark_pipeline.plan.nodes import Aggregate, AggregateCall, Limit, Node
from tests.operators.aggregate_kit import aggregate_call, chunks_of, leaf, partial_node, rows_of, run_stages
from tests.operators.kit import DEFAULTS, Builder, call, column, fields, literal, run

_SPEC = "a:string, b:int, v:int, w:bigint, x:double"


def _rows() -> Node:
    rows = 900
    table = pa.table(
        {
            "a": [None if i % 11 == 3 else f"a{i % 5}" for i in range(rows)],
            "b": pa.array([None if i % 7 == 2 else i % 4 for i in range(rows)], pa.int32()),
            "v": pa.array([None if i % 5 == 1 else i - 300 for i in range(rows)], pa.int32()),
            "w": [i * 2**40 for i in range(rows)],
            "x": [i / 8 for i in range(rows)],
        }
    )
    return leaf(_SPEC, chunks_of(table, 100))


def _expand(child: Node, sets: Sequence[str]) -> Expand:
    """Return an expand of ``v``, ``w``, ``x``, the keys ``a`` and ``b`` or NULL, and the number of the set."""
    kept = [column(child, name) for name in "vwx"]
    projections = []
    for number, names in enumerate(sets):
        keys: list[Expr] = []
        for name in "ab":
            key = column(child, name)
            keys.append(key if name in names else Literal(type=key.type, value=None))
        projections.append((*kept, *keys, literal(number, "bigint")))
    output = fields("v:int, w:bigint, x:double, a:string, b:int, g:bigint")
    return Expand(output=output, projections=tuple(projections), child=child)


def _node(child: Node, calls: Sequence[AggregateCall], keys: str = "abg") -> Aggregate:
    return partial_node(child, [column(child, name) for name in keys], calls)


def _calls(child: Node) -> list[AggregateCall]:
    condition = call("GreaterThan", "boolean", column(child, "v"), literal(10, "int"))
    return [
        aggregate_call("Sum", column(child, "v")),
        aggregate_call("Average", column(child, "v")),
        aggregate_call("Count", column(child, "x"), condition=condition),
        aggregate_call("Max", column(child, "w")),
    ]


@pytest.mark.parametrize("sets", [["ab", "a", ""], ["ab", "b", "a", ""], ["a", "b"]])
@pytest.mark.parametrize("ratio", ["1", "80"])
def test_merged_groups_are_those_of_the_rows(sets: list[str], ratio: str) -> None:
    child = _expand(_rows(), sets)
    node = _node(child, _calls(child))
    options = type(DEFAULTS.options)({"aggregate.passThroughRows": "150", "aggregate.passThroughRatio": ratio})
    settings = replace(DEFAULTS, options=options)
    merging = group_before_expand(node, settings)
    assert merging is not None
    assert isinstance(merging.child, Expand)
    first = merging.child.child
    assert isinstance(first, Aggregate)
    kinds = {"a": "string", "b": "int"}
    assert [key.type.kind for key in first.grouping] == [kinds[name] for name in kinds if name in "".join(sets)]
    assert first.child is child.child
    rows = rows_of(run_stages(node, settings=settings))
    plain = _node(leaf("v:int, w:bigint, x:double, a:string, b:int, g:bigint", _chunks(child)), _calls(child))
    assert group_before_expand(plain, settings) is None
    assert rows == rows_of(run_stages(plain, settings=settings))


def _chunks(expand: Expand) -> list[pa.RecordBatch]:
    """Return the rows of an expand."""
    return [batch for batch in run(expand).to_batches() if batch.num_rows]


def _unique(rows: int) -> tuple[Aggregate, pa.Table]:
    """Return a partial aggregation whose keys repeat in the first rows, and then no more; and its rows."""
    keys = [i % 3 if i < 500 else i for i in range(rows)]
    b = pa.array([k % 5 for k in keys], pa.int32())
    table = pa.table({"a": [f"k{k}" for k in keys], "b": b, "v": pa.array(keys, pa.int32())})
    full = table.append_column("w", pa.array(keys, pa.int64())).append_column("x", pa.array(keys, pa.float64()))
    child = _expand(leaf(_SPEC, chunks_of(full, 100)), ["ab", "a", "b", ""])
    return _node(child, [aggregate_call("Count", column(child, "v")), aggregate_call("Sum", column(child, "v"))]), full


@pytest.mark.parametrize(
    ("decide_at", "first", "switches"),
    [(100, 9999, False), (1500, 9999, True), (5000, 9999, False), (5000, 20, False), (5000, 0, False)],
)
@pytest.mark.parametrize("dop", [1, 3])
def test_rows_are_expanded_if_there_are_as_many_groups(
    decide_at: int, first: int, switches: bool, dop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping_sets, "_FIRST_ROWS", first)
    switched = []
    switch = GroupingSetsOperator._switch
    monkeypatch.setattr(GroupingSetsOperator, "_switch", lambda self: (switched.append(self), switch(self)))
    node, table = _unique(3000)
    options = type(DEFAULTS.options)({"aggregate.passThroughRows": str(decide_at)})
    builder = Builder(settings=replace(DEFAULTS, options=options), dop=dop)
    made = run(node, builder=builder, dop=dop, threads=dop)
    names = [factory.name for pipeline in builder.pipelines for factory in pipeline.factories]
    assert "GroupingSets" in names
    assert "Expand" not in names
    columns = list(made.to_pydict().values())
    found: dict[tuple[Any, ...], list[int]] = {}
    for *key, count, total in zip(*columns, strict=True):
        sums = found.setdefault(tuple(key), [0, 0])
        sums[0] += count
        sums[1] += total
    expected: dict[tuple[Any, ...], list[int]] = {}
    for a, b, v in zip(*(table[name].to_pylist() for name in "abv"), strict=True):
        for key in ((a, b, 0), (a, None, 1), (None, b, 2), (None, None, 3)):
            sums = expected.setdefault(key, [0, 0])
            sums[0] += 1
            sums[1] += v
    assert found == expected
    if dop == 1:
        assert bool(switched) == switches


@pytest.mark.parametrize("first", [1, 99, 100, 101, 250, 2500])
@pytest.mark.parametrize("dop", [1, 3])
def test_first_rows_may_decide(first: int, dop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping_sets, "_FIRST_ROWS", first)
    rows = 2600
    columns = {"a": [f"k{i}" for i in range(rows)], "b": pa.array(range(rows), pa.int32())}
    others = {"v": columns["b"], "w": pa.array(range(rows)), "x": pa.array(range(rows), pa.float64())}
    child = _expand(leaf(_SPEC, chunks_of(pa.table({**columns, **others}), 100)), ["ab", "a", ""])
    node = _node(child, [aggregate_call("Count", column(child, "v")), aggregate_call("Sum", column(child, "v"))])
    made = run(node, dop=dop, threads=dop).to_pydict()
    *keys, counts, sums = made.values()
    assert len(set(zip(*keys, strict=True))) == 2 * rows + 1
    assert sum(counts) == 3 * rows
    assert sum(sums) == 3 * sum(range(rows))


def test_error_of_a_row_is_raised() -> None:
    child = _expand(_rows(), ["ab", "a", ""])
    quotient = call("Divide", "double", literal(1.0, "double"), column(child, "x"), evalMode="ANSI")
    node = _node(child, [aggregate_call("Count", quotient)])
    assert group_before_expand(node, DEFAULTS) is not None
    with pytest.raises(SparkConditionError, match="DIVIDE_BY_ZERO"):
        run(node)


def test_limit_ends_it_early() -> None:
    node, _ = _unique(3000)
    assert run(Limit(output=node.output, limit=5, child=node)).num_rows == 5


def test_functions_of_other_rows_are_not_merged() -> None:
    child = _expand(_rows(), ["ab", "a"])
    count = aggregate_call("Count", column(child, "v"))
    for other in (
        aggregate_call("Sum", column(child, "x")),  # its value depends on the order of additions
        aggregate_call("Sum", column(child, "w")),  # it may overflow in one order only
        aggregate_call("Max", column(child, "b")),  # a key that some sets do not have
        aggregate_call("Max", column(child, "g")),
        replace(count, filter=call("IsNull", "boolean", column(child, "b"))),
    ):
        assert group_before_expand(_node(child, [count, other]), DEFAULTS) is None
    assert group_before_expand(_node(child, []), DEFAULTS) is None
    without_keys = _expand(_rows(), ["", ""])
    count = aggregate_call("Count", column(without_keys, "v"))
    assert group_before_expand(_node(without_keys, [count]), DEFAULTS) is None
    assert group_before_expand(replace(_node(child, [count]), grouping=(literal(1, "int"),)), DEFAULTS) is None
    assert group_before_expand(_node(child, [count], keys="ag"), DEFAULTS) is not None
