"""The queries of the soak, by kind: each takes a session, a number that makes its text unique, an output folder."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import InheritableThread
from pyspark.sql import SparkSession

Kind = Callable[[SparkSession, int, Path], Any]

_SHUFFLED = "/*+ MERGE(p, t) */"
_BROADCAST = "/*+ BROADCAST(t) */"
_SHUFFLED_HASH = "/*+ SHUFFLE_HASH(b) */"
# More in each of two tasks than the soak's memory limit allows, in an order that is not that of the ids.
_LARGE = "range(0, 1000000, 1, 2)"
_SCATTERED = "(id * 7919 + {n}) % 1000003"
_WIDE = f"concat(cast(id as string), '{'x' * 200}')"


def _collected(text: str) -> Kind:
    return lambda spark, n, _folder: spark.sql(text.format(n=n)).collect()


def _noop(text: str) -> Kind:
    return lambda spark, n, _folder: spark.sql(text.format(n=n)).write.format("noop").mode("overwrite").save()


def _threads(spark: SparkSession, n: int, _folder: Path) -> None:
    """Run three queries concurrently."""
    text = "select kind, count(*), sum(amount) from events where amount > {n} group by kind"
    threads = [InheritableThread(target=spark.sql(text.format(n=n + i)).collect) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _fails(spark: SparkSession, n: int, _folder: Path) -> None:
    """Run a query whose task raises Spark's error: under ANSI, a division by zero in the last row."""
    _failing(lambda: spark.sql(f"select id, {n} / (id - 99999) q from events").collect())


def _fails_late(spark: SparkSession, n: int, _folder: Path) -> None:
    """Run a query that fails in a task after an exchange."""
    text = f"select kind, cast(concat(max(amount), 'x{n}') as int) from events group by kind"
    _failing(lambda: spark.sql(text).collect())


def _failing(query: Callable[[], Any]) -> None:
    try:
        query()
    except Exception:
        return
    raise AssertionError("a query that should fail did not")


def _cancelled(spark: SparkSession, n: int, _folder: Path) -> None:
    """Cancel a query that would run for minutes, half a second after its start."""
    group = f"soak {n}"
    ended = threading.Event()

    def run() -> None:
        spark.sparkContext.setJobGroup(group, "cancelled", interruptOnCancel=True)
        try:
            _failing(lambda: spark.sql(f"select sum(hash(id, {n})) from range(0, 100000000000, 1, 2)").collect())
        finally:
            ended.set()

    thread = InheritableThread(target=run)
    thread.start()
    time.sleep(0.5)
    while not ended.wait(0.5):
        spark.sparkContext.cancelJobGroup(group)
    thread.join()


def _written(spark: SparkSession, n: int, folder: Path) -> None:
    """Write Parquet, read it back, delete it."""
    place = folder / f"written-{n}"
    spark.sql(f"select id, kind, amount + {n} a from events where amount > 5000").write.parquet(str(place))
    assert spark.read.parquet(str(place)).groupBy("kind").count().count() == 11
    shutil.rmtree(place)


def _cached(spark: SparkSession, n: int, _folder: Path) -> None:
    """Cache a frame, read it twice, drop it."""
    frame = spark.sql(f"select id, kind, amount from events where amount > {n}").cache()
    try:
        frame.count()
        frame.groupBy("kind").count().collect()
    finally:
        frame.unpersist(blocking=True)


def _to_arrow(spark: SparkSession, n: int, _folder: Path) -> None:
    spark.sql(f"select id, amount from events where amount > {n}").toArrow()


def _to_pandas(spark: SparkSession, n: int, _folder: Path) -> None:
    spark.sql(f"select kind, max(amount) m from events where amount > {n} group by kind").toPandas()


def _stopped_early(spark: SparkSession, n: int, _folder: Path) -> None:
    spark.sql(f"select id, amount from events where amount > {n}").take(3)


#: By name, in the order they run.
KINDS: dict[str, Kind] = {
    "scan": _collected("select count(*), sum(amount) from events where id > {n}"),
    "filter": _collected("select * from people where id between {n} and {n} + 20"),
    "project": _collected("select id + {n}, upper(name), score * 2 from people where score > 0.9"),
    "broadcast join": _collected(
        f"select {_BROADCAST} p.id, t.title from people p join teams t on p.team = t.team where p.id < {{n}}"
    ),
    "shuffled join": _collected(
        f"select {_SHUFFLED} t.title, sum(p.score) from people p join teams t on p.team = t.team and p.id > {{n}}"
        " group by t.title"
    ),
    "outer join": _collected(
        f"select {_SHUFFLED} count(*), count(p.id) from teams t left join people p on p.team = t.team and p.id < {{n}}"
    ),
    "group by many": _collected("select amount, count(*) from events where id > {n} group by amount limit 5"),
    "sort": _collected("select id, amount from events where id < 1000 + {n} order by amount, id"),
    "top": _collected("select id, amount from events where id <> {n} order by amount desc, id limit 5"),
    "limit": _collected("select id + {n} - {n} from events limit 10"),
    "stopped early": _stopped_early,
    "union": _collected("select id from people where id = {n} union all select rank from teams where rank = {n}"),
    "distinct": _collected("select count(distinct amount), count(distinct kind) from events where id > {n}"),
    "large sort": _noop(
        f"select id, w from (select {_SCATTERED} id, {_WIDE} w from {_LARGE}) order by id"
    ),
    "large group by": _noop(
        f"select {_SCATTERED}, count(*), max({_WIDE}) from {_LARGE} group by {_SCATTERED}"
    ),
    "large join": _noop(
        f"select {_SHUFFLED_HASH} a.id, b.w from {_LARGE} a join (select {_SCATTERED} k, {_WIDE} w from {_LARGE}) b"
        " on a.id = b.k"
    ),
    "threads": _threads,
    "fails": _fails,
    "fails late": _fails_late,
    "cancelled": _cancelled,
    "to arrow": _to_arrow,
    "to pandas": _to_pandas,
    "written": _written,
    "cached": _cached,
}
