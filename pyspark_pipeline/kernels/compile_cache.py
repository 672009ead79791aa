"""Where compiled kernels are cached on disk, and whether the cache is complete. Imports no compiler, so it is cheap.

The directory is ``NUMBA_CACHE_DIR`` where the user set it, else one below ``~/.cache/pyspark_pipeline/numba`` (or
the temporary directory where the home is not writable) for the state of the kernels' sources, compiler and
processor. A *mark*, an empty file there, says that every kernel has been compiled for that state.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_VARIABLE = "NUMBA_CACHE_DIR"


def choose_directory() -> None:
    """Point ``NUMBA_CACHE_DIR`` to a directory that can be written, unless the user chose one."""
    if os.environ.get(_VARIABLE):
        return
    candidates = [
        Path(os.path.expanduser("~")) / ".cache" / "pyspark_pipeline" / "numba",
        Path(tempfile.gettempdir()) / f"pyspark_pipeline-numba-{os.getuid()}",
    ]
    for path in (candidate / _state() for candidate in candidates):
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        if os.access(path, os.W_OK):
            os.environ[_VARIABLE] = str(path)
            return


def is_complete() -> bool:
    """Say whether every kernel has been compiled on this machine, as the sources are now."""
    mark = _mark()
    return mark is not None and mark.exists()


@contextmanager
def completing() -> Iterator[bool]:
    """Wait until no other process compiles; give whether the caller must. When it has, set the mark.

    Without a directory to cache in it gives False: compiled code could not be kept.
    """
    mark = _mark()
    if mark is None:
        yield False
        return
    mark.parent.mkdir(parents=True, exist_ok=True)
    with open(mark.parent / "compiling.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_mine = not mark.exists()
        yield is_mine
        if is_mine:
            mark.touch()


def compile_ahead(module: str) -> None:
    """Start ``python -m module``, which completes the cache, in a process that outlives this one, if there is need."""
    if not is_complete():
        quiet = subprocess.DEVNULL  # a shell's $(...) waits for whoever holds its standard output
        command = [sys.executable, "-m", module]
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def _mark() -> Path | None:
    choose_directory()
    folder = os.environ.get(_VARIABLE)
    if not folder:
        return None
    return Path(folder) / f"complete-{_state()}"


def _state() -> str:
    """Name the state of compiler, processor and all sources: compiled kernels hold code of each other's files."""
    known = hashlib.sha256(f"{_version('numba')} {sys.implementation.cache_tag} {_processor()}".encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        status = source.stat()
        known.update(f"{source} {status.st_mtime_ns} {status.st_size}\n".encode())
    return known.hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _processor() -> str:
    """Name the processor's model: compiled code is for one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    return next((line for line in lines if line.startswith("model name")), platform.processor())
