"""Adds the extension's jar and plugin to what the user already asked Spark for, never in place of it.

Spark takes the last of repeated settings, and ``--jars`` over ``spark.jars``; so a list setting of ours has
to contain the user's own. Before a JVM runs, theirs stand in three places: the session builder, the
``PYSPARK_SUBMIT_ARGS`` variable, and ``spark-defaults.conf``.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

PLUGIN = "org.pysparkpipeline.PipelinePlugin"
JARS = "spark.jars"
PLUGINS = "spark.plugins"
SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"


def joined(present: str | None, addition: str) -> str:
    """Append ``addition`` to a comma-separated setting unless it is in it."""
    items = [item.strip() for item in (present or "").split(",") if item.strip()]
    return ",".join(items if addition in items else [*items, addition])


def defaults(spark_home: Path) -> dict[str, str]:
    """Read ``spark-defaults.conf`` of ``SPARK_CONF_DIR``, else of ``spark_home``/conf; empty when there is none."""
    folder = os.environ.get("SPARK_CONF_DIR")
    path = (Path(folder) if folder else spark_home / "conf") / "spark-defaults.conf"
    if not path.is_file():
        return {}
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and not line.startswith(("#", "!"))]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def submit_arguments(jar: Path, spark_home: Path) -> list[str]:
    """List the arguments that switch the extension on for ``spark-submit`` and its kin."""
    present = defaults(spark_home)
    jars = joined(present.get(JARS), str(jar))
    return ["--jars", jars, "--conf", f"{PLUGINS}={joined(present.get(PLUGINS), PLUGIN)}"]


def launch_settings(options: Mapping[str, str], jar: Path, spark_home: Path) -> dict[str, str]:
    """Give the two settings for a builder that has ``options`` and no JVM yet."""
    present = defaults(spark_home) | dict(options)
    return {JARS: joined(present.get(JARS), str(jar)), PLUGINS: joined(present.get(PLUGINS), PLUGIN)}


def merged_submit_args(text: str, jar: Path) -> str:
    """Add the extension to the list settings that a ``PYSPARK_SUBMIT_ARGS`` names; leave the rest as it is."""
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
