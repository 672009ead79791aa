"""The output queue bounds and counts the items queued for Spark."""

from __future__ import annotations

from pyspark_pipeline.exec import OutputQueue
from pyspark_pipeline.memory import MemoryTracker


def test_output_queue_is_bounded_by_items_and_bytes_and_notifies() -> None:
    queue = OutputQueue(capacity=3, max_bytes=100)
    told: list[str] = []
    queue.filled.subscribe(lambda: told.append("filled"))
    queue.drained.subscribe(lambda: told.append("drained"))
    queue.push("a", 40)
    queue.push("b", 70)
    assert queue.is_full() and told == ["filled", "filled"]
    queue.push("c", 1)
    assert queue.statistics() == {"items": 3, "capacity": 3, "pushed": 3, "full_times": 1}
    assert [queue.pop(), queue.pop(), queue.pop()] == ["a", "b", "c"]
    assert told == ["filled", "filled", "drained"]


def test_output_queue_bytes_are_bounded_by_an_eighth_of_the_memory_limit() -> None:
    memory = MemoryTracker("instance", limit=80)
    queue = OutputQueue()
    queue.account_to(memory)
    queue.account_to(MemoryTracker("another"))
    queue.push("a", 9)
    assert not queue.is_full()
    queue.push("b", 1)
    assert queue.is_full() and memory.held == 10
    queue.pop()
    assert memory.held == 1
    queue.clear()
    assert memory.held == 0
