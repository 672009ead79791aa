"""The shim's jar is reused if it matches, compiled once if none does, and never used if one of its inputs changed."""

import concurrent.futures
import importlib.util
import json
import os
import stat
import tempfile
import zipfile
from pathlib import Path

import pytest

from pyspark_pipeline import shim_build
from pyspark_pipeline.shim_build import JavaMissingError, ShimBuildError, SparkMissingError, UnsupportedSparkError
from tests.cli.kit import make_package, make_spark


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_package(tmp_path / "checkout", minors=("4.0", "4.1", "4.3"))
    monkeypatch.setattr(shim_build, "PACKAGE", folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return folder


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[list[Path]]:
    """Replace the compiler by one that writes an empty class; return the list of its calls."""
    done: list[list[Path]] = []

    def compile_(files: list[Path], _spark: object, classes: Path) -> None:
        done.append(files)
        classes.parent.mkdir(mode=0o700, exist_ok=True)
        classes.mkdir(mode=0o700)
        (classes / "A.class").write_bytes(b"class")

    monkeypatch.setattr(shim_build, "_compile", compile_)
    return done


def test_compiler_builds_jar_with_classes_manifest_and_fingerprint(package: Path) -> None:
    before = os.umask(0o002)
    try:
        jar = shim_build.shim_jar()
    finally:
        os.umask(before)
    assert not [path for path in jar.parent.parent.rglob("*") if mode(path) & 0o022]
    with zipfile.ZipFile(jar) as archive:
        assert "org/pysparkpipeline/PipelinePlugin.class" in archive.namelist()
        assert json.loads(archive.read(shim_build.MANIFEST_ENTRY)) == {"version": 1}
    spark = shim_build.find_spark()
    assert jar.name == f"pyspark-pipeline-shim-spark-{spark.minor}.jar"
    assert shim_build.jar_fingerprint(jar) == shim_build.fingerprint(
        shim_build.shim_sources(package), spark, package
    )


def test_compile_error_has_compiler_output(package: Path) -> None:
    (package.parent / "jvm-shim" / "src" / "common" / "Broken.scala").write_text("class Broken extends Nowhere")
    with pytest.raises(ShimBuildError, match="Nowhere"):
        shim_build.shim_jar()


def test_matching_jar_is_reused(package: Path, compilations: list[list[Path]]) -> None:
    assert shim_build.shim_jar() == shim_build.shim_jar()
    assert len(compilations) == 1


def test_wheel_jar_is_used_if_it_matches(package: Path, compilations: list[list[Path]]) -> None:
    built = shim_build.build_into(package)
    assert built.parent == package / "jars"
    assert shim_build.shim_jar() == built
    assert len(compilations) == 1


def test_changed_python_rebuilds_manifest_without_compiling(
    package: Path, compilations: list[list[Path]]
) -> None:
    before = shim_build.shim_jar()
    (package / "manifest.py").write_text("print('{\"version\": 2}')")
    after = shim_build.shim_jar()
    assert after != before
    with zipfile.ZipFile(after) as archive:
        assert json.loads(archive.read(shim_build.MANIFEST_ENTRY)) == {"version": 2}
    assert len(compilations) == 1


def test_changed_scala_recompiles_and_ignores_wheel_jar(
    package: Path, compilations: list[list[Path]]
) -> None:
    built = shim_build.build_into(package)
    (package.parent / "jvm-shim" / "src" / "common" / "More.scala").write_text("class More")
    assert shim_build.shim_jar() != built
    assert len(compilations) == 2


def test_only_the_folder_of_the_minor_is_compiled(package: Path, tmp_path: Path) -> None:
    sources = shim_build.shim_sources(package)
    for minor in ("4.1", "4.3"):
        spark = shim_build.find_spark(make_spark(tmp_path / minor, f"{minor}.7"))
        names = [f"{path.parent.name}/{path.name}" for path in shim_build.source_files(sources, spark.minor)]
        assert names == ["common/Plugin.scala", f"spark-{minor}/Version.scala"]


def test_unknown_minor_is_rejected_with_supported_minors(package: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError, match=r"Spark 3\.5 is not supported; supported are: 4\.0, 4\.1, 4\.3"):
        shim_build.shim_jar(make_spark(tmp_path / "old", "3.5.1"))


def test_missing_spark_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ShimBuildError, match="no Spark in"):
        shim_build.find_spark(tmp_path)


def test_default_spark_is_that_of_importable_pyspark_else_of_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    home = make_spark(tmp_path / "spark", "4.3.0")
    submit = home / "bin" / "spark-submit"
    package = home / "python" / "pyspark" / "__init__.py"
    for file in (submit, package):
        file.parent.mkdir(parents=True)
        file.touch(mode=0o755)
    monkeypatch.setattr(shim_build, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkMissingError, match=r"pip install 'pyspark-pipeline\[spark\]', or set SPARK_HOME"):
        shim_build.find_spark()
    (tmp_path / "spark-submit").symlink_to(submit)
    assert shim_build.find_spark().home == home
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    spec = importlib.util.spec_from_file_location("pyspark", package)
    monkeypatch.setattr(shim_build, "find_spec", lambda _name: spec)
    assert shim_build.find_spark().home == home


def test_missing_java_is_reported(package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaMissingError):
        shim_build.shim_jar()


def test_manifest_error_is_reported(package: Path, compilations: list[list[Path]]) -> None:
    (package / "manifest.py").write_text("raise RuntimeError('no such case')")
    with pytest.raises(ShimBuildError, match="no such case"):
        shim_build.shim_jar()


def test_same_content_builds_same_bytes(package: Path, compilations: list[list[Path]], tmp_path: Path) -> None:
    first = shim_build.build_into(package).read_bytes()
    for path in (package / "jars").iterdir():
        os.utime(path, (0, 0))
    assert shim_build.build_into(package).read_bytes() == first


def test_concurrent_builds_compile_once(package: Path, compilations: list[list[Path]]) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        jars = set(pool.map(lambda _: shim_build.shim_jar(), range(4)))
    assert len(jars) == 1
    assert len(compilations) == 1


def test_broken_jar_is_rebuilt(package: Path, compilations: list[list[Path]]) -> None:
    jar = shim_build.shim_jar()
    jar.write_bytes(b"cut off")
    assert shim_build.shim_jar() == jar
    assert shim_build.jar_fingerprint(jar) is not None


def test_unused_and_unfinished_builds_are_removed(
    package: Path, compilations: list[list[Path]], tmp_path: Path
) -> None:
    jar = shim_build.shim_jar()
    folder = cache(tmp_path)
    left = [folder / "0123" / "half.tmp", folder / "classes" / "tmpabc" / "classes" / "B.class"]
    for file in left:
        file.parent.mkdir(mode=0o700, parents=True)
        file.touch(mode=0o600)
    for old in (folder / "0123", folder / "classes" / "tmpabc", jar.parent, *(folder / "classes").iterdir()):
        os.utime(old, (0, 0))
    (package / "manifest.py").write_text("print('{\"version\": 2}')")
    shim_build.shim_jar()
    assert not (folder / "0123").exists() and not (folder / "classes" / "tmpabc").exists()
    assert jar.exists() and len(list((folder / "classes").iterdir())) == 1


def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "pyspark_pipeline" / "shim"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_cache_is_private_for_any_umask(
    package: Path, compilations: list[list[Path]], tmp_path: Path
) -> None:
    before = os.umask(0o002)
    try:
        jar = shim_build.shim_jar()
        written = jar.stat().st_ino
        assert shim_build.shim_jar().stat().st_ino == written
    finally:
        os.umask(before)
    assert jar.parent.parent == cache(tmp_path)
    assert mode(cache(tmp_path)) == mode(cache(tmp_path).parent) == mode(tmp_path / "cache") == 0o700
    assert not [path for path in cache(tmp_path).rglob("*") if mode(path) & 0o022 and path.name != "A.class"]


@pytest.mark.parametrize("bits", [0o777, 0o1777, 0o770])
def test_cache_writable_by_other_users_is_rejected(
    bits: int,
    package: Path,
    compilations: list[list[Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    planted = shim_build.shim_jar()
    cache(tmp_path).chmod(bits)
    jar = shim_build.shim_jar()
    assert jar.parent.parent == tmp_path / f"pyspark_pipeline-{os.getuid()}"
    assert mode(jar.parent.parent) == 0o700 and planted.exists()
    assert f"{cache(tmp_path)} is writable by other users" in capsys.readouterr().err
    jar.parent.parent.chmod(bits)
    fresh = shim_build.shim_jar()
    assert fresh.parent.parent.name.startswith("pyspark_pipeline-") and mode(fresh.parent.parent) == 0o700
    assert fresh.parent.parent.parent == tmp_path and fresh.parent != jar.parent


def test_jar_writable_by_other_users_is_recompiled(
    package: Path, compilations: list[list[Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jar = shim_build.shim_jar()
    content = jar.read_bytes()
    classes = next((cache(tmp_path) / "classes").iterdir())
    for number, shared in enumerate((jar, jar.parent), start=2):
        (classes / "A.class").write_bytes(b"planted")
        classes.chmod(0o777)
        shared.chmod(0o777)
        assert shim_build.shim_jar() == jar and jar.read_bytes() == content
        assert len(compilations) == number and not mode(jar) & 0o022 and not mode(jar.parent) & 0o022
        assert f"{shared} is writable by other users" in capsys.readouterr().err


def test_link_in_place_of_jar_folder_is_removed(
    package: Path, compilations: list[list[Path]], tmp_path: Path
) -> None:
    jar = shim_build.shim_jar()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o777)
    elsewhere.chmod(0o777)
    jar.rename(elsewhere / jar.name)
    jar.parent.rmdir()
    jar.parent.symlink_to(elsewhere)
    assert shim_build.shim_jar() == jar
    assert not jar.parent.is_symlink() and (elsewhere / jar.name).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a folder")
def test_cache_of_another_user_is_rejected(
    package: Path, compilations: list[list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shim_build.shim_jar()
    os.chown(cache(tmp_path), 12345, 12345)
    assert shim_build.shim_jar().parent.parent == tmp_path / f"pyspark_pipeline-{os.getuid()}"
