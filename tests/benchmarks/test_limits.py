"""Tests of the memory limit benchmark: reading of counters, processes and folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.interruptions import shortened
from benchmarks.left_behind import foreign, named_files, nameless_files
from benchmarks.limits import counted, digest, summary, times_slower
from benchmarks.worker_memory import WorkerMemory, compared, fields, worker_memory

_MIB = 1 << 20


def instance(process: int, peak: int, limit: int | None = None, files: int = 0) -> dict[str, Any]:
    operator = {"name": "SortSink", "counters": {"spill_files": files, "spilled_bytes": 100 * files}}
    pipeline = {"operators": [{"name": "ExchangeSource"}, operator]}
    return {"process": process, "peak_bytes": peak, "limit_bytes": limit, "pipelines": [pipeline]}


def test_counted_sums_by_process_and_lists_limits_of_spilling_instances() -> None:
    ran = [instance(7, 50, 400), instance(7, 80, 300, files=2), instance(8, 70, 200, files=3), instance(8, 10, 100)]
    assert counted(ran) == {
        "processes": {7: 80, 8: 70}, "counted": 80, "limits": [300, 200], "spilled": 500, "files": 5,
    }  # fmt: skip
    assert counted([instance(7, 50), instance(7, 80)])["limits"] == [0]


def test_times_slower_ignores_first_run() -> None:
    assert times_slower([100.0, 2.0, 4.0], [1.0, 6.0, 9.0]) == 2.5


@pytest.mark.parametrize(
    ("own_mib", "is_within"), [(649, False), (650, True), (1000, True), (1350, True), (1351, False)]
)
def test_own_memory_tolerance_is_a_fifth_plus_150_mib(own_mib: int, is_within: bool) -> None:
    shared = 130 * _MIB
    memory = WorkerMemory(peak=own_mib * _MIB + shared, resident=300 * _MIB, private=300 * _MIB - shared)
    found = compared(1000 * _MIB, memory)
    assert found == {
        "counted_mib": 1000, "own_peak_mib": own_mib, "resident_peak_mib": own_mib + 130, "own_after_mib": 170,
        "within": is_within,
    }  # fmt: skip


def test_proc_fields_are_bytes() -> None:
    assert fields("Name:\tpython\nVmHWM:\t  200 kB\nThreads:\t3\nRss:   7 kB\n") == {"VmHWM": 204_800, "Rss": 7168}


def test_worker_memory_of_live_and_ended_process() -> None:
    found = worker_memory(os.getpid())
    assert found is not None
    assert 0 < found.private <= found.resident <= found.peak
    assert worker_memory(2**22 + 1) is None


def test_nameless_files_counts_open_unlinked_files_of_folder(tmp_path: Path) -> None:
    inside = tmp_path / "local"
    inside.mkdir()
    with tempfile.TemporaryFile(dir=inside), tempfile.TemporaryFile(dir=tmp_path), open(inside / "named", "w"):
        assert nameless_files(os.getpid(), inside) == 1
    assert nameless_files(os.getpid(), inside) == 0
    assert named_files(tmp_path) == ["local/named"]


def test_foreign_excludes_spark_blocks() -> None:
    names = [
        "blockmgr-1/0c/shuffle_0_0_0.data", "blockmgr-1/0d/broadcast_3_piece0", "blockmgr-1/0e/temp_shuffle_a1-b2",
        "blockmgr-1/0f/spill-17", "spark-2/shuffle_0_0_0.data",
    ]  # fmt: skip
    assert foreign(names) == names[3:]


@pytest.mark.parametrize("word", ["DIVIDE_BY_ZERO", "cancelled", "exited unexpectedly"])
def test_shortened_error_is_its_cause(word: str) -> None:
    assert shortened(f"PySparkRuntimeError: Job aborted\n\tat x.y({word})\n") == word
    assert shortened("OSError: no space\n\tat x") == "OSError: no space"


def test_digest_depends_on_order_but_not_on_file_boundaries(tmp_path: Path) -> None:
    def write(name: str, *files: list[int]) -> str:
        folder = tmp_path / name
        folder.mkdir()
        for place, numbers in enumerate(files):
            table = pa.table({"n": pa.array(numbers, pa.int64()), "m": pa.array(numbers, pa.int32())})
            pq.write_table(table, folder / f"part-{place}.parquet")
        return digest(folder)

    assert write("whole", [1, 2, 3]) == write("split", [1], [2, 3])
    assert write("swapped", [1, 3, 2]) != digest(tmp_path / "whole")


def entry(within: bool = True, slower: float = 2.0, **left: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {end: {"nameless": 0, "named": []} for end in ("success", "failure", "cancel", "kill")}
    found = nothing | {"stop": []} | left
    return {"memory": [{"within": within}], "times_slower": slower, "equal": True, "left": found}


def test_summary_reports_the_worst_case() -> None:
    good = {"all_within": True, "most_times_slower": 3.0, "all_equal": True, "nothing_left": True}
    assert summary({"a": entry(), "b": entry(slower=3.0)}) == good
    assert summary({"a": entry(), "b": entry(within=False, slower=3.0)}) == good | {"all_within": False}
    for left in ({"kill": {"nameless": 1, "named": []}}, {"success": {"nameless": 0, "named": ["x"]}}, {"stop": ["x"]}):
        assert not summary({"a": entry(), "b": entry(**left)})["nothing_left"]
