"""An ordinary job, independent of the extension: cleans raw orders, enriches them and writes seven tables of Parquet.

spark-submit examples/clean_orders.py SOURCE TARGET
spark-submit $(pyspark-pipeline submit-args) examples/clean_orders.py SOURCE TARGET
"""

import sys
import time

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

ATTRIBUTES = "channel string, device struct<os: string>, score double"


def amount(text):
    """Return the amount in a text as ``$ 1,234.50``, NULL if there is none."""
    return F.regexp_replace(text, "[^0-9.-]", "").try_cast("decimal(12,2)")


def moment(text):
    """Return the time in a text of one of two forms, NULL if it is of neither."""
    return F.coalesce(
        F.try_to_timestamp(text, F.lit("yyyy-MM-dd HH:mm:ss")), F.try_to_timestamp(text, F.lit("dd/MM/yyyy HH:mm"))
    )


def parse(raw):
    """Return the raw orders with typed columns."""
    status = F.lower(F.trim("status"))
    return raw.select(
        F.upper(F.trim("order_id")).alias("order_id"),
        F.upper(F.trim("customer")).alias("customer_id"),
        moment(F.col("ordered_at")).alias("ordered_at"),
        F.when(status.isin("shipped", "delivered"), "shipped")
        .when(status.isin("cancelled", "canceled"), "cancelled")
        .when(status.like("return%"), "returned")
        .otherwise("open")
        .alias("status"),
        amount(F.col("total")).alias("total"),
        F.coalesce(F.nullif(F.upper(F.trim("currency")), F.lit("")), F.lit("EUR")).alias("currency"),
        F.regexp_extract(F.lower(F.trim("email")), "@(.+)$", 1).alias("domain"),
        F.array_distinct(F.split(F.lower("tags"), "\\s*;\\s*")).alias("tags"),
        F.from_json("attributes", ATTRIBUTES).alias("attributes"),
        "lines",
        "updated_at",
    )


def clean(raw):
    """Return the newest version of each valid order."""
    newest = Window.partitionBy("order_id").orderBy(F.desc("updated_at"))
    return (
        parse(raw)
        .where("ordered_at is not null and total is not null and customer_id is not null")
        .withColumn("version", F.row_number().over(newest))
        .where("version = 1")
        .select("*", "attributes.channel", F.col("attributes.device.os").alias("system"), "attributes.score")
        .withColumn("month", F.date_format("ordered_at", "yyyy-MM"))
        .drop("version", "attributes", "updated_at")
    )


def enrich(orders, customers):
    """Return orders with the segment, the country and the loyalty of their customers."""
    known = customers.dropDuplicates(["customer_id"]).withColumn("segment", F.lower(F.trim("segment")))
    years = F.floor(F.months_between("ordered_at", "since") / 12)
    return (
        orders.join(known, "customer_id", "left")
        .fillna({"segment": "unknown", "country": "??"})
        .withColumn("loyalty", F.when(years >= 3, "old").when(years >= 1, "known").otherwise("new"))
        .drop("name", "since")
    )


def rejects(raw):
    """Return the raw orders that are not valid, counted by reason."""
    reasons = F.array_compact(
        F.array(
            F.when(F.col("ordered_at").isNull(), "no time"),
            F.when(F.col("total").isNull(), "no amount"),
            F.when(F.col("customer_id").isNull(), "no customer"),
        )
    )
    found = parse(raw).select("currency", "status", F.explode(reasons).alias("reason"))
    return found.groupBy("reason").pivot("status", ["open", "shipped", "cancelled", "returned"]).count()


def lines(orders, products):
    """Return the lines of the orders that were not cancelled, with their products."""
    price = F.col("line.price") * (1 - F.coalesce("line.discount", F.lit(0)).cast("decimal(4,2)"))
    exploded = orders.where("status <> 'cancelled'").withColumn("line", F.explode("lines"))
    return (
        exploded.withColumn("sku", F.upper("line.sku"))
        .withColumn("quantity", F.col("line.quantity").try_cast("int"))
        .join(F.broadcast(products), "sku")
        .withColumn("revenue", (price * F.col("quantity")).cast("decimal(14,2)"))
        .withColumn("margin", F.col("revenue") - F.col("cost") * F.col("quantity"))
    )


def by_day(orders):
    """Return the figures of each day and country, with sums over the last seven days."""
    week = Window.partitionBy("country").orderBy("day").rowsBetween(-6, 0)
    return (
        orders.groupBy("country", F.to_date("ordered_at").alias("day"))
        .agg(
            F.count("*").alias("orders"),
            F.sum("total").alias("total"),
            F.count_distinct("customer_id").alias("customers"),
            F.percentile_approx("total", 0.5).alias("middle"),
            F.stddev("total").alias("deviation"),
            F.avg("score").alias("score"),
            F.collect_set("currency").alias("currencies"),
        )
        .withColumn("currencies", F.concat_ws(",", F.array_sort("currencies")))
        .withColumn("week", F.sum("total").over(week))
    )


def by_category(sold):
    """Return the revenue of each month and country, a column for each category."""
    return sold.groupBy("month", "country").pivot("category").agg(F.sum("revenue"))


def by_product(sold):
    """Return the figures of each product and month, compared with the month before."""
    months = Window.partitionBy("sku").orderBy("month")
    return (
        sold.groupBy("sku", "category", "month")
        .agg(
            F.sum("quantity").alias("quantity"),
            F.sum("revenue").alias("revenue"),
            F.sum("margin").alias("margin"),
            F.avg(F.when(F.col("status") == "returned", 1).otherwise(0)).alias("returned"),
        )
        .withColumn("change", F.col("revenue") - F.lag("revenue").over(months))
    )


def by_tag(orders):
    """Return the orders and customers of each tag, and the channels they came by."""
    tagged = orders.select("customer_id", "channel", "total", F.explode_outer("tags").alias("tag"))
    return (
        tagged.where("tag is null or tag <> ''")
        .groupBy("tag")
        .agg(F.count("*"), F.count_distinct("customer_id"), F.sum("total"), F.array_sort(F.collect_set("channel")))
        .toDF("tag", "orders", "customers", "total", "channels")
    )


def best_customers(orders):
    """Return the hundred customers of each country that bought most."""
    rank = Window.partitionBy("country").orderBy(F.desc("total"), "customer_id")
    return (
        orders.groupBy("country", "customer_id")
        .agg(
            F.count("*").alias("orders"),
            F.sum("total").alias("total"),
            F.min("ordered_at").alias("first"),
            F.max("ordered_at").alias("last"),
            F.max_by("channel", "ordered_at").alias("channel"),
        )
        .withColumn("rank", F.row_number().over(rank))
        .where("rank <= 100")
    )


def run(spark, source, target):
    """Run the job; yield the name of each table when it is written."""

    def write(name, frame, *folders):
        frame.write.mode("overwrite").partitionBy(*folders).parquet(f"{target}/{name}")
        return name

    names = ("orders", "customers", "products")
    raw, customers, products = (spark.read.parquet(f"{source}/{name}.parquet") for name in names)
    yield write("orders", enrich(clean(raw), customers), "month")
    orders = spark.read.parquet(f"{target}/orders")
    sold = lines(orders, products)
    yield write("rejects", rejects(raw))
    yield write("days", by_day(orders))
    yield write("categories", by_category(sold), "country")
    yield write("products", by_product(sold))
    yield write("tags", by_tag(orders))
    yield write("customers", best_customers(orders), "country")


if __name__ == "__main__":
    session = SparkSession.builder.appName("clean orders").getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    began = time.perf_counter()
    for table in run(session, *sys.argv[1:3]):
        print(f"{table} written after {time.perf_counter() - began:.1f} s")
    session.stop()
