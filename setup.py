"""Builds the wheel: the package, the Scala sources of the shim, and the shim compiled for the available Sparks."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
SPARK_HOMES = "PYSPARK_PIPELINE_SPARK_HOMES"


class BuildWithShim(build_py):
    """Copies the shim's sources into the package and compiles them; an editable install compiles on first use."""

    def run(self) -> None:
        super().run()
        if not getattr(self, "editable_mode", False):
            package = Path(self.build_lib) / "pyspark_pipeline"
            copy_sources(ROOT / "jvm-shim", package / "_shim_src")
            self.build_shims(package)
            for compiled in list(package.rglob("__pycache__")):  # of this import: it has the path of the build
                shutil.rmtree(compiled)
            for path in package.rglob("*"):
                path.chmod(0o755 if path.is_dir() else 0o644)

    def build_shims(self, package: Path) -> None:
        """Compile the shim into ``package``/jars for every given Spark, else for the installed one if there is one.

        Raises :class:`ShimBuildError` if the shim does not compile, or not for every given Spark.
        """
        sys.path[:0] = [str(package.parent)]
        sys.path += [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        from pyspark_pipeline import shim_build

        homes = [home for home in os.environ.get(SPARK_HOMES, "").split(os.pathsep) if home]
        for home in homes:
            print(f"compiled {shim_build.build_into(package, home)} for {shim_build.find_spark(home).version}")
        if not homes:
            self.build_installed(package)

    def build_installed(self, package: Path) -> None:
        """Compile the shim for the installed Spark; without it, or without Java, the wheel has no jar."""
        from pyspark_pipeline import shim_build

        lacking = (shim_build.SparkMissingError, shim_build.UnsupportedSparkError, shim_build.JavaMissingError)
        try:
            print(f"compiled {shim_build.build_into(package)}")
        except lacking as error:
            print(f"warning: {error}; the shim will be compiled on first use", file=sys.stderr)


def copy_sources(folder: Path, target: Path) -> None:
    """Copy the shim's sources, without compiled classes."""
    ignored = shutil.ignore_patterns("*.class", "*.jar", "target", ".*")
    shutil.copytree(folder, target, ignore=ignored, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithShim})
