"""Runs a captured task, or one operator of it, without Spark, and prints rows and profile."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from pyspark_pipeline.errors import CaptureError, SparkConditionError
from pyspark_pipeline.exchange import ERROR, STATISTICS, ChunkRow, decode_chunk, plain_schema, unpack_rows
from pyspark_pipeline.exchange.codec import decode_result
from pyspark_pipeline.exchange.range_sink import key_schema
from pyspark_pipeline.metrics.profile import draw_tree, merge_reports
from pyspark_pipeline.plan.nodes import Fragment
from pyspark_pipeline.plan.ranges import RangeSample
from pyspark_pipeline.task.capture import Capture
from pyspark_pipeline.task.replay_operator import OperatorReplay
from pyspark_pipeline.task.run import condition_content, run_plan


def run(arguments: argparse.Namespace) -> int:
    """Run the task; print first rows, row counts by partition and the profile. Return 1 if it raised Spark's error."""
    capture = Capture(arguments.folder)
    fragment = capture.fragment()
    for note in capture.journal.notes():
        print(f"pyspark-pipeline: {note}", file=sys.stderr)
    if arguments.operator is None:
        return _run_task(capture, fragment, arguments)
    if arguments.cpus is not None:
        raise CaptureError("--cpus is for a whole task: an operator runs with the drivers that it had, on one thread")
    return _run_operator(OperatorReplay(capture, fragment, arguments.operator), fragment, arguments.rows)


def _run_task(capture: Capture, fragment: Fragment, arguments: argparse.Namespace) -> int:
    status = 0
    profile: Mapping[str, Any] | None = None
    rows: dict[int, int] = {}
    for row in replayed(capture, fragment, arguments.cpus):
        if row.partition == STATISTICS:
            profile = json.loads(_content(row)["profile"])
        elif row.partition == ERROR:
            print(json.dumps(_content(row), indent=1))
            status = 1
        else:
            _show(fragment, row, arguments.rows, rows)
    if profile is not None:
        _draw(profile)
    for partition, count in sorted(rows.items()):
        print(f"partition {partition}: {count} rows")
    return status


def _run_operator(replay: OperatorReplay, fragment: Fragment, most: int) -> int:
    """Run one operator alone; print its first output rows, and the metrics of it and of the sinks it needs."""
    given = 0
    rows: dict[int, int] = {}
    try:
        for item in replay.outputs():
            if isinstance(item, ChunkRow):
                _show(fragment, item, most, rows)
            else:
                names = [field.name for field in replay.fields] if replay.fields else item.schema.names
                _print(f"{replay.position}", pa.Table.from_batches([item]).rename_columns(names), most - given)
                given += item.num_rows
    except SparkConditionError as error:
        print(json.dumps(condition_content(error), indent=1))
        return 1
    profile = replay.profile()
    _draw(profile)
    (own,) = (p["operators"] for p in profile["pipelines"] if p["id"] == replay.position.pipeline)
    (operator,) = (counts for counts in own if counts["name"] == replay.position.name)
    rows_in, rows_out, spent = operator.get("rows_in", 0), operator.get("rows_out", 0), operator["total_s"]
    print(f"{replay.position}: {rows_in:,} rows in, {rows_out or sum(rows.values()):,} rows out, {spent:.3f} s")
    return 0


def replayed(capture: Capture, fragment: Fragment, cpus: int | None) -> Iterator[ChunkRow]:
    """Run the task again; yield its output chunk rows, including its statistics or its error."""
    for batch in run_plan(fragment, capture.batches(cpus), capture.read_broadcast):
        yield from unpack_rows(batch)


def _content(row: ChunkRow) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(row.data.to_pybytes())
    return content


def _draw(report: Mapping[str, Any]) -> None:
    print("\n".join(line for kind in merge_reports([report]) for line in draw_tree(kind)))


def _show(fragment: Fragment, row: ChunkRow, most: int, rows: dict[int, int]) -> None:
    """Print up to ``most`` rows of each chunk row's partition; add the chunk row's row count to ``rows``."""
    before = rows.get(row.partition, 0)
    rows[row.partition] = before + row.rows
    if before >= most or row.rows == 0:
        return
    fields = fragment.root.output
    if isinstance(fragment.sink, RangeSample):
        table = pa.Table.from_batches([decode_chunk(row.data, key_schema(fragment.sink.keys))])
    else:
        chunk = decode_result(row.data, plain_schema([field.type for field in fields]))
        table = pa.Table.from_batches([chunk]).rename_columns([field.name for field in fields])
    _print(f"partition {row.partition}", table, most - before)


def _print(head: str, table: pa.Table, most: int) -> None:
    for values in table.slice(0, max(0, most)).to_pylist():
        print(f"{head}: {values}")
