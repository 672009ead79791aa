"""Have every kernel loaded before workers are forked; compile what this machine never compiled, once.

Loading all kernels from the cache costs about 0.3 s, compiling them about 18 s of one core. One process at a time
compiles, in a child for each family of kernels; the others wait for it, then load.

``python -m pyspark_pipeline.task.warm`` does this ahead of the first query.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from pyspark_pipeline.expressions import warm_up as expression_kernels
from pyspark_pipeline.kernels import compile_cache
from pyspark_pipeline.kernels import warm_up as row_kernels

_FAMILIES: tuple[Callable[[], None], ...] = (expression_kernels.warm_up, row_kernels.warm_up)


def warm() -> None:
    """Load every kernel into this process, compiling first where the cache is not complete."""
    if not compile_cache.is_complete():
        with compile_cache.completing() as is_mine:
            if is_mine:
                _compile_all()
    for load in _FAMILIES:
        load()


def _compile_all() -> None:
    """Run every family in a child process; raise OSError where one fails."""
    children = [_forked(family) for family in _FAMILIES]
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    if failed:
        raise OSError(f"{len(failed)} of {len(children)} processes that compile kernels failed")


def _forked(family: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        family()
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    warm()
