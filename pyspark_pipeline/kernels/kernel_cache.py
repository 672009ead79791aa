"""Compiled kernels as files: a cache that numba's dispatchers load from and save to.

The folders are those of :mod:`~.compile_cache`.

One file holds one compiled form of one kernel, so processes never update a shared file, as they do numba's own
index. A process that compiles a form holds a lock on it. Another that needs the form waits for the lock,
then loads; if locks do not work (some network file systems), or the wait is long, it compiles as well, which only
costs time. The wait for a process with low priority is short: on a busy machine it may get no processor.

A form called by Python is an *entry*; a form called by another kernel during its compilation is *inner*. Entries
hold the code of their inner forms, so a daemon preloads only entries,
and only those that most queries use.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import os
import pickle
import tempfile
import time
from collections.abc import Collection, Iterable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from numba.core import compiler, serialize

from pyspark_pipeline.kernels import compile_cache, processors

_ENTRY, _INNER = ".entry", ".inner"
_LONGEST_WAIT = 60.0  # seconds for one kernel; the longest takes about 7
_BACKGROUND_WAIT = 1.5  # seconds, if the lock holder has low priority
_POLL = 0.01
_LOWEST = 19  # priority of a process, as nice(1) counts

# Numba has no types.
_REBUILD: Any = compiler.CompileResult._rebuild
_DUMPS: Any = serialize.dumps

#: The dispatchers by the names of their files.
_DISPATCHERS: dict[str, Any] = {}

#: The files of the forms that this process is compiling; each is called by the previous one.
_COMPILING: list[str] = []

#: Not empty if this process compiles with low priority.
_IN_BACKGROUND: list[bool] = []
_LOW_PRIORITY = b"low priority"


class KernelCache:
    """The files of one kernel's forms; numba's ``_Cache``, by duck typing."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._locks: dict[str, IO[bytes]] = {}

    @property
    def cache_path(self) -> str | None:
        """Folder to which forms are saved; None without a safe folder."""
        own = compile_cache.own_folder()
        return None if own is None else str(own)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled form for ``signature``; None, with the lock acquired, if the caller must compile it."""
        target_context.refresh()
        base = self._file_name(signature)
        found = self._load(base, target_context)
        if found is None:
            own = compile_cache.own_folder()
            if own is not None and base not in self._locks:
                self._lock(own, base)
                found = self._load(base, target_context)  # the previous lock holder may have saved it
                if found is not None:
                    self._unlock(base)
        if found is None:
            _COMPILING.append(base)
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write the form that was compiled for ``signature``, and release its lock."""
        base = self._file_name(signature)
        if base in _COMPILING:
            del _COMPILING[_COMPILING.index(base) :]
        own = compile_cache.own_folder()
        try:
            if own is not None and not result.library.has_dynamic_globals:
                data = _DUMPS((result.codegen.magic_tuple(), signature, result._reduce()))
                _write(own / f"{base}{_INNER if _COMPILING else _ENTRY}", data)
        except OSError:
            pass  # a full disk, for instance: the code is in memory
        finally:
            self._unlock(base)

    def enable(self) -> None:
        """Do nothing: this cache is always on."""

    def disable(self) -> None:
        """Do nothing: this cache is always on."""

    def flush(self) -> None:
        """Do nothing: files depend on nothing that could change."""

    def _file_name(self, signature: Any) -> str:
        return f"{self._name}.{hashlib.sha256(str(signature).encode()).hexdigest()[:16]}"

    def _load(self, base: str, target_context: Any) -> Any:
        for folder in _folders():
            for kind in (_ENTRY, _INNER):
                loaded = read_form(folder / f"{base}{kind}", target_context)
                if loaded is not None:
                    if kind == _INNER and not _COMPILING:  # called by Python too: make it an entry
                        with contextlib.suppress(OSError):
                            os.replace(folder / f"{base}{_INNER}", folder / f"{base}{_ENTRY}")
                    return loaded[1]
        return None

    def _lock(self, own: Path, base: str) -> None:
        """Wait for the form's lock and acquire it, if locks work in that folder."""
        with contextlib.suppress(OSError):
            own.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = open(own / f"{base}.lock", "ab")  # held until the form is saved
            self._locks[base] = file
            _wait_for(file)
            if _IN_BACKGROUND:
                os.write(file.fileno(), _LOW_PRIORITY)

    def _unlock(self, base: str) -> None:
        file = self._locks.pop(base, None)
        if file is not None:
            with contextlib.suppress(OSError):
                os.unlink(file.name)
            file.close()


def cached_on_disk(dispatcher: Any) -> Any:
    """Make a dispatcher of ``numba.njit`` load from and save to files; return it."""
    function = dispatcher.py_func
    package, _, module = function.__module__.rpartition(".")
    if package == __package__:
        base = f"{module}.{function.__qualname__}".replace("<", "").replace(">", "")
        same = (base if number == 1 else f"{base}-{number}" for number in itertools.count(1))
        name = next(name for name in same if name not in _DISPATCHERS)
        dispatcher._cache = KernelCache(name)
        _DISPATCHERS[name] = dispatcher
    else:
        with contextlib.suppress(RuntimeError):  # no cache folder
            dispatcher.enable_caching()  # a user's kernel: numba's cache detects changes of its file
    return dispatcher


def run_in_background() -> None:
    """Lower the priority of this process; other processes do not wait long for kernels that it compiles."""
    _IN_BACKGROUND.append(True)
    os.nice(_LOWEST)
    # Where Linux schedules sessions as groups, a priority counts within a session, and this value among sessions.
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(_LOWEST))


def preload(modules: Collection[str]) -> int:
    """Load every entry of the ``modules`` on disk into its dispatcher; return their number.

    A process loads any other entry when it first calls the kernel.
    """
    compile_cache.note_use()
    best: dict[str, Path] = {}
    for folder in reversed(_folders()):
        found = (path for path in folder.glob(f"*{_ENTRY}") if path.name.split(".")[0] in modules)
        best |= {path.name: path for path in found}
    for module in sorted({name.split(".")[0] for name in best}):
        import_module(f"{__package__}.{module}")
    for name, path in sorted(best.items()):
        dispatcher = _DISPATCHERS.get(name.removesuffix(_ENTRY).rpartition(".")[0])
        if dispatcher is not None:
            _preload_form(dispatcher, path)
    return len(best)


def are_loaded(kernels: Iterable[Any]) -> bool:
    """Return whether each of the ``kernels`` has a compiled form in this process."""
    return all(kernel.overloads for kernel in kernels)


def _preload_form(dispatcher: Any, path: Path) -> None:
    context = dispatcher.targetctx
    context.refresh()
    loaded = read_form(path, context)
    if loaded is not None and tuple(loaded[0]) not in dispatcher.overloads:
        result = loaded[1]
        context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        dispatcher.add_overload(result)


def read_form(path: Path, target_context: Any) -> tuple[Any, Any] | None:
    """Read a form, its signature and the loaded code, from a file; None if it is missing or not for this machine."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    try:
        (triple, *processor), signature, payload = pickle.loads(data)
        here, *wanted = target_context.codegen().magic_tuple()
        is_portable = path.parent.name in processors.portable_targets()
        if triple != here or (processor != wanted and not is_portable):
            return None
        return signature, _REBUILD(target_context, *payload)
    except (EOFError, pickle.UnpicklingError, ValueError, TypeError):
        return None  # a truncated file: a machine went down


def _folders() -> tuple[Path, ...]:
    """Return the folders to read from, this user's own first."""
    own = compile_cache.own_folder()
    return (*(() if own is None else (own,)), *compile_cache.baked_folders())


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".tmp", delete=False) as file:
        try:
            file.write(data)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _wait_for(file: IO[bytes]) -> None:
    """Lock a file; stop waiting if that takes long, as the lock holder may hang. Raise OSError without locks."""
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            has_low_priority = os.fstat(file.fileno()).st_size > 0 and not _IN_BACKGROUND
            if time.monotonic() - began > (_BACKGROUND_WAIT if has_low_priority else _LONGEST_WAIT):
                return
            time.sleep(_POLL)
