"""Adds the extension's jar and plugin to the user's own settings and never replaces those.

Spark takes the last of repeated settings, and ``--jars`` over ``spark.jars``; so our value of a list setting has
to contain the user's values. Before a JVM runs, those are in three places: the session builder, the
``PYSPARK_SUBMIT_ARGS`` variable, and ``spark-defaults.conf``.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

PLUGIN = "org.pysparkpipeline.PipelinePlugin"
JARS = "spark.jars"
PLUGINS = "spark.plugins"
ENABLED = "spark.pysparkPipeline.enabled"
EXTENSION = "org.pysparkpipeline.PipelineExtensions"
EXTENSIONS = "spark.sql.extensions"
SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"


def joined(present: str | None, addition: str) -> str:
    """Return the comma-separated setting ``present`` with ``addition`` appended, unless it contains it."""
    items = [item.strip() for item in (present or "").split(",") if item.strip()]
    return ",".join(items if addition in items else [*items, addition])


def defaults(spark_home: Path) -> dict[str, str]:
    """Read ``spark-defaults.conf`` of ``SPARK_CONF_DIR``, else of ``spark_home``/conf; empty if there is none."""
    folder = os.environ.get("SPARK_CONF_DIR")
    path = (Path(folder) if folder else spark_home / "conf") / "spark-defaults.conf"
    if not path.is_file():
        return {}
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and not line.startswith(("#", "!"))]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def submit_arguments(jar: Path, spark_home: Path) -> list[str]:
    """Return the arguments that switch the extension on for ``spark-submit`` and similar launchers."""
    present = defaults(spark_home)
    jars = joined(present.get(JARS), str(jar))
    return ["--jars", jars, "--conf", f"{PLUGINS}={joined(present.get(PLUGINS), PLUGIN)}"]


def launch_settings(
    options: Mapping[str, str], jar: Path, spark_home: Path, has_plugins: bool = True
) -> dict[str, str]:
    """Return the two settings for a builder that has ``options`` and no JVM yet."""
    return enabling_settings(defaults(spark_home) | dict(options), jar, has_plugins)


def enabling_settings(present: Mapping[str, str], jar: Path, has_plugins: bool) -> dict[str, str]:
    """Return the two settings that switch the extension on, joined with their ``present`` values.

    Without ``has_plugins`` they name no plugin: ``remote("local")`` overwrites ``spark.plugins``.
    """
    key, addition = (PLUGINS, PLUGIN) if has_plugins else (EXTENSIONS, EXTENSION)
    return {JARS: joined(present.get(JARS), str(jar)), key: joined(present.get(key), addition)}


def merged_submit_args(text: str, jar: Path) -> str:
    """Return ``PYSPARK_SUBMIT_ARGS`` with the extension added to its list settings; other arguments are unchanged."""
    words = shlex.split(text)
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        if before == "--jars":
            words[index] = joined(word, str(jar))
        elif before in ("--conf", "-c") and "=" in word:
            key, value = word.split("=", 1)
            addition = {JARS: str(jar), PLUGINS: PLUGIN}.get(key)
            words[index] = f"{key}={joined(value, addition)}" if addition else word
    return shlex.join(words)


def settings_before_launch(options: Mapping[str, str], spark_home: Path) -> dict[str, str]:
    """Return the settings of a context without a running JVM: defaults file, ``PYSPARK_SUBMIT_ARGS``, builder."""
    words = shlex.split(os.environ.get(SUBMIT_ARGS, ""))
    found = defaults(spark_home)
    for flag, value in pairwise(words):
        if flag == "--master":
            found["spark.master"] = value
        elif flag in ("--conf", "-c") and "=" in value:
            key, _, text = value.partition("=")
            found[key] = text
    if "MASTER" in os.environ:
        found.setdefault("spark.master", os.environ["MASTER"])
    return found | dict(options)
