"""Run every gold file in every combination on both engines (see ``tests/support/goldfile.py``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.goldfile import GoldFile, read, settings_of
from tests.support.judge import judge
from tests.support.sessions import Outcome, java_release, run, spark_minor
from tests.support.tables import TableShelf

_FOLDER = Path(__file__).parent

_ENGINE = "spark.pysparkPipeline."
_PLANS_ONLY = ("spark.sql.adaptive.enabled", "spark.sql.exchange.reuse", _ENGINE)

Answers = dict[tuple[str, frozenset[tuple[str, str]]], Outcome]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize one test per gold file and combination."""
    chosen, every = metafunc.config.getoption("--combinations"), metafunc.config.getoption("--every")
    cases = []
    for number, path in enumerate(sorted(_FOLDER.glob("*/*.sql"))):
        gold = read(path)
        turn = number + (chosen == "next")
        one = turn % len(gold.combinations)
        for combination in gold.combinations if chosen == "all" else gold.combinations[one : one + 1]:
            text = "-".join(f"{key}={value}" for key, value in combination.items())
            name = f"{path.relative_to(_FOLDER).with_suffix('')}[{text}]"
            statements = gold.statements[turn % every :: every] or gold.statements
            cases.append(pytest.param(replace(gold, statements=statements), combination, id=name))
    metafunc.parametrize(("gold", "combination"), cases)


@pytest.fixture(scope="module")
def answers() -> Answers:
    """Return a cache of vanilla Spark's outcomes, shared by combinations that differ only in planning settings."""
    return {}


def test_gold(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    tables: TableShelf,
    vanilla_only: bool,
    answers: Answers,
    gold: GoldFile,
    combination: Mapping[str, str],
) -> None:
    tables.use(gold.tables)
    version = {"spark": spark_minor(), "java": java_release(spark)}
    faults: list[dict[str, Any]] = []
    for statement in gold.statements:
        settings = {**settings_of(combination), **statement.settings}
        expected = statement.expected({**combination, **version})
        ignored = (_ENGINE,) if gold.by_plan else _PLANS_ONLY
        vanilla = _answer(answers, spark, statement.sql, {**settings, **statement.oracle}, ignored)
        pipeline = None if vanilla_only else run(spark, statement.sql, pipeline=True, settings=settings)
        place = f"{gold.path.relative_to(_FOLDER)}:{statement.line}"
        for fault in judge(expected, statement.rule, vanilla, pipeline):
            faults.append({"place": place, "combination": dict(combination), "kind": fault.kind,
                           "text": fault.text, "sql": statement.sql})  # fmt: skip
    report = request.config.getoption("--gold-report")
    if report:
        with Path(report).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(fault) + "\n" for fault in faults)
    assert not faults, "\n".join(_described(fault) for fault in faults)


def _answer(
    answers: Answers, spark: SparkSession, sql: str, settings: Mapping[str, str], ignored: tuple[str, ...]
) -> Outcome:
    """Return Spark's outcome, which settings that begin with ``ignored`` do not change."""
    key = (sql, frozenset(pair for pair in settings.items() if not pair[0].startswith(ignored)))
    if key not in answers:
        answers[key] = run(spark, sql, pipeline=False, settings=settings)
    return answers[key]


def _described(fault: Mapping[str, Any]) -> str:
    return f"{fault['place']} {fault['kind']}: {fault['text']}\n    {fault['sql']}"
