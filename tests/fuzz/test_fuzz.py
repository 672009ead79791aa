"""Runs random queries on both engines; the seeds are fixed, more of them with ``PIPELINE_FUZZ_SEEDS=from:to``."""

from __future__ import annotations

import os
import random
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

# Spark evaluates a common subexpression early, outside the branch that guards it.
# Its row-group filter loses NaN in files whose statistics omit NaN.
_ORACLE = {"spark.sql.parquet.filterPushdown": "false"}
# Spark's columnar arrays lose NULL when they are copied (`array_union` of arrays of arrays), and its other reader
# cannot read some files, so that either may be right.
_READERS = [{"spark.sql.parquet.enableNestedColumnVectorizedReader": value} for value in ("true", "false")]
_SETTINGS = {"spark.sql.subexpressionElimination.enabled": "false", "spark.sql.session.timeZone": "America/St_Johns"}


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
@pytest.mark.parametrize("wild", [False, True], ids=["safe", "wild"])
def test_random_queries(spark: SparkSession, tables: TableShelf, vanilla_only: bool, seed: int, wild: bool) -> None:
    """Run safe queries with ANSI, which must not raise, and wild ones without and with it."""
    tables.use(["tame", "numbers", "texts", "times"])
    converted = 0
    for number in range(_QUERIES_OF_A_SEED):
        query = QueryMaker(seed * 1000 + number, wild=wild).query()
        for ansi in ["false", "true"] if wild else ["true"]:
            settings = {**_SETTINGS, "spark.sql.ansi.enabled": ansi}
            vanilla = run(spark, query.sql, pipeline=False, settings={**settings, **_ORACLE})
            if not wild:
                assert vanilla.error is None, f"{query.sql}\n{vanilla.error} {vanilla.message}"
            elif vanilla.error is not None:
                assert ansi == "true" and vanilla.error[0] != "AnalysisException", f"{query.sql}\n{vanilla.message}"
            if vanilla_only:
                continue
            pipeline = run(spark, query.sql, pipeline=True, settings=settings)
            converted += pipeline.conversion.converted if pipeline.conversion else 0
            details = f"seed {seed}, ansi={ansi}\n{query.sql}\n{pipeline.conversion}\n{pipeline.message}"
            # The evaluation order of two bad rows is unspecified, so the errors of wild queries may differ.
            assert (vanilla.error is None) == (pipeline.error is None), f"{vanilla.error} {pipeline.error} {details}"
            rule = Rule(relative=1e-9 if query.approximate else 0.0, signed_zeros=False)
            text = difference(vanilla.rows or [], pipeline.rows or [], rule)
            assert text is None, f"{text}\n{details}"
    assert vanilla_only or converted > 0, f"seed {seed}: nothing was converted"


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
def test_random_relations(spark: SparkSession, tables: TableShelf, vanilla_only: bool, seed: int) -> None:
    """Run joins, unions, sorts and several DISTINCT, with and without AQE."""
    tables.use(["tame", "numbers", "texts", "times"])
    converted = 0
    for number in range(_QUERIES_OF_A_SEED):
        query = RelationMaker(seed * 1000 + number).query()
        settings = {**_SETTINGS, **query.settings, "spark.sql.ansi.enabled": "true"}
        vanilla = run(spark, query.sql, pipeline=False, settings={**settings, **_ORACLE})
        assert vanilla.error is None, f"{query.sql}\n{vanilla.error} {vanilla.message}"
        for aqe in ["true", "false"] if not vanilla_only else []:
            pipeline = run(spark, query.sql, pipeline=True, settings={**settings, "spark.sql.adaptive.enabled": aqe})
            converted += pipeline.conversion.converted if pipeline.conversion else 0
            combination = f"seed {seed}, aqe={aqe}, {query.settings}"
            details = f"{combination}\n{query.sql}\n{pipeline.conversion}\n{pipeline.message}"
            assert pipeline.error is None, f"{pipeline.error} {details}"
            rule = Rule(relative=1e-9 if query.approximate else 0.0, signed_zeros=False, ordered=query.ordered)
            text = difference(vanilla.rows or [], pipeline.rows or [], rule)
            assert text is None, f"{text}\n{details}"
    assert vanilla_only or converted > 0, f"seed {seed}: nothing was converted"


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
def test_random_functions(spark: SparkSession, tables: TableShelf, vanilla_only: bool, seed: int) -> None:
    """Run functions, ordered aggregates, pivots and RANGE frames, without and with ANSI; rows may raise."""
    tables.use(["tame", "numbers", "texts", "times", "intervals"])
    converted = 0
    for number in range(_QUERIES_OF_A_SEED):
        query = FunctionMaker(seed * 1000 + number).query()
        settings = {**_SETTINGS, "spark.sql.ansi.enabled": str(number % 2 == 0).lower()}
        vanilla = run(spark, query.sql, pipeline=False, settings={**settings, **_ORACLE})
        is_valid = vanilla.error is None or vanilla.error[0] not in ("AnalysisException", "ParseException")
        assert is_valid, f"{query.sql}\n{vanilla.message}"
        if vanilla_only:
            continue
        pipeline = run(spark, query.sql, pipeline=True, settings=settings)
        converted += pipeline.conversion.converted if pipeline.conversion else 0
        details = f"seed {seed}, {settings}\n{query.sql}\n{pipeline.conversion}\n{pipeline.message}"
        assert (vanilla.error is None) == (pipeline.error is None), f"{vanilla.error} {pipeline.error} {details}"
        text = difference(vanilla.rows or [], pipeline.rows or [], Rule(relative=1e-9, signed_zeros=False))
        assert text is None, f"{text}\n{details}"
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
        settings = {**_SETTINGS, "spark.sql.ansi.enabled": str(number % 2 == 0).lower()}
        pipeline = None if vanilla_only else run(spark, query.sql, pipeline=True, settings=settings)
        found = []
        for reader in _READERS:
            vanilla = run(spark, query.sql, pipeline=False, settings={**settings, **_ORACLE, **reader})
            is_valid = vanilla.error is None or vanilla.error[0] not in ("AnalysisException", "ParseException")
            assert is_valid, f"{maker.schema}\n{query.sql}\n{vanilla.message}"
            if pipeline is None or not (text := _difference(vanilla, pipeline, query)):
                break
            found.append(text)
        if pipeline is not None:
            converted += pipeline.conversion.converted if pipeline.conversion else 0
            details = f"seed {seed}, {settings}\n{maker.schema}\n{query.sql}\n{pipeline.conversion}\n{pipeline.message}"
            assert len(found) < len(_READERS), f"{found[0]}\n{details}"
    assert vanilla_only or converted > 0, f"seed {seed}: nothing was converted"


def _difference(vanilla: Outcome, pipeline: Outcome, query: Query) -> str | None:
    """Return the difference of two outcomes; errors are equal, because either of two rows may raise first."""
    if (vanilla.error is None) != (pipeline.error is None):
        return f"{vanilla.error} {pipeline.error}"
    rule = Rule(relative=1e-9 if query.approximate else 0.0, signed_zeros=False, ordered=query.ordered)
    return difference(vanilla.rows or [], pipeline.rows or [], rule)
