"""Cached blocks of the engine on several executors: replicated, and serialized by Kryo, which must know every class."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.class_archive import java_options
from tests.support.processes import ROOT, SPARK_HOME, environment, output_tail, submit_args

_SETTINGS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrationRequired": "true",
    "spark.pysparkPipeline.cost.enabled": "false",
    "spark.pysparkPipeline.strict": "true",
    "spark.pysparkPipeline.executors.waitSeconds": "240",
    "spark.pysparkPipeline.cache.enabled": "true",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.executor.extraJavaOptions": java_options(),
    "spark.driver.host": "127.0.0.1",
    "spark.executorEnv.PYTHONPATH": str(ROOT),
}


@pytest.mark.rotates
def test_replicated_blocks_of_kryo_are_read_by_both_engines() -> None:
    settings = [word for key, value in _SETTINGS.items() for word in ("--conf", f"{key}={value}")]
    tool = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local-cluster[2,1,1024]", *submit_args(), *settings]
    variables = environment() | {"PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [*tool, str(ROOT / "tests" / "system" / "jobs_cached.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=420, check=False)
    assert done.returncode == 0, output_tail(done)
    (found,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert found["engine"] and found["spark"] and found["groups"] == 9
    assert found["converted"] == found["operators"], found["reasons"]
