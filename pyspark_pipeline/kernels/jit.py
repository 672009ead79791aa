"""The one way to compile a kernel: ``@kernel`` is numba's nopython mode with the engine's settings.

Compiled code is cached on disk (:mod:`~.compile_cache`), so that a worker loads a kernel in milliseconds.
Kernels release the interpreter lock and keep IEEE arithmetic exact (``fastmath`` off). Import numba only
through this file: the cache directory must be chosen before numba is first imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pyspark_pipeline.kernels.compile_cache import choose_directory

F = TypeVar("F", bound=Callable[..., Any])


choose_directory()

import numba  # noqa: E402


def kernel(function: F | None = None, **options: Any) -> Any:
    """Compile ``function`` on first call for the types it is called with (``@kernel`` or ``@kernel(...)``).

    Further ``options`` go to ``numba.njit``; ``cache``, ``nogil`` and ``fastmath`` are the engine's.
    """
    compile_lazily: Any = numba.njit(cache=True, nogil=True, fastmath=False, **options)
    return compile_lazily if function is None else compile_lazily(function)


def frozen(array: Any) -> Any:
    """Mark a numpy array read-only and return it.

    Numba compiles a kernel anew for writable and read-only inputs: inputs are always frozen, so that each
    kernel has one compiled form whoever owns the memory.
    """
    array.flags.writeable = False
    return array
