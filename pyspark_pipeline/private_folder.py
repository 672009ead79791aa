"""Private folders: only this user can change their content, so code can be loaded from them.

A *safe* path: every folder from the root down, and every symbolic link on the way, belongs to root or to this user,
and no other user can rename or replace an entry of it (not writable by group or others, or sticky). A *private* folder
is a folder of this user at a safe path, with mode 0700. A *trusted* folder may belong to root as well and may be
readable by all, as a folder of an image is. Users are compared by id, so they need no entry in the password file.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_MODE = 0o700
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40  # as Linux follows


def private_folder(
    candidates: Iterable[Path], prefix: str = "pyspark_pipeline-", refused: Callable[[str], None] | None = None
) -> Path:
    """Return the first of ``candidates`` that is a private folder or can be made one, else a fresh temporary folder.

    Calls ``refused`` with a message for each rejected candidate. The caller removes a fresh folder.
    Raises OSError if there is no safe temporary folder either.
    """
    for candidate in candidates:
        try:
            return make_private(candidate)
        except OSError as error:
            if refused is not None:
                is_unsafe = isinstance(error, UnsafePathError)
                refused(str(error.strerror) if is_unsafe else f"{candidate}: {error.strerror}")
    fresh = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        return make_private(fresh)
    except OSError:
        fresh.rmdir()
        raise


def make_private(path: Path) -> Path:
    """Return ``path``, a private folder that this process can write to; make it, and its parents, if missing.

    Raises :class:`UnsafePathError` if other users can, or could, change its content, OSError if it cannot be made.
    """
    final, status = _walk(path, makes_missing=True)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(20, "not a folder", str(path))
    if status.st_uid != os.geteuid():
        raise UnsafePathError(path, f"{final} belongs to user {status.st_uid}")
    if status.st_mode & _WRITABLE_BY_OTHERS:  # its content may be another user's already
        raise UnsafePathError(path, f"{final} is writable by other users")
    if stat.S_IMODE(status.st_mode) != _MODE:
        os.chmod(final, _MODE)
    if not os.access(final, os.W_OK | os.X_OK):
        raise PermissionError(13, "not writable", str(path))
    return path


def check_trusted(folder: Path, like: Path | None = None) -> None:
    """Raise :class:`UnsafePathError` unless only root and this user can change ``folder`` and its content.

    ``like`` is a folder above ``folder`` whose code this process runs already: users who can change it are trusted
    with ``folder`` as well. Raises OSError if ``folder`` is missing or cannot be read.
    """
    users, allowed = _trusted_users(), 0
    if like is None:
        final, _ = _walk(folder, makes_missing=False)
    else:
        final, status = str(folder), like.stat()
        users, allowed = (*users, status.st_uid), status.st_mode & _WRITABLE_BY_OTHERS
    for path, status in _tree(final):
        if status.st_uid not in users:
            raise UnsafePathError(folder, f"{path} belongs to user {status.st_uid}")
        if stat.S_ISLNK(status.st_mode):
            raise UnsafePathError(folder, f"{path} is a symbolic link")
        if status.st_mode & _WRITABLE_BY_OTHERS & ~allowed:
            raise UnsafePathError(folder, f"{path} is writable by other users")


class UnsafePathError(PermissionError):
    """Another user can change the target of a path or its content; names the path and the cause."""

    def __init__(self, path: str | os.PathLike[str], cause: str) -> None:
        super().__init__(13, f"{os.fspath(path)} is not private: {cause}")
        self.arguments = (os.fspath(path), cause)

    def __reduce__(self) -> tuple[type[UnsafePathError], tuple[str, str]]:
        return type(self), self.arguments


def _walk(path: Path, makes_missing: bool) -> tuple[str, os.stat_result]:
    """Resolve ``path`` from the root, links included; return the resolved path and its status.

    Raises :class:`UnsafePathError` at the first component that another user could replace.
    """
    rest = _components(path if path.is_absolute() else Path.cwd() / path)
    current, links = os.sep, 0
    status = _checked(path, current)
    while rest:
        _check_entries(path, current, status)
        above, current = current, os.path.normpath(os.path.join(current, rest.pop()))
        if makes_missing:
            _make_missing(current)
        status = _checked(path, current)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(40, "too many symbolic links", str(path))
            target = Path(os.readlink(current))
            rest += _components(target)
            current = os.sep if target.is_absolute() else above
            status = _checked(path, current)
    return current, status


def _components(path: Path) -> list[str]:
    """Return the components below the root in reverse order."""
    return [part for part in reversed(path.parts) if part != os.sep]


def _make_missing(folder: str) -> None:
    if not os.path.lexists(folder):
        try:
            os.mkdir(folder, _MODE)
            os.chmod(folder, _MODE)  # whatever the umask is
        except FileExistsError:
            pass  # another process made it; its owner is checked next


def _checked(path: Path, current: str) -> os.stat_result:
    status = os.lstat(current)
    if status.st_uid not in _trusted_users():
        raise UnsafePathError(path, f"{current} belongs to user {status.st_uid}")
    return status


def _check_entries(path: Path, current: str, status: os.stat_result) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(20, f"{current} is not a folder", str(path))
    if status.st_mode & _WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX:
        raise UnsafePathError(path, f"{current} is writable by other users")


def _trusted_users() -> tuple[int, ...]:
    """Return root, this user, and the owner of the root folder, who replaces root in a user namespace without one."""
    return (0, os.geteuid(), os.lstat(os.sep).st_uid)


def _tree(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    yield folder, os.lstat(folder)
    for parent, folders, files in os.walk(folder, onerror=_raise):
        for name in (*folders, *files):
            path = os.path.join(parent, name)
            yield path, os.lstat(path)


def _raise(error: OSError) -> None:
    raise error
