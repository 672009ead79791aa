"""Drivers of a pipeline share compiled expressions; what an evaluation writes to belongs to one driver."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.expressions import compile as compiler
from pyspark_pipeline.operators.filter import FilterFactory
from pyspark_pipeline.operators.project import ProjectFactory
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Filter, Project, Settings
from pyspark_pipeline.plan.properties import ALL_PLAIN
from tests.operators.kit import Chunks, call, column, fields, literal

SETTINGS = Settings(ansi=True, time_zone="UTC", options=Options({}))
LEAF = Chunks(output=fields("k:bigint"), chunks=())
SMALL = call("LessThan", "boolean", column(LEAF, "k"), literal(300, "bigint"))
DOUBLED = call("Multiply", "bigint", column(LEAF, "k"), literal(2, "bigint"), evalMode="ANSI")
DRIVERS = 4


def test_expressions_are_compiled_once_for_all_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    build = compiler.build
    monkeypatch.setattr(compiler, "build", lambda call, settings: compiled.append(call.name) or build(call, settings))
    filters = FilterFactory(Filter(output=LEAF.output, condition=SMALL, child=LEAF), SETTINGS, ALL_PLAIN)
    projects = ProjectFactory(Project(output=LEAF.output, exprs=(DOUBLED,), child=LEAF), SETTINGS)
    made = [(filters.create(DRIVERS, i), projects.create(DRIVERS, i)) for i in range(DRIVERS)]
    assert len(made) == DRIVERS and compiled == ["LessThan", "Multiply"]


def test_drivers_filter_at_the_same_time() -> None:
    """Chunks of different sizes and values in each driver: a shared mask would mix their rows."""
    factory = FilterFactory(Filter(output=LEAF.output, condition=SMALL, child=LEAF), SETTINGS, ALL_PLAIN)
    operators = [factory.create(DRIVERS, i) for i in range(DRIVERS)]

    def run(driver: int) -> bool:
        numbers = np.random.default_rng(driver).integers(0, 600, 20_000 + driver)
        chunk = pa.record_batch([pa.array(numbers)], names=["c0"])
        expected = numbers[numbers < 300]
        return all(np.array_equal(operators[driver].transform(chunk).column(0), expected) for _ in range(50))

    with ThreadPoolExecutor(DRIVERS) as threads:
        assert all(threads.map(run, range(DRIVERS)))
