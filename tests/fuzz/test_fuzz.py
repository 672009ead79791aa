"""Ask both engines random queries; the seeds are fixed, more of them with ``PIPELINE_FUZZ_SEEDS=from:to``."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from tests.fuzz.queries import QueryMaker
from tests.fuzz.relations import RelationMaker
from tests.support.compare import Rule, difference
from tests.support.sessions import run
from tests.support.tables import TableShelf

_QUERIES_OF_A_SEED = 4
_FIRST, _LAST = (int(part) for part in os.environ.get("PIPELINE_FUZZ_SEEDS", "0:12").split(":"))

# Spark evaluates an expression that stands twice in a query early, outside of the branch that guards it.
# Its own row-group filter loses NaN in files whose statistics leave NaN out.
_ORACLE = {"spark.sql.parquet.filterPushdown": "false"}
_SETTINGS = {"spark.sql.subexpressionElimination.enabled": "false", "spark.sql.session.timeZone": "America/St_Johns"}


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
@pytest.mark.parametrize("wild", [False, True], ids=["safe", "wild"])
def test_random_queries(spark: SparkSession, tables: TableShelf, vanilla_only: bool, seed: int, wild: bool) -> None:
    """Safe queries run with ANSI and must not raise; wild ones run without and with it."""
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
            told = f"seed {seed}, ansi={ansi}\n{query.sql}\n{pipeline.conversion}\n{pipeline.message}"
            # Which of two bad rows is met first is free, so wild errors need not be the same one.
            assert (vanilla.error is None) == (pipeline.error is None), f"{vanilla.error} {pipeline.error} {told}"
            rule = Rule(relative=1e-9 if query.approximate else 0.0, signed_zeros=False)
            text = difference(vanilla.rows or [], pipeline.rows or [], rule)
            assert text is None, f"{text}\n{told}"
    assert vanilla_only or converted > 0, f"seed {seed}: nothing was converted"


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
def test_random_relations(spark: SparkSession, tables: TableShelf, vanilla_only: bool, seed: int) -> None:
    """Joins, unions, sorts and several DISTINCT, with AQE and without it."""
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
            told = f"seed {seed}, aqe={aqe}, {query.settings}\n{query.sql}\n{pipeline.conversion}\n{pipeline.message}"
            assert pipeline.error is None, f"{pipeline.error} {told}"
            rule = Rule(relative=1e-9 if query.approximate else 0.0, signed_zeros=False, ordered=query.ordered)
            text = difference(vanilla.rows or [], pipeline.rows or [], rule)
            assert text is None, f"{text}\n{told}"
    assert vanilla_only or converted > 0, f"seed {seed}: nothing was converted"
