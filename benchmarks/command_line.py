"""What the command lines of the benchmarks have in common: the sessions' options, the JSON document."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def make_parser(benchmark: str, description: str | None) -> argparse.ArgumentParser:
    """Make the parser of ``python -m benchmarks.<benchmark>`` with the options that all have."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{benchmark}", description=description)
    parser.add_argument("--cores", type=int, default=2, help="cores of both sessions (default 2)")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--log", type=Path, help="append what the sessions print to this file")
    parser.add_argument("--conf", action="append", default=[], metavar="K=V", help="setting of both sessions")
    return parser


def configuration(arguments: argparse.Namespace, own: dict[str, str]) -> dict[str, str]:
    """Give the settings of both sessions: those of the benchmark, and over them those of the command line."""
    return {"spark.master": f"local[{arguments.cores}]", "spark.ui.enabled": "false"} | own | given(arguments)


def given(arguments: argparse.Namespace) -> dict[str, str]:
    """Give the settings of the command line."""
    return dict(pair.split("=", 1) for pair in arguments.conf)


def give(document: dict[str, Any], path: Path | None) -> None:
    """Print the JSON document, and write it to ``path`` where there is one."""
    text = json.dumps(document, indent=1)
    print(text)
    if path:
        path.write_text(text + "\n", encoding="utf-8")
