"""The one way to compile a kernel: ``@kernel`` is numba's nopython mode with the engine's settings.

Compiled code is cached on disk, in ``NUMBA_CACHE_DIR`` when the user set it, else in
``~/.cache/pyspark_pipeline/numba`` (or the temporary directory where the home is not writable), so
that a worker loads a kernel in milliseconds. Kernels release the interpreter lock and keep IEEE
arithmetic exact (``fastmath`` off). Import numba only through this file: the cache directory must be
chosen before numba is first imported.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def _choose_cache_directory() -> None:
    """Point ``NUMBA_CACHE_DIR`` to a directory that can be written, unless the user chose one."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    candidates = [
        Path(os.path.expanduser("~")) / ".cache" / "pyspark_pipeline" / "numba",
        Path(tempfile.gettempdir()) / f"pyspark_pipeline-numba-{os.getuid()}",
    ]
    for path in candidates:
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        if os.access(path, os.W_OK):
            os.environ["NUMBA_CACHE_DIR"] = str(path)
            return


_choose_cache_directory()

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
