"""A job that prints, as one JSON line, the rows of a query, the reasons for Spark, and its error if strict."""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

_STRICT = "spark.pysparkPipeline.strict"
_QUERY = """
    SELECT big.k, count(*) AS n, sum(small.v) AS s FROM big JOIN small ON big.k = small.k
    WHERE small.v >= (SELECT min(v) FROM small) GROUP BY big.k
"""


def main(folder: str, adaptive: str) -> None:
    spark = SparkSession.builder.appName("defects").config("spark.sql.adaptive.enabled", adaptive).getOrCreate()
    spark.range(0, 1000, 1, 2).selectExpr("id % 7 AS k").write.parquet(f"{folder}/big")
    spark.range(0, 7, 1, 1).selectExpr("id AS k", "id * 10 AS v").write.parquet(f"{folder}/small")
    for name in ("big", "small"):
        spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
    frame = spark.sql(_QUERY)
    rows = sorted([*row] for row in frame.collect())
    jvm: Any = spark._jvm
    plan_report = jvm.org.apache.spark.sql.pysparkpipeline.PlanReport
    report = json.loads(plan_report.json(frame._jdf.queryExecution().executedPlan()))
    spark.conf.set(_STRICT, "true")
    try:
        spark.sql(_QUERY).collect()
        error = ""
    except Exception as raised:  # printed for the test to judge
        error = str(raised)
    print(json.dumps({"rows": rows, "converted": report["converted"], "reasons": report["reasons"], "error": error}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
