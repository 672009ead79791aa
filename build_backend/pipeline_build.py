"""Build backend: setuptools' own, with reproducible results and the additional requirements of compiling the shim.

A build compiles the shim for the Sparks in ``PYSPARK_PIPELINE_SPARK_HOMES`` (folders, separated as in ``PATH``), else
for the Spark of the environment that ``pip install`` installs into, else for none: the installed package then compiles
it on first use. It never downloads Spark. To compile, it borrows the run-time requirements from that environment if
it has all of them; otherwise they are installed into the isolated build environment.

The same sources, Spark, Java, Python and setuptools produce the same bytes: the build takes place in a new folder,
with one umask, and with ``SOURCE_DATE_EPOCH`` (default: the first day of 2020) as the time of every file.
"""

from __future__ import annotations

import configparser
import contextlib
import gzip
import os
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from setuptools import build_meta as _setuptools
from setuptools.build_meta import *  # noqa: F403  (a build backend re-exports the hooks it does not change)

SPARK_HOMES = "PYSPARK_PIPELINE_SPARK_HOMES"
_EPOCH = "SOURCE_DATE_EPOCH"
_DEFAULT_EPOCH = "1577836800"  # 2020-01-01: zip files have no time before 1980
_EXTRA_CONFIG = "DIST_EXTRA_CONFIG"


def run_time_requirements() -> list[str]:
    """Return ``install_requires`` of setup.cfg."""
    config = configparser.ConfigParser()
    config.read("setup.cfg", encoding="utf-8")
    return [line for line in config["options"]["install_requires"].splitlines() if line.strip()]


def installed(paths: list[str]) -> dict[str, Distribution]:
    """Return every distribution in the folders ``paths`` by its normalised name."""
    found = {}
    for distribution in distributions(path=paths):
        name = distribution.metadata["Name"]
        if name:
            found[name.lower().replace("_", "-")] = distribution
    return found


def needed() -> list[str]:
    """Return the requirements that the build environment lacks for compiling the shim and writing its manifest."""
    from packaging.requirements import Requirement

    target = installed([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    if not (os.environ.get(SPARK_HOMES) or os.environ.get("SPARK_HOME") or "pyspark" in target):
        return []
    requirements = [Requirement(line) for line in run_time_requirements()]
    if all(r.name in target and r.specifier.contains(target[r.name].version) for r in requirements):
        return []
    return [str(requirement) for requirement in requirements]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return the requirements of a wheel build beyond ``build-system.requires``."""
    return [*_setuptools.get_requires_for_build_wheel(config_settings), *needed()]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build the wheel in a new folder, so that it has no files of an earlier build; return its file name."""
    with tempfile.TemporaryDirectory() as folder, reproducible():
        config = Path(folder) / "build.cfg"
        config.write_text(f"[build]\nbuild_base = {folder}/build\n[egg_info]\negg_base = {folder}\n", encoding="utf-8")
        with variables({_EXTRA_CONFIG: str(config)}):
            return str(_setuptools.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Build the sdist, ignoring an older list of files; return its file name."""
    for sources in Path().glob("*.egg-info/SOURCES.txt"):
        sources.unlink()
    with reproducible():
        name = str(_setuptools.build_sdist(sdist_directory, config_settings))
        normalise(Path(sdist_directory) / name, int(os.environ[_EPOCH]))
    return name


@contextlib.contextmanager
def reproducible() -> Iterator[None]:
    """Set a fixed umask within the body, and a fixed time for files in archives."""
    umask = os.umask(0o022)
    try:
        with variables({_EPOCH: os.environ.get(_EPOCH) or _DEFAULT_EPOCH}):
            yield
    finally:
        os.umask(umask)


@contextlib.contextmanager
def variables(changed: dict[str, str]) -> Iterator[None]:
    """Set environment variables within the body."""
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def normalise(archive: Path, epoch: int) -> None:
    """Rewrite a ``.tar.gz``: entries sorted by name, with one time and owner, and modes independent of the umask."""
    with tarfile.open(archive) as source:
        entries = [(entry, source.extractfile(entry)) for entry in sorted(source.getmembers(), key=lambda e: e.name)]
        with open(archive.with_suffix(".tmp"), "wb") as file:
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=epoch) as packed:
                with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as target:
                    for entry, content in entries:
                        entry.mtime, entry.pax_headers = epoch, {}
                        entry.uid = entry.gid = 0
                        entry.uname = entry.gname = ""
                        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
                        target.addfile(entry, content)
    os.replace(archive.with_suffix(".tmp"), archive)
