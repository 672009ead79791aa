"""Shim and worker match expressions with the cases of the manifest alike, for every function of the gold files."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pyspark_pipeline.expressions.registry import manifest, matching_case
from pyspark_pipeline.plan.expr import Call, Expr
from pyspark_pipeline.plan.nodes import Field
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, decode_fields
from tests.support.goldfile import read, settings_of
from tests.support.sessions import ENABLED, configured
from tests.support.tables import TableShelf

_FILES = sorted(Path(__file__).parent.glob("expressions/*.sql")) + sorted(Path(__file__).parent.glob("filter/*.sql"))


def _plans(spark: SparkSession, sql: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON of the fragments of a statement, as far as the shim can write it before the query has run."""
    shim = spark._jvm.org.apache.spark.sql.pysparkpipeline
    try:
        plan = spark.sql(sql)._jdf.queryExecution().executedPlan()
        fragments = shim.Report.of(plan).fragments()
    except (PySparkException, Py4JJavaError):
        return  # the statement is an error of Spark's while planning
    for number in range(fragments.length()):
        fragment = fragments.apply(number)
        try:
            writer = shim.PlanJson(0, shim.FragmentLayout(fragment.root()), fragment.conf())
            text = writer.write(shim.Json.obj()).toString()
        except Py4JJavaError:
            continue  # a subquery that has not run
        yield json.loads(text)["root"]


def _expressions(node: dict[str, Any]) -> Iterator[Expr]:
    """Yield the decoded projections, conditions and pushed filters of a plan."""
    columns: list[Field] = []
    for child in node.get("children", ()):
        yield from _expressions(child)
        columns += decode_fields(child["output"])
    decoder = ExpressionDecoder(columns or decode_fields(node["output"]))
    fields = node.get("fields", {})
    given = [*fields.get("projectList", ()), fields.get("condition"), *node.get("pushed", ())]
    yield from decoder.decode_all([expression for expression in given if expression])


def _calls(expression: Expr) -> Iterator[Call]:
    pending = [expression]
    while pending:
        found = pending.pop()
        if isinstance(found, Call):
            yield found
            pending += found.args


def _are_alike(name: str, left: int | None, right: int | None) -> bool:
    """Return whether two cases of a function differ at most in their settings, which only the shim reads."""
    if left is None or right is None:
        return left is right
    cases = _manifest()[name]["cases"]
    return bool({**cases[left], "settings": None} == {**cases[right], "settings": None})


@functools.cache
def _manifest() -> dict[str, Any]:
    return manifest()


@pytest.mark.rotates
@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_the_worker_matches_the_case_that_the_shim_has_written(
    spark: SparkSession, tables: TableShelf, path: Path
) -> None:
    gold = read(path)
    tables.use(gold.tables)
    compared = 0
    for combination in gold.combinations:
        for statement in gold.statements:
            settings = {**settings_of(combination), **statement.settings, "spark.sql.adaptive.enabled": "false"}
            with configured(spark, {**settings, ENABLED: "true"}):
                roots = list(_plans(spark, statement.sql))
            for call in (c for root in roots for e in _expressions(root) for c in _calls(e)):
                found = matching_case(call)
                assert _are_alike(call.name, call.case, found), f"{path.name}:{statement.line} {call}"
                compared += call.case is not None
    assert compared
