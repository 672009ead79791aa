"""Build backend: setuptools' own, plus the requirements that compiling the shim has.

The wheel carries the shim compiled for one Spark minor, the one that will run it. When the environment
that ``pip install`` installs into already has every run-time requirement, the build borrows them from
there and downloads nothing; otherwise the isolated build environment gets them, with pyspark held to
the minor that is installed, if any. A wheel used with another minor compiles its shim on first use.
"""

from __future__ import annotations

import configparser
import sysconfig
from importlib.metadata import Distribution, distributions
from typing import Any

from setuptools import build_meta as _setuptools
from setuptools.build_meta import *  # noqa: F403  (a build backend re-exports the hooks it does not change)


def run_time_requirements() -> list[str]:
    """Read ``install_requires`` of setup.cfg."""
    config = configparser.ConfigParser()
    config.read("setup.cfg", encoding="utf-8")
    return [line for line in config["options"]["install_requires"].splitlines() if line.strip()]


def installed(paths: list[str]) -> dict[str, Distribution]:
    """Map the normalised name of every distribution found in the folders ``paths`` to it."""
    found = {}
    for distribution in distributions(path=paths):
        name = distribution.metadata["Name"]
        if name:
            found[name.lower().replace("_", "-")] = distribution
    return found


def needed() -> list[str]:
    """List what the build environment lacks for compiling the shim and writing its manifest."""
    from packaging.requirements import Requirement

    target = installed([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    requirements = [Requirement(line) for line in run_time_requirements()]
    met = [r.name in target and r.specifier.contains(target[r.name].version) for r in requirements]
    if all(met):
        return []
    lines = [str(requirement) for requirement in requirements]
    if "pyspark" in target and met[[r.name for r in requirements].index("pyspark")]:
        lines.append(f"pyspark=={target['pyspark'].version}")
    return lines


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Say what a wheel build needs beyond ``build-system.requires``."""
    return [*_setuptools.get_requires_for_build_wheel(config_settings), *needed()]
