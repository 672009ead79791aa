"""Streaming partial aggregation: it reduces or is abandoned, and the final result is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.states import TableMachine
from pyspark_pipeline.local import LocalQuery
from pyspark_pipeline.local.write import fields, fragment, select, source
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.aggregation import streaming
from pyspark_pipeline.operators.aggregation.aggregator import AggregateProgram, Aggregator
from pyspark_pipeline.operators.aggregation.streaming import (
    ACCEPTING,
    EMITTING,
    TRANSITIONS,
    PartialState,
    StreamingAggregateOperator,
)
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Aggregate, HashExchange, Node, Range, Settings
from tests.operators.aggregate_kit import (
    aggregate_call,
    chunks_of,
    complete_node,
    leaf,
    merge_node,
    partial_node,
    references,
    rows_of,
    run_stages,
)
from tests.operators.kit import Builder, call, column, literal, run, run_rows

ROWS = 5000
Argument = Callable[[Node], Expr]
Stages = tuple[Aggregate, Aggregate]
_FINISHED = PartialState.FINISHED


def node(groups: int, *, seed: int = 1) -> tuple[Aggregate, Aggregate]:
    rng = np.random.default_rng(seed)
    keys = pa.array(rng.integers(0, groups, ROWS), pa.int64(), mask=rng.random(ROWS) < 0.01)
    values = pa.array(rng.integers(-1000, 1000, ROWS), pa.int32(), mask=rng.random(ROWS) < 0.2)
    names = pa.array([f"n{i % 17}" if i % 5 else None for i in range(ROWS)])
    amounts = pa.array(rng.integers(-1000, 1000, ROWS)).cast(pa.decimal128(19, 0)).cast(pa.decimal128(12, 2))
    table = pa.table({"k": keys, "v": values, "s": names, "d": amounts})
    child = leaf("k:bigint, v:int, s:string, d:decimal(12;2)", chunks_of(table, 300))
    positive = call("GreaterThan", "boolean", column(child, "v"), literal(0, "int"))
    calls = [
        aggregate_call("Sum", column(child, "v")),
        aggregate_call("Average", column(child, "d")),
        aggregate_call("Sum", column(child, "d"), condition=positive),
        aggregate_call("Min", column(child, "s")),
        aggregate_call("Max", column(child, "s")),
        aggregate_call("Count", column(child, "s"), condition=positive),
    ]
    keyed = [column(child, "k")]
    return partial_node(child, keyed, calls), complete_node(child, keyed, calls)


def settings(**options: Any) -> Settings:
    texts = {f"aggregate.{key}": str(value) for key, value in options.items()}
    return Settings(ansi=True, time_zone="UTC", options=Options(texts))


def rows_out(first: Aggregate, made: Settings) -> int:
    return sum(row.rows for row in run_rows(first, builder=Builder(made)))


@pytest.mark.parametrize("groups", [10, 3000, 10**12])
def test_result_does_not_depend_on_abandoned_partial_aggregation(groups: int) -> None:
    first, complete = node(groups)
    expected = rows_of(run(complete))
    for made in (settings(passThroughRatio=101), settings(passThroughRows=1000, passThroughRatio=1), settings()):
        assert rows_of(run_stages(first, settings=made)) == expected


def ordered_node(key: str, function: str = "Max", of: Argument = lambda child: column(child, "v")) -> Stages:
    """Rows ordered by a number of which there are four each; three of them are NULL."""
    child = leaf("n:bigint, v:int", chunks_of(_ordered_table(), 300))
    n = column(child, "n")
    keyed = {"number": [n], "text": [call("Cast", "string", n, evalMode="ANSI")], "both": [n, column(child, "v")]}[key]
    calls = [
        aggregate_call("Sum", column(child, "v")),
        aggregate_call(function, of(child)),
        aggregate_call("Count", n, condition=call("GreaterThan", "boolean", column(child, "v"), literal(5, "int"))),
    ]
    return partial_node(child, keyed, calls), complete_node(child, keyed, calls)


def _ordered_table() -> pa.Table:
    numbers = np.arange(ROWS) // 4
    mask = (numbers == 7) | (numbers == 900) | (numbers == 901)
    return pa.table({"n": pa.array(numbers, pa.int64(), mask=mask), "v": pa.array(numbers % 13, pa.int32())})


@pytest.mark.parametrize("key", ["number", "text", "both"])
def test_ordered_rows_are_grouped_by_runs(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_MANY_GROUPS", 100)
    first, complete = ordered_node(key)
    expected = rows_of(run(complete))
    assert rows_of(run_stages(first, settings=settings(passThroughRows=1000))) == expected
    made = run_rows(first, builder=Builder(settings(passThroughRows=1000)))
    groups = sum(row.rows for row in made)
    assert ROWS // 4 - 3 <= groups <= ROWS // 4 + 2 * ROWS // 300  # a run may be cut between chunks
    never = run_rows(first, builder=Builder(settings(passThroughRows=1000, passThroughRatio=101)))
    assert sum(row.rows for row in never) == len(expected)


@pytest.mark.parametrize(
    ("function", "of"),
    [
        ("Average", lambda child: column(child, "n")),
        ("Sum", lambda child: column(child, "n")),
        ("Sum", lambda child: call("Cast", "decimal(29,0)", column(child, "v"), evalMode="ANSI")),
    ],
    ids=["double", "bigint", "decimal"],
)
def test_sums_that_depend_on_an_order_are_not_merged_by_runs(
    function: str, of: Argument, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "_MANY_GROUPS", 100)
    first, complete = ordered_node("number", function, of)
    made = Builder(settings(passThroughRows=1000))
    assert sum(row.rows for row in run_rows(first, builder=made)) == run(complete).num_rows


def test_rows_in_no_order_are_not_grouped_by_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table merges more rows than runs do."""
    monkeypatch.setattr(streaming, "_MANY_GROUPS", 100)
    monkeypatch.setattr(Aggregator, "to_intermediate", None)
    many, _ = node(500)
    assert rows_out(many, settings(passThroughRows=1000)) == 501


def test_partial_aggregation_without_reduction_outputs_every_row() -> None:
    first, _ = node(10**12)
    assert rows_out(first, settings(passThroughRows=1000)) > 0.98 * ROWS
    many, _ = node(500)
    assert rows_out(many, settings(passThroughRows=1000)) == 501
    halfway = rows_out(many, settings(passThroughRows=600, passThroughRatio=40))
    assert ROWS - 600 <= halfway < ROWS


def test_each_driver_has_its_own_groups() -> None:
    first, complete = node(50)
    made = Builder(dop=3)
    rows = run_rows(first, builder=made, threads=3)
    assert 51 <= sum(row.rows for row in rows) <= 3 * 51
    assert run(complete).num_rows == 51


def test_distinct_partial_aggregation_removes_all_duplicates() -> None:
    """A stage that removes duplicates for a DISTINCT above must output each group once."""
    first, _ = node(10**12)
    twice = pa.concat_tables([pa.table({"k": [1, 2, None, 4] * 500})])
    child = leaf("k:bigint", chunks_of(twice, 100))
    distinct = partial_node(child, [column(child, "k")], [])
    assert rows_out(distinct, settings(passThroughRows=1, passThroughRatio=1)) == 4
    assert first.calls


@pytest.mark.parametrize("limit", [None, 30_000, 100_000])
def test_groups_are_output_before_rows_of_an_aggregation_abandoned_by_memory(
    limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk makes the table flush and the aggregation abandoned; that chunk is the first that is not grouped."""
    monkeypatch.setattr(spill_partitions, "MIN_SPILL_BYTES", 1000)
    numbers = Range(output=fields("n:bigint"), input_id=0)
    n = column(numbers, "n")
    few = call("Remainder", "bigint", n, literal(10, "bigint"), evalMode="ANSI")
    key = call("If", "bigint", call("LessThan", "boolean", n, literal(3000, "bigint")), few, n)
    rows = select(numbers, k=key, n=n, s=call("Cast", "string", n, evalMode="ANSI"))
    calls = [aggregate_call("Sum", column(rows, "n")), aggregate_call("Max", column(rows, "s"))]
    first = partial_node(rows, [column(rows, "k")], calls)
    options = {"batchRows": "400", "aggregate.passThroughRows": "1000", "aggregate.passThroughRatio": "50"}
    exchange = HashExchange(keys=references(first.output)[:1], num_partitions=1)
    last = merge_node(first, "Final", source(first.output))
    fragments = [
        fragment(1, first, exchange, splits={0: (0, 8_000, 1)}, options=options),
        fragment(2, last, inputs={0: 1}),
    ]
    query = LocalQuery(fragments, memory_limit=limit)
    wanted = {k: [sum(range(k, 3000, 10)), max(map(str, range(k, 3000, 10)))] for k in range(10)}
    wanted |= {k: [k, str(k)] for k in range(3000, 8_000)}
    assert {k: rest for k, *rest in zip(*(c.to_pylist() for c in query.table().columns), strict=True)} == wanted
    assert query.memory.held == 0


def test_table_has_every_state_and_only_the_final_one_has_no_moves() -> None:
    assert set(TRANSITIONS) == set(PartialState)
    assert [state for state in PartialState if not TRANSITIONS[state]] == [PartialState.FINISHED]
    assert ACCEPTING | EMITTING | {PartialState.FINISHED} == set(PartialState) and not ACCEPTING & EMITTING
    assert all(PartialState.FINISHED in moves for state, moves in TRANSITIONS.items() if state is not _FINISHED)


def test_forbidden_move_raises_with_the_recent_states() -> None:
    operator = StreamingAggregateOperator(AggregateProgram(node(10)[0], settings()))
    operator.machine.move(PartialState.REDUCING)
    with pytest.raises(EngineBugError, match="from REDUCING to CONVERTED: DECIDING → REDUCING"):
        operator.machine.move(PartialState.CONVERTED)


def test_every_state_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: set[PartialState] = set()
    move = TableMachine.move
    monkeypatch.setattr(TableMachine, "move", lambda self, to: (reached.add(to), move(self, to)))
    for groups, options in ((10, {"passThroughRows": 600}), (10**12, {"passThroughRows": 600})):
        rows_out(node(groups)[0], settings(**options))
    assert reached >= set(PartialState) - {PartialState.DECIDING}
