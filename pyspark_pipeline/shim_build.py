"""Provides the jar of the JVM shim for the installed Spark; compiles it if no existing jar matches.

The Scala compiler is the one in Spark's own jars, so nothing is downloaded. A jar is named by the Spark
minor it was compiled for and carries a fingerprint of its inputs: the Scala sources, the
Spark minor, and the Python sources that its manifest describes. A jar whose fingerprint differs from that of
the installed files is never used. The wheel's jar is tried first, then the user's cache; else the shim is
compiled into the cache, by one process at a time. Compiled classes are cached apart from the manifest, so
that editing Python does not recompile Scala.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.private_folder import check_trusted, private_folder

PACKAGE = Path(__file__).resolve().parent
MANIFEST_ENTRY = "pyspark_pipeline/manifest.json"
FINGERPRINT_ENTRY = "META-INF/pyspark-pipeline/fingerprint"
#: A JVM that lives for half a minute: its second compiler costs more CPU time than it saves.
_JAVA_FLAGS = ("-Xss8m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_COMPILER_FLAGS = ("-deprecation", "-feature", "-encoding", "UTF-8", "-Xlint:infer-any")
_KEEP_UNUSED_DAYS = 14
_ZIP_TIME = (2020, 1, 1, 0, 0, 0)


class ShimBuildError(PipelineError):
    """The shim's jar could not be built; names the step that failed."""


class JavaMissingError(ShimBuildError):
    """No Java was found to compile the shim with."""


class SparkMissingError(ShimBuildError):
    """No Spark was found to compile the shim for."""


class UnsupportedSparkError(ShimBuildError):
    """The shim has no sources for the minor version of the installed Spark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkInstall:
    """An installed Spark: its folder, and the version of the spark-core jar in it."""

    home: Path
    version: str

    @property
    def jars(self) -> Path:
        """The folder of Spark's jars."""
        return self.home / "jars"

    @property
    def minor(self) -> str:
        """The first two numbers of the version, ``4.1``."""
        return ".".join(self.version.split(".")[:2])


def find_spark(home: str | os.PathLike[str] | None = None) -> SparkInstall:
    """Return the Spark of ``home``, else ``SPARK_HOME``, else of the importable pyspark, else of the ``PATH``.

    Raises :class:`SparkMissingError` if there is no Spark.
    """
    given = home or os.environ.get("SPARK_HOME")
    folders = [Path(given).resolve()] if given else [folder.resolve() for folder in _spark_folders()]
    for folder in folders:
        for jar in sorted((folder / "jars").glob("spark-core_*.jar")):
            match = re.fullmatch(r"spark-core_[\d.]+-(.+)\.jar", jar.name)
            if match:
                return SparkInstall(home=folder, version=match[1])
    where = ", ".join(map(str, folders)) or "this environment"
    raise SparkMissingError(f"no Spark in {where}: pip install 'pyspark-pipeline[spark]', or set SPARK_HOME")


def _spark_folders() -> Iterator[Path]:
    """Yield candidate folders: the package that pip installs, the Spark whose ``python`` folder has the package, and
    the Spark whose ``bin`` is on the ``PATH``.
    """
    spec = find_spec("pyspark")
    if spec is not None and spec.origin:
        package = Path(spec.origin).parent
        yield from (package, package.parent.parent)
    submit = shutil.which("spark-submit")
    if submit:
        yield Path(submit).resolve().parent.parent


def shim_jar(pyspark_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of the shim's jar for the Spark in ``pyspark_home`` (default: the installed one).

    Takes about 20 ms if a jar matches and half a minute if the shim must be compiled. Raises
    :class:`JavaMissingError`, :class:`UnsupportedSparkError`, or :class:`ShimBuildError` with the
    compiler's messages.
    """
    spark = find_spark(pyspark_home)
    sources = shim_sources(PACKAGE)
    wanted = fingerprint(sources, spark, PACKAGE)
    shipped = PACKAGE / "jars" / jar_name(spark)
    if jar_fingerprint(shipped) == wanted:
        return shipped
    folder = cache_folder()
    cached = folder / wanted[:16] / jar_name(spark)
    _drop_untrusted(cached.parent)
    if jar_fingerprint(cached) != wanted:
        with _locked(folder / "build.lock"):
            if jar_fingerprint(cached) != wanted:
                _drop_unused(folder)
                _drop_untrusted(folder / "classes")
                _build(cached, sources, spark, PACKAGE, folder / "classes")
    with contextlib.suppress(OSError):
        os.utime(cached)
    return cached


def build_into(package: Path, pyspark_home: str | os.PathLike[str] | None = None) -> Path:
    """Compile the shim of the package folder ``package`` into its ``jars``, for the Spark in ``pyspark_home`` (default:
    the installed one); return the jar's path.
    """
    spark = find_spark(pyspark_home)
    sources = shim_sources(package)
    jar = package / "jars" / jar_name(spark)
    with tempfile.TemporaryDirectory() as classes:
        _build(jar, sources, spark, package, Path(classes))
    return jar


def jar_name(spark: SparkInstall) -> str:
    """Return the file name of the jar for ``spark``."""
    return f"pyspark-pipeline-shim-spark-{spark.minor}.jar"


def shim_sources(package: Path) -> Path:
    """Return the folder of the shim's sources: in the package, as wheels ship them, or beside it in a checkout."""
    for folder in (package / "_shim_src", package.parent / "jvm-shim"):
        if folder.is_dir():
            return folder
    raise ShimBuildError(f"the shim's sources are neither in {package} nor beside it; reinstall pyspark-pipeline")


def source_files(sources: Path, minor: str) -> list[Path]:
    """Return the source files of the shim for one Spark minor: the common ones and those under ``spark-<minor>``.

    Raises :class:`UnsupportedSparkError` if there is no folder for the minor.
    """
    versions = {p.name.removeprefix("spark-") for p in sources.rglob("spark-*") if p.is_dir()}
    if versions and minor not in versions:
        supported = ", ".join(sorted(versions))
        raise UnsupportedSparkError(f"Spark {minor} is not supported; supported are: {supported}")
    files = [p for p in sources.rglob("*") if p.is_file() and (p.suffix == ".scala" or "resources" in p.parts)]
    return sorted(p for p in files if _fits(p.relative_to(sources), minor))


def _fits(path: Path, minor: str) -> bool:
    folders = [part for part in path.parts[:-1] if part.startswith("spark-")]
    return "test" not in path.parts and all(part == f"spark-{minor}" for part in folders)


def fingerprint(sources: Path, spark: SparkInstall, package: Path) -> str:
    """Return the hash of the jar's inputs: Scala sources, Spark minor, and the package's Python sources."""
    python = sorted(p for p in package.rglob("*.py") if p.is_file())
    return _digest([_classes_key(sources, spark), *_contents(python, package)])


def _classes_key(sources: Path, spark: SparkInstall) -> str:
    return _digest([spark.minor, *_COMPILER_FLAGS, *_contents(source_files(sources, spark.minor), sources)])


def _contents(files: Iterable[Path], root: Path) -> Iterator[str]:
    for path in files:
        yield path.relative_to(root).as_posix()
        yield hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def jar_fingerprint(jar: Path) -> str | None:
    """Return the fingerprint in a jar; None if there is no such jar or it is broken."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.read(FINGERPRINT_ENTRY).decode()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None


def cache_folder() -> Path:
    """Return the private folder of the compiled shims, created if missing: in the user's cache, else in the
    folder for temporary files, else a fresh one. Reports each rejected one on standard error.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"))
    temporary = Path(tempfile.gettempdir()) / f"pyspark_pipeline-{os.getuid()}"
    candidates = [folder for folder in (cache / "pyspark_pipeline" / "shim", temporary) if folder.is_absolute()]
    try:
        return private_folder(candidates, refused=_report_refused)
    except OSError as error:
        raise ShimBuildError(f"no folder for the compiled shim: {error.strerror}; set XDG_CACHE_HOME") from error


def _report_refused(reason: str) -> None:
    print(f"pyspark_pipeline: the compiled shim is not kept here: {reason}", file=sys.stderr)


def _drop_untrusted(folder: Path) -> None:
    """Remove ``folder`` if another user can change it or its content: it may hold another user's code."""
    try:
        check_trusted(folder)
    except FileNotFoundError:  # nothing there, or another process is just writing it
        if folder.is_symlink():
            folder.unlink(missing_ok=True)
    except OSError as error:
        _report_refused(str(error.strerror))
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
        else:
            folder.unlink()


def _build(jar: Path, sources: Path, spark: SparkInstall, package: Path, classes_cache: Path) -> None:
    """Compile the missing classes, then write the jar in one step."""
    wanted = fingerprint(sources, spark, package)
    classes = classes_cache / _classes_key(sources, spark)[:16]
    if not classes.is_dir():
        _compile(source_files(sources, spark.minor), spark, classes)
    os.utime(classes)
    extra = {MANIFEST_ENTRY: _manifest(package), FINGERPRINT_ENTRY: wanted.encode()}
    extra |= _resources(sources, spark.minor)
    _write_jar(jar, classes, extra)


def _compile(files: list[Path], spark: SparkInstall, classes: Path) -> None:
    scala = [str(p) for p in files if p.suffix == ".scala"]
    if not scala:
        raise ShimBuildError("the shim has no Scala sources")
    classes.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=classes.parent) as folder:
        out = Path(folder) / "classes"
        out.mkdir(mode=0o700)
        class_path = str(spark.jars / "*")
        command = [_java(), *_JAVA_FLAGS, "-cp", class_path, "scala.tools.nsc.Main", *_COMPILER_FLAGS]
        command += ["-classpath", class_path, "-d", str(out), *scala]
        done = subprocess.run(command, capture_output=True, text=True, check=False, umask=0o077)
        if done.returncode != 0:
            raise ShimBuildError(f"the shim does not compile for Spark {spark.version}:\n{done.stdout}{done.stderr}")
        os.replace(out, classes)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else None
    found = java or shutil.which("java")
    if not found:
        raise JavaMissingError("no Java found: install Java 17 or newer, or set JAVA_HOME")
    return found


def _manifest(package: Path) -> bytes:
    """Return the engine's manifest, made in a subprocess: this layer imports nothing above itself.

    The subprocess has the search path of this one, with ``package`` first. It skips ``site``, because that of
    pip's isolated builds hides the environment from which the build borrows its requirements.
    """
    root = str(package.parent.resolve())  # also the working folder, which ``-m`` looks in first
    env = os.environ | {"PYTHONPATH": os.pathsep.join([root, *(os.path.abspath(entry) for entry in sys.path)])}
    # -B: a compiled file left behind could be taken for that of a source changed within the same second.
    command = [sys.executable, "-B", "-S", "-m", "pyspark_pipeline.manifest"]
    done = subprocess.run(command, capture_output=True, check=False, env=env, cwd=root)
    if done.returncode != 0:
        raise ShimBuildError(f"the manifest of the engine could not be made:\n{done.stderr.decode()}")
    return done.stdout


def _resources(sources: Path, minor: str) -> dict[str, bytes]:
    files = [p for p in source_files(sources, minor) if p.suffix != ".scala"]
    return {p.as_posix().rpartition("/resources/")[2]: p.read_bytes() for p in files}


def _write_jar(jar: Path, classes: Path, extra: dict[str, bytes]) -> None:
    """Write a reproducible jar: sorted entries, one fixed time."""
    entries = {p.relative_to(classes).as_posix(): p.read_bytes() for p in classes.rglob("*") if p.is_file()} | extra
    head = {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\r\nCreated-By: pyspark-pipeline\r\n\r\n"}
    jar.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=jar.parent, suffix=".tmp", delete=False) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in [*head.items(), *sorted(entries.items())]:
                archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), data, zipfile.ZIP_DEFLATED)
    os.chmod(file.name, 0o644)
    os.replace(file.name, jar)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _drop_unused(folder: Path) -> None:
    """Remove jars and classes unused for ``_KEEP_UNUSED_DAYS``, and those that a killed process left unfinished."""
    oldest = time.time() - _KEEP_UNUSED_DAYS * 86400
    classes = folder / "classes"
    for entry in (*folder.iterdir(), *(classes.iterdir() if classes.is_dir() else ())):
        if entry.is_dir() and entry != classes:
            used = max(path.stat().st_mtime for path in (entry, *entry.glob("*.jar")))
            if used < oldest:
                shutil.rmtree(entry, ignore_errors=True)
