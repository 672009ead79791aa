"""The steps of an ordinary ETL job, written with the DataFrame API: each runs in the engine as a whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from benchmarks.executions import Executions
from tests.support.compare import difference
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, configured


class Tables(NamedTuple):
    """The job's inputs: orders as a system exports them, with texts and duplicates; the same cleaned; customers."""

    orders: DataFrame
    clean: DataFrame
    customers: DataFrame


@pytest.fixture(scope="module")
def job(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    folder = tmp_path_factory.mktemp("etl")
    orders = spark.range(0, 3000, 1, 3).selectExpr(
        "id AS order_id",
        "concat('C', lpad(cast(id % 97 AS string), 5, '0')) AS customer_id",
        "date_format(timestamp'2024-01-01 00:00:00' + make_dt_interval(0, 0, cast(id * 37 AS int)),"
        " 'yyyy-MM-dd HH:mm:ss') AS ordered_at",
        "cast(round(id % 1000 * 1.37, 2) AS string) AS amount",
        "if(id % 50 = 0, null, concat(' user', id % 97, '@Mail', id % 3, '.Example.com ')) AS email",
        "encode(concat('k', id % 10), 'utf-8') AS key",
    )
    orders.union(orders.where("order_id % 100 = 0")).write.parquet(str(folder / "orders"))
    spark.range(0, 97, 1, 1).selectExpr(
        "concat('C', lpad(cast(id AS string), 5, '0')) AS customer_id",
        "date_add(date'2020-01-01', cast(id AS int)) AS since",
        "elt(id % 4 + 1, 'DE', 'US', 'FR', 'IN') AS country",
    ).write.parquet(str(folder / "customers"))
    exported = spark.read.parquet(str(folder / "orders"))
    clean = (
        exported.withColumn("ts", F.to_timestamp("ordered_at"))
        .withColumn("day", F.to_date("ts"))
        .withColumn("amount", F.col("amount").cast("decimal(12,2)"))
        .withColumn("email", F.lower(F.trim("email")))
        .withColumn("key", F.col("key").cast("string"))
        .withColumn("source", F.substring_index(F.input_file_name(), "/", -1))
        .fillna({"email": "unknown"})
    )
    return Tables(exported, clean, spark.read.parquet(str(folder / "customers")))



def _of_customer(*order: Any) -> WindowSpec:
    return Window.partitionBy("customer_id").orderBy(*order)


def _by_amount() -> WindowSpec:
    return Window.partitionBy("day").orderBy("amount", "order_id")


_STEPS: dict[str, Callable[[Tables], DataFrame]] = {
    "clean": lambda job: job.clean.where("order_id >= 0"),
    "without duplicates": lambda job: job.clean.dropDuplicates(["order_id"]).drop("source"),
    "newest of each customer": lambda job: job.clean
    .withColumn("n", F.row_number().over(_of_customer(F.desc("ts"), "order_id"))).where("n = 1"),
    "rolling sums": lambda job: job.clean.groupBy("customer_id", "day").agg(F.sum("amount").alias("amount"))
    .withColumn("week", F.sum("amount").over(_of_customer("day").rowsBetween(-6, 0)))
    .withColumn("before", F.lag("amount").over(_of_customer("day"))),
    "regular expressions": lambda job: job.clean.select(
        F.regexp_extract("email", "@([a-z0-9.]+)", 1).alias("domain"),
        F.regexp_replace("customer_id", "^C0*", "").alias("number"),
    ).groupBy("domain").agg(F.countDistinct("number")),
    "join and group": lambda job: job.clean.join(F.broadcast(job.customers), "customer_id", "left")
    .groupBy("country", F.date_trunc("month", "ts").alias("month"))
    .agg(
        F.sum("amount"), F.approx_count_distinct("customer_id"), F.percentile_approx("amount", 0.5), F.stddev("amount")
    )
    .orderBy("country", "month"),
    "pivot": lambda job: job.clean.join(job.customers, "customer_id").groupBy("day")
    .pivot("country", ["DE", "US", "FR", "IN"]).agg(F.sum("amount")),
    "cube": lambda job: job.clean.join(job.customers, "customer_id").cube("country", "day")
    .agg(F.count("*"), F.max("ts")),
    "first and last": lambda job: job.clean.groupBy("customer_id").agg(
        F.max_by("order_id", "ts"), F.min_by("order_id", "ts"), F.mode("key", True), F.median("amount"),
        F.count_if(F.col("amount") > 500),
    ),
    "bins": lambda job: job.clean.select(
        F.when(F.col("amount") > 500, "big").when(F.col("amount") > 100, "mid").otherwise("small").alias("bin"),
        F.hour("ts").alias("h"), F.dayofweek("day").alias("d"), F.weekofyear("day").alias("w"),
        F.date_format("ts", "yyyy-MM").alias("ym"),
        F.months_between("ts", F.lit("2024-01-01").cast("timestamp")).alias("m"),
    ).groupBy("bin", "h", "d", "w", "ym").agg(F.count("*"), F.max("m")),
    "hashes": lambda job: job.clean.select(
        F.sha2(F.concat_ws("|", "order_id", "email"), 256), F.md5("email"), F.xxhash64("order_id", "day")
    ),
    "without orders": lambda job: job.customers.join(
        job.orders.where("order_id < 60"), "customer_id", "left_anti"
    ),
    "union by name": lambda job: job.customers.select("customer_id", F.lit(None).cast("string").alias("key"))
    .unionByName(job.orders.select("customer_id"), allowMissingColumns=True).distinct(),
    "sample": lambda job: job.orders.sample(fraction=0.1, seed=3).groupBy("customer_id").count(),
    "ranks": lambda job: job.clean.select(
        "order_id", F.ntile(4).over(_by_amount()), F.percent_rank().over(_by_amount()), F.rank().over(_by_amount())
    ),
    "largest": lambda job: job.clean.orderBy(F.desc("amount"), "order_id").limit(10),
}  # fmt: skip


def test_writes_of_an_etl_job_run_in_the_engine(
    spark: SparkSession, job: Tables, executions: Executions, tmp_path: Path
) -> None:
    few = job.clean.where("order_id % 97 < 12")  # a folder for each name and day
    paid = few.withColumn("name", F.when(F.col("order_id") % 9 == 0, "").otherwise(F.col("email"))).select(
        "order_id", "customer_id", "day", "name"
    )
    newest = paid.withColumn("n", F.row_number().over(_of_customer(F.desc("order_id")))).where("n < 4")
    for place, (frame, keys) in enumerate([(paid, ["name", "day"]), (newest, ["customer_id"]), (paid, [])]):
        written = []
        for engine in ("false", "true"):
            with configured(spark, {ENABLED: engine}):
                path = str(tmp_path / f"{place}-{engine}")
                frame.write.partitionBy(*keys).parquet(path)
                made = executions.take()
            written.append(spark.read.parquet(path).collect())
        assert difference(*written) is None
        assert made["operators"] == made["converted"], made


def test_steps_of_an_etl_job_run_in_the_engine(spark: SparkSession, job: Tables, vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    wrong, partly = [], []
    for name, step in _STEPS.items():
        rows = []
        for engine in ("false", "true"):
            with configured(spark, {ENABLED: engine}):
                frame = step(job)
                rows.append(frame.collect())
        assert rows[0], name
        found = difference(rows[0], rows[1])
        wrong += [f"{name}: {found}"] if found else []
        summary = summary_of(frame)
        partly += [f"{name}: {summary.reasons}"] if summary.converted != summary.operators else []
    assert (wrong, partly) == ([], [])
