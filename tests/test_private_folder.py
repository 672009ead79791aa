"""Tests of private folders: no other user can change or replace one, at any level of its path."""

from __future__ import annotations

import os
import pickle
import stat
import tempfile
from pathlib import Path

import pytest

from pyspark_pipeline.private_folder import UnsafePathError, check_trusted, make_private, private_folder

_OTHER = 12345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_missing_folders_are_created_with_mode_0700_for_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        folder = make_private(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert folder == tmp_path / "a" / "b"
    assert mode(folder) == mode(folder.parent) == 0o700


def test_folder_readable_by_others_becomes_0700(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o755)
    assert mode(make_private(folder)) == 0o700


@pytest.mark.parametrize("bits", [0o777, 0o1777, 0o770, 0o702])
def test_folder_writable_by_others_is_rejected(tmp_path: Path, bits: int) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(bits)
    with pytest.raises(UnsafePathError, match="cache is writable by other users"):
        make_private(folder)
    assert mode(folder) == bits


def test_writable_ancestor_is_rejected_unless_sticky(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "mine" / "cache").mkdir(parents=True)
    shared.chmod(0o777)
    with pytest.raises(UnsafePathError, match="shared is writable by other users"):
        make_private(shared / "mine" / "cache")
    shared.chmod(0o1777)
    assert make_private(shared / "mine" / "cache")


def test_link_of_this_user_is_followed_and_its_target_checked(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    folder = make_private(tmp_path / "link" / "cache")
    assert mode(tmp_path / "real" / "cache") == 0o700 and folder == tmp_path / "link" / "cache"
    (tmp_path / "real").chmod(0o777)
    with pytest.raises(UnsafePathError, match="real is writable"):
        make_private(tmp_path / "link" / "cache")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="too many symbolic links"):
        make_private(tmp_path / "round" / "cache")


@as_root
@pytest.mark.parametrize("name", ["mine", "mine/cache", "link"])
def test_path_of_another_user_is_rejected(tmp_path: Path, name: str) -> None:
    shared = tmp_path / "shared"
    (shared / "mine" / "cache").mkdir(parents=True)
    (shared / "link").symlink_to("mine")
    shared.chmod(0o1777)
    os.chown(shared / name, _OTHER, _OTHER, follow_symlinks=False)
    with pytest.raises(UnsafePathError, match=f"{name} belongs to user {_OTHER}"):
        make_private(shared / ("link/cache" if name == "link" else "mine/cache"))


def test_first_private_candidate_is_used_and_rejections_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    refused: list[str] = []
    candidates = [tmp_path / "file" / "below", tmp_path / "file", tmp_path / "open", tmp_path / "good", tmp_path / "no"]
    assert private_folder(candidates, refused=refused.append) == tmp_path / "good"
    assert len(refused) == 3 and all(str(tmp_path) in line for line in refused)
    assert refused[2] == f"{tmp_path / 'open'} is not private: {tmp_path / 'open'} is writable by other users"


def test_fresh_folder_is_created_without_private_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first, second = (private_folder([tmp_path / "open"], prefix="mine-") for _ in range(2))
    assert first != second and mode(first) == 0o700 and first.name.startswith("mine-")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "open"))
    with pytest.raises(UnsafePathError):
        private_folder([])


def test_trusted_folder_may_be_readable_but_not_writable_by_others(tmp_path: Path) -> None:
    (tmp_path / "baked" / "sub").mkdir(parents=True)
    file = tmp_path / "baked" / "sub" / "code"
    file.touch()
    (tmp_path / "baked").chmod(0o755)
    file.chmod(0o644)
    check_trusted(tmp_path / "baked")
    file.chmod(0o646)
    with pytest.raises(UnsafePathError, match="code is writable"):
        check_trusted(tmp_path / "baked")
    file.unlink()
    file.symlink_to("elsewhere")
    with pytest.raises(UnsafePathError, match="code is a symbolic link"):
        check_trusted(tmp_path / "baked")
    with pytest.raises(FileNotFoundError):
        check_trusted(tmp_path / "missing")


def test_package_folder_may_be_as_writable_as_the_package(tmp_path: Path) -> None:
    package, baked = tmp_path / "package", tmp_path / "package" / "baked"
    baked.mkdir(parents=True)
    package.chmod(0o775)
    baked.chmod(0o775)
    check_trusted(baked, like=package)
    baked.chmod(0o777)
    with pytest.raises(UnsafePathError, match="baked is writable"):
        check_trusted(baked, like=package)


@as_root
def test_file_of_another_user_makes_a_folder_untrusted(tmp_path: Path) -> None:
    file = tmp_path / "baked" / "code"
    file.parent.mkdir()
    file.touch()
    os.chown(file, _OTHER, _OTHER)
    with pytest.raises(UnsafePathError, match=f"code belongs to user {_OTHER}"):
        check_trusted(tmp_path / "baked")


def test_unsafe_path_error_pickles() -> None:
    error = pickle.loads(pickle.dumps(UnsafePathError("/x", "it is shared")))
    assert isinstance(error, UnsafePathError) and "/x is not private: it is shared" in str(error)
