"""Prints time and memory of a local query with many drivers: ``python -m benchmarks.micro.drivers``.

Half of the drivers produce a hundred numbers each and hash-partition them to ten instances, where the other half read
them. Each count of drivers runs in a process of its own; ``kib_per_driver`` is the growth of the process's peak memory
since before the query was built.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

from benchmarks.memory import resident_bytes
from pyspark_pipeline.local import LocalFragment, LocalQuery
from pyspark_pipeline.local.write import column, fields, fragment, source
from pyspark_pipeline.plan.nodes import HashExchange, Range, SingleExchange

INSTANCES = 10
ROWS = 100
_OPTIONS = {"batchRows": str(ROWS)}


def fragments(drivers: int) -> list[LocalFragment]:
    """Return two fragments of ten instances, and one that returns the result."""
    dop = drivers // (2 * INSTANCES)
    runs: dict[str, Any] = {"instances": INSTANCES, "dop": dop, "options": _OPTIONS}
    numbers = Range(output=fields("n:bigint"), input_id=0)
    by_n = HashExchange(keys=(column(numbers, "n"),), num_partitions=INSTANCES)
    splits = {0: (0, ROWS * INSTANCES * dop, 1)}
    return [
        fragment(1, numbers, by_n, splits=splits, **runs),
        fragment(2, source(numbers.output), SingleExchange(), inputs={0: 1}, **runs),
        fragment(3, source(numbers.output), inputs={0: 2}, options=_OPTIONS),
    ]


def measure(drivers: int, threads: int) -> dict[str, float]:
    """Run the query in this process, after a small one; return time and memory."""
    LocalQuery(fragments(2 * INSTANCES), threads=threads).table()
    before = resident_bytes(os.getpid())
    started = time.perf_counter()
    query = LocalQuery(fragments(drivers), threads=threads)
    rows = query.table().num_rows
    seconds = time.perf_counter() - started
    assert rows == ROWS * (drivers // (2 * INSTANCES)) * INSTANCES
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    return {
        "drivers": len(query.group.drivers),
        "seconds": round(seconds, 2),
        "us_per_driver": round(seconds / drivers * 1e6, 1),
        "kib_per_driver": round(grown / drivers / 1024, 1),
    }


def main() -> None:
    """Measure each driver count of the command line in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.micro.drivers", description=__doc__)
    parser.add_argument("--drivers", default="1000,2000,5000,10000", help="counts of drivers")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.drivers.split(",")]
    if len(counts) == 1:
        print(json.dumps(measure(counts[0], arguments.threads)))
        return
    for count in counts:
        here = [sys.executable, "-m", "benchmarks.micro.drivers", "--threads", str(arguments.threads)]
        subprocess.run([*here, "--drivers", str(count)], check=True)


if __name__ == "__main__":
    main()
