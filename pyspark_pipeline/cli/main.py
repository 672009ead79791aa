"""Reads the command line of ``pyspark-pipeline`` and runs one of its commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pyspark_pipeline.cli import doctor, replay, submit_args, warm
from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.version import __version__


def parser() -> argparse.ArgumentParser:
    """Build the parser; each command's module adds its subparser."""
    result = argparse.ArgumentParser(prog="pyspark-pipeline", description="Run Spark plans in the pipeline engine.")
    result.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = result.add_subparsers(dest="command", required=True)
    for module in (submit_args, doctor, replay, warm):
        module.add_parser(commands)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``arguments`` (default: those of the process); return the exit code."""
    parsed = parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except PipelineError as error:
        print(f"pyspark-pipeline: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
