"""After an ordered exchange the senders' runs are merged: the same order as a sort of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyspark_pipeline.exchange import ChunkRow, encode_chunk, plain_schema
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.operators.sorting import collect as sort_collect
from pyspark_pipeline.operators.sorting import runs as sort_runs
from pyspark_pipeline.plan.nodes import ExchangeSource
from pyspark_pipeline.plan.sorts import Sort
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import fields, run, run_rows, to_table
from tests.operators.sort_kit import Direction, column_values, counted, keys, limited, sort, sorted_numbers
from tests.operators.test_sort import SMALL, as_key, cases, spec_of, table_of


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    monkeypatch.setattr(sort_collect, "_MIN_CHUNK", 200)
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def sent(table: pa.Table, names: list[str], directions: list[Direction], senders: int, rows: int) -> list[list[Any]]:
    """Return the chunks of each sender, which has every ``senders``-th row and has sorted them."""
    made = []
    for sender in range(senders):
        part = table.take(pa.array(range(sender, table.num_rows, senders), pa.int64()))
        order = sorted_numbers([column_values(part[name]) for name in names], directions)
        made.append(chunks_of(part.take(pa.array(order, pa.int64())), rows))
    return made


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases(), st.integers(1, 5), st.sampled_from([1, 300, 10**9]))
def test_merge_order_equals_the_oracle(case: Any, senders: int, limit: int) -> None:
    kinds, directions, rows, chunk_rows, dop = case
    table = table_of(kinds, rows)
    names = [f"k{i}" for i in range(len(kinds))]
    runs = sent(table, names, directions, senders, chunk_rows)
    node = replace(sort(leaf(spec_of(kinds), sum(runs, [])), names, directions), input_presorted=True)
    instance = limited(node, limit, settings=SMALL, dop=dop)
    made = to_table(node, list(execute(instance)))
    expected = sorted_numbers([column_values(table[name]) for name in names], directions)
    assert sorted(made["row"].to_pylist()) == sorted(expected)
    for name in names:
        got, wanted = column_values(made[name]), [column_values(table[name])[i] for i in expected]
        assert [as_key(v) for v in got] == [as_key(v) for v in wanted]
    if limit == 1:
        assert counted(instance, "spill_files") >= min(len(rows), 1)
    assert instance.memory.held == 0


@pytest.mark.parametrize("few", [0, 1 << 13])
def test_merge_sorts_only_rows_up_to_the_least_end(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sort_runs, "_FEW_ROWS", few)
    monkeypatch.setattr(sort_runs, "_PROBE", 8)
    table = pa.table({"row": pa.array(range(4000), pa.int64()), "k0": pa.array([i * 7919 % 4001 for i in range(4000)])})
    runs = sent(table, ["k0"], [Direction()], 5, 100)
    for sender, run_ in enumerate(runs):  # heads of different runs end at different places
        run_[:1] = [run_[0].slice(0, 20 * sender + 1), run_[0].slice(20 * sender + 1)]
    node = replace(sort(leaf("row:bigint, k0:bigint", sum(runs, [])), ["k0"], [Direction()]), input_presorted=True)
    looked_at = 0
    merge = sort_runs.RunMerge._merge

    def counting(self: Any, least: int, heads: Any) -> None:
        nonlocal looked_at
        looked_at += sum(head.num_rows for head in self._trimmed(least, heads).values())
        merge(self, least, heads)

    monkeypatch.setattr(sort_runs.RunMerge, "_merge", counting)
    made = to_table(node, list(execute(limited(node, 10**9))))
    assert made["k0"].to_pylist() == sorted(table["k0"].to_pylist())
    assert looked_at < 4150 if few == 0 else looked_at > 4500


@pytest.mark.parametrize("dop", [1, 3])
def test_messages_are_combined_only_within_one_sender(dop: int) -> None:
    source = ExchangeSource(output=fields("k:bigint"), input_id=0, merge_senders=False)
    schema = plain_schema([field.type for field in source.output])

    def message(sender: int, *values: int) -> tuple[int, ChunkRow]:
        chunk = pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], schema=schema)
        return 0, ChunkRow(partition=0, rows=len(values), data=encode_chunk(chunk), sender=sender)

    rows = [message(0, 1, 4), message(0, 7), message(1, 2, 5), message(1, 8), message(2, 0, 9)]
    node = Sort(output=source.output, keys=keys(source, ["k"], [Direction()]), child=source, input_presorted=True)
    assert run(node, inputs=rows, dop=dop)["k"].to_pylist() == [0, 1, 2, 4, 5, 7, 8, 9]
    assert [row.rows for row in run_rows(source, inputs=rows)] == [3, 3, 2]
