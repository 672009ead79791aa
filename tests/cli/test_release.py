"""A release has one wheel with a jar for every supported Spark; checkouts of the same sources build the same bytes."""

from __future__ import annotations

import email
import importlib.util
import os
import shutil
import subprocess
import tarfile
import zipfile
from email.message import Message
from pathlib import Path
from types import ModuleType

import pytest

from pyspark_pipeline import __version__, shim_build
from tests.cli.kit import make_package, make_spark

ROOT = Path(__file__).resolve().parents[2]
FILES = ["setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE"]
MODULES = ["errors.py", "private_folder.py", "shim_build.py", "version.py"]
MINORS = ("4.1", "4.3")
EPOCH = (2021, 3, 4, 5, 6, 8)
JAVA = '#!/bin/sh\nwhile [ "$1" != -d ]; do shift; done\nout=$2\nshift 2\ncat "$@" > "$out/A.class"\n'


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pipeline_release", ROOT / "build_backend" / "pipeline_release.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_checkout(root: Path) -> Path:
    """Write a checkout with the build backend and a small package; the umask determines the modes of its files."""
    package = make_package(root, MINORS)
    for name in FILES:
        shutil.copyfile(ROOT / name, root / name)
    for name in MODULES:
        shutil.copyfile(ROOT / "pyspark_pipeline" / name, package / name)
    (root / "build_backend").mkdir()
    for path in (ROOT / "build_backend").glob("*.py"):
        shutil.copyfile(path, root / "build_backend" / path.name)
    return root


def make_used_checkout(root: Path) -> Path:
    """Write a used git checkout: with an older build, an older file list, and untracked files."""
    make_checkout(root)
    git = ["git", "-c", "user.name=a", "-c", "user.email=b", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "All"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    stale = ["build/lib/pyspark_pipeline/stale.py", "pyspark_pipeline/stale.py", "jvm-shim/src/common/Stale.class"]
    for name in (*stale, "stale.scala", "pyspark_pipeline.egg-info/SOURCES.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("stale.scala\n")
    return root


@pytest.fixture(scope="module")
def built(release: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Path]]:
    """Return sdist and wheel of two checkouts, built with different umasks and a compiler that only copies."""
    root = tmp_path_factory.mktemp("release")
    java = root / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA)
    java.chmod(0o755)
    release.install_tools(str(root / "tools"))
    homes = [make_spark(root / minor, f"{minor}.7") for minor in MINORS]
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(java.parents[1]))
        patch.setenv("SOURCE_DATE_EPOCH", "1614834368")
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        for name, make, umask in (("a", make_checkout, 0o002), ("far/off/b", make_used_checkout, 0o077)):
            out = root / "out" / name
            out.mkdir(parents=True)
            before = os.umask(umask)
            try:
                made.append(tuple(release.build(make(root / name), out, homes, str(root / "tools"))))
            finally:
                os.umask(before)
    return made


@pytest.mark.rotates
def test_two_checkouts_build_the_same_bytes(built: list[tuple[Path, Path]]) -> None:
    for first, second in zip(*built, strict=True):
        assert first != second and first.name == second.name
        assert first.read_bytes() == second.read_bytes()


def test_archives_have_source_date_epoch_times_and_are_readable_by_all(built: list[tuple[Path, Path]]) -> None:
    sdist, wheel = built[1]
    with zipfile.ZipFile(wheel) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {EPOCH}
        assert all(entry.external_attr >> 16 & 0o444 == 0o444 for entry in archive.infolist())
    with tarfile.open(sdist) as tar:
        assert {(entry.mtime, entry.uid, entry.uname) for entry in tar} == {(1614834368, 0, "")}


def test_release_excludes_files_of_older_builds(built: list[tuple[Path, Path]]) -> None:
    sdist, wheel = built[1]
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "stale" in name.lower()]
    with tarfile.open(sdist) as tar:
        assert not [name for name in tar.getnames() if "stale" in name.lower()]


def test_wheel_has_matching_jar_for_every_minor(built: list[tuple[Path, Path]], tmp_path: Path) -> None:
    with zipfile.ZipFile(built[0][1]) as archive:
        archive.extractall(tmp_path)
    package = tmp_path / "pyspark_pipeline"
    assert len(list((package / "jars").iterdir())) == len(MINORS)
    for minor in MINORS:
        spark = shim_build.SparkInstall(home=tmp_path, version=f"{minor}.9")
        jar = package / "jars" / shim_build.jar_name(spark)
        sources = shim_build.shim_sources(package)
        assert shim_build.jar_fingerprint(jar) == shim_build.fingerprint(sources, spark, package)


def test_metadata_is_complete_and_requires_no_pyspark(built: list[tuple[Path, Path]]) -> None:
    with zipfile.ZipFile(built[0][1]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata: Message = email.message_from_bytes(archive.read(name))
    assert metadata["Version"] == __version__ and metadata["Author"] == "The pyspark_pipeline authors"
    assert "Programming Language :: Python :: 3" in metadata.get_all("Classifier", [])
    required = metadata.get_all("Requires-Dist", [])
    assert not [line for line in required if line.startswith(("pyspark", "py4j")) and "extra ==" not in line]
    assert [line for line in required if line.startswith("pyspark") and line.endswith('extra == "spark"')]


def test_release_minors_are_those_with_sources(release: ModuleType, tmp_path: Path) -> None:
    assert release.supported_minors() == list(MINORS)
    homes = [make_spark(tmp_path / minor, f"{minor}.7") for minor in MINORS]
    assert release.spark_homes(list(MINORS), [str(home) for home in reversed(homes)], tmp_path / "cache") == homes
    (tmp_path / "cache" / "spark-4.1").mkdir(parents=True)
    found = release.spark_homes(list(MINORS), [str(homes[1])], tmp_path / "cache")
    assert found == [tmp_path / "cache" / "spark-4.1", homes[1]]
    with pytest.raises(SystemExit, match="no Spark in"):
        release.minor_of(tmp_path)
