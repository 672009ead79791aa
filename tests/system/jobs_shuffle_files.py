"""A job that compares queries with vanilla Spark, with AQE on and off: shuffles, one that Spark reads, a broadcast."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.support.conversion import summary_of

_QUERIES = (
    "SELECT a.k, sum(a.d), count(b.t), max(b.day) FROM rows a JOIN rows b ON a.id = b.id GROUP BY a.k",
    "SELECT * FROM (SELECT /*+ REPARTITION(7, k) */ * FROM rows) ORDER BY t DESC, id",
    "SELECT /*+ REPARTITION(3) */ id FROM rows",
    "SELECT /*+ REPARTITION(4, k) */ * FROM rows WHERE id > 1000000",
    "SELECT /*+ BROADCAST(b) */ a.id, b.t, b.d FROM rows a JOIN rows b ON a.id = b.id + 1",
)


def main() -> None:
    spark = SparkSession.builder.appName("shuffle files").getOrCreate()
    spark.sql(
        """CREATE OR REPLACE TEMP VIEW rows AS
        SELECT id, id % 100 AS k, CAST(id AS decimal(15, 2)) AS d, date_add(DATE'2020-01-01', int(id % 1000)) AS day,
          CASE WHEN id % 10 > 0 THEN concat('text ', id) END AS t FROM range(0, 30000, 1, 3)"""
    )
    equal = converted = True
    for adaptive, queries in (("true", _QUERIES), ("false", _QUERIES[:1])):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        for query in queries:
            answers = []
            for enabled in ("false", "true"):
                spark.conf.set("spark.pysparkPipeline.enabled", enabled)
                frame = spark.sql(query)
                answers.append(sorted(map(str, frame.collect())))
            found = summary_of(frame)
            converted &= found.converted == found.operators
            if answers[0] != answers[1]:
                equal = False
                print("DIFFERENT", adaptive, query)
    print("EQUAL", equal, "CONVERTED", converted)
    spark.stop()


if __name__ == "__main__":
    main()
