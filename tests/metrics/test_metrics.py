"""Counters are declared once; the metrics of drivers are merged into those of a pipeline."""

from __future__ import annotations

import json
import time

import pytest

from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, Pipeline, execute
from pyspark_pipeline.metrics import OperatorMetrics, declare_counter, declared_counters, driver_metrics
from tests.exec.kit import Made, Sink, Source, Step, chunks, pipeline

SEEN = declare_counter("test_chunks_seen", "Chunks a test saw", unit="chunks")
WIDEST = declare_counter("test_widest", "Rows of the largest chunk a test saw", unit="rows", combine="max")


def test_counter_is_declared_once() -> None:
    assert declare_counter("test_chunks_seen", "Chunks a test saw", unit="chunks") is SEEN
    assert declared_counters()["test_widest"].unit == "rows"
    with pytest.raises(ValueError, match="already declared"):
        declare_counter("test_chunks_seen", "Something else", unit="chunks")
    with pytest.raises(ValueError, match="combine"):
        declare_counter("test_other", "Other", unit="rows", combine="mean")


def test_instance_metrics_by_family_operator_and_driver() -> None:
    queue = OutputQueue()

    class Counting(Step):
        def push_chunk(self, given: Chunk) -> None:
            super().push_chunk(given)
            self.context.metrics.add(SEEN)
            self.context.metrics.add(WIDEST, given.num_rows)
            self.context.memory.reserve(given.nbytes)
            self.context.memory.reserve(0)

    factories = (
        Made("scan", lambda _: Source(chunks(3))),
        Made("filter", lambda i: Counting(limit=4 if i else None)),
        Made("sink", lambda _: Sink(queue)),
    )
    instance = FragmentInstance([Pipeline(id=7, factories=factories, dop=2)], queue)
    list(execute(instance))
    metrics = json.loads(json.dumps(instance.metrics()))
    scan, step, sink = metrics["pipelines"][0]["operators"]
    assert (scan["name"], scan["chunks_out"], scan["rows_out"], scan["bytes_out"]) == ("scan", 4, 16, 128)
    assert (step["chunks_in"], step["chunks_out"], step["counters"]) == (
        4,
        4,
        {"test_chunks_seen": 4, "test_widest": 4},
    )
    assert step["peak_bytes"] == 64 and "peak_bytes" not in sink
    assert set(metrics["families"]) == {"scan", "filter", "sink"}
    assert sum(metrics["families"].values()) == pytest.approx(scan["total_s"] + step["total_s"] + sink["total_s"])
    drivers = metrics["pipelines"][0]["drivers"]
    assert [driver["state"] for driver in drivers] == ["finished", "finished"]
    assert [driver["moves"] for driver in drivers] == [6, 2]
    assert metrics["peak_bytes"] == 32


@pytest.mark.parametrize("threads", [1, 3])
def test_cpu_time_is_counted_if_enabled_and_excludes_waiting(threads: int) -> None:
    def burn(given: Chunk) -> Chunk:
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        return given

    def sleep(given: Chunk) -> Chunk:
        time.sleep(0.03)
        return given

    def operators(cpu_time: bool) -> list[dict[str, float]]:
        queue = OutputQueue()
        moved = pipeline(Source(chunks(2)), Step(work=burn), Step(work=sleep), Sink(queue))
        instance = FragmentInstance([moved], queue, cpu_time=cpu_time)
        list(execute(instance, threads))
        told: list[dict[str, float]] = instance.metrics()["pipelines"][0]["operators"]
        return told

    _, busy, asleep, _ = operators(True)
    assert 0.02 <= busy["cpu_s"] <= busy["total_s"] + 0.001  # two clocks
    assert asleep["cpu_s"] < 0.03 < 0.06 <= asleep["total_s"]
    assert all("cpu_s" not in operator for operator in operators(False))


def test_merge_adds_sums_and_keeps_maxima() -> None:
    left, right = OperatorMetrics("x"), OperatorMetrics("x")
    left.rows_in, right.rows_in = 3, 4
    left.longest_call_ns, right.longest_call_ns = 5, 9
    left.add(WIDEST, 3)
    right.add(WIDEST, 2)
    right.add(SEEN, 2)
    right.add_blocked("consumer", 10**9)
    left.merge(right)
    assert (left.rows_in, left.longest_call_ns, left.value(WIDEST), left.value(SEEN)) == (7, 9, 3, 2)
    assert left.to_dict()["blocked_s"] == {"consumer": 1.0}


def test_timeline_counts_omitted_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_metrics, "MAX_SPANS", 3)
    kept = driver_metrics.DriverMetrics(timeline=True)
    for turn in range(4):
        kept.add_active(10 * turn, 10 * turn + 4)
        kept.add_blocked("split", 10 * turn + 4, 10 * turn + 10)
    told = kept.to_dict()
    assert [what for _, _, what in told["timeline"]] == ["running", "split", "running"]
    assert told["timeline_left_out"] == 5 and told["blocks"] == {"split": 4}
