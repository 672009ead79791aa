"""Creates the folder and the files of a capture, readable only by the user: they hold the user's data."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pyspark_pipeline.private_folder import UnsafePathError


def make_folder(folder: Path) -> None:
    """Create ``folder`` and missing parents for this user alone. Raises OSError if it is a link or another user's.

    A user who can write to a parent can rename the folder but not read its files: see :func:`open_private`.
    """
    for path in (*reversed(folder.parents), folder):
        if not path.exists():
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(folder))
    if status.st_uid != os.geteuid():
        raise UnsafePathError(folder, f"it belongs to user {status.st_uid}")
    folder.chmod(0o700)


def open_private(path: Path) -> BinaryIO:
    """Open a new file that only this user can read, replacing an older one. Raises OSError."""
    path.unlink(missing_ok=True)
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600))
