"""Mechanisms of aggregation: the default row, abandoned partial aggregation, parallel tables, merged buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.exchange import SinkFactory, StreamTransport
from pyspark_pipeline.exec import FragmentInstance, OperatorFactory, OutputQueue, execute
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Aggregate, ExchangeSource, HashExchange, Node, Settings, SingleExchange
from tests.exec.kit import Made, Sink, Source
from tests.operators.aggregate_kit import (
    aggregate_call,
    chunks_of,
    complete_node,
    leaf,
    merge_node,
    partial_node,
    rows_of,
)
from tests.operators.kit import DEFAULTS, Builder, Chunks, column, run, run_rows, to_table

SPEC = "k:bigint, v:bigint"


def child(rows: int, groups: int, chunk_rows: int = 100) -> Chunks:
    keys = np.arange(rows) % groups if groups else np.arange(rows)
    whole = pa.record_batch([pa.array(keys, pa.int64()), pa.array(np.arange(rows))], names=["c0", "c1"])
    return leaf(SPEC, [whole.slice(start, chunk_rows) for start in range(0, rows, chunk_rows)])


def sums(node: Chunks) -> list[Any]:
    return [aggregate_call(name, column(node, "v")) for name in ("Sum", "Count", "Min")]


def settings(**options: int) -> Settings:
    texts = {f"aggregate.{key}": str(value) for key, value in options.items()}
    return Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": "100", **texts}))


def expected(rows: int, groups: int) -> list[tuple[Any, ...]]:
    by_key = [range(k, rows, groups) for k in range(groups)]
    return sorted(((k, sum(r), len(r), min(r)) for k, r in enumerate(by_key) if len(r)), key=repr)


def operators(first: Aggregate, given: Settings) -> tuple[list[Any], dict[str, int]]:
    """Run a partial aggregation into a hash exchange; return its messages and its own counters."""
    builder, queue = Builder(given), OutputQueue()
    factories = builder.decompose(first)
    types = tuple(field.type for field in first.output)
    keys = (column(first, first.output[0].name),)
    sink = SinkFactory(HashExchange(keys=keys, num_partitions=3), types, given, StreamTransport(queue))
    builder.add_pipeline([*factories, sink])
    instance = FragmentInstance(builder.pipelines, queue)
    rows = list(execute(instance))
    return rows, instance.metrics()["pipelines"][0]["operators"][1]["counters"]


def final(first: Aggregate, rows: list[Any], dop: int = 1) -> pa.Table:
    node = merge_node(first, "Final", ExchangeSource(output=first.output, input_id=0))
    return to_table(node, run_rows(node, inputs=[(0, row) for row in rows], dop=dop, threads=dop))


class RoundRobinBuilder(Builder):
    """Gives every driver a share of the leaf's chunks, so that all of them get equal keys."""

    def decompose(self, node: Node) -> list[OperatorFactory]:
        if not isinstance(node, Chunks):
            return super().decompose(node)
        return [Made("Chunks", lambda driver: Source(node.chunks[driver :: self.dop]))]


@pytest.mark.parametrize("tasks", [0, 1, 5])
@pytest.mark.parametrize("dop", [1, 4])
def test_aggregation_of_empty_input_without_keys_returns_one_row(tasks: int, dop: int) -> None:
    """T10: for any number of tasks and drivers, and without any task."""
    first = partial_node(child(0, 1), [], sums(child(0, 1)))
    rows = [row for _ in range(tasks) for row in run_rows(first, sink=SingleExchange(), dop=dop, threads=dop)]
    assert sum(row.rows for row in rows) == tasks * dop
    assert final(first, rows, dop).to_pylist() == [{"r0": None, "r1": 0, "r2": None}]


@pytest.mark.parametrize("dop", [1, 4])
def test_aggregation_of_empty_input_with_keys_returns_no_row(dop: int) -> None:
    node = child(0, 1)
    first = partial_node(node, [column(node, "k")], sums(node))
    assert run_rows(first, dop=dop) == []
    assert final(first, [], dop).num_rows == 0
    assert run(complete_node(node, [column(node, "k")], sums(node)), dop=dop).num_rows == 0


@pytest.mark.parametrize(
    ("groups", "ratio", "passed", "flushes"),
    [(10, 80, 0, 1), (1000, 80, 800, 1), (1000, 101, 0, 1), (150, 75, 800, 1), (150, 76, 0, 1)],
)
def test_partial_aggregation_is_abandoned_if_it_does_not_reduce(
    groups: int, ratio: int, passed: int, flushes: int
) -> None:
    """After 200 rows: from ``ratio`` groups a hundred rows on, further rows are not grouped; the result is the same."""
    node = child(1000, groups)
    first = partial_node(node, [column(node, "k")], sums(node))
    rows, counters = operators(first, settings(passThroughRows=200, passThroughRatio=ratio))
    assert counters.get("rows_passed_through", 0) == passed
    assert counters["partial_flushes"] == flushes
    given = groups if not passed else groups if groups == 1000 else 150 + passed
    assert sum(row.rows for row in rows) == given
    assert rows_of(final(first, rows)) == expected(1000, groups)


@pytest.mark.parametrize("ratio", [1, 101], ids=["passed through", "grouped"])
def test_null_keys_are_counted_with_and_without_grouping(ratio: int) -> None:
    chunk = pa.record_batch([pa.array([None, 1, None, 2] * 25, pa.int64()), pa.array(range(100))], names=["c0", "c1"])
    node = leaf(SPEC, [chunk] * 5)
    first = partial_node(node, [column(node, "k")], sums(node))
    _, counters = operators(first, settings(passThroughRows=100, passThroughRatio=ratio))
    assert (counters["null_keys"], counters.get("rows_passed_through", 0)) == (250, 400 if ratio == 1 else 0)
    complete = complete_node(node, [column(node, "k"), column(node, "k")], sums(node))
    blocking = Builder(settings())
    blocking.add_pipeline([*blocking.decompose(complete), Made("Sink", lambda _: Sink(queue))])
    queue = OutputQueue()
    instance = FragmentInstance(blocking.pipelines, queue)
    assert sum(made.num_rows for made in execute(instance)) == 3
    assert instance.metrics()["pipelines"][0]["operators"][1]["counters"] == {"null_keys": 500}


def test_table_over_its_memory_is_flushed_and_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark_pipeline.operators.aggregation.streaming._MAX_BYTES", 20_000)
    node = child(5000, 2500)
    first = partial_node(node, [column(node, "k")], sums(node))
    rows, counters = operators(first, settings(passThroughRatio=101))
    assert counters["partial_flushes"] > 2
    assert rows_of(final(first, rows)) == expected(5000, 2500)


def test_partial_aggregation_is_abandoned_after_a_flush_that_reduced_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows may reduce well and the later ones not: each full table is checked."""
    monkeypatch.setattr("pyspark_pipeline.operators.aggregation.streaming._MAX_BYTES", 200_000)
    keys = np.concatenate([np.arange(2000) % 3, np.arange(60_000)])
    table = pa.table({"k": pa.array(keys), "v": pa.array(np.arange(keys.size))})
    node = leaf("k:bigint, v:bigint", chunks_of(table, 1000))
    first = partial_node(node, [column(node, "k")], sums(node))
    rows, counters = operators(first, settings(passThroughRows=1000))
    assert 0 < counters["rows_passed_through"] < 60_000
    never, _ = operators(first, settings(passThroughRows=1000, passThroughRatio=101))
    assert rows_of(final(first, rows)) == rows_of(final(first, never))


def test_two_stages_without_an_exchange_run_as_one() -> None:
    node = child(5000, 77)
    first = partial_node(node, [column(node, "k")], sums(node))
    both = merge_node(first, "Final", first)
    builder = Builder(DEFAULTS)
    assert rows_of(run(both, builder=builder)) == expected(5000, 77)
    names = [factory.name for pipeline in builder.pipelines for factory in pipeline.factories]
    assert "StreamingAggregate" not in names and names.count("AggregateSink") == 1
    parallel = Builder(DEFAULTS, dop=3)
    assert rows_of(run(both, builder=parallel, threads=3)) == expected(5000, 77)
    assert "StreamingAggregate" in [factory.name for pipeline in parallel.pipelines for factory in pipeline.factories]


@pytest.mark.parametrize("threads", [1, 4])
def test_parallel_tables_return_the_same_groups_as_one(threads: int) -> None:
    node = child(3000, 77)
    complete = complete_node(node, [column(node, "k")], sums(node))
    assert rows_of(run(complete, builder=RoundRobinBuilder(dop=4), threads=threads)) == expected(3000, 77)
    whole = complete_node(node, [], sums(node))
    assert rows_of(run(whole, builder=RoundRobinBuilder(dop=4), threads=threads)) == [(3000 * 2999 // 2, 3000, 0)]


def test_merge_stage_outputs_buffers_and_final_stage_values() -> None:
    node = child(1000, 5)
    average = aggregate_call("Average", column(node, "v"))
    first = partial_node(node, [column(node, "k")], [average])
    merged = merge_node(first, "PartialMerge", ExchangeSource(output=first.output, input_id=0))
    rows = run_rows(merged, inputs=[(0, row) for row in run_rows(first, builder=Builder(DEFAULTS))])
    buffers = to_table(merged, rows)
    assert buffers.num_columns == 3 and set(buffers.column(2).to_pylist()) == {200}
    assert rows_of(final(first, rows)) == [(k, 497.5 + k) for k in range(5)]
