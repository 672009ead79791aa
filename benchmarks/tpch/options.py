"""The command-line options for a benchmark's queries, number of runs, and tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.tpch.queries import names


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--scale``, ``--queries``, ``--runs`` and ``--data``."""
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor (default 1)")
    extra = ", ".join(names()[22:])
    parser.add_argument("--queries", help=f"comma-separated, ranges as 1-5 (default 1-22); also: {extra}")
    parser.add_argument("--runs", type=int, default=3, help="runs of each query in each session, the first cold")
    parser.add_argument("--data", type=Path, help="folder of the tables; made there if missing")
