"""Run whole fragments as a Spark task would: control message and chunk rows in, chunk rows out."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_pipeline.exchange import CONTROL, ERROR, STATISTICS, ChunkRow, pack_rows, unpack_rows
from pyspark_pipeline.plan.layout import WIRE_VERSION, numbers_of
from pyspark_pipeline.plan.nodes import FileScan, Fragment, Node, ResultSink, Settings, Sink
from pyspark_pipeline.task.run import run_plan
from tests.operators.kit import DEFAULTS, fields, to_table
from tests.planner.test_mechanism_fragment import REF, node

CPUS = (1, 3)


def one_by(child: dict[str, Any]) -> dict[str, Any]:
    """Write ``1 / x`` over ``child`` in ANSI mode: 0 is an error of Spark's."""
    divisor = {"class": "Cast", "type": "double", "nullable": False, "args": [REF], "fields": {}}
    quotient = {
        "class": "Divide", "type": "double", "nullable": True, "fields": {"evalMode": "ANSI"},
        "args": [{"literal": 1.0, "type": "double"}, divisor],
    }  # fmt: skip
    output = [{"id": 9, "name": "q", "type": "double", "nullable": True}]
    return node("ProjectExec", output, child, projectList=[quotient])


@dataclass
class Outcome:
    """The output of a task: data rows, statistics, and its error if any."""

    node: Node
    rows: list[ChunkRow] = field(default_factory=list)
    statistics: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    def add_statistics(self, message: dict[str, Any]) -> None:
        """Add a statistics message: sum up metric deltas, replace the profile."""
        before = self.statistics or {"metrics": {}, "task": {}}
        for name in ("metrics", "task"):
            message[name] = {key: before[name].get(key, 0) + value for key, value in message[name].items()}
        self.statistics = message

    def table(self, partition: int | None = None) -> pa.Table:
        return to_table(self.node, [row for row in self.rows if partition in (None, row.partition)])


def fragment(root: Node, sink: Sink | None = None, settings: Settings = DEFAULTS) -> Fragment:
    return Fragment(id=0, root=root, sink=sink or ResultSink(), settings=settings)


def layout_of(root: Node) -> dict[str, Any]:
    """Return the part of a control message that describes the plan."""
    counts = {kind: len(numbers) for kind, numbers in numbers_of(root).items()}
    return {"version": WIRE_VERSION, "counts": counts}


def control(root: Node, cpus: int, splits: Mapping[int, Any] | None = None) -> ChunkRow:
    given = {str(key): value for key, value in (splits or {}).items()}
    message = {"partition": 0, "cpus": cpus, "splits": given, **layout_of(root)}
    return ChunkRow(partition=CONTROL, rows=0, data=pa.py_buffer(json.dumps(message).encode()))


def start(
    plan: Fragment, *, cpus: int = 1, splits: Mapping[int, Any] | None = None, inputs: Sequence[ChunkRow] = ()
) -> Iterator[pa.RecordBatch]:
    """Start a task; ``inputs`` are rows of input 0."""
    moved = [dataclasses.replace(row, partition=0) for row in inputs]
    return run_plan(plan, iter([pack_rows([row]) for row in (control(plan.root, cpus, splits), *moved)]))


def run_task(root: Node, sink: Sink | None = None, *, settings: Settings = DEFAULTS, **task: Any) -> Outcome:
    """Run a task to its end."""
    outcome = Outcome(root)
    for batch in start(fragment(root, sink, settings), **task):
        for row in unpack_rows(batch):
            assert outcome.error is None, "an error is the last row"
            if row.partition == STATISTICS:
                outcome.add_statistics(json.loads(row.data.to_pybytes()))
            elif row.partition == ERROR:
                outcome.error = json.loads(row.data.to_pybytes())
            else:
                outcome.rows.append(row)
    assert outcome.statistics is not None or outcome.error is not None
    assert not engine_threads()
    return outcome


def engine_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("pipeline-")]


def write_files(folder: Path, table: pa.Table, files: int, row_group: int) -> list[dict[str, Any]]:
    """Write ``table`` to Parquet files; return one split for each."""
    rows = -(-table.num_rows // files)
    splits = []
    for number in range(files):
        path = folder / f"part-{number}.parquet"
        pq.write_table(table.slice(number * rows, rows), path, row_group_size=row_group)
        splits.append({"path": str(path), "start": 0, "length": path.stat().st_size, "partitionValues": []})
    return splits


def scan(spec: str) -> FileScan:
    output = fields(spec)
    return FileScan(format="parquet", output=output, input_id=0, num_data_columns=len(output))
