"""Switches the extension on for a session that a Python program builds itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

from pyspark import SparkContext

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.kernels.compile_cache import compile_ahead
from pyspark_pipeline.launch import JARS, PLUGIN, PLUGINS, SUBMIT_ARGS, joined, launch_settings, merged_submit_args
from pyspark_pipeline.shim_build import find_spark, shim_jar

Builder = TypeVar("Builder", bound=Any)


class InstallError(PipelineError):
    """The extension cannot be switched on any more; says why and what to do instead."""


def install(builder: Builder) -> Builder:
    """Set the jar and the plugin on a ``SparkSession.builder``, keeping the user's own; return the builder.

    Works before the JVM starts (a plain Python program) and inside ``spark-submit``, where it runs already.
    Raises :class:`InstallError` when a Spark context without the extension is active: Spark loads plugins
    only when a context starts.
    """
    spark = find_spark()
    jar = shim_jar(spark.home)
    compile_ahead("pyspark_pipeline.task.warm")
    active = SparkContext._active_spark_context
    if active is not None:
        if PLUGIN not in (active.getConf().get(PLUGINS) or ""):
            raise InstallError(
                "a Spark context is active and plugins load only when one starts: call install(builder) before the "
                "first getOrCreate(), or start with: spark-submit $(pyspark-pipeline submit-args) ..."
            )
        return builder
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        settings = _running_jvm_settings(dict(builder._options), jar)
    else:
        settings = launch_settings(dict(builder._options), jar, spark.home)
        if SUBMIT_ARGS in os.environ:
            os.environ[SUBMIT_ARGS] = merged_submit_args(os.environ[SUBMIT_ARGS], jar)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder


def _running_jvm_settings(options: dict[str, str], jar: Path) -> dict[str, str]:
    """Put the jar on the class path of the JVM that runs, and give the settings for its first context."""
    SparkContext._ensure_initialized()
    jvm: Any = SparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getClass().getSimpleName() != "MutableURLClassLoader":
        raise InstallError("the driver's JVM takes no more jars: start it with $(pyspark-pipeline submit-args)")
    loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    conf = jvm.org.apache.spark.SparkConf(True)
    present = {key: options.get(key) or conf.get(key, "") for key in (JARS, PLUGINS)}
    return {JARS: joined(present[JARS], str(jar)), PLUGINS: joined(present[PLUGINS], PLUGIN)}
