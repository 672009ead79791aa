"""The shim's jar: found when it fits, compiled once when none does, never used when anything it is made of changed."""

import concurrent.futures
import json
import os
import zipfile
from pathlib import Path

import pytest

from pyspark_pipeline import shim_build
from pyspark_pipeline.shim_build import JavaMissingError, ShimBuildError, UnsupportedSparkError
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
    """Replace the compiler by one that writes an empty class, and list what it compiled."""
    done: list[list[Path]] = []

    def compile_(files: list[Path], _spark: object, classes: Path) -> None:
        done.append(files)
        classes.mkdir(parents=True)
        (classes / "A.class").write_bytes(b"class")

    monkeypatch.setattr(shim_build, "_compile", compile_)
    return done


def test_the_real_compiler_makes_a_jar_with_classes_manifest_and_fingerprint(package: Path) -> None:
    jar = shim_build.shim_jar()
    with zipfile.ZipFile(jar) as archive:
        assert "org/pysparkpipeline/PipelinePlugin.class" in archive.namelist()
        assert json.loads(archive.read(shim_build.MANIFEST_ENTRY)) == {"version": 1}
    spark = shim_build.find_spark()
    assert jar.name == f"pyspark-pipeline-shim-spark-{spark.minor}.jar"
    assert shim_build.jar_fingerprint(jar) == shim_build.fingerprint(
        shim_build.shim_sources(package), spark, package
    )


def test_a_compile_error_is_told_with_the_compilers_words(package: Path) -> None:
    (package.parent / "jvm-shim" / "src" / "common" / "Broken.scala").write_text("class Broken extends Nowhere")
    with pytest.raises(ShimBuildError, match="Nowhere"):
        shim_build.shim_jar()


def test_a_jar_that_fits_is_reused(package: Path, compilations: list[list[Path]]) -> None:
    assert shim_build.shim_jar() == shim_build.shim_jar()
    assert len(compilations) == 1


def test_the_wheels_jar_is_used_when_it_fits(package: Path, compilations: list[list[Path]]) -> None:
    built = shim_build.build_into(package)
    assert built.parent == package / "jars"
    assert shim_build.shim_jar() == built
    assert len(compilations) == 1


def test_changed_python_makes_a_new_manifest_but_compiles_nothing(
    package: Path, compilations: list[list[Path]]
) -> None:
    before = shim_build.shim_jar()
    (package / "manifest.py").write_text("print('{\"version\": 2}')")
    after = shim_build.shim_jar()
    assert after != before
    with zipfile.ZipFile(after) as archive:
        assert json.loads(archive.read(shim_build.MANIFEST_ENTRY)) == {"version": 2}
    assert len(compilations) == 1


def test_changed_scala_compiles_again_and_passes_the_wheels_jar_by(
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


def test_an_unknown_minor_is_refused_with_those_that_are_supported(package: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError, match=r"Spark 3\.5 is not supported; supported are: 4\.0, 4\.1, 4\.3"):
        shim_build.shim_jar(make_spark(tmp_path / "old", "3.5.1"))


def test_no_spark_is_told(tmp_path: Path) -> None:
    with pytest.raises(ShimBuildError, match="no Spark in"):
        shim_build.find_spark(tmp_path)


def test_no_java_is_told(package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaMissingError):
        shim_build.shim_jar()


def test_a_manifest_that_fails_is_told(package: Path, compilations: list[list[Path]]) -> None:
    (package / "manifest.py").write_text("raise RuntimeError('no such case')")
    with pytest.raises(ShimBuildError, match="no such case"):
        shim_build.shim_jar()


def test_the_same_content_gives_the_same_bytes(package: Path, compilations: list[list[Path]], tmp_path: Path) -> None:
    first = shim_build.build_into(package).read_bytes()
    for path in (package / "jars").iterdir():
        os.utime(path, (0, 0))
    assert shim_build.build_into(package).read_bytes() == first


def test_two_at_once_compile_once(package: Path, compilations: list[list[Path]]) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        jars = set(pool.map(lambda _: shim_build.shim_jar(), range(4)))
    assert len(jars) == 1
    assert len(compilations) == 1


def test_a_broken_jar_is_made_again(package: Path, compilations: list[list[Path]]) -> None:
    jar = shim_build.shim_jar()
    jar.write_bytes(b"cut off")
    assert shim_build.shim_jar() == jar
    assert shim_build.jar_fingerprint(jar) is not None
