"""The command line of ``pyspark-pipeline replay``: runs a captured task, or one operator of it, without Spark.

Under a debugger: ``python -m pdb -m pyspark_pipeline.cli.main replay FOLDER``; with ``--cpus 1`` everything runs in
one thread.
"""

from __future__ import annotations

import argparse
from typing import Any

from pyspark_pipeline.cli.arguments import whole_number


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "replay",
        help="run a captured task again, without Spark",
        description="Captures are made by queries with spark.pysparkPipeline.capture.folder=FOLDER.",
    )
    parser.add_argument("folder", help="a folder below the one that was captured to")
    cpus = "drivers and threads (default: as in the task); not with --operator"
    parser.add_argument("--cpus", type=whole_number(1), help=cpus)
    parser.add_argument(
        "--operator",
        metavar="NAME",
        help="run only this one (HashJoinProbe, or by number: 0.1); of a capture with the option capture.operator",
    )
    rows = "rows to print of each partition (default 10)"
    parser.add_argument("--rows", type=whole_number(0), default=10, help=rows)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replay; see :mod:`~.replay_run`. The local import keeps the other commands working without pyarrow."""
    from pyspark_pipeline.cli.replay_run import run as replay

    return replay(arguments)
