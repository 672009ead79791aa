"""The decorator of all kernels: ``@kernel`` is numba's nopython mode with the engine's settings.

Compiled code is cached on disk (:mod:`~.kernel_cache`), so that a worker loads a kernel in milliseconds.
Kernels release the interpreter lock and keep IEEE arithmetic exact (``fastmath`` off).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

import numba

from pyspark_pipeline.kernels.arrays import ArrayOf, Item
from pyspark_pipeline.kernels.kernel_cache import cached_on_disk

R_co = TypeVar("R_co", covariant=True)


class Kernel(Protocol[R_co]):
    """A compiled function. Its arguments are numpy's or Python's scalars alike, so only its result has a type."""

    @property
    def py_func(self) -> Callable[..., R_co]:
        """The function itself, for Python."""

    def __call__(self, *arguments: Any) -> R_co:
        """Call the form for the types of the arguments."""


@overload
def kernel(function: Callable[..., R_co]) -> Kernel[R_co]: ...


@overload
def kernel(**options: Any) -> Callable[[Callable[..., R_co]], Kernel[R_co]]: ...


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile ``function`` on its first call for the argument types of the call (``@kernel`` or ``@kernel(...)``).

    Further ``options`` are passed to ``numba.njit``; ``cache``, ``nogil`` and ``fastmath`` are set here.
    """
    compile_lazily = numba.njit(nogil=True, fastmath=False, **options)

    def cached(function: Callable[..., Any]) -> Any:
        return cached_on_disk(compile_lazily(function))

    return cached if function is None else cached(function)


def frozen(array: ArrayOf[Item]) -> ArrayOf[Item]:
    """Make a numpy array read-only and return it.

    Numba compiles a kernel separately for writable and read-only inputs: inputs are always frozen, so that each
    kernel has one compiled form, whatever owns the memory.
    """
    array.flags.writeable = False
    return array
