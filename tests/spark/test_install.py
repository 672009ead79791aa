"""The interpreter of the workers of a program that calls ``install``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pyspark_pipeline.spark import install as module

_VARIABLE = "PYSPARK_PYTHON"


class Builder:
    """The part of ``SparkSession.builder`` that ``install`` uses; Spark's own builder shares its options globally."""

    def __init__(self, **options: str) -> None:
        self._options = {key.replace("_", "."): value for key, value in options.items()}

    def config(self, key: str, value: str) -> Builder:
        self._options[key] = value
        return self


@pytest.fixture(autouse=True)
def conf_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Remove the JVM and this machine's settings from the environment; return the configuration folder."""
    for name in (_VARIABLE, "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "MASTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setattr(module, "shim_jar", lambda _home: tmp_path / "shim.jar")
    monkeypatch.setattr(module, "compile_ahead", lambda *_arguments: None)
    monkeypatch.setattr(module.SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(module.SparkContext, "_gateway", None)
    monkeypatch.setenv(_VARIABLE, "restored after the test")
    monkeypatch.delenv(_VARIABLE)
    return tmp_path


@pytest.mark.parametrize("master", [None, "local", "local[2]", "local[*, 4]"])
def test_workers_of_a_local_master_run_this_interpreter(master: str | None) -> None:
    module.install(Builder() if master is None else Builder(spark_master=master))
    assert os.environ[_VARIABLE] == sys.executable


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://host:7077", "yarn", "k8s://https://host"])
def test_workers_of_a_cluster_run_spark_default_interpreter(master: str) -> None:
    module.install(Builder(spark_master=master))
    assert _VARIABLE not in os.environ


def test_pyspark_python_variable_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_VARIABLE, "/other/python3")
    module.install(Builder(spark_master="local[2]"))
    assert os.environ[_VARIABLE] == "/other/python3"


def test_builder_python_is_kept() -> None:
    builder = Builder(spark_master="local[2]", spark_pyspark_python="/other/python3")
    module.install(builder)
    assert _VARIABLE not in os.environ and builder._options["spark.pyspark.python"] == "/other/python3"


@pytest.mark.parametrize(
    "submit_args",
    ["--conf spark.pyspark.python=/other/python3 pyspark-shell", "--master yarn pyspark-shell"],
)
def test_submit_arguments_python_is_kept(submit_args: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", submit_args)
    module.install(Builder())
    assert _VARIABLE not in os.environ


def test_defaults_file_python_is_kept(conf_dir: Path) -> None:
    (conf_dir / "spark-defaults.conf").write_text("spark.pyspark.python /other/python3\n")
    module.install(Builder(spark_master="local[2]"))
    assert _VARIABLE not in os.environ


def test_embedding_program_is_not_used_as_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/application/bin/host")
    module.install(Builder(spark_master="local[2]"))
    assert _VARIABLE not in os.environ


@pytest.mark.parametrize(
    "builder",
    [
        Builder(spark_remote="local[2]", spark_plugins="their.Plugin"),
        Builder(spark_api_mode="connect", spark_plugins="their.Plugin"),
    ],
)
def test_a_local_connect_server_gets_session_extensions_and_this_interpreter(builder: Builder) -> None:
    """Spark overwrites the plugins of the server that it starts for ``remote("local")``."""
    module.install(builder)
    assert builder._options["spark.sql.extensions"] == "org.pysparkpipeline.PipelineExtensions"
    assert builder._options["spark.plugins"] == "their.Plugin"
    assert os.environ[_VARIABLE] == sys.executable


@pytest.mark.parametrize("remote", ["sc://host", "local-cluster[2,1,1024]"])
def test_a_client_of_another_connect_server_is_refused(remote: str) -> None:
    with pytest.raises(module.InstallError, match="start its server with the extension"):
        module.install(Builder(spark_remote=remote))


@pytest.mark.parametrize("enabled", [None, "true", "false"])
def test_disabled_extension_compiles_no_kernel(enabled: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(module, "compile_ahead", lambda *arguments: started.append(arguments))
    options = {} if enabled is None else {"spark.pysparkPipeline.enabled": enabled}
    builder = Builder(spark_master="local[2]")
    builder._options |= options
    module.install(builder)
    assert bool(started) == (enabled != "false")
