"""Compile every kernel once per machine, in parallel, and load compiled kernels before workers are forked.

A worker's daemon calls :func:`warm`: it loads the cached kernels of most queries, and never waits for compilation. If
some are missing, a background process compiles them, the most common ones first. A task that needs one sooner
compiles it itself, or waits for the process that is compiling it (:mod:`pyspark_pipeline.kernels.kernel_cache`).

``python -m pyspark_pipeline.task.warm`` compiles all kernels: in this user's cache, or with ``--into DIR`` for a
cache to bake.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.expressions import warm_up as expression_kernels
from pyspark_pipeline.kernels import compile_cache, kernel_cache
from pyspark_pipeline.kernels import warm_up as row_kernels
from pyspark_pipeline.operators import scan
from pyspark_pipeline.operators.aggregation import functions

_STEPS: tuple[Callable[[], None], ...] = (
    *row_kernels.FIRST_STEPS,
    *functions.warm_up_steps(),
    *expression_kernels.steps(),
    *row_kernels.LATER_STEPS,
    *scan.warm_up_steps(),
)
_MAX_PROCESSES = 4
_POLL = 0.1  # seconds


class WarmError(PipelineError):
    """Kernels could not be compiled or written; the message has the reason."""


def warm() -> None:
    """Load the cached kernels of most queries; start a background process that compiles what is missing."""
    compile_cache.compile_ahead(__name__, "--background", "--with-parent", "--processes", "1")
    kernel_cache.preload(row_kernels.COMMON_MODULES)


def compile_all(processes: int, with_parent: bool = False) -> None:
    """Compile missing kernels in child processes, and mark the cache as complete.

    With ``with_parent`` it stops when the parent of this process ends.
    Raises :class:`WarmError` if a child fails.
    """
    parent = os.getppid()
    numbers, write = os.pipe()  # the children share the steps: each takes the next number
    os.write(write, bytes(range(len(_STEPS))))
    os.close(write)
    children = [_fork(lambda: _run_steps(numbers)) for _ in range(processes)]
    is_wanted, failed = True, 0
    while children:
        child, status = os.waitpid(children[-1], os.WNOHANG if with_parent else 0)
        if child:
            children.pop()
            failed += status != 0
        elif is_wanted and os.getppid() != parent:
            is_wanted = False
            os.read(numbers, len(_STEPS))  # the children end after their current steps
        else:
            time.sleep(_POLL)
    os.close(numbers)
    if failed:
        raise WarmError(f"{failed} of {processes} processes that compile kernels failed")
    if is_wanted:
        compile_cache.set_complete()


def _run_steps(numbers: int) -> None:
    while number := os.read(numbers, 1):
        _STEPS[number[0]]()


def _fork(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def bake(into: Path, processes: int) -> Path:
    """Compile every kernel into a cache below the folder ``into``; return the folder of the files.

    Compiles in a private folder and copies, because ``into`` may hold files of other users.
    """
    with tempfile.TemporaryDirectory() as private:
        os.environ[compile_cache.OWN_VARIABLE] = private
        compile_cache.ignore_baked()
        compile_all(processes)
        own = compile_cache.own_folder()
        if own is None or not own.is_relative_to(private):
            raise WarmError(f"{private} is not a private folder")
        target = into / own.parent.name / own.name
        target.mkdir(parents=True, exist_ok=True)
        for file in own.iterdir():
            if not file.name.endswith(".lock"):
                shutil.copyfile(file, target / file.name)
                (target / file.name).chmod(0o644)
        for folder in (target, target.parent):
            folder.chmod(0o755)
    return target


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line ``words``; return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.warm", description=__doc__)
    parser.add_argument("--into", type=Path, help="the folder of a cache to bake")
    parser.add_argument("--processes", type=int, default=min(len(os.sched_getaffinity(0)), _MAX_PROCESSES))
    parser.add_argument("--background", action="store_true", help="let other processes go first")
    parser.add_argument("--with-parent", action="store_true", help="stop when the process that started this one ends")
    arguments = parser.parse_args(words)
    try:
        if arguments.into:
            print(bake(arguments.into, arguments.processes))
            return 0
        if arguments.background:
            kernel_cache.run_in_background()
        with compile_cache.completing() as is_mine:
            if is_mine and not compile_cache.is_complete():
                compile_all(arguments.processes, arguments.with_parent)
    except (OSError, WarmError) as error:
        print(f"pyspark_pipeline: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
