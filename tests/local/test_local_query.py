"""Whole queries in one process: exchanges, pass-by-reference, start, back-pressure, end and errors."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import EngineBugError, SparkConditionError, TransportError, UnsupportedPlanError
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.local import Conditions, LocalFragment, LocalQuery, run_query
from pyspark_pipeline.local.transport.request import Address, Request
from pyspark_pipeline.local.write import call, column, fields, fragment, literal, select, source
from pyspark_pipeline.operators.filter import FilterOperator
from pyspark_pipeline.operators.shared_source import SharedSourceOperator
from pyspark_pipeline.plan.joins import JoinType
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.plan.nodes import Filter, HashExchange, Limit, RoundRobinExchange, SingleExchange, Sink
from pyspark_pipeline.plan.ranges import RangeExchange, RangeSample, Sample
from pyspark_pipeline.plan.sorts import Sort, SortKey
from pyspark_pipeline.plan.wire import decode_fragment
from tests.local.kit import (
    NUMBERS,
    SMALL,
    N,
    broadcast_join,
    expected_sums,
    keyed,
    no_threads_left,
    numbers,
    pass_on,
    sums_by_key,
)
from tests.planner.test_mechanism_fragment import AGGREGATE, BUFFER, FILTER

THREADS = pytest.mark.parametrize("threads", [1, 2])
BY_N = (SortKey(expr=N),)


def values(table: pa.Table) -> list[Any]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def samples(count: int) -> tuple[Sample, ...]:
    """Return the samples of two instances, as messages."""
    query = LocalQuery([numbers(1, RangeSample(keys=BY_N, rows=200), count, instances=2)], serialize=True)
    return tuple(Sample(rows=row.rows, message=row.data.to_pybytes()) for row in query.rows())


SINKS: list[tuple[Sink, int]] = [
    (HashExchange(keys=(N,), num_partitions=3), 3),
    (HashExchange(keys=(N,), num_partitions=7), 3),
    (HashExchange(keys=(N,), num_partitions=2, drivers=2), 4),
    (SingleExchange(), 1),
    (RoundRobinExchange(num_partitions=3), 3),
    (RangeExchange(keys=BY_N, num_partitions=3, samples=samples(5000)), 3),
]


@THREADS
@pytest.mark.parametrize("serialize", [False, True])
@pytest.mark.parametrize(("sink", "receivers"), SINKS, ids=lambda value: type(value).__name__)
def test_exchange_delivers_every_row_once(sink: Sink, receivers: int, serialize: bool, threads: int) -> None:
    below = numbers(1, sink, 5000, instances=2, dop=2)
    middle = pass_on(2, below, SingleExchange(), instances=receivers, dop=2)
    query = LocalQuery([below, middle, pass_on(3, middle)], threads=threads, serialize=serialize)
    with no_threads_left():
        assert values(query.table()) == [(n,) for n in range(5000)]
    assert query.memory.held == 0
    assert query.group.missed_wakeups == 0


@THREADS
@pytest.mark.parametrize("dop", [1, 3])
def test_three_fragments_sum_by_key(dop: int, threads: int) -> None:
    with no_threads_left():
        assert values(run_query(sums_by_key(20_000, 37, dop=dop), threads=threads)) == expected_sums(20_000, 37)


def test_range_exchange_sorts_partitions() -> None:
    sink = RangeExchange(keys=BY_N, num_partitions=4, samples=samples(4000))
    below = numbers(1, sink, 4000, instances=2)
    sorting = source(NUMBERS.output)
    middle = fragment(
        2, Sort(output=sorting.output, keys=BY_N, child=sorting), instances=4, inputs={0: 1}, options=SMALL
    )
    rows = list(LocalQuery([below, middle]).rows())
    by_instance = [[n for row in rows if row.sender == i for n in row.data.column(0).to_pylist()] for i in range(4)]
    assert [n for numbers_ in by_instance for n in numbers_] == list(range(4000))
    assert min(map(len, by_instance)) > 700


@THREADS
def test_broadcast_reaches_every_instance(threads: int) -> None:
    rows = values(run_query(broadcast_join(3000, 20, instances=3), threads=threads))
    assert rows == sorted((n % 20, n, n % 20) for n in range(3000) if n % 20 < 10)


def test_broadcast_chunk_is_packed_once() -> None:
    sent: list[Any] = []
    spying = Conditions(loses=lambda address, request: sent.extend((address, p) for p in request.payloads) or False)
    run_query(broadcast_join(3000, 20, instances=3), serialize=True, conditions=spying)
    mine = [payload for address, payload in sent if address.input == 1]
    assert len(mine) == 3 and len({payload.address for payload in mine}) == 1


@pytest.mark.parametrize("serialize", [False, True])
def test_chunk_is_passed_by_reference_unless_serialized(serialize: bool) -> None:
    sent: list[Any] = []

    def spy(address: Address, request: Request) -> bool:
        sent.extend(request.payloads)
        return False

    below = numbers(1, SingleExchange(), 100)
    (chunk,) = LocalQuery([below, pass_on(2, below)], serialize=serialize, conditions=Conditions(loses=spy)).chunks()
    if serialize:
        assert [type(payload) for payload in sent] == [pa.Buffer]
        return
    (payload,) = sent
    assert payload.column(0).buffers()[1].address == chunk.column(0).buffers()[1].address


@THREADS
def test_fragments_run_concurrently(threads: int) -> None:
    """The first rows arrive while the scan at the other end has most of its rows left."""
    below = numbers(1, RoundRobinExchange(num_partitions=2), 50_000_000, instances=2)
    middle = pass_on(2, below, SingleExchange(), instances=2)
    query = LocalQuery([below, middle, pass_on(3, middle)], threads=threads, queue_length=2, window=2)
    chunks = query.chunks()
    with no_threads_left():
        assert next(iter(chunks)).num_rows
        scanned = [query.metrics()[f"instance {i} of fragment 1"] for i in range(2)]
        chunks.close()  # type: ignore[attr-defined]
    assert all(metrics["pipelines"][0]["operators"][0].get("rows_out", 0) < 200_000 for metrics in scanned)
    assert query.memory.held == 0


@THREADS
@pytest.mark.parametrize(("senders", "receivers"), [(4, 1), (1, 4), (3, 4)])
def test_query_completes_with_queues_of_one_slot(senders: int, receivers: int, threads: int) -> None:
    below = numbers(1, RoundRobinExchange(num_partitions=receivers), 20_000, instances=senders, dop=2)
    middle = pass_on(2, below, SingleExchange(), instances=receivers, dop=2)
    options = {**SMALL, "output.queueChunks": "1"}
    top = pass_on(3, middle, options=options)
    query = LocalQuery([below, middle, top], threads=threads, queue_length=1, window=1)
    assert values(query.table()) == [(n,) for n in range(20_000)]
    exchanges = [metrics["exchange"] for metrics in query.metrics().values() if "exchange" in metrics]
    assert max(exchange["most_in_flight"] for exchange in exchanges) == 1


@THREADS
def test_stalled_reader_stops_every_fragment(threads: int) -> None:
    below = numbers(1, SingleExchange(), 50_000_000, instances=2)
    query = LocalQuery([below, pass_on(2, below)], threads=threads, queue_length=2, window=2)
    chunks = query.chunks()
    seen = 0
    for _ in range(20):
        seen += next(iter(chunks)).num_rows
    metrics = query.metrics()
    pulled = sum(metrics[f"instance {i} of fragment 1"]["pipelines"][0]["operators"][0]["rows_out"] for i in range(2))
    chunks.close()  # type: ignore[attr-defined]
    assert seen < pulled < seen + 60_000 and query.memory.peak < 1 << 20
    assert any("consumer" in driver.metrics.blocks for driver in query.group.drivers)


@THREADS
@pytest.mark.parametrize("limit", [0, 1, 250])
def test_limit_ends_fragments_below(limit: int, threads: int) -> None:
    below = numbers(1, RoundRobinExchange(num_partitions=3), 100_000_000, instances=2, dop=2)
    middle = pass_on(2, below, SingleExchange(), instances=3, dop=2)
    rows = source(NUMBERS.output)
    top = fragment(3, Limit(output=rows.output, limit=limit, child=rows), inputs={0: 2}, options=SMALL)
    query = LocalQuery([below, middle, top], threads=threads, queue_length=2, window=2)
    with no_threads_left():
        assert query.table().num_rows == limit
    metrics = query.metrics()
    pulled = sum(metrics[f"instance {i} of fragment 1"]["pipelines"][0]["operators"][0]["rows_out"] for i in range(2))
    assert pulled < 60_000  # about 47 000 fit into all channels, buffers, windows and queues
    assert query.memory.peak < 1 << 20
    assert {driver.state.value for driver in query.group.drivers} == {"finished"}


@THREADS
def test_sums_are_correct_under_jitter_and_steps_depend_on_seed(threads: int) -> None:
    def steps(seed: int) -> tuple[int, int]:
        slow = Conditions(latency=3, jitter=50, seed=seed)
        query = LocalQuery(sums_by_key(20_000, 37, dop=2), threads=threads, conditions=slow)
        assert values(query.table()) == expected_sums(20_000, 37)
        return query.transport.now, query.transport.arrived

    first = steps(5)
    assert first[0] > 100
    if threads == 1:
        assert steps(5) == first != steps(6)


def test_ordered_exchange_keeps_sort_order() -> None:
    down = (SortKey(expr=N, descending=True),)
    below = numbers(1, SingleExchange(), 30_000, Sort(output=NUMBERS.output, keys=down, child=NUMBERS), ordered=True)
    slow = Conditions(jitter=40, seed=3)
    assert run_query([below, pass_on(2, below)], conditions=slow).column(0).to_pylist() == list(range(29_999, -1, -1))
    unordered = LocalFragment(plan=below.plan, splits=below.splits)
    mixed = run_query([unordered, pass_on(2, unordered)], conditions=slow).column(0).to_pylist()
    assert mixed != sorted(mixed, reverse=True) and sorted(mixed) == list(range(30_000))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("dop", [1, 2])
def test_sorted_runs_of_instances_are_merged_under_jitter(dop: int, ordered: bool) -> None:
    down = (SortKey(expr=N, descending=True),)
    run = Sort(output=NUMBERS.output, keys=down, child=NUMBERS)
    below = numbers(1, SingleExchange(), 30_000, run, instances=3, dop=dop, ordered=ordered)
    runs = replace(source(NUMBERS.output), merge_senders=False)
    merged = Sort(output=runs.output, keys=down, child=runs, input_presorted=True)
    top = fragment(2, merged, inputs={0: 1}, dop=dop, options=SMALL)
    found = run_query([below, top], conditions=Conditions(jitter=40, seed=3)).column(0).to_pylist()
    assert found == list(range(29_999, -1, -1))


@THREADS
def test_lost_request_fails_only_its_query(threads: int) -> None:
    lossy = Conditions(loses=lambda address, request: address.fragment == 3 and request.sequence == 0, timeout=20)
    query = LocalQuery(sums_by_key(20_000, 37), threads=threads, conditions=lossy)
    with no_threads_left(), pytest.raises(
        TransportError, match=r"no answer from input 0 of instance 0 of fragment 3 within 20 steps"
    ):
        query.table()
    assert query.memory.held == 0
    assert values(run_query(sums_by_key(20_000, 37), threads=threads)) == expected_sums(20_000, 37)


@THREADS
def test_error_in_one_instance_stops_all_and_names_location(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []
    close = SharedSourceOperator.close
    monkeypatch.setattr(SharedSourceOperator, "close", lambda self: closed.append(1) or close(self))  # type: ignore[func-returns-value]

    def broken(self: FilterOperator, chunk: Chunk) -> Chunk:
        return {}["no such key"]  # type: ignore[no-any-return]

    monkeypatch.setattr(FilterOperator, "transform", broken)
    below = numbers(1, SingleExchange(), 100_000_000, instances=3, dop=2)
    rows = source(NUMBERS.output)
    failing = Filter(output=rows.output, condition=call("GreaterThan", "boolean", N, literal(5, "bigint")), child=rows)
    query = LocalQuery([below, fragment(2, failing, inputs={0: 1}, options=SMALL)], threads=threads)
    with no_threads_left(), pytest.raises(EngineBugError) as caught:
        query.table()
    message = str(caught.value)
    assert "KeyError: 'no such key'\nin push_chunk of operator 1 (Filter) of pipeline 0, driver 0, " in message
    assert "instance 0 of fragment 2" in message and 'in broken\n    return {}["no such key"]' in message
    assert len(closed) == 6 and query.memory.held == 0


@THREADS
def test_deadlocked_query_raises_with_dump_of_every_instance(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FilterOperator, "need_input", lambda self: False)
    rows = source(NUMBERS.output)
    stuck = Filter(output=rows.output, condition=call("GreaterThan", "boolean", N, literal(5, "bigint")), child=rows)
    below = numbers(1, SingleExchange(), 10_000_000, instances=2)
    query = LocalQuery([below, fragment(2, stuck, inputs={0: 1}, options=SMALL)], threads=threads, window=4)
    with no_threads_left(), pytest.raises(EngineBugError, match="nothing can wake one") as caught:
        query.table()
    text = str(caught.value)
    assert "== instance 1 of fragment 1" in text
    assert "waits for consumer, because of operator 1 (SingleExchange) of pipeline 0, driver 0, instance 1 of" in text
    assert "waits for operator, because of operator 1 (Filter) of pipeline 0, driver 0, instance 0 of" in text
    assert "input 0 of instance 0 of fragment 2: input 0:" in text and "answers withheld" in text


def test_spark_condition_is_raised_with_location_note() -> None:
    bad = select(NUMBERS, q=call("IntegralDivide", "bigint", N, N, evalMode="ANSI"))
    below = numbers(1, SingleExchange(), 1000, bad, instances=2)
    with pytest.raises(SparkConditionError) as caught:
        run_query([below, pass_on(2, below)])
    assert caught.value.condition == "DIVIDE_BY_ZERO"
    assert caught.value.__notes__ == [
        "in pull_chunk of operator 1 (Project) of pipeline 0, driver 0, instance 0 of fragment 1"
    ]


@THREADS
def test_closing_early_leaves_no_threads_and_no_memory(threads: int) -> None:
    query = LocalQuery(sums_by_key(50_000_000, 1_000_003, dop=2), threads=threads)
    endless = LocalQuery([numbers(1, SingleExchange(), 10**9), pass_on(2, numbers(1, SingleExchange(), 1))])
    with no_threads_left():
        rows = endless.rows()
        next(rows)
        rows.close()
        query.rows().close()
    assert query.memory.held == endless.memory.held == 0


def test_queued_bytes_count_for_instance_and_bytes_in_flight_for_query() -> None:
    seen: list[tuple[int, int]] = []

    def spy(address: Address, request: Request) -> bool:
        (moving,) = (held for name, held in holders() if name.startswith("from")) or (0,)
        seen.append((request.nbytes, moving))
        return False

    def holders() -> list[tuple[str, int]]:
        return query.memory.holders()

    below = numbers(1, SingleExchange(), 10_000)
    query = LocalQuery([below, pass_on(2, below)], conditions=Conditions(loses=spy), window=3)
    query.table()
    assert sum(nbytes for nbytes, _ in seen) == 80_000
    assert all(nbytes <= moving <= 80_000 for nbytes, moving in seen if nbytes)


def test_fragments_are_decoded_from_task_json() -> None:
    settings = {"ansi": True, "timeZone": "UTC", "options": {}}
    final = {
        "op": "HashAggregateExec", "output": [{"id": 9, "name": "total", "type": "bigint", "nullable": True}],
        "fields": {
            "groupingExpressions": [], "requiredChildDistributionExpressions": [],
            "aggregateExpressions": [{
                "mode": "Final", "filter": None,
                "function": {"class": "Sum", "type": "bigint", "buffer": ["bigint"],
                             "args": [{"ref": 1, "type": "bigint", "nullable": True}], "fields": {"evalMode": "ANSI"}},
            }],
            "aggregateAttributes": [{"ref": 7}],
            "resultExpressions": [{"ref": 7, "type": "bigint", "nullable": True}],
        },
        "children": [{"op": "Input", "output": [BUFFER], "input": 0}],
    }  # fmt: skip

    def decoded(id: int, root: dict[str, Any], sink: dict[str, Any]) -> Any:
        content = {"version": WIRE_VERSION, "id": id, "root": root, "sink": sink}
        return decode_fragment(json.dumps({**content, "settings": settings}))

    below = LocalFragment(
        plan=decoded(1, AGGREGATE, {"kind": "single"}), instances=3, splits={0: (0, 1000, 1)}
    )
    top = LocalFragment(plan=decoded(2, final, {"kind": "result"}), inputs={0: 1})
    assert run_query([below, top]).to_pydict() == {"total": [sum(range(2, 1000))]}
    spread = LocalFragment(
        plan=decoded(1, FILTER, {"kind": "broadcast", "numPartitions": 2}), splits={0: (0, 10, 1)}
    )
    both = LocalFragment(plan=decoded(2, {"op": "Input", "output": FILTER["output"], "input": 0}, {"kind": "result"}),
                         instances=2, inputs={0: 1})
    assert sorted(run_query([spread, both]).column(0).to_pylist()) == sorted([*range(2, 10)] * 2)


def test_invalid_fragments_are_rejected() -> None:
    below = numbers(1, SingleExchange(), 10)
    reader = source(NUMBERS.output)
    other = source(fields("n:bigint, m:bigint"))

    def refused(*fragments: LocalFragment) -> str:
        with pytest.raises(UnsupportedPlanError) as caught:
            LocalQuery(fragments)
        return str(caught.value)

    assert "same id" in refused(below, below)
    assert "these do: [1, 2]" in refused(below, numbers(2, SingleExchange(), 10))
    assert "fragment 2 reads inputs [0], but is told of []" in refused(below, fragment(2, reader))
    assert "reads from 7, which is not there" in refused(below, fragment(2, reader, inputs={0: 7}))
    assert "has other columns than fragment 1" in refused(below, fragment(2, other, inputs={0: 1}))
    circle = [fragment(i, reader, SingleExchange(), inputs={0: 5 - i}) for i in (2, 3)]
    assert "fragments [2, 3] send in a circle" in refused(below, *circle)
    twice = [fragment(i, reader, inputs={0: 1}) for i in (2, 3)]
    assert "two inputs read from fragment 1" in refused(below, *twice)
    joins = broadcast_join(100, 10, instances=2, join_type=JoinType.FULL_OUTER)
    assert "rows that have no match" in refused(*joins)


def test_dump_describes_every_instance_and_the_transport() -> None:
    query = LocalQuery(sums_by_key(1000, 7, instances=2, partitions=2))
    dump = query.dump()
    for part in ("== instance 1 of fragment 1", "== instance 0 of fragment 3", "== between them", "streams open"):
        assert part in dump
    query.table()
    assert query.metrics()["instance 0 of fragment 1"]["exchange"]["requests"] >= 2
    drawn = query.profile().splitlines()
    assert drawn[0] == "fragment 1, instances: 2" and "fragment 3, instances: 1" in drawn
    assert any(line.startswith("    Range: 1,000 rows out") for line in drawn)
    with pytest.raises(EngineBugError, match="runs once"):
        query.table()


def test_column_references_are_resolved_by_name() -> None:
    rows = keyed(3)
    assert [field.name for field in rows.output] == ["k", "n"]
    assert [str(field.type) for field in fields("a:decimal(10,2), b:string")] == ["decimal(10,2)", "string"]
    with pytest.raises(ValueError, match="'m' is not in list"):
        column(rows, "m")
