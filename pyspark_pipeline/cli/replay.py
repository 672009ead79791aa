"""``pyspark-pipeline replay``: runs a captured task again, without Spark, and shows what its operators did.

Under a debugger: ``python -m pdb -m pyspark_pipeline.cli.main replay FOLDER``; with ``--cpus 1`` everything runs on
the one thread.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from pyspark_pipeline.exchange import ERROR, STATISTICS, ChunkRow, decode_chunk, plain_schema, unpack_rows
from pyspark_pipeline.exchange.range_sink import key_schema
from pyspark_pipeline.metrics.profile import added, drawn
from pyspark_pipeline.plan.nodes import Fragment
from pyspark_pipeline.plan.ranges import RangeSample
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.task.capture import Capture
from pyspark_pipeline.task.run import run_plan


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "replay",
        help="run a captured task again, without Spark",
        description="Captures are made by queries with spark.pysparkPipeline.capture.folder=FOLDER.",
    )
    parser.add_argument("folder", help="a folder below the one that was captured to")
    parser.add_argument("--cpus", type=int, help="drivers and threads (default: as in the task)")
    parser.add_argument("--rows", type=int, default=10, help="rows to print of what each partition gets (default 10)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the task; print first rows, rows a partition and the profile. Return 1 where it ended in Spark's error."""
    capture = Capture(arguments.folder)
    fragment = decode_fragment(capture.text)
    status = 0
    rows: dict[int, int] = {}
    for row in replayed(capture, fragment, arguments.cpus):
        if row.partition == STATISTICS:
            print("\n".join(line for kind in added([json.loads(_content(row)["profile"])]) for line in drawn(kind)))
        elif row.partition == ERROR:
            print(json.dumps(_content(row), indent=1))
            status = 1
        else:
            _show(fragment, row, arguments.rows - rows.get(row.partition, 0))
            rows[row.partition] = rows.get(row.partition, 0) + row.rows
    for partition, count in sorted(rows.items()):
        print(f"partition {partition}: {count} rows")
    return status


def replayed(capture: Capture, fragment: Fragment, cpus: int | None) -> Iterator[ChunkRow]:
    """Run the task again; give the chunk rows that leave it, the last with its statistics or its error."""
    for batch in run_plan(fragment, capture.batches(cpus), capture.read_broadcast):
        yield from unpack_rows(batch)


def _content(row: ChunkRow) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(row.data.to_pybytes())
    return content


def _show(fragment: Fragment, row: ChunkRow, most: int) -> None:
    """Print the first rows of a chunk."""
    if most <= 0 or row.rows == 0:
        return
    fields = fragment.root.output
    if isinstance(fragment.sink, RangeSample):
        table = pa.Table.from_batches([decode_chunk(row.data, key_schema(fragment.sink.keys))])
    else:
        chunk = decode_chunk(row.data, plain_schema([field.type for field in fields]))
        table = pa.Table.from_batches([chunk]).rename_columns([field.name for field in fields])
    for values in table.slice(0, most).to_pylist():
        print(f"partition {row.partition}: {values}")
