"""The places of local exchanges and the parallelism of each pipeline."""

from __future__ import annotations

import dataclasses

import pytest

from pyspark_pipeline.exec import Pipeline
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Aggregate, ExchangeSource, Limit, Node, Settings
from tests.operators.aggregate_kit import aggregate_call
from tests.operators.kit import Builder, column, fields

SOURCE = ExchangeSource(output=fields("k:bigint, x:bigint"), input_id=0)
MERGING = ExchangeSource(output=fields("k:bigint, s:bigint"), input_id=0)


def decomposed(node: Node, dop: int, **options: str) -> list[Pipeline]:
    builder = Builder(Settings(ansi=True, time_zone="UTC", options=Options(options)), dop=dop)
    builder.add_pipeline(builder.decompose(node))
    return builder.pipelines


def shapes(node: Node, dop: int = 3, **options: str) -> list[tuple[int, list[str]]]:
    return [(p.dop, [factory.name for factory in p.factories]) for p in decomposed(node, dop, **options)]


def aggregate(*modes: str, keys: int = 1, results: bool = False) -> Aggregate:
    child = MERGING if any(mode in ("PartialMerge", "Final") for mode in modes) else SOURCE
    x = column(SOURCE, "x")
    args = () if child is MERGING else (x,)
    calls = tuple(dataclasses.replace(aggregate_call("Sum", x), mode=mode, args=args) for mode in modes)
    grouping = (column(child, "k"),) * keys
    output = fields("k:bigint, x:bigint") if keys else fields("x:bigint")
    bound = tuple(column(dataclasses.replace(SOURCE, output=output), field.name) for field in output)
    return Aggregate(output=output, grouping=grouping, calls=calls, results=bound if results else None, child=child)


EXCHANGED = (3, ["ExchangeSource", "LocalExchangeSink"])


def test_single_thread_has_no_local_exchange() -> None:
    for node in (aggregate("Final", results=True), aggregate("Final", keys=0, results=True)):
        assert shapes(node, 1) == [(1, ["ExchangeSource", "AggregateSink"]), (1, ["AggregateSource"])]


def test_final_aggregation_with_keys_follows_a_local_shuffle() -> None:
    blocking = (3, ["LocalExchangeSource", "AggregateSink"])
    for node in (aggregate("Final", results=True), aggregate("Complete", results=True), aggregate(results=True)):
        assert shapes(node) == [EXCHANGED, blocking, (3, ["AggregateSource"])]


def test_final_aggregation_without_keys_follows_a_gather() -> None:
    assert shapes(aggregate("Final", keys=0, results=True)) == [
        EXCHANGED,
        (1, ["LocalExchangeSource", "AggregateSink"]),
        (1, ["AggregateSource"]),
    ]


def test_merge_only_stage_follows_a_local_shuffle() -> None:
    assert shapes(aggregate("PartialMerge"))[0] == EXCHANGED


@pytest.mark.parametrize("node", [aggregate("Partial", keys=0), aggregate("PartialMerge", keys=0)])
def test_partial_aggregation_without_keys_stays_parallel(node: Node) -> None:
    assert shapes(node) == [(3, ["ExchangeSource", "AggregateSink"]), (3, ["AggregateSource"])]


def test_partial_aggregation_with_keys_streams_with_adaptive_parallelism() -> None:
    held, streaming = (3, ["ExchangeSource", "CollectSink"]), (3, ["CollectSource", "StreamingAggregate"])
    assert shapes(aggregate("Partial")) == [held, streaming]
    assert shapes(aggregate("Partial"), 1) == [(1, ["ExchangeSource", "StreamingAggregate"])]
    assert shapes(aggregate("Partial"), **{"parallelism.rowsPerDriver": "0"}) == [
        (3, ["ExchangeSource", "StreamingAggregate"])
    ]


def test_parallelism_is_one_after_a_gather_and_full_after_a_shuffle() -> None:
    single = aggregate("Final", keys=0, results=True)
    limited = Limit(output=single.output, limit=1, child=single)
    assert shapes(limited)[-1] == (1, ["AggregateSource", "Limit"])
    again = Aggregate(
        output=single.output, grouping=(column(single, "x"),), calls=(), results=(column(single, "x"),), child=limited
    )
    assert [dop for dop, _ in shapes(again)] == [3, 1, 1, 3, 3]


def test_pipelines_are_numbered_from_zero() -> None:
    assert [pipeline.id for pipeline in decomposed(aggregate("Final", results=True), 2)] == [0, 1, 2]
