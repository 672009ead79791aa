"""Run every gold file in every combination on both engines (see ``tests/support/goldfile.py``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.answers import Answers, record_of
from tests.support.goldfile import Expectation, GoldFile, read, settings_of
from tests.support.judge import judge
from tests.support.sessions import Outcome, java_release, run, spark_minor
from tests.support.tables import TableShelf

_FOLDER = Path(__file__).parent

_ENGINE = "spark.pysparkPipeline."
_PLANS_ONLY = ("spark.sql.adaptive.enabled", "spark.sql.exchange.reuse", _ENGINE)

#: Statements that stay in Spark run once more with expressions that Spark evaluates for a fragment.
_STAYING = ("declined", "partly")
_JVM = _ENGINE + "jvmExpressions"
_ANY = Expectation(kind="any", when={})

Live = dict[str, Outcome]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize one test per gold file and combination."""
    chosen, every = metafunc.config.getoption("--combinations"), metafunc.config.getoption("--every")
    if metafunc.config.getoption("--answers") == "record":
        chosen, every = "all", 1
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
def live() -> Live:
    """Return a cache of vanilla Spark's outcomes, shared by combinations that differ only in planning settings."""
    return {}


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[Answers]:
    """Yield the records of Spark's answers, which are written at the end with ``--answers record``."""
    records = Answers(folder=_FOLDER / "answers" / spark.version, java=java_release(spark))
    yield records
    if request.config.getoption("--answers") == "record":
        records.write()


def test_gold(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    tables: TableShelf,
    vanilla_only: bool,
    answers: Answers,
    live: Live,
    gold: GoldFile,
    combination: Mapping[str, str],
) -> None:
    tables.use(gold.tables)
    mode = request.config.getoption("--answers")
    version = {"spark": spark_minor(), "java": java_release(spark)}
    faults: list[dict[str, Any]] = []
    for statement in gold.statements:
        settings = {**settings_of(combination), **statement.settings}
        expected = statement.expected({**combination, **version})
        ignored = (_ENGINE,) if gold.by_plan else _PLANS_ONLY
        spark_settings = {**settings, **statement.oracle}
        asked = {key: value for key, value in spark_settings.items() if not key.startswith(ignored)}
        question = answers.question(statement.sql, asked, statement.rule)
        engine = not (vanilla_only or mode == "record")
        pipeline = run(spark, statement.sql, pipeline=True, settings=settings) if engine else None
        with_jvm = None
        if pipeline and expected.kind in _STAYING:
            with_jvm = run(spark, statement.sql, pipeline=True, settings={**settings, _JVM: "true"})
        if pipeline and mode == "recorded" and answers.has(gold, question, record_of(pipeline, statement.rule)):
            vanilla = pipeline
        else:
            if question not in live:
                live[question] = run(spark, statement.sql, pipeline=False, settings=spark_settings)
            vanilla = live[question]
        if mode == "record":
            answers.add(gold, question, record_of(vanilla, statement.rule))
        place = f"{gold.path.relative_to(_FOLDER)}:{statement.line}"
        found = judge(expected, statement.rule, vanilla, pipeline)
        if with_jvm and not found:
            found = judge(_ANY, statement.rule, vanilla, with_jvm)
        for fault in found:
            faults.append({"place": place, "combination": dict(combination), "kind": fault.kind,
                           "text": fault.text, "sql": statement.sql})  # fmt: skip
    report = request.config.getoption("--gold-report")
    if report:
        with Path(report).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(fault) + "\n" for fault in faults)
    assert not faults, "\n".join(_described(fault) for fault in faults)


def _described(fault: Mapping[str, Any]) -> str:
    return f"{fault['place']} {fault['kind']}: {fault['text']}\n    {fault['sql']}"
