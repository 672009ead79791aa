"""Common parts of the benchmarks' command lines: the sessions' options, the JSON document."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def make_parser(benchmark: str, description: str | None) -> argparse.ArgumentParser:
    """Build the parser of ``python -m benchmarks.<benchmark>`` with the common options."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{benchmark}", description=description)
    parser.add_argument("--cores", type=int, default=2, help="cores of both sessions (default 2)")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--log", type=Path, help="append what the sessions print to this file")
    parser.add_argument("--conf", action="append", default=[], metavar="K=V", help="setting of both sessions")
    return parser


def add_table_options(parser: argparse.ArgumentParser, runs: int) -> None:
    """Add the options of a benchmark over tables of TPC-H: ``scale``, ``data`` and ``runs``."""
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor of the tables (default 1)")
    parser.add_argument("--data", type=Path, help="folder of the tables; made there if missing")
    parser.add_argument("--runs", type=int, default=runs, help=f"timed runs of each query (default {runs})")


def configuration(arguments: argparse.Namespace, own: dict[str, str]) -> dict[str, str]:
    """Return the settings of both sessions: those of the benchmark, overridden by those of the command line."""
    return {"spark.master": f"local[{arguments.cores}]", "spark.ui.enabled": "false"} | own | extra_settings(arguments)


def extra_settings(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the settings of the command line."""
    return settings_of(arguments.conf)


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    """Return the settings of the texts ``K=V``."""
    return dict(pair.split("=", 1) for pair in pairs)


def emit_document(document: dict[str, Any], path: Path | None) -> None:
    """Print the JSON document, and write it to ``path`` if given."""
    print(json.dumps(document, indent=1))
    write_document(document, path)


def write_document(document: dict[str, Any], path: Path | None) -> None:
    """Write the JSON document to ``path`` if given; values that JSON does not know as texts."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1, default=str) + "\n", encoding="utf-8")
