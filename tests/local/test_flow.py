"""Flow between fragments: a LIMIT reads little, skew is bounded and counted, statistics reach the root."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from pyspark_pipeline.errors import TransportError
from pyspark_pipeline.exchange.partitioning_sink import PartitioningSinkOperator
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.local import Conditions, LocalFragment, LocalQuery
from pyspark_pipeline.local.aggregates import aggregate_call, complete_node
from pyspark_pipeline.local.transport.request import Address, Request
from pyspark_pipeline.local.transport.sink_buffer import SinkBuffer
from pyspark_pipeline.local.write import column, fragment, source
from pyspark_pipeline.operators.aggregation.blocking import AggregateSinkOperator
from pyspark_pipeline.plan.broadcasts import BroadcastExchange
from pyspark_pipeline.plan.nodes import HashExchange, Limit, SingleExchange
from tests.local.kit import NUMBERS, N, expected_sums, keyed, numbers, pass_on, sums_by_key

THREADS = pytest.mark.parametrize("threads", [1, 2])


def limited(id: int, below: LocalFragment, limit: int = 10) -> LocalFragment:
    rows = source(NUMBERS.output)
    return fragment(id, Limit(output=rows.output, limit=limit, child=rows), inputs={0: below.id})


def test_limit_over_fragment_reads_few_chunks_with_default_sizes() -> None:
    options = {"timeSliceMs": "1"}
    below = fragment(1, NUMBERS, SingleExchange(), instances=2, splits={0: (0, 10**9, 1)}, options=options)
    query = LocalQuery([below, limited(2, below)])
    assert query.table().num_rows == 10
    scanned = sum(driver.slots[0].metrics.rows_out for driver in query.group.drivers[:2])
    assert scanned < 100 * 65536 and query.memory.peak < 80 << 20


def test_sink_buffer_is_full_by_bytes() -> None:
    options = {"exchange.bufferBytes": str(4 << 20)}
    below = fragment(1, NUMBERS, SingleExchange(), splits={0: (0, 10**9, 1)}, options=options)
    query = LocalQuery([below, pass_on(2, below, options={})])
    chunks = query.chunks()
    for _ in range(50):
        next(iter(chunks))
    assert query.buffers[1, 0].full_times and query.memory.peak < 32 << 20
    chunks.close()  # type: ignore[attr-defined]


@THREADS
@pytest.mark.parametrize("modulus", [1, 1000])
def test_messages_for_one_slow_driver_are_bounded_and_counted(
    threads: int, modulus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    push = AggregateSinkOperator.push_chunk

    def slow(self: AggregateSinkOperator, chunk: Chunk) -> None:
        time.sleep(0.002)
        most.append(len(receiver._queue))
        counted.append(held.held)
        push(self, chunk)

    monkeypatch.setattr(AggregateSinkOperator, "push_chunk", slow)
    options = {"batchRows": "1024", "exchange.chunkBytes": "16384", "exchange.bufferBytes": "300000"}
    rows = keyed(modulus)
    by_key = HashExchange(keys=(column(rows, "k"),), num_partitions=1, drivers=2)
    below = numbers(1, by_key, 150_000, rows, instances=2, options=options)
    partitioned = replace(source(rows.output), partitioning=(column(rows, "k"),), drivers=2)
    sums = complete_node(partitioned, [column(partitioned, "k")], [aggregate_call("Sum", column(partitioned, "n"))])
    query = LocalQuery([below, fragment(2, sums, inputs={0: 1}, dop=2, options=options)], threads=threads, window=4)
    (receiver,) = query.transport._receivers.values()
    held = query._instances[2][0].memory
    most: list[int] = []
    counted: list[int] = []
    found = sorted(zip(*(values.to_pylist() for values in query.table().columns), strict=True))
    assert found == expected_sums(150_000, modulus)
    assert max(most) < 48 and max(counted) > 16384
    assert query.memory.held == 0 and query.group.missed_wakeups == 0


@THREADS
@pytest.mark.parametrize("limit", [7, 8])
def test_query_completes_with_tiny_memory_limit(threads: int, limit: int) -> None:
    query = LocalQuery(sums_by_key(1000, 7, dop=2), memory_limit=limit, threads=threads)
    assert query.table().num_rows == 7


@THREADS
def test_statistics_are_complete_at_root(threads: int) -> None:
    reports: list[Request] = []
    spy = Conditions(loses=lambda address, request: bool(request.statistics and reports.append(request)))
    query = LocalQuery(sums_by_key(20_000, 37, dop=2), threads=threads, conditions=spy)
    query.table()
    assert query.statistics().scan_rows == 20_000 and query.statistics().scan_bytes == 160_000
    assert query.statistics().active_ns > 0
    sent = sum(buffer.statistics()["requests"] for buffer in query.buffers.values())
    assert len(query.buffers) <= len(reports) < sent
    assert sum(request.statistics.scan_rows for request in reports) == 2 * 20_000  # by two exchanges


def test_requests_1_2_4_8_and_last_carry_statistics() -> None:
    reports: list[int] = []
    spy = Conditions(loses=lambda address, request: bool(request.statistics and reports.append(request.sequence)))
    below = numbers(1, SingleExchange(), 100_000)
    LocalQuery([below, pass_on(2, below)], conditions=spy, window=1).table()
    assert all(sequence + 1 in (1, 2, 4, 8, 16, 32, 64, 128, 256) for sequence in reports[:-1])
    assert 3 < len(reports) < 10


def test_abandoned_sink_partitions_no_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = PartitioningSinkOperator._partition
    for_nobody: list[int] = []

    def spied(self: PartitioningSinkOperator) -> None:
        if self._transport.is_abandoned() and self._staged:
            for_nobody.append(len(self._staged))
        partition(self)

    monkeypatch.setattr(PartitioningSinkOperator, "_partition", spied)
    below = fragment(1, NUMBERS, HashExchange(keys=(N,), num_partitions=2), instances=2, splits={0: (0, 10**8, 1)})
    middle = fragment(2, source(NUMBERS.output), SingleExchange(), instances=2, inputs={0: 1})
    query = LocalQuery([below, middle, limited(3, middle)])
    assert query.table().num_rows == 10
    assert for_nobody == [] and query.memory.held == 0


def test_sink_that_raises_on_cancel_leaves_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: SinkBuffer) -> None:
        raise ValueError("cannot be cancelled")

    monkeypatch.setattr(SinkBuffer, "cancel_sink", broken)
    below = numbers(1, SingleExchange(), 10**9)
    query = LocalQuery([below, pass_on(2, below)], window=1)
    rows = query.rows()
    next(rows)
    rows.close()
    assert query.memory.held == 0


def test_broadcast_bytes_count_once_for_all_receivers() -> None:
    below = numbers(1, BroadcastExchange(num_partitions=20), 20_000)
    middle = pass_on(2, below, SingleExchange(), instances=20)
    query = LocalQuery([below, middle, pass_on(3, middle)], window=1)
    chunks = query.chunks()
    next(iter(chunks))
    sending = query.buffers[1, 0]
    assert 0 < sending._queued_bytes.nbytes + sending._in_flight_bytes.nbytes <= 2 * 160_000
    chunks.close()  # type: ignore[attr-defined]
    assert query.memory.held == 0


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(latency=5000, timeout=10),
        Conditions(latency=1, loses_answer=lambda address, request: request.sequence == 2, timeout=10),
        Conditions(answer_loss=0.5, timeout=10),
    ],
)
@THREADS
def test_answer_later_than_timeout_fails_query(
    conditions: Conditions, threads: int
) -> None:
    below = numbers(1, SingleExchange(), 10_000)
    query = LocalQuery([below, pass_on(2, below)], conditions=conditions, threads=threads, window=1)
    with pytest.raises(TransportError, match="no answer from input 0 of instance 0 of fragment 2 within 10 steps"):
        query.table()
    assert query.memory.held == 0


def test_sufficient_timeout_does_not_fail_query() -> None:
    below = numbers(1, SingleExchange(), 10_000)
    seen: list[Address] = []
    spy = Conditions(latency=4, timeout=8, loses_answer=lambda address, request: bool(seen.append(address)))
    assert LocalQuery([below, pass_on(2, below)], conditions=spy).table().num_rows == 10_000 and seen


def test_thousands_of_drivers_of_one_instance_are_woken_singly() -> None:
    options = {"batchRows": "100"}
    below = numbers(1, SingleExchange(), 300_000, dop=3000, options=options)
    query = LocalQuery([below, pass_on(2, below, dop=3000, options=options)], threads=2)
    assert query.table().num_rows == 300_000
    runs = sum(driver.metrics.scheduled for driver in query.group.drivers)
    assert runs < 20 * 6000
    # A driver polled before another, woken for the same item, has run counts as a missed wake-up.
    assert query.group.missed_wakeups < 10
