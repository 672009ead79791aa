"""A program that prints the Python workers before and after its first query as JSON.

It first waits until a worker exists if its argument is ``wait``, else for some seconds. With ``enable`` it enables the
extension at last, and runs the query again.
"""

from __future__ import annotations

import json
import os
import sys
import time

from pyspark.sql import SparkSession

import pyspark_pipeline
from tests.support.processes import python_workers, wait_until

_QUERY = "SELECT id % 3 AS k, count(*) AS n FROM range(0, 300, 1, 1) GROUP BY 1"

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.pysparkPipeline.cost.enabled", "false").config("spark.sql.shuffle.partitions", "1")
for setting in sys.argv[2:]:
    builder = builder.config(*setting.split("=", 1))
spark = pyspark_pipeline.install(builder).getOrCreate()
if sys.argv[1] == "wait":
    wait_until(lambda: bool(python_workers(os.getpid())), "a worker should start", 60)
    time.sleep(1)  # until it is idle
else:
    time.sleep(5)
before = python_workers(os.getpid())
rows = sorted(tuple(row) for row in spark.sql(_QUERY).collect())
found = {"before": before, "after": python_workers(os.getpid()), "rows": rows}
if sys.argv[1] == "enable":
    spark.conf.unset("spark.pysparkPipeline.batchRows")
    spark.conf.set("spark.pysparkPipeline.enabled", "true")
    rows = sorted(tuple(row) for row in spark.sql(_QUERY).collect())
    found["enabled"] = {"rows": rows, "workers": len(python_workers(os.getpid()))}
print(json.dumps(found))
spark.stop()
