"""Measures the cost of scheduling and statistics: per move of a chunk, and as a share of the time of real queries.

``python -m benchmarks.micro.moves [--scale 1 --data FOLDER] [--queries 1-22] [--json FILE]``. A move is timed between
operators that only forward a chunk, through a driver with all its statistics; ``bare`` calls only the operators,
in a loop. Then queries run with chunks of 64 Ki rows and report their moves. All times are CPU times, so that other
processes do not count: of the process, and for the queries the sum over all calls of operators, which is the
strictest measure (a task also waits, reads its input, and uses the JVM).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.breakdown import Watch
from benchmarks.command_line import emit_document
from benchmarks.micro.measure import BATCH_ROWS
from benchmarks.queries import Query
from benchmarks.report import versions
from benchmarks.session import PIPELINE, start
from benchmarks.tpch import data
from benchmarks.tpch.queries import choose
from pyspark_pipeline.exec import Chunk, FragmentInstance, Operator, OperatorFactory, OutputQueue, Pipeline, execute
from pyspark_pipeline.spark.profile import fragments

_COLUMNS = 8
_MOVES = 100_000
_CONF = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "4g",
    "spark.pysparkPipeline.batchRows": str(BATCH_ROWS),
    "spark.pysparkPipeline.metrics.cpuTime": "true",
}


class _Forward(Operator):
    """Outputs the chunk ``left`` times if it is not None, else forwards its input."""

    def __init__(self, chunk: Chunk | None, left: int) -> None:
        self._chunk, self._left, self._ended = chunk, left, False

    def need_input(self) -> bool:
        return self._chunk is None

    def push_chunk(self, chunk: Chunk) -> None:
        self._chunk = chunk

    def has_output(self) -> bool:
        return self._chunk is not None

    def pull_chunk(self) -> Chunk | None:
        chunk = self._chunk
        self._left -= 1
        if self._left <= 0:
            self._chunk = None
        return chunk

    def is_finished(self) -> bool:
        return self._ended and self._chunk is None

    def set_finishing(self) -> None:
        self._ended = True


class _Source(_Forward):
    def is_finished(self) -> bool:
        return self._chunk is None


class _Sink(_Forward):
    def need_input(self) -> bool:
        return not self._ended

    def push_chunk(self, chunk: Chunk) -> None:
        pass

    def is_finished(self) -> bool:
        return self._ended


class _Factory(OperatorFactory):
    def __init__(self, make: Callable[[], Operator]) -> None:
        self._make = make

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return self._make()


def _chunk() -> Chunk:
    column = pa.array(range(BATCH_ROWS), pa.int64())
    return pa.RecordBatch.from_arrays([column] * _COLUMNS, [f"c{i}" for i in range(_COLUMNS)])


def _chain(moves_each: int, chunks: int) -> list[Operator]:
    between = [_Forward(None, 0) for _ in range(moves_each - 1)]
    return [_Source(_chunk(), chunks), *between, _Sink(None, 0)]


def driven(moves_each: int, *, cpu_time: bool = False, timeline: bool = False) -> float:
    """Return the µs of CPU per move by a driver, in a pipeline in which each chunk moves ``moves_each`` times."""
    chunks = _MOVES // moves_each
    factories = tuple(_Factory(lambda made=made: made) for made in _chain(moves_each, chunks))  # type: ignore[misc]
    pipelines = [Pipeline(id=0, factories=factories)]
    instance = FragmentInstance(pipelines, OutputQueue(16), cpu_time=cpu_time, timeline=timeline)
    began = time.process_time_ns()
    for _ in execute(instance):
        pass
    spent = time.process_time_ns() - began
    assert sum(driver.metrics.moves for driver in instance.drivers) == chunks * moves_each
    return spent / (chunks * moves_each) / 1e3


def bare(moves_each: int) -> float:
    """Return the µs of CPU per move of the same operators' calls without a driver."""
    chunks = _MOVES // moves_each
    operators = _chain(moves_each, chunks)
    pairs = list(zip(operators, operators[1:], strict=False))
    began = time.process_time_ns()
    for _ in range(chunks):
        for upper, lower in pairs:
            if lower.need_input() and upper.has_output():
                chunk = upper.pull_chunk()
                if chunk is not None and chunk.num_rows:
                    lower.push_chunk(chunk)
    return (time.process_time_ns() - began) / (chunks * moves_each) / 1e3


def costs(runs: int) -> dict[str, float]:
    """Return µs per move, the best of ``runs``: by moves per chunk, and with statistics that are off by default."""
    cases: dict[str, Callable[[], float]] = {
        "1 a chunk": lambda: driven(1),
        "4 a chunk": lambda: driven(4),
        "4 a chunk, with CPU time": lambda: driven(4, cpu_time=True),
        "4 a chunk, bare": lambda: bare(4),
    }
    return {name: round(min(case() for _ in range(runs)), 3) for name, case in cases.items()}


def counted(instances: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return sums of the instances' counters: moves, schedulings, seconds active and of CPU in operators."""
    pipelines = [pipeline for instance in instances for pipeline in instance["pipelines"]]
    drivers = [driver for pipeline in pipelines for driver in pipeline["drivers"]]
    operators = [operator for pipeline in pipelines for operator in pipeline["operators"]]
    return {
        "moves": sum(driver["moves"] for driver in drivers),
        "scheduled": sum(driver["scheduled"] for driver in drivers),
        "active_s": round(sum(driver["active_s"] for driver in drivers), 4),
        "operators_cpu_s": round(sum(operator.get("cpu_s", 0.0) for operator in operators), 4),
    }


def share(found: Mapping[str, float], us_per_move: float) -> dict[str, float]:
    """Return the cost of all moves, in seconds and in percent of the operators' CPU time and of the tasks' time."""
    cost = found["moves"] * us_per_move / 1e6
    parts = {"of_operators_cpu": found["operators_cpu_s"], "of_tasks": found["task_s"]}
    return {"cost_s": round(cost, 5)} | {
        f"percent_{name}": round(100 * cost / whole, 3) if whole else 0.0 for name, whole in parts.items()
    }


def measured(chosen: Sequence[Query], folder: Path, us_per_move: float) -> dict[str, dict[str, float]]:
    """Run each query once to warm up and once more; return counters and share by query name."""
    spark = start(PIPELINE, _CONF)
    for name, path in data.tables(folder).items():
        spark.read.parquet(path).createOrReplaceTempView(name)
    watch = Watch(spark)
    results: dict[str, dict[str, float]] = {}
    for query in [*chosen, *chosen]:
        frame = spark.sql(query.sql)
        frame.collect()
        instances = [instance for fragment in fragments(frame) for instance in fragment["instances"]]
        found = counted(instances) | {"task_s": watch.breakdown(frame, 0.0)["tasks"]}
        results[query.name] = found | share(found, us_per_move)
    spark.stop()
    return results


def main(words: Sequence[str] | None = None) -> int:
    """Measure, and print the JSON document."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.micro.moves", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="times a move is timed; the best counts")
    parser.add_argument("--scale", type=float, default=1.0, help="scale of the TPC-H files")
    parser.add_argument("--data", type=Path, help="folder of the TPC-H files (default: made)")
    parser.add_argument("--queries", default="1-22")
    parser.add_argument("--json", type=Path, help="write the results here")
    arguments = parser.parse_args(words)
    found = costs(arguments.runs)
    folder = data.make(arguments.scale, arguments.data)
    by_query = measured(choose(arguments.queries, arguments.scale), folder, found["1 a chunk"])
    total = {key: sum(counts[key] for counts in by_query.values()) for key in ("moves", "operators_cpu_s", "task_s")}
    worst = max(by_query, key=lambda name: by_query[name]["percent_of_operators_cpu"])
    document = {
        "meta": {"versions": versions(), "scale": arguments.scale, "batch_rows": BATCH_ROWS, "columns": _COLUMNS},
        "us_per_move": found,
        "queries": by_query,
        "summary": {
            **{key: round(value, 3) for key, value in total.items()},
            **share(total, found["1 a chunk"]),
            "worst_query": worst,
            "worst_percent_of_operators_cpu": by_query[worst]["percent_of_operators_cpu"],
        },
    }
    emit_document(document, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
