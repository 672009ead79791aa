"""Every policy of planning explains its decision with the figures that it compared; limits are exact.

Most tests plan over files that have a length and no content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession, functions

import pyspark_pipeline
from tests.plans.suites import Suite, make_tables
from tests.support.sessions import configured, time_limit

_OPTION = "spark.pysparkPipeline."
_SETTINGS = {_OPTION + "enabled": "true", _OPTION + "cost.enabled": "true", "spark.sql.adaptive.enabled": "false"}
_SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])
_LENGTHS = {"tiny": 4 << 10, "little": 8 << 20, "fourfold": 32 << 20, "medium": 64 << 20, "large": 1 << 30}

Explain = Callable[..., list[str]]


@pytest.fixture(scope="module")
def _tables(spark: SparkSession, vanilla_only: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    suite = Suite(queries={}, schemas=dict.fromkeys(_LENGTHS, _SCHEMA), lengths=_LENGTHS)
    make_tables(suite, spark, tmp_path_factory.mktemp("lengths"))


@pytest.fixture
def decisions(spark: SparkSession, _tables: None) -> Iterator[Explain]:
    """Return a function that returns the decisions and reasons of a query's plan; it may run the query before."""

    def explain(query: str, settings: Mapping[str, str] | None = None, *, run: bool = False) -> list[str]:
        with configured(spark, {**_SETTINGS, **(settings or {})}):
            frame = spark.sql(query)
            if run:
                frame.collect()
            made = pyspark_pipeline.explain(frame)
        assert all(line in str(made) for line in made.decisions)
        return [*made.decisions, *made.reasons]

    with time_limit(spark):
        yield explain


def _join(left: str, right: str, *, kind: str = "JOIN", condition: str = "true") -> str:
    return f"SELECT sum(l.v + r.v) FROM {left} l {kind} {right} r ON l.k = r.k AND {condition}"


def _starting(lines: list[str], start: str) -> list[str]:
    return [line for line in lines if line.startswith(start)]


def test_side_that_fits_is_broadcast(decisions: Explain) -> None:
    made = _starting(decisions(_join("large", "little")), "BroadcastHashJoin")
    assert made == [
        "BroadcastHashJoin on l.k = r.k: broadcast of the right side: estimated 32.0 MiB, limit 64.0 MiB, "
        "its scans 8.0 MiB, the other side's 1024.0 MiB"
    ]


def test_broadcast_is_declined_for_the_limit_and_for_a_small_other_side(decisions: Explain) -> None:
    start = "ShuffledHashJoin on l.k = r.k: no broadcast"
    at_limit = {_OPTION + "join.broadcastBytes": str(32 << 20), "spark.sql.autoBroadcastJoinThreshold": "1"}
    over_limit = {**at_limit, _OPTION + "join.broadcastBytes": str((32 << 20) - 1)}
    assert _starting(decisions(_join("large", "little"), at_limit), start) == []
    assert _starting(decisions(_join("large", "little"), over_limit), start) == [
        f"{start} of the right side: estimated 32.0 MiB, limit 32.0 MiB"
    ]
    assert _starting(decisions(_join("little", "little"), at_limit), start) == [
        f"{start} of the right side: estimated 32.0 MiB, limit 32.0 MiB, its scans 8.0 MiB, the other side's 8.0 MiB; "
        "the other side reads less than 2 times its bytes"
    ]


@pytest.mark.parametrize(
    ("kind", "left", "right", "side"),
    [
        ("JOIN", "little", "fourfold", "left"), ("JOIN", "little", "little", "right"),
        ("LEFT JOIN", "little", "fourfold", "right"), ("LEFT JOIN", "little", "medium", "left"),
        ("RIGHT JOIN", "fourfold", "little", "left"), ("RIGHT JOIN", "medium", "little", "right"),
        ("LEFT ANTI JOIN", "little", "large", "right"),
    ],
)  # fmt: skip
def test_build_side_is_the_smaller_one(decisions: Explain, kind: str, left: str, right: str, side: str) -> None:
    read = "l.v" if "ANTI" in kind else "l.v + r.v"
    query = f"SELECT sum({read}) FROM {left} l {kind} {right} r ON l.k = r.k"
    made = decisions(query, {"spark.sql.autoBroadcastJoinThreshold": "-1"})
    assert len(_starting(made, f"ShuffledHashJoin on l.k = r.k: build of the {side} side: left ")) == 1


def test_build_side_is_explained(decisions: Explain) -> None:
    start = "ShuffledHashJoin on l.k = r.k: build"
    never = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
    assert _starting(decisions(_join("large", "medium"), never), start) == [
        f"{start} of the right side: left 1024.0 MiB, right 64.0 MiB"
    ]
    assert _starting(decisions(_join("little", "medium", kind="LEFT JOIN"), never), start) == [
        f"{start} of the left side: left 8.0 MiB, right 64.0 MiB; "
        "the preserved side is built if the other is more than 4 times larger"
    ]


def test_region_stays_in_the_engine_if_it_pays(decisions: Explain) -> None:
    heavy = "SELECT k, sum(v) FROM {} GROUP BY k"
    assert "HashAggregate: region in the engine: scans 8.0 MiB, minimum 1024.0 KiB" in decisions(heavy.format("little"))
    (small,) = _starting(decisions(heavy.format("tiny")), "HashAggregate")
    assert small.endswith(": its scans read 4096 bytes, fewer than spark.pysparkPipeline.cost.minScanBytes=1048576")
    (light,) = _starting(decisions("SELECT k + 1 FROM large"), "Project")
    assert "the transition to rows costs more than it saves" in light


@pytest.mark.parametrize(("rows", "stays"), [(1 << 17, True), ((1 << 17) - 1, False)])
def test_range_counts_for_functions_in_python(spark: SparkSession, decisions: Explain, rows: int, stays: bool) -> None:
    spark.udf.register("next_number", functions.udf(lambda number: number + 1, "long"))
    lines = decisions(f"SELECT sum(next_number(id)) FROM range({rows})")
    assert any("region in the engine" in line for line in lines) == stays
    lines = decisions(f"SELECT sum(id) FROM range({rows})")
    assert not any("region in the engine" in line for line in lines)


@pytest.mark.parametrize(("minimum", "stays"), [(8 << 20, True), ((8 << 20) + 1, False)])
def test_minimum_of_scan_bytes_is_exact(decisions: Explain, minimum: int, stays: bool) -> None:
    lines = decisions("SELECT k, sum(v) FROM little GROUP BY k", {_OPTION + "cost.minScanBytes": str(minimum)})
    assert any("region in the engine" in line for line in lines) == stays


def test_rows_of_spark_are_an_input_if_the_user_asks(decisions: Explain) -> None:
    query = "SELECT hll_sketch_estimate(unhex(k)) AS s, sum(v) FROM large GROUP BY 1"
    always = {_OPTION + "jvmInput": "always", _OPTION + "cost.minScanBytes": "0"}
    assert "HashAggregate: input of rows from Project: jvmInput=always" in decisions(query, always)
    assert "HashAggregate: its input comes as rows from Project" in decisions(query)


def test_spark_evaluates_expressions_where_that_pays(decisions: Explain) -> None:
    settings = {_OPTION + "jvmExpressions": "true", _OPTION + "exclude": "reverse"}
    evaluation = "evaluation of expressions by Spark, on chunks: reverse is excluded"
    grouped = decisions("SELECT reverse(k) AS s, sum(v) FROM large GROUP BY 1", settings)
    assert any(evaluation in line for line in grouped)
    assert any("region in the engine: scans" in line for line in grouped)
    one_group = decisions("SELECT max(reverse(k)) FROM large", settings)
    assert any("cost: Spark evaluates expressions for it, and it neither groups" in line for line in one_group)
    at_the_top = decisions("SELECT reverse(l.k) FROM large l JOIN large r ON l.k = r.v", settings)
    assert not any(evaluation in line for line in at_the_top), at_the_top
    assert any(line.startswith("Project: reverse is excluded") for line in at_the_top)
    in_one_call = ", ".join(f"max(reverse(k + {n}))" for n in range(5))
    assert any(evaluation in line for line in decisions(f"SELECT v, {in_one_call} FROM large GROUP BY v", settings))
    many = ", ".join(f"max(reverse(k + {n})) FILTER (WHERE v > {n})" for n in range(5))
    assert not any(evaluation in line for line in decisions(f"SELECT v, {many} FROM large GROUP BY v", settings))
    off = decisions("SELECT reverse(k) AS s, sum(v) FROM large GROUP BY 1", {_OPTION + "exclude": "reverse"})
    assert not any(evaluation in line for line in off)


def test_spark_evaluates_functions_that_it_computes_faster(decisions: Explain) -> None:
    settings = {_OPTION + "jvmExpressions": "true"}
    faster = "Spark computes regexp_replace(string, string, string, int) faster"
    on_chunks = f"evaluation of expressions by Spark, on chunks: {faster}"
    pattern = "regexp_replace(CAST(k AS string), '(?<=1)2', '')"
    grouped = f"SELECT {pattern} AS s, sum(v) FROM large GROUP BY 1"
    assert any(on_chunks in line for line in decisions(grouped, settings))
    without = {**settings, _OPTION + "cost.enabled": "false"}, {_OPTION + "jvmExpressions": "false"}
    assert not any(faster in line for one in without for line in decisions(grouped, one))
    of_left = pattern.replace("k", "l.k")
    at_the_top = decisions(f"SELECT {of_left} AS s FROM large l JOIN large r ON l.k = r.v", settings)
    assert any(line.startswith(f"Project: {faster}") for line in at_the_top), at_the_top
    joined = f"SELECT l.v FROM large l FULL JOIN large r ON l.k = r.v AND {pattern.replace('k', 'l.k + r.k')} = '1'"
    found = decisions(joined, settings)
    assert not any(faster in line for line in found), found


def test_side_that_reads_more_is_delayed(decisions: Explain) -> None:
    settings = {"spark.sql.adaptive.enabled": "true", _OPTION + "join.broadcastBytes": "1"}
    delays = "ShuffledHashJoin on l.k = r.k: delay of the"
    small = {**settings, "spark.sql.autoBroadcastJoinThreshold": "1"}
    assert _starting(decisions(_join("large", "medium"), small), delays) == [
        f"{delays} left side: its scans 1024.0 MiB, the other side's 64.0 MiB"
    ]
    assert _starting(decisions(_join("large", "medium", condition="l.v > 1"), small), delays) == [
        f"{delays} right side: its reductions 0, the other side's 1"
    ]
    grouped = "(SELECT k, sum(v) AS v FROM medium GROUP BY k)"
    assert _starting(decisions(_join(grouped, "large", condition="r.v > 1"), small), delays) == [
        f"{delays} left side: its reductions 0, the other side's 1; it aggregates"
    ]
    assert _starting(decisions(_join("medium", "medium"), small), delays) == []


def test_scan_is_reduced_by_a_small_table(decisions: Explain) -> None:
    query = "SELECT count(*) FROM large a JOIN medium b ON a.v = b.v JOIN little c ON b.k = c.k WHERE c.v > 1"
    small = {"spark.sql.autoBroadcastJoinThreshold": "1"}
    reductions = [line for line in decisions(query, small) if "reduction" in line]
    assert reductions == [
        "BroadcastHashJoin on k = c.k: reduction of the scan by a small table: scan 64.0 MiB, keys 8.0 MiB"
    ]
    never = {**small, _OPTION + "join.reduction": "never"}
    assert not [line for line in decisions(query, never) if "reduction" in line]


def _keys(spark: SparkSession, folder: Path) -> None:
    spark.range(2000).selectExpr("id AS k", "id % 7 AS v", "id % 3 AS p").write.partitionBy("p").parquet(str(folder))
    spark.read.parquet(str(folder)).createOrReplaceTempView("parted")


def test_scan_is_reduced_by_a_finished_stage(decisions: Explain, spark: SparkSession, tmp_path: Path) -> None:
    with configured(spark, {_OPTION + "enabled": "false"}):
        _keys(spark, tmp_path / "parted")
    settings = {
        "spark.sql.adaptive.enabled": "true", "spark.sql.autoBroadcastJoinThreshold": "1",
        _OPTION + "join.reduction": "always", _OPTION + "cost.enabled": "false",
    }  # fmt: skip
    query = "SELECT a.k FROM parted a LEFT SEMI JOIN parted b ON a.k = b.k AND a.v <= b.v WHERE a.v > 5"
    (made,) = [line for line in decisions(query, settings, run=True) if "reduction of" in line]
    assert "reduction of the scan by a finished stage: scan" in made and made.endswith("; join.reduction=always")


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_partitions_are_pruned_by_a_broadcast(
    decisions: Explain, spark: SparkSession, tmp_path: Path, aqe: str
) -> None:
    with configured(spark, {_OPTION + "enabled": "false"}):
        _keys(spark, tmp_path / "parted")
        spark.range(3).selectExpr("id AS p", "id AS w").write.parquet(str(tmp_path / "names"))
        spark.read.parquet(str(tmp_path / "names")).createOrReplaceTempView("names")
    query = "SELECT count(*) FROM parted JOIN names ON parted.p = names.p WHERE w = 1"
    lines = decisions(query, {"spark.sql.adaptive.enabled": aqe, _OPTION + "cost.enabled": "false"})
    assert [line.partition(": ")[2] for line in lines if "pruning" in line] == [
        "dynamic pruning of partitions: a join broadcasts the keys"
    ]


@pytest.mark.parametrize(("limit", "is_gathered"), [(8 << 20, True), ((8 << 20) - 1, False)])
def test_sort_is_gathered_up_to_its_limit(decisions: Explain, limit: int, is_gathered: bool) -> None:
    lines = decisions("SELECT k, v FROM little ORDER BY v, k", {_OPTION + "sort.gatherBytes": str(limit)})
    what = "gathering in one partition" if is_gathered else "no gathering in one partition"
    assert _starting(lines, f"Sort: {what}") == [f"Sort: {what}: estimated 8.0 MiB, limit 8.0 MiB"]


def test_filter_is_split_before_an_unsupported_conjunct(spark: SparkSession, decisions: Explain) -> None:
    condition = "k > 5 AND v IS NOT NULL AND hll_sketch_estimate(unhex(v)) <> 3 AND v < 7"
    with configured(spark, {**_SETTINGS, _OPTION + "cost.enabled": "false"}):
        plan = str(pyspark_pipeline.explain(spark.sql(f"SELECT k, v FROM large WHERE {condition}")))
    pipeline = next(line for line in plan.splitlines() if "pipeline 0" in line)
    assert "isnotnull" in pipeline and "> 5" in pipeline and "< 7" not in pipeline
    assert "Filter: hll_sketch_estimate is not supported" in plan


def test_reason_lists_every_unsupported_expression(spark: SparkSession, decisions: Explain) -> None:
    query = """SELECT
        hll_sketch_estimate(unhex(k)) AS m, abs(hll_sketch_estimate(unhex(v))) || theta_sketch_estimate(unhex(k)),
        sentences(CAST(v AS string)) AS words FROM large WHERE kll_sketch_get_n_bigint(unhex(k)) < 2"""
    with configured(spark, {**_SETTINGS, _OPTION + "cost.enabled": "false"}):
        reasons = pyspark_pipeline.explain(spark.sql(query)).reasons
    assert reasons == (
        "Project: hll_sketch_estimate is not supported (column m, line 2: hll_sketch_estimate(unhex(k)); 1 more); "
        "theta_sketch_estimate is not supported (line 2: theta_sketch_estimate(unhex(k))); "
        "sentences(string, string, string) has type array<array<string>>, which the engine does not hold "
        "(column words, line 3: sentences(CAST(v AS string)) AS words)",
        "Filter: kll_sketch_get_n_bigint is not supported (line 3: kll_sketch_get_n_bigint(unhex(k)))",
    )


def test_reason_has_the_line_of_a_python_program(spark: SparkSession, decisions: Explain) -> None:
    table = spark.table("large")
    with configured(spark, {**_SETTINGS, _OPTION + "cost.enabled": "false"}):
        hll = functions.hll_sketch_estimate(functions.unhex("k"))
        frame = table.select((hll + functions.theta_sketch_estimate(functions.unhex(table.k))).alias("x"))
        reasons = pyspark_pipeline.explain(frame).reasons
    places = [re.sub(r"column x, [^;]*test_decisions.py:\d+", "column x, HERE", reason) for reason in reasons]
    names = ("hll_sketch_estimate", "theta_sketch_estimate")
    assert places == ["Project: " + "; ".join(f"{name} is not supported (column x, HERE)" for name in names)]


@pytest.mark.parametrize(
    ("names", "query", "reason"),
    [
        ("UPPER", "SELECT upper(CAST(k AS string)) AS u FROM large", "Project: upper is excluded (KEY) (column u, "),
        ("alias", "SELECT k + 1 AS u FROM (SELECT k FROM large SORT BY v)", "Project: Alias is excluded (KEY)"),
        ("upper, Add", "SELECT k + 1 AS u FROM large", "Project: Add is excluded (KEY) (column u, "),
        ("percentile", "SELECT median(k) FROM large", "ObjectHashAggregate: percentile is excluded (KEY) (line 1"),
        ("row_number", "SELECT row_number() OVER (ORDER BY k) FROM large", "Window: row_number is excluded (KEY) "),
        ("sortmergejoin", "SELECT a.v FROM large a JOIN large b USING (k)", "SortMergeJoin: SortMergeJoin is excluded"),
        ("HashAggregateExec", "SELECT k, sum(v) FROM large GROUP BY k", "HashAggregate: HashAggregateExec is excluded"),
    ],
)
def test_excluded_functions_and_operators_stay_in_spark(
    spark: SparkSession, decisions: Explain, names: str, query: str, reason: str
) -> None:
    lines = decisions(query, {_OPTION + "cost.enabled": "false", _OPTION + "exclude": names})
    assert any(line.startswith(reason.replace("KEY", _OPTION + "exclude")) for line in lines), lines


def test_project_is_split_if_no_more_columns_leave_the_engine(spark: SparkSession, decisions: Explain) -> None:
    with configured(spark, {**_SETTINGS, _OPTION + "cost.enabled": "false"}):
        columns = ("hll_sketch_estimate(unhex(v)) AS m", "k, hll_sketch_estimate(unhex(k)) AS m")
        frames = [spark.sql(f"SELECT k + 1 AS n, {column} FROM large") for column in columns]
        saved, added = (str(pyspark_pipeline.explain(frame)) for frame in frames)
    assert "(k + 1) AS n" in re.sub(r"#\d+L?", "", next(line for line in saved.splitlines() if "pipeline 0" in line))
    assert "Project" not in next(line for line in added.splitlines() if "pipeline 0" in line)


def _final_plan(frame: DataFrame) -> str:
    """Return the plan that ran."""
    jvm_frame: Any = frame._jdf
    plan: str = jvm_frame.queryExecution().executedPlan().toString()
    return plan[: plan.index("Initial Plan")]


def test_inputs_of_a_union_are_coalesced(spark: SparkSession, tmp_path: Path, decisions: Explain) -> None:
    spark.range(1000).selectExpr("id % 7 AS k", "id AS v").write.parquet(str(tmp_path / "rows"))
    spark.read.parquet(str(tmp_path / "rows")).createOrReplaceTempView("rows")
    settings = {
        **_SETTINGS,
        _OPTION + "cost.enabled": "false",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.shuffle.partitions": "50",
    }
    parts = ("k, sum(v) AS s FROM rows GROUP BY k", "v, 1 FROM rows GROUP BY v", "1, sum(v) FROM rows")
    with configured(spark, settings):
        frame = spark.sql(" UNION ALL ".join(f"SELECT {part}" for part in parts))
        assert len(frame.collect()) == 7 + 1000 + 1
        final = _final_plan(frame)
    assert "Union" in final and final.count("AQEShuffleRead coalesced") == 2


def test_a_filter_that_spark_evaluates_knows_which_columns_are_not_null(
    spark: SparkSession, tmp_path: Path, decisions: Explain
) -> None:
    """A broadcast of another type than its join expects would keep AQE from coalescing partitions."""
    with configured(spark, {_OPTION + "enabled": "false"}):
        spark.range(1000).selectExpr("id % 7 AS k", "id AS v").write.parquet(str(tmp_path / "rows"))
    spark.read.parquet(str(tmp_path / "rows")).createOrReplaceTempView("rows")
    settings = {
        **_SETTINGS,
        _OPTION + "cost.enabled": "false",
        _OPTION + "exclude": "IsNotNull",
        _OPTION + "jvmExpressions": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.shuffle.partitions": "50",
    }
    left, right = (f"(SELECT v % {n} AS k, max(v) AS m FROM rows GROUP BY 1)" for n in (70, 7))
    query = f"SELECT /*+ BROADCAST(b) */ a.k, b.k FROM {left} a JOIN {right} b ON a.m = b.m"
    with configured(spark, settings):
        frame = spark.sql(query)
        assert len(frame.collect()) == 7
        final = _final_plan(frame)
    assert "jvm(isnotnull(" in final and final.count("AQEShuffleRead coalesced") == 2, final


@pytest.fixture
def totals(spark: SparkSession, _tables: None, tmp_path: Path) -> Iterator[Callable[..., tuple[int, int]]]:
    """Return a function that runs a query over the table ``facts``, and returns how many exchanges are reused, and how
    many functions of groups the total is computed from.
    """
    columns = ("id AS k", "id % 7 AS g", "CAST(id % 5 AS int) AS v", "CAST(id AS decimal(12, 2)) AS p", "id / 7D AS d")
    with configured(spark, {_OPTION + "enabled": "false"}):
        spark.range(1000).selectExpr(*columns).write.parquet(str(tmp_path / "facts"))
        spark.read.parquet(str(tmp_path / "facts")).createOrReplaceTempView("facts")

    def run(query: str, settings: Mapping[str, str] | None = None) -> tuple[int, int]:
        mode = spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")  # type: ignore[union-attr]
        with configured(spark, {**_SETTINGS, **(settings or {})}):
            frame = spark.sql(query)
            frame.collect()
            execution: Any = frame._jdf.queryExecution()  # type: ignore[operator]
            reused = execution.explainString(mode).count("ReusedExchange [Reuses")
            return reused, execution.optimizedPlan().toString().count("AS group#")

    with time_limit(spark):
        yield run


_PAIRS = "FROM facts l JOIN facts r ON l.k = r.k WHERE r.v > 1"


def _share(groups: str, total: str, rows: str = _PAIRS) -> str:
    return f"SELECT l.g, {groups} AS x {_PAIRS} GROUP BY l.g HAVING {groups} > (SELECT {total} {rows})"


@pytest.mark.parametrize("aqe", ["true", "false"])
@pytest.mark.parametrize("reduction", ["always", "never"])
@pytest.mark.parametrize("function", ["sum(l.p * r.v)", "sum(r.v)", "count(*)", "max(l.p)"])
def test_a_global_aggregation_over_joins_comes_from_the_groups(
    totals: Callable[..., tuple[int, int]], aqe: str, reduction: str, function: str
) -> None:
    settings = {"spark.sql.adaptive.enabled": aqe, _OPTION + "join.reduction": reduction}
    reused, functions = totals(_share(function, f"{function} / 9"), settings)
    assert reused >= 1 and functions == 1


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        (_share("sum(r.v)", "sum(r.v)"), {"spark.sql.exchange.reuse": "false"}),
        (_share("sum(r.v)", "sum(r.v)"), {_OPTION + "enabled": "false"}),
        (_share("sum(r.v)", "sum(r.v)", _PAIRS.replace("> 1", "> 2")), {}),
        (_share("sum(l.v)", "sum(l.v)", "FROM facts l LEFT SEMI JOIN facts r ON l.k = r.k AND r.v > 1"), {}),
        (_share("sum(r.v)", "sum(l.v)"), {}),
        (_share("sum(r.v)", "max(r.v)"), {}),
        (_share("sum(l.k)", "sum(l.k)"), {}),
        (_share("sum(l.d)", "sum(l.d)"), {}),
        (_share("max(l.d)", "max(l.d)"), {}),
        (_share("avg(r.v)", "avg(r.v)"), {}),
        (_share("count(DISTINCT r.v)", "count(DISTINCT r.v)"), {}),
        (_share("count(*) + max(l.v DIV r.v)", "count(*)"), {}),
        ("SELECT g, max(v) AS x FROM facts GROUP BY g HAVING max(v) < (SELECT max(v) FROM facts)", {}),
    ],
)  # fmt: skip
def test_a_global_aggregation_reads_rows_unless_groups_give_its_value(
    totals: Callable[..., tuple[int, int]], query: str, settings: Mapping[str, str]
) -> None:
    assert totals(query, settings)[1] == 0


_EVEN = "(SELECT count(*) AS n, sum(p) AS q FROM facts WHERE g IN (2, 4))"
_MANY = "(SELECT count(*) AS m, max(v) AS w FROM facts WHERE g > 4)"


@pytest.fixture
def filtered(spark: SparkSession, totals: Callable[..., tuple[int, int]], tmp_path: Path) -> Callable[..., list[int]]:
    """Return a function that runs a query over the tables of ``totals``, and returns how many exchanges are reused, and
    how many functions have filters. ``lists`` is a table with partitions by ``g``.
    """
    with configured(spark, {_OPTION + "enabled": "false"}):
        spark.table("facts").write.partitionBy("g").parquet(str(tmp_path / "lists"))
        spark.read.parquet(str(tmp_path / "lists")).createOrReplaceTempView("lists")

    def run(query: str, settings: Mapping[str, str] | None = None) -> list[int]:
        with configured(spark, {**_SETTINGS, **(settings or {})}):
            frame = spark.sql(query)
            frame.collect()
            execution: Any = frame._jdf.queryExecution()  # type: ignore[operator]
            plans = execution.executedPlan().toString(), execution.optimizedPlan().toString()
            return [plans[0].count("ReusedExchange"), plans[1].count("FILTER (WHERE")]

    return run


@pytest.mark.parametrize("aqe", ["true", "false"])
@pytest.mark.parametrize(
    ("query", "functions"),
    [
        (f"SELECT * FROM {_EVEN}, {_MANY}", 4),
        ("SELECT count(*) AS n FROM facts WHERE v = 1 UNION ALL SELECT count(*) FROM facts WHERE v = 2", 2),
        (
            f"SELECT * FROM (SELECT count(*) {_PAIRS} AND l.v = 1), (SELECT max(r.v) {_PAIRS} AND l.v > 2)"
            f", (SELECT min(l.g) {_PAIRS} AND l.v = 2)",
            3,
        ),
    ],
)
def test_global_aggregations_with_filters_of_the_same_columns_are_one(
    filtered: Callable[..., list[int]], query: str, functions: int, aqe: str
) -> None:
    reused, filters = filtered(query, {"spark.sql.adaptive.enabled": aqe})
    totals = query.count("(SELECT") or 2
    assert filters == totals * functions and reused >= totals - 1, "each has the functions of all"


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        (f"SELECT * FROM {_EVEN}, {_MANY}", {"spark.sql.exchange.reuse": "false"}),
        (f"SELECT * FROM {_EVEN}, {_MANY}", {_OPTION + "enabled": "false"}),
        (f"SELECT * FROM {_EVEN}, {_MANY.replace('g > 4', 'v > 4')}", {}),
        (f"SELECT * FROM {_EVEN}, {_MANY.replace('WHERE g > 4', '')}", {}),
        (f"SELECT * FROM {_EVEN}, {_MANY.replace('g > 4', '12 / (g + 1) > 1')}", {}),
        (f"SELECT * FROM {_EVEN}, {_MANY.replace('max(v)', 'sum(k)')}", {}),
        (f"SELECT * FROM {_EVEN}, {_MANY.replace('max(v)', 'count(DISTINCT v)')}", {}),
        (f"SELECT * FROM {_EVEN}, {_MANY}".replace("facts", "lists"), {}),
        (f"SELECT * FROM {_EVEN}, {_MANY.replace('WHERE', 'GROUP BY g HAVING')}", {}),
        (f"SELECT (SELECT sum(l.d) {_PAIRS} AND l.v = 1), (SELECT sum(l.d) {_PAIRS} AND l.v = 2)", {}),
    ],
)  # fmt: skip
def test_global_aggregations_stay_apart_unless_one_pass_gives_their_values(
    filtered: Callable[..., list[int]], query: str, settings: Mapping[str, str]
) -> None:
    assert filtered(query, settings)[1] == 0


_FROM = "FROM buyers JOIN sales ON buyer = b JOIN items ON sale = s"


@pytest.fixture
def joined_last(spark: SparkSession, _tables: None, tmp_path: Path) -> Iterator[Callable[..., bool]]:
    """Return a function that runs a query over buyers, their sales and the items of these, and returns whether the
    buyers are joined last.
    """
    tables = {
        "buyers": ("id AS buyer", "CAST(id AS string) AS name", "CAST(id * 3 AS string) AS place", "id % 5 AS land"),
        "sales": ("id AS sale", "id % 50 AS b", "id % 7 AS day"),
        "items": ("id % 300 AS s", "id AS price"),
        "lands": ("id AS l", "CAST(id AS string) AS land_name"),
    }
    with configured(spark, {_OPTION + "enabled": "false"}):
        for name, columns in tables.items():
            spark.range(1000).selectExpr(*columns).write.parquet(str(tmp_path / name))
            spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)

    def run(query: str, settings: Mapping[str, str] | None = None) -> bool:
        base = {**_SETTINGS, "spark.sql.autoBroadcastJoinThreshold": "-1", _OPTION + "cost.enabled": "false"}
        with configured(spark, {**base, _OPTION + "join.order": "always", **(settings or {})}):
            frame = spark.sql(query)
            frame.collect()
            execution: Any = frame._jdf.queryExecution()  # type: ignore[operator]
            scans = re.findall(r"Relation \[(\w+)#", execution.optimizedPlan().toString())
            text = str(pyspark_pipeline.explain(frame))
        is_last: bool = scans[0] != "buyer"
        assert not is_last or "join after the others" in text
        return is_last

    with time_limit(spark):
        yield run


@pytest.mark.parametrize("aqe", ["true", "false"])
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT buyer, name, place, sum(price) AS x {_FROM} WHERE day = 3 GROUP BY 1, 2, 3",
        f"SELECT b, upper(name) AS n, sum(price * day) AS x {_FROM} GROUP BY 1, 2",
        f"SELECT buyer, name, land_name, max(price) AS x {_FROM} JOIN lands ON land = l GROUP BY 1, 2, 3",
        "SELECT buyer, name, l, max(price) AS x FROM buyers JOIN lands ON land = l JOIN sales ON buyer = b "
        "JOIN items ON sale = s GROUP BY 1, 2, 3",
    ],
)  # fmt: skip
def test_a_table_whose_key_is_grouped_by_is_joined_last(
    joined_last: Callable[..., bool], query: str, aqe: str
) -> None:
    assert joined_last(query, {"spark.sql.adaptive.enabled": aqe})


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        (f"SELECT buyer, name, sum(price) AS x {_FROM} GROUP BY 1, 2", {_OPTION + "join.order": "never"}),
        (f"SELECT buyer, name, sum(price) AS x {_FROM} GROUP BY 1, 2", {_OPTION + "join.order": "auto"}),
        (f"SELECT buyer, name, sum(price) AS x {_FROM} GROUP BY 1, 2", {_OPTION + "enabled": "false"}),
        (f"SELECT buyer, name, sum(price) AS x {_FROM} GROUP BY 1, 2",
         {"spark.sql.cbo.enabled": "true", "spark.sql.cbo.joinReorder.enabled": "true"}),
        (f"SELECT buyer, name, sum(price) AS x {_FROM} WHERE name LIKE '%1%' GROUP BY 1, 2", {}),
        (f"SELECT buyer, name, sum(price) AS x {_FROM} JOIN lands ON land = l WHERE land_name > '2' GROUP BY 1, 2", {}),
        (f"SELECT name, sum(price) AS x {_FROM} GROUP BY 1", {}),
        (f"SELECT buyer, sale, name, sum(price) AS x {_FROM} GROUP BY 1, 2, 3", {}),
        (f"SELECT buyer, name, sum(price) AS x {_FROM.replace('JOIN items', 'LEFT JOIN items')} GROUP BY 1, 2", {}),
        (f"SELECT buyer, name, sum(price) AS x {_FROM} AND price > length(name) GROUP BY 1, 2", {}),
        (f"SELECT /*+ MERGE(items) */ buyer, name, sum(price) AS x {_FROM} GROUP BY 1, 2", {}),
        ("SELECT buyer, name, count(*) AS x FROM buyers JOIN sales ON buyer = b GROUP BY 1, 2", {}),
    ],
)  # fmt: skip
def test_joins_keep_their_order_if_that_saves_no_shuffle(
    joined_last: Callable[..., bool], query: str, settings: Mapping[str, str]
) -> None:
    assert not joined_last(query, settings)
