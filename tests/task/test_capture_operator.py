"""Input chunks of an operator are recorded, and replaying the operator alone over them is deterministic."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.cli.main import main
from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.exchange import STATISTICS, ChunkRow, pack_rows, unpack_rows
from pyspark_pipeline.local import write
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.joins import JoinType
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.plan.nodes import Fragment, Node, Range, Settings
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.task.capture import Capture, capture_task
from pyspark_pipeline.task.capture_files import CaptureFiles, read_chunks
from pyspark_pipeline.task.capture_journal import Ending
from pyspark_pipeline.task.capture_operator import OperatorPosition, OperatorRecorder
from pyspark_pipeline.task.replay_operator import OperatorReplay
from pyspark_pipeline.task.run import run_fragment, run_plan
from tests.operators.join_kit import join
from tests.operators.kit import call, column, fields, literal
from tests.operators.sort_kit import Direction, sort
from tests.planner.test_mechanism_fragment import AGGREGATE, ID
from tests.task.kit import control, fragment, one_by

SPLITS = {0: [0, 500, 1], 1: [100, 300, 1]}
EVERYTHING = ",".join(f"{pipeline}.{index}" for pipeline in range(6) for index in range(6))


def numbers(input_id: int) -> Node:
    return Range(output=fields("n:bigint"), input_id=input_id)


def where(child: Node, least: int) -> Node:
    return write.where(child, call("GreaterThanOrEqual", "boolean", column(child, "n"), literal(least, "bigint")))


def select(child: Node) -> Node:
    twice = call("Add", "bigint", column(child, "n"), column(child, "n"), evalMode="ANSI")
    return write.select(child, n=column(child, "n"), twice=twice)


def joined() -> Node:
    return join(select(where(numbers(0), 120)), where(numbers(1), 150), JoinType.INNER, build_left=False, keys=["n"])


def sorted_join() -> Node:
    return sort(joined(), ["twice"], [Direction(descending=True)])


def task(root: Node, **options: str) -> Fragment:
    settings = Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": "64", **options}))
    return fragment(root, settings=settings)


def capture(
    plan: Fragment, folder: Path, wanted: str = EVERYTHING, cpus: int = 1, splits: dict[int, Any] = SPLITS
) -> tuple[Capture, dict[str, Any]]:
    """Run a task and record the input of ``wanted``; return the capture and the task's profile."""
    options = Options({**plan.settings.options.given, "capture.folder": str(folder)})
    plan = dataclasses.replace(plan, settings=dataclasses.replace(plan.settings, options=options))
    given = capture_task("{}", plan, iter([pack_rows([control(plan.root, cpus, splits)])]), lambda _: [])
    assert given.files is not None
    recorder = OperatorRecorder(given.files, wanted)
    batches = given.record_ending(run_plan(plan, given.batches, given.read_broadcast, recorder))
    rows = [row for batch in batches for row in unpack_rows(batch)]
    assert rows[0].partition == STATISTICS
    return Capture(given.files.folder), json.loads(json.loads(rows[0].data.to_pybytes())["profile"])


def entered(kept: Capture, place: OperatorPosition, drivers: int) -> list[pa.RecordBatch]:
    names = [f"chunks-{place.number}-driver-{driver}.arrow" for driver in range(drivers)]
    return [chunk for name in names for chunk in kept.chunks(name)]


def bag(chunks: list[pa.RecordBatch]) -> Counter[str]:
    return Counter(str(row) for chunk in chunks for row in zip(*(c.to_pylist() for c in chunk.columns), strict=True))


def found(report: dict[str, Any], place: OperatorPosition) -> dict[str, Any]:
    (pipeline,) = (p for p in report["pipelines"] if p["id"] == place.pipeline)
    (operator,) = (o for o in pipeline["operators"] if o["name"] == place.name)
    return {key: value for key, value in operator.items() if not key.endswith("_s") and key != "peak_bytes"}


@pytest.mark.parametrize("cpus", [1, 3])
@pytest.mark.parametrize("plan", [joined, sorted_join])
def test_replayed_operator_returns_same_output(
    plan: Callable[[], Node], cpus: int, tmp_path: Path
) -> None:
    given = task(plan())
    kept, report = capture(given, tmp_path, cpus=cpus)
    alone = set()
    for pipeline in report["pipelines"]:
        names = [operator["name"] for operator in pipeline["operators"]]
        for index, name in enumerate(names[:-1]):
            place = OperatorPosition(pipeline["id"], index, name)
            if name in ("Range", "LocalExchangeSource"):
                continue
            replay = OperatorReplay(kept, given, place.number)
            chunks = list(replay.outputs())
            assert all(isinstance(chunk, pa.RecordBatch) for chunk in chunks)
            left = entered(kept, OperatorPosition(place.pipeline, index + 1, ""), pipeline["dop"])
            assert bag(chunks) == bag(left) and bag(left)
            assert cpus > 1 or chunks == left
            alone.add(name)
            assert found(replay.profile(), place)["rows_out"] == found(report, place)["rows_out"]
    assert alone == {"Filter", "Project", "HashJoinProbe"} | ({"SortSource"} if plan is sorted_join else set())


@pytest.mark.parametrize(("wanted", "rows"), [("HashJoinBuild", 250), ("SortSink", 250), ("ResultSink", 250)])
def test_replayed_sink_accepts_same_input(wanted: str, rows: int, tmp_path: Path) -> None:
    given = task(sorted_join())
    kept, report = capture(given, tmp_path, wanted)
    replay = OperatorReplay(kept, given, wanted)
    sent = list(replay.outputs())
    counts = found(replay.profile(), replay.position)
    before = found(report, replay.position)
    for operator in (counts, before):  # times
        counters = operator.get("counters", {})
        operator["counters"] = {name: value for name, value in counters.items() if "_ns" not in name}
    assert counts == before and counts["rows_in"] == rows
    assert sum(row.rows for row in sent if isinstance(row, ChunkRow)) == (rows if wanted == "ResultSink" else 0)


def test_operator_replay_is_deterministic(tmp_path: Path) -> None:
    given = task(sorted_join())
    kept, _ = capture(given, tmp_path, "HashJoinProbe", cpus=3)
    first, second = (list(OperatorReplay(kept, given, "HashJoinProbe").outputs()) for _ in range(2))
    assert first == second and sum(chunk.num_rows for chunk in first if isinstance(chunk, pa.RecordBatch)) == 250


def test_replayed_outer_join_probe_returns_unmatched_build_rows(tmp_path: Path) -> None:
    given = task(join(where(numbers(0), 395), numbers(1), JoinType.FULL_OUTER, build_left=False, keys=["n"]))
    kept, _ = capture(given, tmp_path, "HashJoinProbe,ResultSink", cpus=3)
    chunks = [c for c in OperatorReplay(kept, given, "HashJoinProbe").outputs() if isinstance(c, pa.RecordBatch)]
    left = entered(kept, OperatorPosition(1, 3, "ResultSink"), 3)
    assert bag(chunks) == bag(left) and sum(chunk.num_rows for chunk in chunks) == 5 + 100 + 300 - 5


def test_operator_with_dependencies_is_not_replayed_alone(tmp_path: Path) -> None:
    both = {0: [0, 500, 1], 1: [100, 300, 1], 2: [0, 200, 1]}
    inner = join(numbers(0), numbers(1), JoinType.INNER, build_left=False, keys=["n"])
    root = join(inner, numbers(2), JoinType.LEFT_SEMI, build_left=False, keys=["n"])
    kept, report = capture(task(root), tmp_path, splits=both)
    names = {o["name"]: f"{p['id']}.{i}" for p in report["pipelines"] for i, o in enumerate(p["operators"])}
    with pytest.raises(CaptureError, match=r"Range is where chunks come from: replay the whole task"):
        OperatorReplay(kept, task(root), names["Range"])
    with pytest.raises(CaptureError, match="works with the tables of the joins above it: replay the whole task"):
        OperatorReplay(kept, task(root), names["RuntimeFilter"])


def test_unknown_operator_name_lists_operators(tmp_path: Path) -> None:
    given = task(joined())
    kept, _ = capture(given, tmp_path, "Filtr")
    assert sorted(path.name for path in kept.folder.iterdir()) == ["fragment.json", "input.arrow", "journal.txt"]
    assert (kept.journal.operators, kept.journal.missing) == (("Filtr",), ("Filtr",))
    asked = r"spark\.pysparkPipeline\.capture\.operator asked for Filtr, not in this fragment"
    operators = "0.0 Range, 0.1 Filter, 0.2 HashJoinBuild, 1.0 Range, 1.1 Filter, 1.2 Project, 1.3 HashJoinProbe"
    with pytest.raises(CaptureError, match=rf"Filtr is not here \({asked}\); operators: {re.escape(operators)}, 1"):
        OperatorReplay(kept, given, "Filtr")
    with pytest.raises(CaptureError, match=r"Filter is here more than once.*operators: 0\.1 Filter, 1\.1 Filter$"):
        OperatorReplay(kept, given, "Filter")
    with pytest.raises(CaptureError, match=rf"no chunks of 1\.2 Project .*capture\.operator=Project \({asked}\)"):
        OperatorReplay(kept, given, "Project")


def test_captured_chunks_of_changing_types_round_trip(tmp_path: Path) -> None:
    plain, dictionary = pa.array(["a", None, "b"]), pa.array(["b", "b", None]).dictionary_encode()
    chunks = [
        pa.RecordBatch.from_arrays([plain], ["c0"]),
        pa.RecordBatch.from_arrays([dictionary], ["c0"]),
        pa.RecordBatch.from_arrays([dictionary.slice(1)], ["c0"]),
        pa.RecordBatch.from_arrays([pa.nulls(2)], ["c0"]),
        pa.RecordBatch.from_arrays([plain.slice(2), plain.slice(0, 1)], ["c0", "c0"]),
        pa.RecordBatch.from_struct_array(pa.array([{}, {}, {}], pa.struct([]))),
    ]
    files = CaptureFiles(tmp_path, 1 << 20)
    file = files.open("file")
    for chunk in chunks:
        file.write(chunk)
    files.open("empty")
    files.end(Ending.FINISHED)
    kept = Capture(tmp_path)
    assert list(kept.chunks("file")) == chunks
    assert kept.has("empty") and list(kept.chunks("empty")) == [] and not kept.has("other")
    with pytest.raises(CaptureError, match="has no whole other"):
        list(kept.chunks("other"))
    with pytest.raises(CaptureError, match="cannot be written"):
        CaptureFiles(tmp_path / "second", 1 << 20).open("no folder/file")
    (tmp_path / "text").write_bytes(b"no Arrow at all, but some text")
    with pytest.raises(CaptureError, match="cannot be read"):
        list(read_chunks(tmp_path / "text", 20))


def run_captured(root: dict[str, Any], parent: Path, operators: str) -> Path:
    options = {"capture.folder": str(parent), "capture.operator": operators}
    settings = {"ansi": True, "timeZone": "UTC", "options": options}
    content = {"version": WIRE_VERSION, "id": 4, "root": root, "sink": {"kind": "result"}}
    text = json.dumps({**content, "settings": settings})
    assert list(run_fragment(text, iter([pack_rows([control(decode_fragment(text).root, 1, {0: [0, 10, 1]})])])))
    (folder,) = parent.iterdir()
    return folder


def test_replay_command_runs_one_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_captured(AGGREGATE, tmp_path, "Filter, AggregateSink")
    assert main(["replay", str(folder), "--operator", "Filter", "--rows", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["0.1 Filter: {'id': 2}", "0.1 Filter: {'id': 3}", "pipeline 0, drivers: 1"]
    assert lines[-1].startswith("0.1 Filter: 10 rows in, 8 rows out, ")
    assert any(line.startswith("  Recorded: 10 rows out") for line in lines)
    assert main(["replay", str(folder), "--operator", "AggregateSink"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("0.2 AggregateSink: 8 rows in, 0 rows out, ")
    assert main(["replay", str(folder), "--operator", "AggregateSource"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1.0 AggregateSource: {'sum': 44}"
    assert lines[-1].startswith("1.0 AggregateSource: 0 rows in, 1 rows out, ")
    assert main(["replay", str(folder), "--operator", "0.1", "--cpus", "2"]) == 1
    assert "--cpus is for a whole task" in capsys.readouterr().err


def test_operator_replay_reports_spark_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = one_by({"op": "RangeExec", "output": [ID], "scan": 0})
    folder = run_captured(project, tmp_path, "Project")
    assert main(["replay", str(folder), "--operator", "Project"]) == 1
    assert json.loads(capsys.readouterr().out)["condition"] == "DIVIDE_BY_ZERO"
