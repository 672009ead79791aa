"""Measures the cost of memory limits, compares counted with used memory, and checks for leftover files.

Each query of :mod:`benchmarks.limit_cases` runs without a limit, then with an eighth of its peak of counted bytes.
``memory``: the counted and used memory of each worker. ``times_slower``: limited by unlimited, medians of all runs but
the first. ``left``: files left after success, failure, cancellation and the kill of a worker.
``python -m benchmarks.limits --data FOLDER --scale N [--json FILE]``
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import pickle
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.command_line import configuration, emit_document, make_parser
from benchmarks.engine import Engine
from benchmarks.interruptions import interruptions, left_now
from benchmarks.left_behind import named_files
from benchmarks.limit_cases import CASES, Case
from benchmarks.report import versions
from benchmarks.session import PIPELINE
from benchmarks.worker_memory import compared, worker_memory
from pyspark_pipeline.task.memory import OPERATORS_SHARE

TIGHTER = 8
_MIB = 1 << 20
#: First estimate of a worker's address space besides the operators' memory; see ``task/memory.py``.
_OTHER_BYTES = 720 << 20
_NEAR = 0.15
_SMALL = "select l_orderkey, count(*) from lineitem where l_orderkey < 1000 group by l_orderkey"
_TRIES = 3
ENDS = ("success", "failure", "cancel", "kill")
_CONF = {
    "spark.driver.memory": "4g",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.pysparkPipeline.join.broadcastBytes": "0",
    "spark.pysparkPipeline.join.reduction": "never",
    "spark.pysparkPipeline.sort.gatherBytes": "0",
}


class CaseRun:
    """Runs one case: ``tables`` by name, ``scratch`` for answers."""

    def __init__(self, case: Case, arguments: argparse.Namespace, scratch: Path) -> None:
        self._case = case
        self._log: Path | None = arguments.log
        self._repeats: int = arguments.repeats
        self._tables = {name: str(arguments.data / f"{name}.parquet") for name in ("lineitem", "orders")}
        self._conf = configuration(arguments, _CONF | {"spark.sql.shuffle.partitions": str(arguments.cores)})
        self._failing = case.failing.format(key=arguments.scale * 3_000_000)  # a key that TPC-H has
        self._scratch = scratch

    def measure(self) -> dict[str, Any]:
        """Run the case without and with the limit; return its entry of the document."""
        free = self._unlimited()
        limit = free["counted"] // TIGHTER
        bound, limited = self._limited(limit)
        return {
            "memory": free["memory"],
            "unlimited_s": [round(s, 2) for s in free["seconds"]],
            "wanted_limit_mib": limit // _MIB,
            "limit_mib": [limit // _MIB for limit in limited["limits"]],
            "pyspark_memory_mib": bound // _MIB,
            "limited_s": [round(s, 2) for s in limited["seconds"]],
            "spilled_mib": limited["spilled"] // _MIB,
            "spill_files": limited["files"],
            "times_slower": times_slower(free["seconds"], limited["seconds"]),
            "memory_limited": limited["memory"],
            "equal": free["answer"] == limited["answer"],
            "left": limited["left"],
        }

    def _unlimited(self) -> dict[str, Any]:
        with self._engine({}) as engine:
            return self._repeated(engine, "free", self._once(engine))

    def _limited(self, limit: int) -> tuple[int, dict[str, Any]]:
        """Run the case with the setting, found by trial, that gives operators ``limit`` bytes; return both."""
        bound = _OTHER_BYTES + int(limit / OPERATORS_SHARE)
        for tried in range(_TRIES):
            with self._engine({"spark.executor.pyspark.memory": f"{bound // _MIB}m"}) as engine:
                known = frozenset(named_files(engine.local_dir))
                first = self._once(engine)
                got = max(first["limits"])
                if tried + 1 < _TRIES and abs(got - limit) > _NEAR * limit:
                    bound += int((limit - got) / OPERATORS_SHARE)
                    continue
                found = self._repeated(engine, "bound", first)
                found["left"] = {"success": left_now(engine, known)}
                found["left"] |= interruptions(engine, known, self._case, self._failing)
                found["left"]["works_after"] = engine.call("run", sql=_SMALL, sink="collect")["seconds"] > 0
                engine.stop()
                found["left"]["stop"] = named_files(engine.local_dir)
                return bound, found
        raise AssertionError("the last try ends here")

    def _engine(self, more: dict[str, str]) -> Engine:
        return Engine(PIPELINE, self._conf | more, log=self._log)

    def _once(self, engine: Engine, answer: Path | None = None) -> dict[str, Any]:
        """Run the case; return its time and its instances' counters."""
        engine.call("views", tables=self._tables)
        case = self._case
        response = engine.call("run", sql=case.sql, sink=case.sink, answer=None if answer is None else str(answer))
        return {"seconds": response["seconds"]} | counted(engine.call("instances")["instances"])

    def _repeated(self, engine: Engine, name: str, first: dict[str, Any]) -> dict[str, Any]:
        """Run the case again after its ``first`` run; return the counters and times of all runs, and the answer."""
        answer = self._scratch / f"{self._case.name}-{name}"
        runs = [first, *(self._once(engine, answer) for _ in range(self._repeats - 1))]
        with open(answer, "rb") as file:
            rows = pickle.load(file)[2]
        most = max(runs, key=lambda run: run["counted"])
        processes: dict[int, int] = {}
        for run in runs:
            for process, nbytes in run["processes"].items():
                processes[process] = max(nbytes, processes.get(process, 0))
        memory = {process: worker_memory(process) for process in processes}
        ordered = ""
        if self._case.ordered:
            engine.call("save", sql=self._case.ordered, path=f"{answer}-ordered")
            ordered = digest(Path(f"{answer}-ordered"))
        return most | {
            "seconds": [run["seconds"] for run in runs],
            "answer": (rows, ordered),
            "memory": [compared(processes[p], found) for p, found in memory.items() if found is not None],
        }


def times_slower(unlimited: Sequence[float], limited: Sequence[float]) -> float:
    """Return the ratio of the median times; the first run of a session, which warms it up, does not count."""
    return round(statistics.median(limited[1:]) / statistics.median(unlimited[1:]), 2)


def counted(instances: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the aggregated counters of instances: peaks by process, the limits of spilling ones, spilled bytes."""
    processes: dict[int, int] = {}
    for instance in instances:
        process = int(instance["process"])
        processes[process] = max(instance["peak_bytes"], processes.get(process, 0))
    spilling = [i for i in instances if _sum(i, "spill_files")] or [max(instances, key=lambda i: int(i["peak_bytes"]))]
    return {
        "processes": processes,
        "counted": max(processes.values()),
        "limits": [instance["limit_bytes"] or 0 for instance in spilling],
        "spilled": sum(_sum(instance, "spilled_bytes") for instance in instances),
        "files": sum(_sum(instance, "spill_files") for instance in instances),
    }


def _sum(instance: dict[str, Any], counter: str) -> int:
    operators = [operator for pipeline in instance["pipelines"] for operator in pipeline["operators"]]
    return sum(int(operator.get("counters", {}).get(counter, 0)) for operator in operators)


def digest(folder: Path) -> str:
    """Return hashes of all columns of the Parquet files of ``folder`` in name order, independent of file boundaries."""
    import pyarrow.parquet as pq

    made: dict[str, hashlib._Hash] = {}
    for path in sorted(folder.glob("*.parquet")):
        with contextlib.closing(pq.ParquetFile(path)) as file:
            for batch in file.iter_batches(batch_size=1 << 16):
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    made.setdefault(name, hashlib.sha256()).update(column.to_numpy(zero_copy_only=False).tobytes())
    return " ".join(values.hexdigest() for values in made.values())


def summary(cases: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the summary of all cases."""
    left = [entry["left"] for entry in cases.values()]
    return {
        "all_within": all(worker["within"] for entry in cases.values() for worker in entry["memory"]),
        "most_times_slower": max(entry["times_slower"] for entry in cases.values()),
        "all_equal": all(entry["equal"] for entry in cases.values()),
        "nothing_left": not any(
            found["stop"] or any(found[end]["nameless"] or found[end]["named"] for end in ENDS)
            for found in left
        ),
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the JSON document; the exit status is 1 if an answer differs or a file is left."""
    parser = make_parser("limits", __doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of TPC-H's lineitem and orders")
    parser.add_argument("--scale", type=int, required=True, help="their scale factor")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each, the first not timed; at least 2")
    parser.add_argument("--cases", default=",".join(case.name for case in CASES))
    arguments = parser.parse_args(words)
    chosen = [case for case in CASES if case.name in arguments.cases.split(",")]
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            measured[case.name] = CaseRun(case, arguments, Path(folder)).measure()
            print(case.name, measured[case.name], file=sys.stderr)
    found = summary(measured)
    meta = {"versions": versions(), "scale": arguments.scale, "cores": arguments.cores}
    emit_document({"meta": meta, "cases": measured, "summary": found}, arguments.json)
    return 0 if found["all_equal"] and found["nothing_left"] else 1


if __name__ == "__main__":
    sys.exit(main())
