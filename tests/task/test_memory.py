"""Memory of a task: profile, trimming and trackers."""

from __future__ import annotations

import gc
import json
import os
import socket
import weakref
from typing import Any

import numpy as np
import pytest

from pyspark_pipeline.exchange.broadcast import BroadcastCache
from pyspark_pipeline.exec import FragmentInstance
from pyspark_pipeline.plan.nodes import Range
from pyspark_pipeline.planner import FragmentBuilder
from pyspark_pipeline.task import memory
from tests.operators.kit import fields
from tests.task.kit import run_task

NUMBERS = Range(output=fields("n:bigint"), input_id=0)


def test_profile_has_process_and_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for allowed, limit in ((None, None), ("1", 16 << 20)):
        monkeypatch.delenv(memory.VARIABLE, raising=False)
        if allowed is not None:
            monkeypatch.setenv(memory.VARIABLE, allowed)
        outcome = run_task(NUMBERS, splits={0: [0, 10, 1]})
        assert outcome.statistics is not None
        profile = json.loads(outcome.statistics["profile"])
        assert (profile["process"], profile["limit_bytes"]) == (os.getpid(), limit)


def test_only_large_instance_trims_allocators(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[bool] = []
    monkeypatch.setattr(memory, "IDLE_TRIM", memory.IdleTrim())
    monkeypatch.setattr(memory, "trim_allocators", lambda: given.append(True))
    memory.trim_after_instance(memory.LARGE_BYTES - 1)
    assert given == []
    memory.trim_after_instance(memory.LARGE_BYTES)
    assert given == [True]


@pytest.mark.parametrize("is_limited", [False, True])
def test_worker_trims_allocators_when_no_task_comes(is_limited: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[bool] = []
    monkeypatch.setattr(memory, "trim_allocators", lambda: given.append(True))
    monkeypatch.setattr(memory, "IDLE_SECONDS", 0.01)
    monkeypatch.setattr(memory, "IS_ADDRESS_SPACE_LIMITED", is_limited)
    idle = memory.IdleTrim()
    spark, worker = socket.socketpair()
    with spark, worker:
        idle.wait_for_task(worker)
        idle.end_large_instance()
        assert given == [True] * is_limited
        spark.send(b"task")
        idle.wait_for_task(worker)
        assert given == [True] * is_limited
        worker.recv(4)
        idle.wait_for_task(worker)
        idle.wait_for_task(worker)
        assert given == [True]


@pytest.mark.parametrize("cpus", [1, 3])
def test_task_trims_allocators_after_release(cpus: int, monkeypatch: pytest.MonkeyPatch) -> None:
    peaks: list[int] = []
    instances: list[weakref.ref[FragmentInstance]] = []
    make = FragmentBuilder.instance

    def made(*arguments: Any, **named: Any) -> FragmentInstance:
        instance = make(*arguments, **named)
        instances.append(weakref.ref(instance))
        return instance

    def given_back(peak: int) -> None:
        gc.collect()
        assert [instance() for instance in instances] == [None]
        peaks.append(peak)

    monkeypatch.setattr(FragmentBuilder, "instance", made)
    monkeypatch.setattr("pyspark_pipeline.task.run.trim_after_instance", given_back)
    run_task(NUMBERS, splits={0: [0, 10, 1]}, cpus=cpus)
    assert len(peaks) == 1


def test_worker_tracker_sums_instance_and_broadcasts() -> None:
    tables = memory.broadcast_memory()
    instance = memory.instance_memory()
    worker = instance.parent
    assert worker is not None and worker is tables.parent and worker.parent is None
    before = worker.held
    cache = BroadcastCache(10, tables)
    cache.begin_task([1])
    cache.value(1, "table", lambda: np.zeros(100, np.int8))
    operator = instance.child("operator")
    operator.reserve(50)
    assert worker.held - before == 150
    assert f"worker holds {before + 150} bytes without a limit" in operator.describe()
    instance.limit = 60
    assert "instance holds 50 of its limit 60 bytes" in operator.describe()
    assert operator.describe().endswith(f"; with it worker holds {before + 150}")
    assert instance.close() == 50
    assert worker.held - before == 100
    cache.begin_task([])
    assert worker.held == before
    tables.close()


def test_ended_task_leaves_no_memory_in_worker_tracker() -> None:
    tracker = memory.instance_memory()
    worker = tracker.parent
    tracker.close()
    assert worker is not None
    before = worker.holders()
    run_task(NUMBERS, splits={0: [0, 1000, 1]})
    assert worker.holders() == before
