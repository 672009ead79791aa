"""Failed queries leave no Arrow memory and no engine objects in the JVM."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Mapping

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.sessions import ENABLED, configured
from tests.support.tables import TableShelf

_SETTINGS = {ENABLED: "true", "spark.sql.ansi.enabled": "true"}

#: Each fails in a task: in the scan, after an exchange, beside a broadcast, on rows that the JVM made.
_FAILING = (
    "SELECT id, i / (id - {last}) FROM tame WHERE id < 1000 + {n}",
    "SELECT k, sum(i) / (count(*) - count({n})) FROM tame GROUP BY k",
    "SELECT /*+ BROADCAST(b) */ a.id / (b.id - b.id) FROM tame a JOIN tame b ON a.id = b.id AND b.id <> 1000 + {n}",
    "SELECT id / (id - {last}) FROM (SELECT explode(sequence(0, {last})) AS id) WHERE id <> -{n}",
)

#: Objects that Spark itself retains for a while: the last task of a thread, the last execution of a session.
_HELD_FOR_A_WHILE = 10


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


def _fails(spark: SparkSession, text: str) -> None:
    with pytest.raises((PySparkException, Py4JError)) as caught:
        spark.sql(text).collect()
    assert "DIVIDE_BY_ZERO" in str(caught.value)


def _arrow(spark: SparkSession) -> tuple[int, int]:
    """Return the bytes and the number of child allocators of Spark's Arrow allocator."""
    allocator = spark._jvm.org.apache.spark.sql.util.ArrowUtils.rootAllocator()
    return allocator.getAllocatedMemory(), allocator.getChildAllocators().size()


def _instances(spark: SparkSession) -> Mapping[str, int]:
    """Return the live objects by engine class; the histogram runs a full collection first."""
    gc.collect()  # releases JVM objects that Python references
    gateway, jvm = spark.sparkContext._gateway, spark._jvm
    server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    # by reflection: the server's class is not exported, so py4j does not find its methods
    methods = jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethods()
    invoke = next(method for method in methods if method.getName() == "invoke")
    options = gateway.new_array(jvm.java.lang.Object, 1)
    options[0] = gateway.new_array(jvm.java.lang.String, 0)
    signature = gateway.new_array(jvm.java.lang.String, 1)
    signature[0] = "[Ljava.lang.String;"
    arguments = gateway.new_array(jvm.java.lang.Object, 4)
    arguments[0] = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    arguments[1], arguments[2], arguments[3] = "gcClassHistogram", options, signature
    text = str(invoke.invoke(server, arguments))
    found = re.findall(r"^ *\d+: +(\d+) +\d+ +org\.apache\.spark\.sql\.pysparkpipeline\.(\w+)", text, re.MULTILINE)
    return {name: int(count) for count, name in found}


def _settles(holds: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.5)
    return True


def test_failed_queries_release_jvm_memory_and_objects(spark: SparkSession, tables: TableShelf) -> None:
    tables.use(["tame"])
    last = spark.sql("SELECT max(id) FROM tame").collect()[0][0]
    with configured(spark, _SETTINGS):
        for text in _FAILING:
            _fails(spark, text.format(n=0, last=last))
        arrow, before = _arrow(spark), _instances(spark)
        assert "PipelineFragmentExec" in before
        for n in range(1, 7):
            for text in _FAILING:
                _fails(spark, text.format(n=n, last=last))
    assert _settles(lambda: _arrow(spark) <= arrow), f"Arrow holds {_arrow(spark)} (bytes, allocators) after {arrow}"

    def grown() -> dict[str, int]:
        more = {name: count - before.get(name, 0) for name, count in _instances(spark).items()}
        return {name: count for name, count in more.items() if count > _HELD_FOR_A_WHILE}

    assert _settles(lambda: not grown()), grown()
