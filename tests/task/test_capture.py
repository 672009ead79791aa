"""A task that was captured gives the same again, without Spark."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pytest

from pyspark_pipeline.cli.main import main
from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.exchange import CONTROL, ChunkRow, encode_chunk, pack_rows, plain_schema, unpack_rows
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Fragment, Settings
from pyspark_pipeline.task import run_fragment
from pyspark_pipeline.task.capture import Capture, captured
from tests.operators.kit import Chunks, fields
from tests.planner.test_mechanism_fragment import ID, ONE, REF, node, run_json
from tests.task.kit import fragment, one_by

INPUT = {"op": "Input", "output": [ID], "input": 0}
FILTER = node(
    "FilterExec", [ID], INPUT,
    condition={"class": "GreaterThan", "type": "boolean", "nullable": False, "args": [REF, ONE], "fields": {}},
)  # fmt: skip
SCHEMA = plain_schema([field.type for field in fields("x:bigint")])


def given(partition: int, *chunks: list[int]) -> list[pa.RecordBatch]:
    control = {"partition": partition, "cpus": 1, "taskAttempt": 7}
    rows = [ChunkRow(partition=CONTROL, rows=0, data=pa.py_buffer(json.dumps(control).encode()))]
    for values in chunks:
        batch = pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], schema=SCHEMA)
        rows.append(ChunkRow(partition=0, rows=len(values), data=encode_chunk(batch)))
    return [pack_rows([row]) for row in rows]


def captured_plan(folder: Path, **options: str) -> Fragment:
    """A plan of no operator worth its name, whose tasks are captured."""
    given_options = Options({"capture.folder": str(folder), **options})
    return fragment(Chunks(output=()), settings=Settings(ansi=True, time_zone="UTC", options=given_options))


def run_captured(folder: Path, batches: list[pa.RecordBatch]) -> list[ChunkRow]:
    options = {"capture.folder": str(folder), "capture.partition": "2"}
    settings = {"ansi": True, "timeZone": "UTC", "options": options}
    text = json.dumps({"version": 1, "id": 4, "root": FILTER, "sink": {"kind": "result"}, "settings": settings})
    return [row for batch in run_fragment(text, iter(batches)) for row in unpack_rows(batch)]


def test_a_replay_gives_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sum(row.rows for row in run_captured(tmp_path, given(2, [1, 2, 3], [4]))) == 3
    (folder,) = tmp_path.iterdir()
    assert folder.name == "fragment-4-partition-2-attempt-7"
    for cpus in ([], ["--cpus", "3"]):
        assert main(["replay", str(folder), *cpus]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert sorted(lines[:3]) == [f"partition 0: {{'id': {value}}}" for value in (2, 3, 4)]
        assert lines[-1] == "partition 0: 3 rows"
        assert f"pipeline 0, drivers: {3 if cpus else 1}" in lines
        assert any(line.startswith("  Filter: 3 rows out") for line in lines)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_task_that_takes_samples_shows_their_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = {"id": 2, "name": "name", "type": "string", "nullable": True}
    constant = {"literal": "x", "type": "string"}
    project = node("ProjectExec", [name, ID], INPUT, projectList=[constant, REF])
    key = {"class": "SortOrder", "args": [REF], "fields": {"direction": "Ascending", "nullOrdering": "NullsFirst"}}
    settings = {"ansi": True, "timeZone": "UTC", "options": {"capture.folder": str(tmp_path)}}
    sink = {"kind": "rangeSample", "keys": [key], "rows": 10}
    text = json.dumps({"version": 1, "id": 4, "root": project, "sink": sink, "settings": settings})
    assert list(run_fragment(text, iter(given(0, [7, 8]))))
    (folder,) = tmp_path.iterdir()
    assert main(["replay", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["partition 0: {'c0': 7}", "partition 0: {'c0': 8}"]


def test_tasks_of_other_partitions_keep_nothing(tmp_path: Path) -> None:
    assert sum(row.rows for row in run_captured(tmp_path, given(1, [1, 2, 3]))) == 2
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_json({"op": "RangeExec", "output": [ID], "scan": 0}, {"kind": "result"})
    assert list(tmp_path.iterdir()) == []


def test_broadcasts_are_kept_even_where_nobody_reads_them_again(tmp_path: Path) -> None:
    def read(broadcast_id: int) -> list[bytes]:
        return [b"one", b"", bytes([broadcast_id])]

    plan = dataclasses.replace(captured_plan(tmp_path), broadcasts=(9,))
    task = captured("{}", plan, iter(given(0, [1])), read)
    assert task.files and len(list(task.batches)) == 2
    assert task.files.folder == tmp_path / "fragment-0-partition-0-attempt-7"
    kept = Capture(task.files.folder)
    assert kept.read_broadcast(9) == read(9) and kept.control()["taskAttempt"] == 7
    assert [batch.num_rows for batch in kept.batches()] == [1, 1]
    with pytest.raises(CaptureError, match=r"has no whole broadcast-8\.arrow"):
        kept.read_broadcast(8)


def test_an_error_of_spark_ends_the_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = one_by(INPUT)
    settings = {"ansi": True, "timeZone": "UTC", "options": {"capture.folder": str(tmp_path)}}
    text = json.dumps({"version": 1, "id": 4, "root": project, "sink": {"kind": "result"}, "settings": settings})
    assert list(run_fragment(text, iter(given(0, [1, 0]))))
    (folder,) = tmp_path.iterdir()
    assert main(["replay", str(folder)]) == 1
    assert "DIVIDE_BY_ZERO" in capsys.readouterr().out


def test_what_is_no_capture_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path)]) == 1
    assert f"pyspark-pipeline: {tmp_path} holds no captured task" in capsys.readouterr().err
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(CaptureError, match="cannot be captured"):
        captured("{}", captured_plan(file), iter(given(0)), lambda _: [])
