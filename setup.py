"""Builds the wheel: the package, the Scala sources of the shim, and the shim compiled for the Spark at hand."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class BuildWithShim(build_py):
    """Copies the shim's sources into the package and compiles them; an editable install compiles on first use."""

    def run(self) -> None:
        super().run()
        if not getattr(self, "editable_mode", False):
            package = Path(self.build_lib) / "pyspark_pipeline"
            shutil.copytree(ROOT / "jvm-shim", package / "_shim_src", dirs_exist_ok=True)
            self.build_shim(package)

    def build_shim(self, package: Path) -> None:
        """Compile the shim into ``package``/jars; without Java the wheel is built without it."""
        sys.path[:0] = [str(package.parent)]
        sys.path += [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        from pyspark_pipeline import shim_build

        try:
            jar = shim_build.build_into(package)
        except shim_build.JavaMissingError as error:
            print(f"warning: {error}; the shim will be compiled on first use", file=sys.stderr)
        else:
            print(f"compiled {jar}")


setup(cmdclass={"build_py": BuildWithShim})
