"""Folders of compiled kernels on disk, and the state of that cache. Imports no compiler, so the import is cheap.

Kernels are written to this user's *own* cache and read from there and from *baked* caches. A folder of a cache is
named by the content of all that the code depends on (:func:`state`) and by the processor it is for
(:mod:`~.processors`), never by a path or a time: a copy, another installation or an unpacked archive of the same
package finds the compiled code. Compiled code is pickled, so a cache is used only if no other user can change it
(:mod:`pyspark_pipeline.private_folder`).

- own: below ``NUMBA_CACHE_DIR`` if the user set it, else below ``XDG_CACHE_HOME`` or ``~/.cache``, else below the
  temporary folder; if none of them is safe, a fresh folder for this process and its children.
- baked: built by ``pyspark-pipeline warm --into``, read only: the folder that ``PYSPARK_PIPELINE_KERNELS`` names, and
  ``_kernels`` in the package.

A folder that holds every kernel contains an empty marker file.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from pyspark_pipeline import private_folder
from pyspark_pipeline.kernels import processors

BAKED_VARIABLE = "PYSPARK_PIPELINE_KERNELS"
PACKAGE = Path(__file__).resolve().parent.parent
PACKAGED = PACKAGE / "_kernels"
OWN_VARIABLE = "NUMBA_CACHE_DIR"
_MARKER = "complete"
_KEEP_UNUSED_DAYS = 60
_SECONDS = 20  # approximate time to compile all kernels on two cores


def own_folder() -> Path | None:
    """Return the folder to which this process writes kernels, and from which it reads; None if no folder is safe."""
    root = _own_root(tuple(_own_candidates()))
    return None if root is None else root / state() / processors.target()


def is_kept(own: Path) -> bool:
    """Return whether this process's own cache outlives the process."""
    return own.parent.parent not in _FRESH


def baked_folders() -> tuple[Path, ...]:
    """Return the existing folders of baked caches with code for this machine, best first."""
    roots = () if _IGNORED else _baked_roots(os.environ.get(BAKED_VARIABLE))
    targets = (processors.target(), *processors.portable_targets())
    paths = (root / state() / target for root in roots for target in targets)
    return tuple(path for path in paths if path.is_dir())


def is_complete() -> bool:
    """Return whether every kernel has been compiled for this machine and these sources."""
    own = own_folder()
    return any((folder / _MARKER).exists() for folder in (*baked_folders(), *([own] if own else [])))


def set_complete() -> None:
    """Mark this process's own cache as complete; delete the folders of other states that were not used for long."""
    own = own_folder()
    if own is not None:
        own.mkdir(parents=True, exist_ok=True)
        (own / _MARKER).touch()
        note_use()
        oldest = time.time() - _KEEP_UNUSED_DAYS * 86400
        for folder in own.parent.parent.iterdir():
            with suppress(OSError):  # another process may delete it as well
                if folder.stat().st_mtime < oldest:
                    shutil.rmtree(folder, ignore_errors=True)


def note_use() -> None:
    """Record in the own cache that the folder of this state is in use."""
    own = own_folder()
    if own is not None:
        with suppress(OSError):
            os.utime(own.parent)


@contextmanager
def completing() -> Iterator[bool]:
    """Yield whether this process may complete its own cache: False while another process does."""
    own = own_folder()
    if own is None:
        yield True
        return
    own.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(own / "completing.lock", "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        except OSError:  # a file system without locks
            yield True
        else:
            yield True


def ignore_baked() -> None:
    """Disable baked caches in this process, which builds one."""
    _IGNORED.append(True)


def compile_ahead(module: str, *arguments: str) -> None:
    """Start ``python -m module``, which completes the cache, in a separate process, unless the cache is complete.

    Print a message to the standard error.
    """
    own = own_folder()
    if own is None or not is_kept(own) or is_complete():
        return
    with completing() as is_mine:
        if not is_mine:
            return
    print(
        "pyspark_pipeline: compiling kernels for this machine in the background, once, for about "
        f"{_SECONDS} s; the first queries wait for those that they need",
        file=sys.stderr,
        flush=True,
    )
    quiet = subprocess.DEVNULL  # a shell's $(...) waits for every process with its standard output
    # import this package only, nothing from the working folder, which another user may own
    path = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", module, *arguments]
    subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, env=environment)


@lru_cache(maxsize=1)
def state() -> str:
    """Return a hash of compiler versions and all sources: compiled kernels hold code of each other's files."""
    versions = [f"{package} {_version(package)}" for package in ("numba", "llvmlite", "numpy")]
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    known = hashlib.sha256(repr((versions, python, sys.platform)).encode())
    for source in sorted(files("pyspark_pipeline.kernels").iterdir(), key=lambda each: each.name):
        if source.name.endswith(".py"):
            known.update(source.name.encode() + b"\0" + hashlib.sha256(source.read_bytes()).digest())
    return known.hexdigest()[:16]


_IGNORED: list[bool] = []

#: Temporary own roots: created by this process, removed when it ends.
_FRESH: set[Path] = set()


def _own_candidates() -> Iterator[Path]:
    if os.environ.get(OWN_VARIABLE):
        yield Path(os.environ[OWN_VARIABLE]) / "pyspark_pipeline"
    for base in (os.environ.get("XDG_CACHE_HOME", ""), os.path.join(os.path.expanduser("~"), ".cache")):
        if os.path.isabs(base):
            yield Path(base) / "pyspark_pipeline" / "kernels"
            break
    yield Path(tempfile.gettempdir()) / f"pyspark_pipeline-{os.geteuid()}" / "kernels"


@lru_cache(maxsize=8)
def _own_root(candidates: tuple[Path, ...]) -> Path | None:
    try:
        root = private_folder.private_folder(candidates, prefix="pyspark_pipeline-kernels-", refused=_warn_if_unsafe)
    except OSError as error:
        _warn(f"compiled kernels are not cached: {error.strerror}")
        return None
    if root not in candidates:
        _FRESH.add(root)
        atexit.register(_remove, root, os.getpid())
    return root


@lru_cache(maxsize=8)
def _baked_roots(named: str | None) -> tuple[Path, ...]:
    found = []
    for folder, like in ((Path(named) if named else None, None), (PACKAGED, PACKAGE)):
        if folder is not None and (folder.is_dir() or like is None):
            try:
                private_folder.check_trusted(folder, like=like)
                found.append(folder)
            except OSError as error:
                _warn(f"the kernels in {folder} are not used: {error.strerror}")
    return tuple(found)


def _warn_if_unsafe(sentence: str) -> None:
    """Warn of an unsafe folder, but not of one that cannot be created, as is usual in a container."""
    if "is not private" in sentence or (os.environ.get(OWN_VARIABLE) or "\0") in sentence:
        _warn(f"kernels are not cached there: {sentence}")


def _warn(sentence: str) -> None:
    print(f"pyspark_pipeline: {sentence}", file=sys.stderr, flush=True)


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in its forked children
        shutil.rmtree(folder, ignore_errors=True)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
