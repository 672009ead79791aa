"""A sort over its memory limit spills its rows, outputs the same order, and leaves no file behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from pyspark_pipeline.errors import PipelineError, ResourceExhaustedError
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.operators.sorting import collect as sort_collect
from pyspark_pipeline.operators.sorting.runs import RunMerge
from pyspark_pipeline.plan.nodes import Limit
from pyspark_pipeline.plan.sorts import Sort, SortKey
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import DEFAULTS, call, column, literal, to_table
from tests.operators.sort_kit import Direction, column_values, counted, limited, sort, sorted_numbers
from tests.operators.test_sort import SMALL, as_key, cases, spec_of, table_of

ROWS = 2000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Spill to a folder of the test; no file may remain there or open."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    monkeypatch.setattr(sort_collect, "_MIN_CHUNK", 200)
    before = len(os.listdir("/proc/self/fd"))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) <= before


def table(kind: str) -> pa.Table:
    rng = np.random.default_rng(3)
    numbers = {
        "random": rng.integers(-50, 50, ROWS),
        "sorted": np.arange(ROWS),
        "backwards": np.arange(ROWS)[::-1],
        "equal": np.zeros(ROWS, dtype=np.int64),
    }[kind]
    nulls = rng.random(ROWS) < (0.1 if kind == "random" else 0)
    texts = pa.array([f"text {i % 37}" for i in range(ROWS)])
    return pa.table(
        {"row": pa.array(range(ROWS), pa.int64()), "k": pa.array(numbers, pa.int64(), mask=nulls), "t": texts}
    )


def child(given: pa.Table, chunk_rows: int = 50) -> Any:
    return leaf("row:bigint, k:bigint, t:string", chunks_of(given, chunk_rows))


@pytest.mark.rotates
@pytest.mark.parametrize("kind", ["random", "sorted", "backwards", "equal"])
@pytest.mark.parametrize("dop", [1, 3])
@pytest.mark.parametrize("limit", [1, 20_000, 10**9])
def test_spilled_sort_equals_unspilled(kind: str, dop: int, limit: int) -> None:
    given = table(kind)
    directions = [Direction(descending=True, nulls_first=False), Direction()]
    node = sort(child(given), ["k", "t"], directions)
    instance = limited(node, limit, settings=SMALL if limit == 1 and dop == 1 else DEFAULTS, dop=dop)
    made = to_table(node, list(execute(instance, dop)))
    expected = sorted_numbers([given["k"].to_pylist(), given["t"].to_pylist()], directions)
    if dop == 1:
        assert made["row"].to_pylist() == expected
    assert sorted(made["row"].to_pylist()) == list(range(ROWS))
    assert made["k"].to_pylist() == given["k"].take(expected).to_pylist()
    assert made["t"].to_pylist() == given["t"].take(expected).to_pylist()
    files = counted(instance, "spill_files")
    assert files >= 40 if limit == 1 else files >= 4 if limit == 20_000 else files == 0
    assert (counted(instance, "spilled_bytes") > 0) == (limit < 10**9)
    assert instance.memory.held == 0


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases())
def test_spilled_sort_order_equals_the_oracle(case: Any) -> None:
    kinds, directions, rows, chunk_rows, dop = case
    given = table_of(kinds, rows)
    names = [f"k{i}" for i in range(len(kinds))]
    node = sort(leaf(spec_of(kinds), chunks_of(given, chunk_rows)), names, directions)
    instance = limited(node, 1, settings=SMALL, dop=dop)
    made = to_table(node, list(execute(instance)))
    keys = [column_values(given[name]) for name in names]
    expected = sorted_numbers(keys, directions)
    if dop == 1:
        assert made["row"].to_pylist() == expected
    for name in names:
        got, wanted = column_values(made[name]), [column_values(given[name])[i] for i in expected]
        assert [as_key(v) for v in got] == [as_key(v) for v in wanted]
    assert counted(instance, "spill_files") >= min(len(rows), 1)


@pytest.mark.parametrize(
    ("names", "row_bytes"), [(["k"], 24), (["k", "row"], 48), (["t"], 88), (["t", "k"], 112)]
)
def test_sort_reserves_the_larger_of_order_and_copy(names: list[str], row_bytes: int) -> None:
    given = child(table("sorted"))
    for node, wider in ((sort(given, names, [Direction()] * len(names)), 0), (wide(given, names), 1000)):
        instance = limited(node, 1 << 30)
        list(execute(instance))
        held = (16 + 4 + wider) * ROWS  # approximately, because the texts differ in length
        operators = [o for p in instance.metrics()["pipelines"] for o in p["operators"]]
        peak = sum(operator.get("peak_bytes", 0) for operator in operators)
        assert peak == pytest.approx(held + max(held, row_bytes * ROWS), rel=0.25)


def wide(given: Any, names: list[str]) -> Sort:
    """Build a sort of rows with a payload of 1000 bytes."""
    payload = pa.array(["x" * 1000] * ROWS)
    whole = leaf("row:bigint, k:bigint, t:string, p:string", chunks_of(table("sorted").append_column("p", payload), 50))
    return sort(whole, names, [Direction()] * len(names))


def test_few_spill_files_are_open_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    node = sort(child(table("random"), 5), ["k"], [Direction()])
    most = 0
    written = sort_collect.RunCollector._write_run

    def watched(self: Any, *args: Any) -> Any:
        nonlocal most
        most = max(most, len(os.listdir("/proc/self/fd")))
        return written(self, *args)

    monkeypatch.setattr(sort_collect.RunCollector, "_write_run", watched)
    before = len(os.listdir("/proc/self/fd"))
    instance = limited(node, 1)
    assert to_table(node, list(execute(instance))).num_rows == ROWS
    assert counted(instance, "spill_files") > 400
    assert most - before < 60


def test_merge_memory_is_counted_over_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[tuple[int, int]] = []
    merge = RunMerge.next_chunk

    def watched(self: RunMerge) -> Any:
        held.append((self.nbytes, instance.memory.held))
        return merge(self)

    instance = limited(sort(child(table("random")), ["k"], [Direction()]), 1, settings=SMALL)
    monkeypatch.setattr(RunMerge, "next_chunk", watched)
    list(execute(instance))
    merging = [total for own, total in held if own]
    assert counted(instance, "spill_files") > 16 and merging
    assert all(merging)
    assert instance.memory.held == 0


def test_files_are_removed_after_a_row_error() -> None:
    given = table("sorted")
    below = child(given)
    risky = call(
        "Divide", "double", literal(1.0, "double"), call("Cast", "double", column(below, "k")), evalMode="ANSI"
    )
    node = Sort(output=below.output, keys=(SortKey(expr=risky, descending=True),), child=below)
    backwards = child(given.take(np.arange(ROWS)[::-1]))
    node = Sort(output=below.output, keys=node.keys, child=backwards)
    instance = limited(node, 10_000)
    with pytest.raises(PipelineError):
        list(execute(instance))
    assert counted(instance, "spill_files") > 4
    assert instance.memory.held == 0


def test_files_are_removed_after_cancel() -> None:
    node = sort(child(table("random")), ["k"], [Direction()])
    instance = limited(node, 10_000, settings=SMALL)
    with closing(execute(instance)) as rows:
        next(rows)
    assert counted(instance, "spill_files") > 4
    assert instance.memory.held == 0


def test_files_are_removed_after_a_limit() -> None:
    below = sort(child(table("random")), ["k"], [Direction()])
    instance = limited(Limit(output=below.output, limit=3, child=below), 10_000, settings=SMALL)
    assert sum(row.rows for row in execute(instance)) == 3
    assert counted(instance, "spill_files") > 4


def test_missing_spill_space_raises_resource_exhausted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/not-there")
    instance = limited(sort(child(table("random")), ["k"], [Direction()]), 10_000)
    with pytest.raises(ResourceExhaustedError, match="not-there"):
        list(execute(instance))


def test_runs_passed_after_the_source_closed_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink may still sort while a LIMIT elsewhere closes the source."""
    node = sort(child(table("random")), ["k"], [Direction()])
    instance = limited(node, 1, settings=SMALL)
    source = next(slot.operator for driver in instance.drivers for slot in driver.slots if slot.id.name == "SortSource")
    finish = sort_collect.RunCollector.finish

    def closed_meanwhile(self: Any) -> None:
        finish(self)
        source.set_finished()
        source.close()
        source.close = lambda: None  # its driver has ended

    monkeypatch.setattr(sort_collect.RunCollector, "finish", closed_meanwhile)
    before = len(os.listdir("/proc/self/fd"))
    assert to_table(node, list(execute(instance))).num_rows == 0
    assert counted(instance, "spill_files") > 0 and instance.spill.held == 0
    assert len(os.listdir("/proc/self/fd")) == before
