"""A capture records its ending; captures of failed, killed and truncated tasks can be replayed."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pytest

from pyspark_pipeline.cli.main import main
from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange import unpack_rows
from pyspark_pipeline.operators.filter import FilterOperator
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.task import capture_files, run_fragment
from pyspark_pipeline.task.capture import Capture
from pyspark_pipeline.task.capture_files import CaptureFiles
from pyspark_pipeline.task.capture_folder import open_private
from pyspark_pipeline.task.capture_journal import Ending, JournalWriter
from tests.task.kit import one_by
from tests.task.test_capture import FILTER, INPUT, given


def fragment_text(folder: Path, root: dict[str, Any] = FILTER, **options: str) -> str:
    settings = {"ansi": True, "timeZone": "UTC", "options": {"capture.folder": str(folder), **options}}
    content = {"version": WIRE_VERSION, "id": 4, "root": root, "sink": {"kind": "result"}}
    return json.dumps({**content, "settings": settings})


def count(batches: Iterator[pa.RecordBatch]) -> int:
    return sum(row.rows for batch in batches for row in unpack_rows(batch))


def only(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def replayed(folder: Path, capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> tuple[str, list[str]]:
    """Replay a capture; return the last printed line and the notes."""
    assert main(["replay", str(folder), *words]) == status
    printed = capsys.readouterr()
    return printed.out.splitlines()[-1] if printed.out else "", printed.err.splitlines()


def test_spark_error_is_recorded_as_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = one_by(INPUT)
    list(run_fragment(fragment_text(tmp_path, project), iter(given(0, [1], [0], [2]))))
    kept = Capture(only(tmp_path))
    assert kept.journal.ending is Ending.FAILED
    _, notes = replayed(kept.folder, capsys, status=1)
    assert notes == ["pyspark-pipeline: the capture is incomplete: the task failed, and read no more than this"]


def test_replay_of_failed_task_fails_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: FilterOperator, chunk: pa.RecordBatch) -> pa.RecordBatch:
        raise IndexError("not this chunk")

    monkeypatch.setattr(FilterOperator, "transform", broken)
    text = fragment_text(tmp_path, **{"capture.operator": "Filter"})
    with pytest.raises(EngineBugError, match="not this chunk"):
        list(run_fragment(text, iter(given(0, [1, 2, 3]))))
    folder = only(tmp_path)
    assert Capture(folder).journal.ending is Ending.FAILED
    for words in ((), ("--operator", "Filter")):
        last, (note, error, *_) = replayed(folder, capsys, *words, status=1)
        assert "the task failed" in note and "not this chunk" in error and not last
    monkeypatch.undo()
    assert replayed(folder, capsys)[0] == "partition 0: 2 rows"
    assert replayed(folder, capsys, "--operator", "Filter")[0].startswith("0.1 Filter: 3 rows in, 2 rows out")


@pytest.mark.parametrize(("divisor", "ending"), [(1, Ending.CANCELLED), (0, Ending.FAILED)])
def test_closed_task_is_recorded_as_cancelled_unless_failed(
    divisor: int, ending: Ending, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = one_by(INPUT)
    task = run_fragment(fragment_text(tmp_path, project), iter(given(0, [divisor, 2], [3])))
    next(task)
    task.close()  # type: ignore[attr-defined]
    kept = Capture(only(tmp_path))
    assert kept.journal.ending is ending
    _, (note,) = replayed(kept.folder, capsys, status=int(ending is Ending.FAILED))
    assert ("the task was cancelled" in note) == (ending is Ending.CANCELLED)


def test_replay_of_killed_task_reads_captured_prefix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = f"""
        import os, signal
        from tests.task.test_capture_endings import fragment_text, given, Path
        from pyspark_pipeline.task import capture_files, run_fragment

        def batches():
            yield from given(0, *[[1, 2, 3]] * 20)
            os.kill(os.getpid(), signal.SIGKILL)

        options = {{"capture.operator": "Filter", "batchRows": "3"}}
        list(run_fragment(fragment_text(Path({str(tmp_path)!r}), **options), batches()))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False, timeout=120)
    assert done.returncode == -9
    folder = only(tmp_path)
    assert Capture(folder).journal.ending is None
    note = "pyspark-pipeline: the capture is incomplete: it has no end, so the task was killed or still runs"
    assert replayed(folder, capsys) == ("partition 0: 40 rows", [note])
    with (folder / "input.arrow").open("ab") as file:
        file.write(b"\xff\xff\xff\xff half a message")
    with (folder / "journal.txt").open("ab") as journal:
        journal.write(b'1234abcd {"file": "inp')
    assert replayed(folder, capsys) == ("partition 0: 40 rows", [note])
    last, notes = replayed(folder, capsys, "--operator", "Filter")
    entered = int(last.split()[2])
    assert 0 < entered <= 60 and last.split()[5] == f"{entered // 3 * 2}" and notes == [note]


def test_capture_stops_at_limit_and_task_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chunks = [list(range(1000 * i, 1000 * i + 1000)) for i in range(20)]
    options = {"capture.maxBytes": "60000", "capture.operator": "Filter,ResultSink"}
    assert count(run_fragment(fragment_text(tmp_path, **options), iter(given(0, *chunks)))) == 19_998
    kept = Capture(only(tmp_path))
    assert kept.journal.cut == 60_000 and kept.journal.ending is Ending.FINISHED
    assert 30_000 < sum(path.stat().st_size for path in kept.folder.glob("*.arrow")) < 62_000
    last, notes = replayed(kept.folder, capsys)
    cut = "the capture is cut where it reached spark.pysparkPipeline.capture.maxBytes=60000"
    assert notes == [f"pyspark-pipeline: {cut}"]
    rows = int(last.split()[2])
    assert 1000 < rows < 10_000 and rows % 1000 == 998
    assert replayed(kept.folder, capsys, "--operator", "Filter")[1] == notes


@pytest.mark.parametrize("limit", [1, 700])
def test_capture_with_tiny_limit_reports_truncation(
    limit: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"capture.maxBytes": str(limit)}
    assert count(run_fragment(fragment_text(tmp_path, **options), iter(given(0, [1, 2], [3])))) == 2
    folder = only(tmp_path)
    assert main(["replay", str(folder)]) == 1
    assert f"capture.maxBytes={limit}" in capsys.readouterr().err


def test_dictionary_written_once_counts_once(tmp_path: Path) -> None:
    files = CaptureFiles(tmp_path, 300_000)
    words = pa.array(["x" * 1000 + str(i) for i in range(100)])
    file = files.open("chunks.arrow")
    for _ in range(50):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), words)
        file.write(pa.RecordBatch.from_arrays([column], ["c0"]))
    files.end(Ending.FINISHED)
    kept = Capture(tmp_path)
    assert kept.journal.cut is None and len(list(kept.chunks("chunks.arrow"))) == 50


def test_new_capture_replaces_older_one_in_folder(tmp_path: Path) -> None:
    for operators in ("Filter", "ResultSink"):
        list(run_fragment(fragment_text(tmp_path, **{"capture.operator": operators}), iter(given(0, [1]))))
    kept = Capture(only(tmp_path))
    assert kept.has("chunks-0.2-driver-0.arrow") and not kept.has("chunks-0.1-driver-0.arrow")


def test_missing_operator_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"capture.operator": "Filtr, Filter,9.9,"}
    list(run_fragment(fragment_text(tmp_path, **options), iter(given(0, [1, 2]))))
    folder = only(tmp_path)
    message = "spark.pysparkPipeline.capture.operator asked for Filtr, 9.9, not in this fragment"
    assert replayed(folder, capsys)[1] == [f"pyspark-pipeline: {message}"]
    assert Capture(folder).journal.operators == ("Filtr", "Filter", "9.9")
    assert main(["replay", str(folder), "--operator", "Filtr"]) == 1
    assert f"Filtr is not here ({message}); operators: 0.0 Exchange" in capsys.readouterr().err.splitlines()[-1]


class _FullDisk:
    """A file that raises after ``left`` bytes."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self._file = file
        self._left = left

    def write(self, data: Any) -> int:
        self._left -= memoryview(data).nbytes
        if self._left < 0:
            self._file.write(memoryview(data)[:1])
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_full_disk_ends_capture_but_not_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def limited(path: Path) -> Any:
        file = open_private(path)
        return _FullDisk(file, 10_000) if path.name == "input.arrow" else file

    monkeypatch.setattr(capture_files, "open_private", limited)
    chunks = [list(range(500)) for _ in range(10)]
    assert count(run_fragment(fragment_text(tmp_path), iter(given(0, *chunks)))) == 4980
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(r"WARN a task cannot be captured, .*input\.arrow cannot be written: .*No space left", line)
    folder = only(tmp_path)
    assert Capture(folder).journal.ending is None
    last, (note,) = replayed(folder, capsys)
    assert "it has no end" in note and 0 < int(last.split()[2]) < 4980


def test_full_disk_at_end_leaves_capture_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = JournalWriter.append

    def failing(self: JournalWriter, entry: dict[str, Any]) -> None:
        if "end" in entry:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, entry)

    monkeypatch.setattr(JournalWriter, "append", failing)
    assert count(run_fragment(fragment_text(tmp_path), iter(given(0, [1, 2])))) == 1
    assert Capture(only(tmp_path)).journal.ending is None


def test_drivers_on_several_threads_write_complete_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for limit in (1 << 30, 200_000):
        parent = tmp_path / str(limit)
        options = {"capture.operator": "Filter,ResultSink", "capture.maxBytes": str(limit), "batchRows": "500"}
        batches = given(0, *([list(range(500))] * 60))
        control = json.loads(next(unpack_rows(batches[0])).data.to_pybytes()) | {"cpus": 3}
        batches[0] = _with_control(batches[0], control)
        assert count(run_fragment(fragment_text(parent, **options), iter(batches))) == 60 * 498
        kept = Capture(only(parent))
        assert (kept.journal.cut is None) == (limit > 200_000)
        entered = sum(c.num_rows for n in range(3) for c in kept.chunks(f"chunks-0.1-driver-{n}.arrow"))
        assert entered == 30_000 if kept.journal.cut is None else 0 < entered < 30_000
        assert replayed(kept.folder, capsys, "--operator", "Filter")[0].startswith("0.1 Filter: ")


def _with_control(batch: pa.RecordBatch, control: dict[str, Any]) -> pa.RecordBatch:
    columns = [*batch.columns[:-1], pa.array([json.dumps(control).encode()], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
