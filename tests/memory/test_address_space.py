"""Threads are started only if address space is left for them; else the query fails with the reason and never hangs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import pytest

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.memory.address_space import address_space_bytes, require_address_space, start_thread

_LIMITED = """
    import resource
    from pyspark_pipeline.errors import ResourceExhaustedError
    from pyspark_pipeline.local import LocalQuery
    from pyspark_pipeline.local.write import fields, fragment
    from pyspark_pipeline.memory.address_space import address_space_bytes
    from pyspark_pipeline.plan.nodes import Range

    def query():
        numbers = Range(output=fields("n:bigint"), input_id=0)
        return LocalQuery([fragment(1, numbers, splits={0: (0, 10, 1)})], threads=2)

    print(len(query().table()))
    resource.setrlimit(resource.RLIMIT_AS, (address_space_bytes() + (10 << 20),) * 2)
    try:
        query().table()
    except ResourceExhaustedError as error:
        print(error)
"""


def test_query_without_address_space_for_threads_fails_and_names_the_setting() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_LIMITED)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("10\nno room for pipeline-executor-0, pipeline-executor-1: asked for ")
    assert "spark.executor.pyspark.memory" in done.stdout


def test_unlimited_address_space_allows_any_number_of_threads() -> None:
    assert address_space_bytes() > 1 << 20
    require_address_space(["one"] * 1000)


def test_failed_thread_start_names_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ResourceExhaustedError, match="the worker: can't start new thread"):
        start_thread(threading.Thread(name="the worker"))
