"""The decorator of all kernels: ``@kernel`` is numba's nopython mode with the engine's settings.

Compiled code is cached on disk (:mod:`~.kernel_cache`), so that a worker loads a kernel in milliseconds.
Kernels release the interpreter lock and keep IEEE arithmetic exact (``fastmath`` off).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

from pyspark_pipeline.kernels.kernel_cache import cached_on_disk

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F | None = None, **options: Any) -> Any:
    """Compile ``function`` on its first call for the argument types of the call (``@kernel`` or ``@kernel(...)``).

    Further ``options`` are passed to ``numba.njit``; ``cache``, ``nogil`` and ``fastmath`` are set here.
    """
    compile_lazily = numba.njit(nogil=True, fastmath=False, **options)

    def cached(function: F) -> Any:
        return cached_on_disk(compile_lazily(function))

    return cached if function is None else cached(function)


def frozen(array: Any) -> Any:
    """Make a numpy array read-only and return it.

    Numba compiles a kernel separately for writable and read-only inputs: inputs are always frozen, so that each
    kernel has one compiled form, whatever owns the memory.
    """
    array.flags.writeable = False
    return array
