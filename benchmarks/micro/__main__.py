"""Prints nanoseconds per row of every case as JSON: ``python -m benchmarks.micro [--rows N] [--only TEXT]``."""

from __future__ import annotations

import argparse
import json
import os
import platform

import numba
import numpy as np
import pyarrow as pa

from benchmarks.micro import cases, exchange_cases, join_cases, measure, scan_cases, sort_cases  # noqa: F401 (registers its cases)
from pyspark_pipeline.kernels.warm_up import warm_up


def main() -> None:
    """Run the cases selected by the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.micro", description=cases.__doc__)
    parser.add_argument("--rows", type=int, default=6_000_000, help="rows of the large cases")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each case; the best counts")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    warm_up()
    chosen = [name for name in measure.names() if arguments.only in name]
    found = {name: round(measure.nanoseconds_per_row(name, arguments.rows, arguments.runs), 2) for name in chosen}
    meta = {
        "rows": arguments.rows,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
    }
    print(json.dumps({"meta": meta, "ns_per_row": found}, indent=2))


if __name__ == "__main__":
    main()
