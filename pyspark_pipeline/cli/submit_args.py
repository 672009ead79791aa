"""``pyspark-pipeline submit-args``: prints the arguments to add to a spark-submit command line."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from pyspark_pipeline.kernels.compile_cache import compile_ahead
from pyspark_pipeline.launch import joined, submit_arguments
from pyspark_pipeline.shim_build import find_spark, shim_jar

WARM_MODULE = "pyspark_pipeline.task.warm"


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "submit-args",
        help="print the arguments that switch the extension on",
        description="Use as: spark-submit $(pyspark-pipeline submit-args) job.py",
    )
    parser.add_argument("--jars", default="", help="jars of your own: spark-submit takes only its last --jars")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the arguments on one line."""
    spark = find_spark()
    words = submit_arguments(shim_jar(spark.home), spark.home)
    for jar in filter(None, arguments.jars.split(",")):
        words[1] = joined(words[1], jar)
    warm_kernels()
    print(shlex.join(words))
    return 0


def warm_kernels() -> None:
    """Start compiling the engine's kernels, unless this machine has them, in a process that outlives this one."""
    compile_ahead(WARM_MODULE, "--background")
