"""``pyspark-pipeline warm``: compiles kernels ahead of the first query, or bakes them for an image or a wheel."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark_pipeline.kernels import compile_cache, processors
from pyspark_pipeline.private_folder import check_trusted

WARM_MODULE = "pyspark_pipeline.task.warm"


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "warm",
        help="compile the kernels ahead of the first query",
        description="Compiles every kernel: for this user and machine, or with --into or --into-package into a cache "
        "that an image, an archive or a wheel carries to other machines.",
    )
    place = parser.add_mutually_exclusive_group()
    variable = compile_cache.BAKED_VARIABLE
    place.add_argument("--into", type=Path, metavar="DIR", help=f"a folder that {variable}=DIR names where queries run")
    place.add_argument("--into-package", action="store_true", help="the installed package, which needs no setting")
    cpu = "with --into or --into-package: native (this machine's model) or an LLVM name; default: %(default)s"
    parser.add_argument("--cpu", default=processors.portable_target(), help=cpu)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile the kernels and print their location."""
    into = compile_cache.PACKAGED if arguments.into_package else arguments.into
    if into is None:
        return _warm()
    into = into.absolute()
    environment = dict(os.environ)
    if arguments.cpu != "native":
        environment |= {processors.NAME: arguments.cpu, processors.FEATURES: ""}
    command = [sys.executable, "-m", WARM_MODULE, "--into", str(into)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return done.returncode
    print(f"kernels for {arguments.cpu}: {done.stdout.strip()}")
    if into == compile_cache.PACKAGED:
        print("found wherever this package is installed or copied to")
    else:
        print(f"set in the environment of driver and executors: {compile_cache.BAKED_VARIABLE}={into}")
    try:
        check_trusted(into, like=compile_cache.PACKAGE if arguments.into_package else None)
    except OSError as error:
        print(f"pyspark-pipeline: at this place they would not be used: {error.strerror}", file=sys.stderr)
    return 0


def _warm() -> int:
    own = compile_cache.own_folder()
    if own is None or not compile_cache.is_kept(own):
        print("pyspark-pipeline: there is no private folder to keep kernels in", file=sys.stderr)
        return 1
    code = (
        0
        if compile_cache.is_complete()
        else subprocess.run([sys.executable, "-m", WARM_MODULE], check=False).returncode
    )
    if code == 0:
        print("kernels are compiled for this machine")
    return code
