"""Switches the extension on for a session that a Python program builds."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pyspark import SparkContext

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.kernels.compile_cache import compile_ahead
from pyspark_pipeline.launch import (
    ENABLED,
    EXTENSION,
    EXTENSIONS,
    JARS,
    PLUGIN,
    PLUGINS,
    SUBMIT_ARGS,
    enabling_settings,
    launch_settings,
    merged_submit_args,
    settings_before_launch,
)
from pyspark_pipeline.shim_build import find_spark, shim_jar

Builder = TypeVar("Builder", bound=Any)

_PYTHON_VARIABLE = "PYSPARK_PYTHON"
_PYTHON_SETTING = "spark.pyspark.python"
# A property of the driver's JVM, which PythonInterpreter.scala reads.
_PYTHON_PROPERTY = "pysparkpipeline.python"


class InstallError(PipelineError):
    """The extension can no longer be switched on; names the reason and the alternative."""


def install(builder: Builder) -> Builder:
    """Add the jar and the plugin to a ``SparkSession.builder``, keeping the user's own; return the builder.

    Works before the JVM starts (a plain Python program) and inside ``spark-submit``, where it runs already.
    With a local master it sets ``PYSPARK_PYTHON`` to this program's own interpreter unless the user chose one.
    Raises :class:`InstallError` when a Spark context without the extension is active: Spark loads plugins
    only when a context starts; and for a builder of a Spark Connect client, which has no context, except that of
    ``remote("local")``, which starts its server.
    """
    server = _local_server(dict(builder._options))
    spark = find_spark()
    jar = shim_jar(spark.home)
    active = SparkContext._active_spark_context
    if active is not None:
        conf = active.getConf()
        if PLUGIN not in (conf.get(PLUGINS) or "") and EXTENSION not in (conf.get(EXTENSIONS) or ""):
            raise InstallError(
                "a Spark context is active and plugins load only when one starts: call install(builder) before the "
                "first getOrCreate(), or start with: spark-submit $(pyspark-pipeline submit-args) ..."
            )
        return builder
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        settings = _running_jvm_settings(dict(builder._options), jar, server)
    else:
        present = settings_before_launch(dict(builder._options), spark.home)
        _choose_python(present | ({"spark.master": server} if server else {}))
        _compile_ahead(present)
        settings = launch_settings(dict(builder._options), jar, spark.home, has_plugins=not server)
        if SUBMIT_ARGS in os.environ:
            os.environ[SUBMIT_ARGS] = merged_submit_args(os.environ[SUBMIT_ARGS], jar)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder


def _local_server(options: Mapping[str, str]) -> str | None:
    """Return the local master of the Spark Connect server that ``remote("local")`` starts; None without Connect.

    Raises :class:`InstallError` for a client of any other server.
    """
    mode = options.get("spark.api.mode") or os.environ.get("SPARK_API_MODE") or ""
    remote = options.get("spark.remote") or os.environ.get("SPARK_REMOTE")
    if not remote and mode.lower() != "connect":
        return None
    master = remote or options.get("spark.master") or os.environ.get("MASTER") or "local"
    if _is_local(master):
        return master
    raise InstallError(
        "a Spark Connect client takes no plugins: start its server with the extension (spark-submit --class"
        " org.apache.spark.sql.connect.service.SparkConnectServer $(pyspark-pipeline submit-args) spark-internal),"
        ' then connect with SparkSession.builder.remote("sc://localhost").getOrCreate(), without install'
    )


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _running_jvm_settings(options: dict[str, str], jar: Path, server: str | None) -> dict[str, str]:
    """Add the jar to the class path of the running JVM; return the settings for its first context."""
    SparkContext._ensure_initialized()
    jvm: Any = SparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getClass().getSimpleName() != "MutableURLClassLoader":
        raise InstallError("the driver's JVM takes no more jars: start it with $(pyspark-pipeline submit-args)")
    loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    conf = jvm.org.apache.spark.SparkConf(True)
    chosen = {key: options.get(key) or conf.get(key, "") for key in (_PYTHON_SETTING, "spark.master", ENABLED)}
    _compile_ahead(chosen)
    _choose_python(chosen | ({"spark.master": server} if server else {}))
    if _PYTHON_VARIABLE in os.environ:  # the JVM may have been started with another, or none
        jvm.java.lang.System.setProperty(_PYTHON_PROPERTY, os.environ[_PYTHON_VARIABLE])
    present = {key: options.get(key) or conf.get(key, "") for key in (JARS, PLUGINS, EXTENSIONS)}
    return enabling_settings(present, jar, has_plugins=not server)


def _compile_ahead(settings: Mapping[str, str]) -> None:
    """Start to compile missing kernels beside the start of Spark, unless the extension is disabled."""
    if settings.get(ENABLED, "").strip().lower() != "false":
        compile_ahead("pyspark_pipeline.task.warm", "--background")


def _choose_python(settings: Mapping[str, str]) -> None:
    """Set this interpreter for the workers of a local master, unless the user chose one.

    Otherwise Spark runs the first ``python3`` of the ``PATH``, which in a virtual environment that is not
    activated is another one.
    """
    is_chosen = bool(os.environ.get(_PYTHON_VARIABLE) or settings.get(_PYTHON_SETTING))
    master = settings.get("spark.master") or "local[*]"
    is_python = Path(sys.executable or "").name.startswith(("python", "pypy"))  # not a program that embeds Python
    if not is_chosen and is_python and _is_local(master):
        os.environ[_PYTHON_VARIABLE] = sys.executable
