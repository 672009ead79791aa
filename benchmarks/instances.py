"""Compares one fragment instance of two cores with two of one: TPC-H with ``spark.task.cpus`` of all cores, and of 1.

The comparison is that of :mod:`benchmarks.settings`.
``python -m benchmarks.instances --scale N --data FOLDER [--queries 1-22] [--runs 3] [--json FILE]``
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks import settings
from benchmarks.command_line import make_parser
from benchmarks.settings import Side
from benchmarks.tpch.suite import TPCH

ONE, SEVERAL = "one_instance", "an_instance_a_core"


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit status is 1 if an answer differs."""
    parser = make_parser("instances", __doc__)
    TPCH.add_options(parser)
    arguments = parser.parse_args(words)
    cores = {ONE: arguments.cores, SEVERAL: 1}
    return settings.run(arguments, {name: Side({"spark.task.cpus": str(count)}) for name, count in cores.items()})


if __name__ == "__main__":
    sys.exit(main())
