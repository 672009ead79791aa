"""A minimal shim to build: its Spark is a folder with an empty jar, its Scala a file, its package a few modules."""

from __future__ import annotations

from pathlib import Path

PLUGIN_SOURCE = """
package org.pysparkpipeline
import org.apache.spark.api.plugin._
class PipelinePlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = null
  override def executorPlugin(): ExecutorPlugin = null
}
"""


def make_package(root: Path, minors: tuple[str, ...] = ("4.1", "4.3")) -> Path:
    """Write a minimal package folder for a shim; return it."""
    package = root / "pyspark_pipeline"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "manifest.py").write_text("print('{\"version\": 1}')")
    sources = root / "jvm-shim" / "src"
    (sources / "common").mkdir(parents=True)
    (sources / "common" / "Plugin.scala").write_text(PLUGIN_SOURCE)
    for minor in minors:
        folder = sources / f"spark-{minor}"
        folder.mkdir()
        version = f'package org.pysparkpipeline\nobject Version {{ val name = "{minor}" }}\n'
        (folder / "Version.scala").write_text(version)
    return package


def make_spark(root: Path, version: str) -> Path:
    """Write a folder that looks like a Spark of ``version``; return it."""
    (root / "jars").mkdir(parents=True)
    (root / "jars" / f"spark-core_2.13-{version}.jar").write_bytes(b"")
    return root
