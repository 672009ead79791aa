"""Clusters and Pythons for tests: Spark's standalone master and workers on the loopback, and small environments."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyspark_pipeline
from tests.support.processes import SPARK_HOME, environment, wait_until

_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
_HIDDEN = ("pyspark_pipeline", "__editable__", "pyspark-pipeline")


class Standalone:
    """One master, and workers of one core that run executors below ``folder``/<name>."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        log = self._start("master", "org.apache.spark.deploy.master.Master", "--port", "0")
        wait_until(lambda: _STARTED.search(log.read_text()) is not None, "the master should start", 60)
        found = _STARTED.search(log.read_text())
        assert found is not None
        self.url = found[1]

    def add_worker(self, name: str) -> None:
        """Start a worker and wait until it is registered."""
        work = ("--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / name))
        log = self._start(name, "org.apache.spark.deploy.worker.Worker", *work, self.url)
        wait_until(lambda: "Successfully registered" in log.read_text(), f"worker {name} should register", 60)

    def stop(self) -> None:
        """End all processes."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(30)

    def _start(self, name: str, main: str, *arguments: str) -> Path:
        log = self._folder / f"{name}.log"
        address = ("--host", "127.0.0.1", "--webui-port", "0")
        command = [str(SPARK_HOME / "bin" / "spark-class"), main, *address, *arguments]
        settings = environment() | {"SPARK_DAEMON_MEMORY": "256m"}
        del settings["PYTHONPATH"], settings["PYSPARK_PYTHON"]
        with log.open("wb") as output:
            self._processes.append(
                subprocess.Popen(command, cwd=self._folder, env=settings, stdout=output, stderr=subprocess.STDOUT)
            )
        return log


def make_environment(folder: Path, is_shown: Callable[[str], bool]) -> Path:
    """Create a virtual environment of links to the packages of this one; return its Python."""
    _link_packages(folder / "lib" / _PYTHON, is_shown)
    (folder / "bin").mkdir()
    python = folder / "bin" / "python3"
    python.symlink_to(Path(sys.executable).resolve())
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    return python


def make_whole_environment(folder: Path) -> Path:
    """Create an environment as conda does, with an interpreter and a standard library of its own; return its Python."""
    library = folder / "lib" / _PYTHON
    _link_packages(library, lambda name: True)
    (library / "dist-packages").symlink_to("site-packages")  # the name that Debian's interpreter looks for
    for entry in Path(sysconfig.get_paths()["stdlib"]).iterdir():
        if entry.name not in ("site-packages", "dist-packages"):
            (library / entry.name).symlink_to(entry)
    (folder / "conda-meta").mkdir()
    (folder / "conda-meta" / "history").touch()
    (folder / "bin").mkdir()
    python = folder / "bin" / "python3"
    shutil.copy(Path(sys.executable).resolve(), python)
    return python


def _link_packages(library: Path, is_shown: Callable[[str], bool]) -> None:
    packages = library / "site-packages"
    packages.mkdir(parents=True)
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if is_shown(entry.name):
            (packages / entry.name).symlink_to(entry)


def has_all_but_the_package(name: str) -> bool:
    """Return whether an installed file is not of this package."""
    return not name.startswith(_HIDDEN)


def pack(folder: Path, archive: Path) -> Path:
    """Pack an environment like venv-pack and conda-pack, with paths relative to its folder; return the archive."""
    with tarfile.open(archive, "w:gz") as packed:
        for entry in sorted(folder.iterdir()):
            packed.add(entry, entry.name)
    return archive


def make_wheel(path: Path) -> Path:
    """Write the package's modules into an archive like a wheel; return its path."""
    package = Path(pyspark_pipeline.__file__).parent
    with zipfile.ZipFile(path, "w") as wheel:
        for module in sorted(package.rglob("*.py")):
            wheel.write(module, module.relative_to(package.parent))
    return path


def script(path: Path, lines: Sequence[str]) -> Path:
    """Write an executable shell script; return its path."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path
