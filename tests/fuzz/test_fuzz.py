"""Runs random queries on both engines; the seeds are fixed, more of them with ``PIPELINE_FUZZ_SEEDS=from:to``."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fuzz.functions import FunctionMaker
from tests.fuzz.nested import NestedMaker
from tests.fuzz.nested_data import write_files
from tests.fuzz.queries import Query, QueryMaker
from tests.fuzz.relations import RelationMaker
from tests.support.compare import Rule, difference
from tests.support.sessions import Outcome, run
from tests.support.tables import TableShelf

_QUERIES_OF_A_SEED = 4
_NESTED_ROWS = (0, 1, 90)
_FIRST, _LAST = (int(part) for part in os.environ.get("PIPELINE_FUZZ_SEEDS", "0:12").split(":"))
_TABLES = ["tame", "numbers", "texts", "times"]
_SETTINGS = {"spark.sql.subexpressionElimination.enabled": "false", "spark.sql.session.timeZone": "America/St_Johns"}

# Spark's row-group filter loses NaN in files whose statistics omit NaN.
_SPARK = {"spark.sql.parquet.filterPushdown": "false"}
# Generated code evaluates some expressions early, outside the branch or the filter that guards them.
_INTERPRETED = {**_SPARK, "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# Spark's columnar arrays lose NULL when they are copied (`array_union` of arrays of arrays), and its other reader
# cannot read some files.
_ROW_READER = {**_SPARK, "spark.sql.parquet.enableNestedColumnVectorizedReader": "false"}
_JVM = "spark.pysparkPipeline.jvmExpressions"
_NOT_VALID = ("AnalysisException", "ParseException")


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
@pytest.mark.parametrize("wild", [False, True], ids=["safe", "wild"])
def test_random_queries(spark: SparkSession, tables: TableShelf, vanilla_only: bool, seed: int, wild: bool) -> None:
    """Run safe queries with ANSI, which must not raise, and wild ones without and with it."""
    tables.use(_TABLES)
    converted = 0
    for number in range(_QUERIES_OF_A_SEED):
        query = QueryMaker(seed * 1000 + number, wild=wild).query()
        for ansi in ["false", "true"] if wild else ["true"]:
            settings = {**_settings(seed), "spark.sql.ansi.enabled": ansi}
            may_raise = wild and ansi == "true"
            converted += _compare(spark, query, settings, [_SPARK, _INTERPRETED], vanilla_only, may_raise=may_raise)
    assert vanilla_only or converted > 0, f"seed {seed}: nothing was converted"


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
def test_random_relations(spark: SparkSession, tables: TableShelf, vanilla_only: bool, seed: int) -> None:
    """Run joins, unions, sorts and several DISTINCT, with and without AQE."""
    tables.use(_TABLES)
    converted = 0
    for number in range(_QUERIES_OF_A_SEED):
        query = RelationMaker(seed * 1000 + number).query()
        for aqe in ["true", "false"]:
            settings = {**_settings(seed), **query.settings, "spark.sql.adaptive.enabled": aqe}
            settings["spark.sql.ansi.enabled"] = "true"
            converted += _compare(spark, query, settings, [_SPARK], vanilla_only)
    assert vanilla_only or converted > 0, f"seed {seed}: nothing was converted"


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
def test_random_functions(spark: SparkSession, tables: TableShelf, vanilla_only: bool, seed: int) -> None:
    """Run functions, ordered aggregates, pivots and RANGE frames, without and with ANSI; rows may raise."""
    tables.use([*_TABLES, "intervals"])
    converted = 0
    for number in range(_QUERIES_OF_A_SEED):
        query = FunctionMaker(seed * 1000 + number).query()
        settings = {**_settings(seed), "spark.sql.ansi.enabled": str(number % 2 == 0).lower()}
        converted += _compare(spark, query, settings, [_SPARK, _INTERPRETED], vanilla_only, may_raise=True)
    assert vanilla_only or converted > 0, f"seed {seed}: nothing was converted"


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
def test_random_nested_queries(spark: SparkSession, tmp_path: Path, vanilla_only: bool, seed: int) -> None:
    """Run queries over a random schema of nested types, without and with ANSI; rows may raise."""
    maker, source = NestedMaker(seed), random.Random(seed)
    rows = source.choices(_NESTED_ROWS, [1, 1, 18])[0]
    write_files(source, tmp_path / "files", maker.columns, rows)
    table = f"nested_{seed}"
    spark.read.schema(maker.schema).parquet(str(tmp_path / "files")).createOrReplaceTempView(table)
    converted = 0
    for number in range(_QUERIES_OF_A_SEED):
        query = maker.query(table)
        settings = {**_settings(seed), "spark.sql.ansi.enabled": str(number % 2 == 0).lower()}
        oracles = [_SPARK, _ROW_READER, _INTERPRETED]
        converted += _compare(spark, query, settings, oracles, vanilla_only, may_raise=True, about=maker.schema)
    assert vanilla_only or converted > 0 or rows == 0, f"seed {seed}: nothing was converted"


def _settings(seed: int) -> dict[str, str]:
    """Return the settings of a seed's queries.

    Spark evaluates what the engine cannot in every second seed; in every fifth one files are cut into many splits.
    """
    splits = {"spark.sql.files.maxPartitionBytes": "1500", "spark.sql.files.openCostInBytes": "0"}
    return {**_SETTINGS, _JVM: str(seed % 2 == 1).lower(), **(splits if seed % 5 == 0 else {})}


def _compare(
    spark: SparkSession, query: Query, settings: Mapping[str, str], oracles: Sequence[Mapping[str, str]],
    vanilla_only: bool, *, may_raise: bool = False, about: str = "",
) -> int:  # fmt: skip
    """Assert that the query has the outcome of one of Spark's ways to run it; return the operators that converted."""
    pipeline = None if vanilla_only else run(spark, query.sql, pipeline=True, settings=settings)
    differences = []
    for oracle in oracles:
        vanilla = run(spark, query.sql, pipeline=False, settings={**settings, **oracle})
        is_valid = vanilla.error is None or (may_raise and vanilla.error[0] not in _NOT_VALID)
        assert is_valid, f"{about}\n{query.sql}\n{vanilla.error} {vanilla.message}"
        if pipeline is None:
            return 0
        text = _difference(vanilla, pipeline, query)
        if text is None:
            return pipeline.conversion.converted if pipeline.conversion else 0
        differences.append(text)
    assert pipeline is not None
    pytest.fail(f"{differences[0]}\n{about} {settings}\n{query.sql}\n{pipeline.conversion}\n{pipeline.message}")


def _difference(vanilla: Outcome, pipeline: Outcome, query: Query) -> str | None:
    """Return the difference of two outcomes. All errors are equal, because any of several bad rows may raise first."""
    if (vanilla.error is None) != (pipeline.error is None):
        return f"{vanilla.error} {pipeline.error}"
    rule = Rule(relative=1e-9 if query.approximate else 0.0, signed_zeros=False, ordered=query.ordered)
    return difference(vanilla.rows or [], pipeline.rows or [], rule)
