"""Functions of a group (`applyInPandas`, `applyInArrow`, aggregates): rows and errors are those of Spark."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.functions import arrow_udf, pandas_udf, udf
from pyspark.sql.pandas.group_ops import PandasCogroupedOps

from tests.support.conversion import summary_of
from tests.support.python_functions import FREE, errors_of_both, rows_of_both
from tests.support.sessions import ENABLED, configured

_AS_PLANNED = {"spark.sql.adaptive.enabled": "false"}
_SMALL = {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
_VALUES = [
    "id", "IF(id % 7 = 3, NULL, CAST(id AS INT)) AS i", "CAST(id AS DOUBLE) / 7 AS f", "id % 2 = 0 AS b",
    "CASE id % 5 WHEN 0 THEN NULL ELSE concat('ü', id % 11) END AS s", "CAST(id / 3 AS DECIMAL(12,2)) AS d",
    "timestamp_seconds(id * 100000) AS at", "DATE'1960-01-01' + CAST(id AS INT) AS day", "X'00FF' AS x",
    "TIMESTAMP_NTZ'2020-02-29 12:00:00.5' AS local", "IF(id < 40, CAST(NULL AS BIGINT), id) AS l",
]  # fmt: skip
_KEYS = {
    "a bigint": "IF(id % 50 = 7, NULL, id % 50) AS k",
    "a double": "CASE id % 4 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D ELSE 1.5D END AS k",
    "a string": "IF(id % 3 = 0, NULL, repeat('ß', CAST(id % 20 AS INT))) AS k",
    "one value": "1 AS k",
    "a row each": "id AS k",
}

pytestmark = [pytest.mark.usefixtures("extension", "one_driver"), pytest.mark.rotates]


def _rows(spark: SparkSession, make: Callable[[], DataFrame], settings: dict[str, str] | None = None) -> list[Any]:
    return rows_of_both(spark, make, "Python", {**FREE, **(settings or {})})


def _source(spark: SparkSession, key: str = "id % 50 AS k", rows: int = 1500) -> DataFrame:
    return spark.range(0, rows, 1, 3).selectExpr(key, *_VALUES)


def _shown(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    """Return the key, the types, the index and all values of a group as text.

    Spark's radix sort moves the rows of all groups if some keys are NULL, so they are in the order of ``id`` here.
    """
    group = group.sort_values("id", ignore_index=True)
    types = " ".join(map(str, group.dtypes))
    return pd.DataFrame({"t": [f"{key!r} {types} {group.index} {group.columns} {group.to_dict('list')!r}"]})


def _shown_table(key: tuple[Any, ...], group: pa.Table) -> pa.Table:
    return pa.table({"t": [f"{key!r} {group.schema} {group.sort_by('id').to_pydict()}"]})


@pytest.mark.parametrize("key", _KEYS)
def test_functions_get_the_groups_of_spark(spark: SparkSession, key: str) -> None:
    rows = 300 if key == "a row each" else 1500
    grouped = lambda: _source(spark, _KEYS[key], rows).groupBy("k")  # noqa: E731
    _rows(spark, lambda: grouped().applyInPandas(_shown, "t string"), _SMALL if key == "one value" else {})
    _rows(spark, lambda: grouped().applyInArrow(_shown_table, "t string"), _SMALL if key == "a bigint" else {})


def test_rows_of_all_types_return(spark: SparkSession) -> None:
    schema = _source(spark).schema
    _rows(spark, lambda: _source(spark).groupBy("k").applyInArrow(lambda group: group, schema))
    for settings in ({}, {"spark.sql.session.timeZone": "Asia/Kathmandu"}):
        _rows(spark, lambda: _source(spark).groupBy("k").applyInPandas(lambda group: group, schema), settings)
        _rows(spark, lambda: _source(spark).groupBy("k", "b").applyInPandas(lambda g: g[g.id > 700], schema), settings)


def test_keys_may_be_expressions_none_or_many(spark: SparkSession) -> None:
    frame = lambda: _source(spark)  # noqa: E731
    _rows(spark, lambda: frame().groupBy((f.col("k") % 7).alias("q")).applyInPandas(_shown, "t string"))
    _rows(spark, lambda: frame().groupBy("k", f.col("s")).applyInArrow(_shown_table, "t string"))
    _rows(spark, lambda: frame().groupBy().applyInPandas(lambda g: pd.DataFrame({"n": [len(g)]}), "n bigint"))
    none = lambda: frame().where(f.col("s") == "none").groupBy("k")  # noqa: E731
    assert not _rows(spark, lambda: none().applyInPandas(_shown, "t string"), _AS_PLANNED)
    _rows(spark, lambda: frame().groupBy("k").applyInPandas(_shown, "t string").where("t like '%3%'").groupBy().count())


def test_groups_are_in_the_order_of_the_rows(spark: SparkSession) -> None:
    def numbered(group: pd.DataFrame) -> pd.DataFrame:
        return group.assign(n=range(len(group)))[["id", "n"]]

    frame = lambda: spark.range(0, 4000, 1, 4).selectExpr("id", "hash(id) % 9 AS k").orderBy("id")  # noqa: E731
    rows = _rows(spark, lambda: frame().groupBy("k").applyInPandas(numbered, "id bigint, n bigint"))
    assert len(rows) == 4000


def test_sorted_partitions_give_sorted_groups(spark: SparkSession) -> None:
    def numbered(group: pd.DataFrame) -> pd.DataFrame:
        return group.assign(n=range(len(group)))[["id", "n"]]

    def frame() -> DataFrame:
        source = spark.range(0, 4000, 1, 4).selectExpr("id", "hash(id) % 9 AS k", "hash(id, 1) % 100 AS t")
        return source.repartition(3, "k").sortWithinPartitions("k", f.desc("t"), "id")

    last = pandas_udf(_last, "bigint")
    _rows(spark, lambda: frame().groupBy("k").applyInPandas(numbered, "id bigint, n bigint"))
    _rows(spark, lambda: frame().where("id % 7 > 0").groupBy("k").agg(last("id"), last("t")))
    _rows(spark, lambda: frame().select("*", last("id").over(Window.partitionBy("k"))))


def test_functions_over_iterators_of_a_group(spark: SparkSession) -> None:
    def counts(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            yield pd.DataFrame({"n": [len(batch)]})

    def counts_of_key(key: tuple[Any, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"k": [key[0].as_py()], "n": [batch.num_rows]})

    counts.__annotations__ = {"batches": Iterator[pd.DataFrame], "return": Iterator[pd.DataFrame]}
    counts_of_key.__annotations__ = {
        "key": tuple[Any, ...], "batches": Iterator[pa.RecordBatch], "return": Iterator[pa.RecordBatch],
    }  # fmt: skip
    _rows(spark, lambda: _source(spark).groupBy("k").applyInPandas(counts, "n bigint"), _SMALL)
    _rows(spark, lambda: _source(spark).groupBy("k").applyInArrow(counts_of_key, "k bigint, n bigint"), _SMALL)


def _shown_pair(key: tuple[Any, ...], left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([_shown(key, left), _shown(key, right)], axis=1).set_axis(["t", "u"], axis=1)


def _shown_tables(key: tuple[Any, ...], left: pa.Table, right: pa.Table) -> pa.Table:
    made = [_shown_table(key, side)["t"] for side in (left, right)]
    return pa.table({"t": made[0], "u": made[1], "n": [max(left["id"].num_chunks, right["id"].num_chunks)]})


@pytest.mark.parametrize("key", _KEYS)
def test_functions_get_the_cogroups_of_spark(spark: SparkSession, key: str) -> None:
    rows = 200 if key == "a row each" else 700

    def cogroup(columns: str = "k") -> PandasCogroupedOps:
        left = _source(spark, _KEYS[key], rows).where("id % 50 < 30 OR id > 400").groupBy(columns)
        return left.cogroup(_source(spark, _KEYS[key], rows // 2).where("id % 50 > 11").groupBy(columns))

    _rows(spark, lambda: cogroup().applyInPandas(_shown_pair, "t string, u string"))
    small = _SMALL if key == "one value" else {}
    _rows(spark, lambda: cogroup().applyInArrow(_shown_tables, "t string, u string, n bigint"), small)


def test_cogroups_of_other_columns_and_of_no_rows(spark: SparkSession) -> None:
    def merged(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"n": [len(left)], "m": [len(right)], "s": [right["v"].sum()]})

    def cogroup(left: str, right: str) -> DataFrame:
        other = spark.range(0, 500, 1, 2).selectExpr("id % 70 AS q", "id * 2 AS v", "id % 2 = 1 AS b").where(right)
        frame = _source(spark).where(left).groupBy("k", (f.col("id") % 2 == 1).alias("odd"))
        return frame.cogroup(other.groupBy("q", "b")).applyInPandas(merged, "n bigint, m bigint, s double")

    for left, right in (("true", "true"), ("s = 'none'", "true"), ("true", "v < 0")):
        assert _rows(spark, lambda left=left, right=right: cogroup(left, right), _AS_PLANNED)
    assert not _rows(spark, lambda: cogroup("s = 'none'", "v < 0"), _AS_PLANNED)
    none = lambda: _source(spark).groupBy().cogroup(_source(spark, rows=9).groupBy())  # noqa: E731
    _rows(spark, lambda: none().applyInPandas(lambda a, b: pd.DataFrame({"n": [len(a) - len(b)]}), "n bigint"))


def test_aggregates_over_iterators_equal_spark(spark: SparkSession) -> None:
    if spark.version < "4.2":
        pytest.skip("since Spark 4.2")

    def total(batches: Iterator[pd.Series]) -> float:
        return sum(float(batch.sum()) * len(batch) for batch in batches)

    def first(batches: Iterator[tuple[pa.Array, pa.Array]]) -> int:
        a, b = next(batches)
        return int(a[0].as_py() + len(b))

    total.__annotations__ = {"batches": Iterator[pd.Series], "return": float}
    first.__annotations__ = {"batches": Iterator[tuple[pa.Array, pa.Array]], "return": int}
    by_key = lambda: _source(spark).groupBy("k")  # noqa: E731
    _rows(spark, lambda: by_key().agg(pandas_udf(total, "double")("id")), _SMALL)
    _rows(spark, lambda: by_key().agg(arrow_udf(first, "bigint")("id", "s")), _SMALL)
    _rows(spark, lambda: _source(spark).agg(pandas_udf(total, "double")("id")))


def _sum(a: pd.Series, b: pd.Series) -> float:
    return float((a * b).sum())


def _twice(a: pd.Series) -> pd.Series:
    return a * 2.0


def _first(a: pd.Series) -> Any:
    return a.iloc[0]


def _last(a: pd.Series) -> Any:
    return a.iloc[-1]


def _types(a: pd.Series) -> str:
    return f"{a.dtype} {a.name} {a.index} {len(a)}"


def _mean(a: pd.Series) -> float:
    return float(a.mean())


def _size(a: pd.Series) -> int:
    return len(a)


def _arrow_size(a: pa.Array) -> int:
    return len(a)


def _arrow_first(a: pa.Array) -> Any:
    return a[0]


for _function in (_sum, _first, _last, _types, _mean):
    _function.__annotations__ = {name: pd.Series for name in _function.__annotations__} | {"return": float}
_twice.__annotations__ = {"a": pd.Series, "return": pd.Series}
_size.__annotations__ = {"a": pd.Series, "return": int}
_arrow_size.__annotations__ = {"a": pa.Array, "return": int}
_arrow_first.__annotations__ = {"a": pa.Array, "return": pa.Scalar}


def _of_several_types(a: pd.Series) -> float:
    number = a.iloc[0]
    values = [None, int(number), float(number), True, np.int32(number), np.int64(number), np.float32(0.1), float("nan")]
    return values[int(number) % len(values)]


def _arrow_of_several_types(a: pa.Array) -> Any:
    number = a[0].as_py()
    scalars = [pa.scalar(number), pa.scalar(None, pa.float64()), pa.scalar(0.1, pa.float32())]
    values = [None, number, float(number), *scalars]
    return values[number % len(values)]


def _arrow_sum(a: pa.Array) -> Any:
    return pc.sum(a)


_of_several_types.__annotations__ = {"a": pd.Series, "return": float}
_arrow_of_several_types.__annotations__ = _arrow_sum.__annotations__ = {"a": pa.Array, "return": pa.Scalar}


@pytest.mark.parametrize("key", _KEYS)
def test_aggregates_equal_spark(spark: SparkSession, key: str) -> None:
    total, types = pandas_udf(_sum, "double"), pandas_udf(_types, "string")
    frame = lambda: _source(spark, _KEYS[key], 300).groupBy("k")  # noqa: E731
    by_name = (total(b="id", a=f.col("l")) + 1).alias("t")
    settings = _SMALL if key == "one value" else {}
    _rows(spark, lambda: frame().agg(total("id", "l"), types("i"), by_name, types(f.col("id") + 1), f.lit(3)), settings)


def test_aggregates_of_all_types(spark: SparkSession) -> None:
    kinds = {field.name: field.dataType for field in _source(spark).schema}
    in_pandas = lambda: [pandas_udf(_first, kinds[name])(name) for name in kinds if name not in ("x", "d")]  # noqa: E731
    in_arrow = lambda: [arrow_udf(_arrow_first, kinds[name])(name) for name in kinds]  # noqa: E731
    _rows(spark, lambda: _source(spark).groupBy(f.col("k").alias("key")).agg(*in_pandas()))
    _rows(spark, lambda: _source(spark).groupBy(f.col("k") % 3, "b").agg(*in_arrow()))


def test_aggregates_return_values_of_several_types(spark: SparkSession) -> None:
    number = pandas_udf(_of_several_types, "double")
    size = pandas_udf(_size, "int")
    _rows(spark, lambda: _source(spark).groupBy("k").agg(number("id"), number(f.lit(1)), size("id")))
    _rows(spark, lambda: _source(spark).groupBy("k").agg(pandas_udf(_size, "bigint")("id"), number(f.lit(2))))
    in_arrow, first = arrow_udf(_arrow_of_several_types, "double"), arrow_udf(_arrow_first, "bigint")
    _rows(spark, lambda: _source(spark).groupBy("k").agg(in_arrow("id"), in_arrow(f.lit(1)), first("l"), first("id")))
    total = arrow_udf(_arrow_sum, "decimal(20,2)")
    _rows(spark, lambda: _source(spark).groupBy("k").agg(total("d"), arrow_udf(_arrow_size, "int")("s")))


def test_functions_may_change_and_keep_their_groups(spark: SparkSession) -> None:
    kept: list[pd.DataFrame] = []

    def changed(group: pd.DataFrame) -> pd.DataFrame:
        with warnings.catch_warnings(action="error"):
            group["f"] += 1
            group.loc[0, "s"] = "new"
            group["n"] = group["id"].to_numpy()[::-1]
        group.sort_values("id", ignore_index=True, inplace=True)
        kept.append(group)
        return pd.concat([kept[0].head(1), group])[["id", "f", "s", "n"]]

    schema = "id bigint, f double, s string, n bigint"
    _rows(spark, lambda: _source(spark).groupBy("k").applyInPandas(changed, schema), _AS_PLANNED)


def test_aggregates_without_keys_and_of_no_rows(spark: SparkSession) -> None:
    total = pandas_udf(_sum, "double")
    none = lambda: _source(spark).where(f.col("s") == "none")  # noqa: E731
    assert _rows(spark, lambda: _source(spark).agg(total("l", "id")))
    assert not _rows(spark, lambda: none().agg(total("l", "id")), _AS_PLANNED)
    assert not _rows(spark, lambda: none().groupBy("k").agg(total("l", "id")), _AS_PLANNED)


def test_windows_of_whole_partitions_equal_spark(spark: SparkSession) -> None:
    total, types, first = pandas_udf(_sum, "double"), pandas_udf(_types, "string"), pandas_udf(_first, "string")
    arrow_first = arrow_udf(_arrow_first, "string")
    by_key = Window.partitionBy("k")
    whole = by_key.orderBy("id").rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    for key in ("a bigint", "a double", "one value"):
        frame = lambda key=key: _source(spark, _KEYS[key], 300)  # noqa: E731
        _rows(spark, lambda frame=frame: frame().select("k", total("id", "l").over(by_key), types("i").over(by_key)))
    _rows(spark, lambda: _source(spark).select("*", first("s").over(whole), types("l").over(whole)), _SMALL)
    _rows(spark, lambda: _source(spark).select("*", arrow_first("s").over(whole)))
    _rows(spark, lambda: _source(spark).select(total(f.col("id") + 1, "l").over(Window.partitionBy()), "s"))


_FRAMES = {
    "running": lambda w: w.orderBy("id"),
    "running rows": lambda w: w.orderBy("d").rowsBetween(Window.unboundedPreceding, 0),
    "sliding rows": lambda w: w.orderBy("id").rowsBetween(-2, 3),
    "rows behind": lambda w: w.orderBy("id").rowsBetween(-5, -3),
    "rows ahead": lambda w: w.orderBy("id").rowsBetween(3, Window.unboundedFollowing),
    "values": lambda w: w.orderBy("id").rangeBetween(-40, 7),
    "values of null keys": lambda w: w.orderBy(f.desc("i")).rangeBetween(-100, Window.currentRow),
    "peers": lambda w: w.orderBy("s").rangeBetween(Window.currentRow, Window.unboundedFollowing),
}


@pytest.mark.parametrize("name", _FRAMES)
def test_windows_of_frames_equal_spark(spark: SparkSession, name: str) -> None:
    total, size = pandas_udf(_sum, "double"), pandas_udf(_size, "int")
    arrow_size = arrow_udf(_arrow_size, "int")
    frame = _FRAMES[name]
    by_key, by_other = frame(Window.partitionBy("k")), _FRAMES["sliding rows"](Window.partitionBy("k"))
    whole = Window.partitionBy("k").orderBy("id").rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    whole_and_parts = [total("id", "l").over(by_key), size("s").over(by_key), total(b="id", a="f").over(whole)]
    for key in ("a bigint", "a double"):
        source = lambda key=key: _source(spark, _KEYS[key], 300)  # noqa: E731
        _rows(spark, lambda source=source: source().select("id", "k", *whole_and_parts))
    _rows(spark, lambda: _source(spark, rows=300).select(arrow_size("l").over(by_key), "id", "s"), _SMALL)
    _rows(spark, lambda: _source(spark, "1 AS k", 200).select(total("id", "l").over(by_key), size("s").over(by_other)))


def test_errors_equal_spark(spark: SparkSession) -> None:
    def failing(group: pd.DataFrame) -> pd.DataFrame:
        return 1 / (len(group) - len(group))

    def one_column(group: pd.DataFrame) -> pd.DataFrame:
        return group[["id"]]

    frames = [
        lambda: _source(spark).groupBy("k").applyInPandas(failing, "n bigint"),
        lambda: _source(spark).groupBy("k").applyInPandas(one_column, "id bigint, k bigint"),
        lambda: _source(spark).groupBy("k").applyInPandas(lambda group: 7, "id bigint"),
        lambda: _source(spark).groupBy("k").applyInArrow(lambda group: group.select(["s"]), "id bigint"),
        lambda: _source(spark).groupBy("k").agg(pandas_udf(_first, "int")("s")),
    ]
    for make in frames:
        vanilla, engine = errors_of_both(spark, make)
        assert vanilla.splitlines()[-2:] == engine.splitlines()[-2:]
        assert "pyspark_pipeline" not in engine


def test_several_forms_of_one_query(spark: SparkSession) -> None:
    mean = pandas_udf(_mean, "double")

    def query() -> DataFrame:
        centered = _source(spark).groupBy("k").applyInPandas(
            lambda group: group.assign(f=group.f - group.f.mean())[["k", "f"]], "k bigint, f double"
        )
        return centered.join(_source(spark).groupBy("k").agg(mean("f").alias("m")), "k").groupBy("k").agg(f.sum("m"))

    _rows(spark, query)


def test_functions_of_other_forms_around_an_aggregate(spark: SparkSession) -> None:
    plus = udf(lambda a: None if a is None else float(a + 1), "double", useArrow=False)
    twice = pandas_udf(_twice, "double")
    total = pandas_udf(_sum, "double")
    frame = lambda: _source(spark).withColumn("p", plus("id"))  # noqa: E731
    values = lambda: [total("p", "id"), plus(total(twice("id"), f.lit(2.0))), total(plus("l"), "id") + 1]  # noqa: E731
    _rows(spark, lambda: frame().groupBy(plus(f.col("k") % 5), twice(f.col("k") % 3)).agg(*values()))


def test_large_groups_and_a_limit(spark: SparkSession) -> None:
    large = lambda: spark.range(0, 100_000, 1, 2).selectExpr("id", "id % 3 AS k")  # noqa: E731
    counted = lambda: large().groupBy("k").applyInPandas(lambda g: pd.DataFrame({"n": [len(g)]}), "n bigint")  # noqa: E731
    _rows(spark, counted)
    with configured(spark, {**FREE, ENABLED: "true"}):
        added = lambda t: t.append_column("n", pc.add(t["k"], 1))  # noqa: E731
        frame = large().groupBy("id").applyInArrow(added, "id bigint, k bigint, n bigint")
        assert len(frame.limit(5).collect()) == 5
        assert summary_of(frame).converted > 1
