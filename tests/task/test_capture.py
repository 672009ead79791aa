"""Replaying a captured task, without Spark, returns the same output."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
from pathlib import Path

import pyarrow as pa
import pytest

from pyspark_pipeline.cli.main import main
from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.exchange import CONTROL, ChunkRow, encode_chunk, pack_rows, plain_schema, unpack_rows
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.plan.nodes import Fragment, Settings
from pyspark_pipeline.task import run_fragment
from pyspark_pipeline.task.capture import Capture, capture_task
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
    layout = {"version": WIRE_VERSION, "counts": {"input": 1}}
    control = {"partition": partition, "cpus": 1, "taskAttempt": 7, **layout}
    rows = [ChunkRow(partition=CONTROL, rows=0, data=pa.py_buffer(json.dumps(control).encode()))]
    for values in chunks:
        batch = pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], schema=SCHEMA)
        rows.append(ChunkRow(partition=0, rows=len(values), data=encode_chunk(batch)))
    return [pack_rows([row]) for row in rows]


def captured_plan(folder: Path, **options: str) -> Fragment:
    """Return a minimal plan whose tasks are captured."""
    given_options = Options({"capture.folder": str(folder), **options})
    return fragment(Chunks(output=()), settings=Settings(ansi=True, time_zone="UTC", options=given_options))


def run_captured(folder: Path, batches: list[pa.RecordBatch], operator: str = "") -> list[ChunkRow]:
    options = {"capture.folder": str(folder), "capture.partition": "2", "capture.operator": operator}
    settings = {"ansi": True, "timeZone": "UTC", "options": options}
    content = {"version": WIRE_VERSION, "id": 4, "root": FILTER, "sink": {"kind": "result"}}
    text = json.dumps({**content, "settings": settings})
    return [row for batch in run_fragment(text, iter(batches)) for row in unpack_rows(batch)]


def test_replay_returns_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_replay_of_sample_task_prints_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = {"id": 2, "name": "name", "type": "string", "nullable": True}
    constant = {"literal": "x", "type": "string"}
    project = node("ProjectExec", [name, ID], INPUT, projectList=[constant, REF])
    key = {"class": "SortOrder", "args": [REF], "fields": {"direction": "Ascending", "nullOrdering": "NullsFirst"}}
    settings = {"ansi": True, "timeZone": "UTC", "options": {"capture.folder": str(tmp_path)}}
    sink = {"kind": "rangeSample", "keys": [key], "rows": 10}
    text = json.dumps({"version": WIRE_VERSION, "id": 4, "root": project, "sink": sink, "settings": settings})
    assert list(run_fragment(text, iter(given(0, [7, 8]))))
    (folder,) = tmp_path.iterdir()
    assert main(["replay", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["partition 0: {'c0': 7}", "partition 0: {'c0': 8}"]


def test_tasks_of_other_partitions_are_not_captured(tmp_path: Path) -> None:
    assert sum(row.rows for row in run_captured(tmp_path, given(1, [1, 2, 3]))) == 2
    assert list(tmp_path.iterdir()) == []


def test_task_is_not_captured_without_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_json({"op": "RangeExec", "output": [ID], "scan": 0}, {"kind": "result"})
    assert list(tmp_path.iterdir()) == []


def test_broadcasts_are_captured_even_if_cached(tmp_path: Path) -> None:
    def read(broadcast_id: int) -> list[bytes]:
        return [b"one", b"", bytes([broadcast_id])]

    plan = dataclasses.replace(captured_plan(tmp_path), broadcasts=(9,))
    task = capture_task("{}", plan, iter(given(0, [1])), read)
    assert task.files and len(list(task.batches)) == 2
    assert task.files.folder == tmp_path / "fragment-0-partition-0-attempt-7"
    kept = Capture(task.files.folder)
    assert kept.read_broadcast(9) == read(9) and kept.control()["taskAttempt"] == 7
    assert [batch.num_rows for batch in kept.batches()] == [1, 1]
    with pytest.raises(CaptureError, match=r"has no whole broadcast-8\.arrow"):
        kept.read_broadcast(8)


def test_replay_reports_spark_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = one_by(INPUT)
    settings = {"ansi": True, "timeZone": "UTC", "options": {"capture.folder": str(tmp_path)}}
    content = {"version": WIRE_VERSION, "id": 4, "root": project, "sink": {"kind": "result"}}
    text = json.dumps({**content, "settings": settings})
    assert list(run_fragment(text, iter(given(0, [1, 0]))))
    (folder,) = tmp_path.iterdir()
    assert main(["replay", str(folder)]) == 1
    assert "DIVIDE_BY_ZERO" in capsys.readouterr().out


def test_replay_names_folder_without_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path)]) == 1
    assert f"pyspark-pipeline: {tmp_path} holds no captured task" in capsys.readouterr().err


def test_unwritable_folder_prints_warning_and_task_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    assert sum(row.rows for row in run_captured(file, given(2, [1, 2, 3], [4]), operator="Filter")) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"pyspark_pipeline: WARN a task cannot be captured, {file}")
    assert "Not a directory" in line and line.endswith("; the query goes on without it")
    task = capture_task("{}", captured_plan(file), iter(given(0)), lambda _: [])
    assert task.files is None and len(list(task.batches)) == 1


def test_capture_rejects_folder_readable_by_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o777)  # as a volume of Kubernetes has it
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / "fragment-4-partition-2-attempt-7"
    folder.symlink_to(tmp_path / "elsewhere")
    assert sum(row.rows for row in run_captured(tmp_path, given(2, [1, 2, 3]))) == 2
    assert f"WARN a task cannot be captured, {folder} cannot be written: [Errno 20] not a f" in capsys.readouterr().err
    folder.unlink()
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 12345, 12345)
        assert sum(row.rows for row in run_captured(tmp_path, given(2, [1, 2, 3]))) == 2
        assert "attempt-7 is not private: it belongs to user 12345; the query goes on" in capsys.readouterr().err
        os.chown(folder, 0, 0)
    assert not list(folder.iterdir()) and not list((tmp_path / "elsewhere").iterdir())
    folder.chmod(0o777)
    (folder / "input.arrow").symlink_to(tmp_path / "elsewhere" / "planted")
    assert sum(row.rows for row in run_captured(tmp_path, given(2, [1, 2, 3]))) == 2
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and not (folder / "input.arrow").is_symlink()
    assert not list((tmp_path / "elsewhere").iterdir()) and Capture(folder).journal.checkpoints


def test_capture_files_are_private_for_any_umask(tmp_path: Path) -> None:
    older = tmp_path / "new" / "captures" / "fragment-4-partition-2-attempt-7"
    before = os.umask(0o002)
    try:
        run_captured(tmp_path / "new" / "captures", given(2, [1]))
        (older / "input.arrow").chmod(0o664)
        older.chmod(0o755)
        run_captured(tmp_path / "new" / "captures", given(2, [1]), operator="Filter,ResultSink")
        plan = dataclasses.replace(captured_plan(tmp_path / "new"), broadcasts=(9,))
        assert len(list(capture_task("{}", plan, iter(given(0, [1])), lambda _: [b"one"]).batches)) == 2
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").rglob("*")}
    names = {"fragment.json", "input.arrow", "journal.txt", "chunks-0.1-driver-0.arrow", "broadcast-9.arrow"}
    assert names <= {path.name for path in modes}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items()), modes
