"""Builds a release: an sdist and, from that, one wheel with the shim compiled for every supported Spark minor.

    python build_backend/pipeline_release.py [--out dist] [--spark HOME ...]

Run it with a Python that has the run-time requirements. The Spark of a minor is one of those given, else the newest
release of pyspark of that minor, downloaded by pip and kept in ``--cache``. ``SOURCE_DATE_EPOCH`` defaults to the time
of the last commit. Two runs produce the same bytes if commit, Python, Java and Sparks are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ["setuptools==80.9.0", "wheel==0.45.1", "packaging==25.0"]
_HOOK = "import sys, pipeline_build; print(getattr(pipeline_build, sys.argv[1])(sys.argv[2]))"


def main(arguments: list[str] | None = None) -> int:
    """Build into ``--out``; print the checksum of each file."""
    parser = argparse.ArgumentParser(description="Build the sdist and the wheel for every supported Spark minor.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the files (default dist)")
    parser.add_argument("--spark", action="append", default=[], metavar="HOME", help="a Spark to compile for")
    cache = "folder for downloaded Sparks (default build/sparks)"
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "sparks", help=cache)
    parsed = parser.parse_args(arguments)
    homes = spark_homes(supported_minors(), parsed.spark, parsed.cache)
    parsed.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as tools:
        install_tools(tools)
        for path in build(ROOT, parsed.out.resolve(), homes, tools):
            print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}")
    return 0


def supported_minors() -> list[str]:
    """Return the Spark minors that the shim has sources for."""
    return sorted(path.name.removeprefix("spark-") for path in (ROOT / "jvm-shim" / "src").glob("spark-*"))


def spark_homes(minors: list[str], given: list[str], cache: Path) -> list[Path]:
    """Return a Spark for each of ``minors``: of those given, else of ``cache``, else of the package registry."""
    known = {minor_of(Path(home)): Path(home).resolve() for home in given}
    return [known.get(minor) or downloaded(minor, cache) for minor in minors]


def minor_of(home: Path) -> str:
    """Return the minor version of the Spark in ``home``. Exits if there is none."""
    for jar in (home / "jars").glob("spark-core_*.jar"):
        match = re.fullmatch(r"spark-core_[\d.]+-(\d+\.\d+)\..+\.jar", jar.name)
        if match:
            return match[1]
    raise SystemExit(f"no Spark in {home}")


def downloaded(minor: str, cache: Path) -> Path:
    """Return the folder with the jars of pyspark ``minor``, downloaded if ``cache`` lacks them (some 450 MB)."""
    home = cache.resolve() / f"spark-{minor}"
    if not home.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "pyspark"]
            subprocess.run([*pip, "--dest", folder, f"pyspark=={minor}.*"], check=True)
            (sdist,) = Path(folder).glob("pyspark-*.tar.gz")
            jars = Path(folder) / "spark" / "jars"
            jars.mkdir(parents=True)
            with tarfile.open(sdist) as archive:
                for entry in archive:
                    source = archive.extractfile(entry) if entry.name.endswith(".jar") else None
                    if source is not None and entry.name.split("/")[1:3] == ["deps", "jars"]:
                        with open(jars / Path(entry.name).name, "wb") as target:
                            shutil.copyfileobj(source, target)
            os.replace(jars.parent, home)
    return home


def install_tools(folder: str) -> None:
    """Install the build tools, in fixed versions, into ``folder``."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
    subprocess.run([*pip, *TOOLS], check=True)


def build(root: Path, out: Path, homes: list[Path], tools: str) -> list[Path]:
    """Build the sdist of the checkout ``root`` and the wheel of the unpacked sdist; return both paths."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or last_commit(root)
    with tempfile.TemporaryDirectory() as folder:
        checkout, unpacked = Path(folder) / "checkout", Path(folder) / "unpacked"
        copy_known_files(root, checkout)
        env = {"SOURCE_DATE_EPOCH": epoch, "PYSPARK_PIPELINE_SPARK_HOMES": os.pathsep.join(map(str, homes))}
        sdist = out / hook("build_sdist", checkout, out, tools, env)
        with tarfile.open(sdist) as archive:
            # Python 3.11.2, Debian's, has neither filters nor the argument.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(unpacked)
        (source,) = unpacked.iterdir()
        return [sdist, out / hook("build_wheel", source, out, tools, env)]


def copy_known_files(root: Path, target: Path) -> None:
    """Copy the checkout's tracked files to ``target``, or all files if this is not a checkout."""
    if not (root / ".git").exists():
        shutil.copytree(root, target, ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__"))
        return
    known = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True).stdout
    for name in filter(None, known.decode().split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)


def last_commit(root: Path) -> str:
    """Return the time of the checkout's last commit; empty if this is not a checkout."""
    if not (root / ".git").exists():
        return ""
    log = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(log, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def hook(name: str, source: Path, out: Path, tools: str, variables: dict[str, str]) -> str:
    """Call a hook of the build backend of ``source``; return the name of the file that it made in ``out``."""
    path = os.pathsep.join([tools, str(source / "build_backend")])
    command = [sys.executable, "-c", _HOOK, name, str(out)]
    env = os.environ | variables | {"PYTHONPATH": path}
    done = subprocess.run(command, cwd=source, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
