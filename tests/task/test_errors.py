"""Failed tasks: every kind of error, from any thread, and cancellation."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import EngineBugError, ResourceExhaustedError
from pyspark_pipeline.exchange import ERROR, STATISTICS, ChunkRow, pack_rows, unpack_rows
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.operators.project import ProjectOperator
from pyspark_pipeline.operators.shared_source import SharedSourceOperator
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import ExchangeSource, Project, Range, Settings
from pyspark_pipeline.task import run as task_run
from pyspark_pipeline.task.memory import VARIABLE, operator_bytes
from tests.operators.aggregate_kit import aggregate_call, complete_node
from tests.operators.kit import call, column, fields, literal
from tests.task.kit import CPUS, control, engine_threads, fragment, run_task, scan, start, write_files

NUMBERS = Range(output=fields("n:bigint"), input_id=0)
N = column(NUMBERS, "n")
MANY = {0: [0, 50_000_000, 1]}
pytestmark = pytest.mark.parametrize("cpus", CPUS)


N_PLUS_1 = call("Add", "bigint", N, literal(1, "bigint"), evalMode="ANSI")


def project(*exprs: Any) -> Project:
    return Project(output=fields("a:bigint"), exprs=exprs, child=NUMBERS)


@pytest.fixture
def trackers(monkeypatch: pytest.MonkeyPatch) -> list[MemoryTracker]:
    """Collect the trackers of all instances."""
    made: list[MemoryTracker] = []
    original = task_run.instance_memory

    def remembered() -> MemoryTracker:
        made.append(original())
        return made[-1]

    monkeypatch.setattr(task_run, "instance_memory", remembered)
    return made


def test_spark_condition_is_last_message(cpus: int) -> None:
    node = project(call("IntegralDivide", "bigint", literal(1, "bigint"), call(
        "Subtract", "bigint", N, literal(700_000, "bigint"), evalMode="ANSI"), evalMode="ANSI"))
    done = run_task(node, cpus=cpus, splits=MANY)
    assert done.error is not None
    assert (done.error["kind"], done.error["condition"]) == ("condition", "DIVIDE_BY_ZERO")
    assert done.error["exception"] == "SparkArithmeticException"
    assert done.statistics is not None and done.statistics["metrics"]["inputRows"] >= 650_000 * (cpus == 1)


def test_corrupt_file_is_named_in_last_message(cpus: int, tmp_path: Path) -> None:
    splits = write_files(tmp_path, pa.table({"n": range(1000)}), files=4, row_group=100)
    bad = Path(splits[2]["path"])
    bad.write_bytes(bad.read_bytes()[:-20])
    done = run_task(scan("n:bigint"), cpus=cpus, splits={0: splits})
    assert done.error is not None and done.error["kind"] == "footer"
    assert str(bad) in done.error["message"]


def test_engine_bug_names_location(cpus: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: ProjectOperator, chunk: Chunk) -> Chunk:
        return {}["no such key"]  # type: ignore[no-any-return]

    monkeypatch.setattr(ProjectOperator, "transform", broken)
    rows: list[ChunkRow] = []
    with pytest.raises(EngineBugError) as caught:
        for batch in start(fragment(project(N_PLUS_1)), cpus=cpus, splits=MANY):
            rows += unpack_rows(batch)
    assert [row.partition for row in rows] == [STATISTICS]
    assert json.loads(json.loads(rows[0].data.to_pybytes())["profile"])["pipelines"]
    message = str(caught.value)
    where = r"in push_chunk of operator 1 \(Project\) of pipeline 0, driver \d"
    assert re.search(rf"KeyError: 'no such key'\n{where}", message)
    assert 'in broken\n    return {}["no such key"]' in message
    assert not engine_threads()


def test_closing_task_cancels_and_releases_memory(
    cpus: int, trackers: list[MemoryTracker], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[int] = []
    monkeypatch.setattr(SharedSourceOperator, "close", lambda self: closed.append(1))
    batches = start(fragment(project(N_PLUS_1)), cpus=cpus, splits=MANY)
    first = next(batches)
    assert first.num_rows
    assert (cpus == 1) or engine_threads()
    batches.close()  # type: ignore[attr-defined]
    assert not engine_threads()
    assert len(closed) == cpus
    assert [tracker.held for tracker in trackers] == [0]


def test_error_of_input_stream_propagates_unchanged(cpus: int) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pack_rows([control(source, cpus)])
        raise ConnectionResetError("the other side has gone")

    source = ExchangeSource(output=fields("n:bigint"), input_id=0)
    with pytest.raises(ConnectionResetError, match="the other side has gone"):
        list(task_run.run_plan(fragment(source), batches()))
    assert not engine_threads()


def test_stream_without_control_message_is_engine_bug(cpus: int) -> None:
    with pytest.raises(EngineBugError, match="control message"):
        list(task_run.run_plan(fragment(NUMBERS), iter([])))


def grouped() -> Any:
    return complete_node(NUMBERS, [N], [aggregate_call("Sum", N)])


def spilling(**options: str) -> Settings:
    given = Options({f"spill.{key}": text for key, text in options.items()})
    return Settings(ansi=True, time_zone="UTC", options=given)


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_memory_over_limit_is_spilled(
    codec: str, cpus: int, trackers: list[MemoryTracker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    done = run_task(grouped(), cpus=cpus, splits={0: [0, 2_000_000, 1]}, settings=spilling(codec=codec))
    assert done.error is None
    assert sum(row.rows for row in done.rows) == 2_000_000
    assert done.statistics is not None
    metrics, task = done.statistics["metrics"], done.statistics["task"]
    assert metrics["spilledBytes"] == task["diskBytesSpilled"] > 0 and metrics["spillFiles"] >= 16
    assert task["memoryBytesSpilled"] > 16 << 20
    assert (task["diskBytesSpilled"] < task["memoryBytesSpilled"]) == (codec != "none")
    assert [tracker.held for tracker in trackers] == [0]
    # Reclaimable operators get at most twice the limit; queues, minimum reservations and copies are added.
    most = min((16 << 20) * (1 + cpus), (2 * 16 << 20) + (8 << 20) + cpus * (4 << 20))
    assert trackers[0].limit == 16 << 20 and trackers[0].peak < most
    assert not engine_threads()


def test_spill_files_over_limit_raise_named_error(
    cpus: int, trackers: list[MemoryTracker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(ResourceExhaustedError, match=r"pysparkPipeline\.spill\.maxBytes allows 1000000") as caught:
        run_task(grouped(), cpus=cpus, splits={0: [0, 2_000_000, 1]}, settings=spilling(maxBytes="1000000"))
    assert "AggregateSink" in f"{caught.value} {getattr(caught.value, '__notes__', '')}"
    assert [tracker.held for tracker in trackers] == [0]
    assert not engine_threads()


def test_allocation_failure_reports_memory_holders(cpus: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def huge(self: ProjectOperator, chunk: Chunk) -> Chunk:
        return pa.allocate_buffer(1 << 60)  # type: ignore[no-any-return]

    monkeypatch.setattr(ProjectOperator, "transform", huge)
    with pytest.raises(ResourceExhaustedError, match=r"(?s)Project.*no memory left: .*; operator.*worker holds \d+"):
        list(start(fragment(project(N_PLUS_1)), cpus=cpus, splits=MANY))


def test_address_space_limit_raises_error_without_crash(cpus: int) -> None:
    """With ``spark.executor.pyspark.memory`` Spark sets RLIMIT_AS in the worker; no tracker intervenes here."""
    program = f"""
        import resource
        from pyspark_pipeline.errors import ResourceExhaustedError
        from pyspark_pipeline.memory.address_space import address_space_bytes
        from tests.task.test_errors import fragment, grouped, start
        list(start(fragment(grouped()), cpus={cpus}, splits={{0: [0, 1000, 1]}}))
        resource.setrlimit(resource.RLIMIT_AS, (address_space_bytes() + (100 << 20),) * 2)
        try:
            list(start(fragment(grouped()), cpus={cpus}, splits={{0: [0, 8_000_000, 1]}}))
        except ResourceExhaustedError as error:
            print("exhausted", error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("exhausted"), done.stdout


def test_operator_limit_reserves_uncounted_memory(cpus: int) -> None:
    gib = 1 << 30
    assert operator_bytes(None, gib) is None
    assert operator_bytes("-1", gib) is None
    assert operator_bytes("4096", gib) == int((3 * gib - (160 << 20)) * 0.7)
    assert operator_bytes("1024", 2 * gib) == 16 << 20


def test_error_message_is_json_in_one_row(cpus: int) -> None:
    node = project(call("IntegralDivide", "bigint", N, literal(0, "bigint"), evalMode="ANSI"))
    *_, last = start(fragment(node), cpus=cpus, splits={0: [0, 10, 1]})
    statistics, row = unpack_rows(last)
    assert (statistics.partition, row.partition) == (STATISTICS, ERROR)
    assert json.loads(row.data.to_pybytes())["context"] == -1
