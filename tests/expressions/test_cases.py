"""The case of a call decides its implementation: the one that the shim has matched, else the first that matches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.expressions import ExpressionSettings, registry
from pyspark_pipeline.expressions.registry import Kernel, build, case, function, matching_case
from tests.expressions.build import call, col

INT = call("Chosen", "int", col(0, "int"))
SETTINGS = ExpressionSettings()


@pytest.fixture(autouse=True)
def chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register a function with three cases in two families; its kernel returns the number of the family."""
    monkeypatch.setattr(registry._FUNCTIONS, "_entries", dict(registry._FUNCTIONS._entries))
    families = [[case(["bigint"]), case(["int"])], [case(["int", "string"])]]
    for number, cases in enumerate(families):
        function("Chosen", cases)(lambda call, settings, n=number: Kernel(run=lambda values, rows: pa.scalar(n)))
    yield


def family(position: int | None) -> int:
    kernel = build(dataclasses.replace(INT, case=position), SETTINGS)
    assert isinstance(kernel, Kernel)
    return int(kernel.run([], 1).as_py())


def test_a_call_without_a_case_is_matched() -> None:
    assert matching_case(INT) == 1
    assert matching_case(call("Chosen", "int", col(0, "string"))) == 2
    assert matching_case(call("Chosen", "int", col(0, "double"))) is None
    assert family(None) == 0


@pytest.mark.parametrize(("position", "wanted"), [(0, 0), (1, 0), (2, 1)])
def test_a_case_on_the_wire_is_not_matched_again(position: int, wanted: int) -> None:
    assert family(position) == wanted


@pytest.mark.parametrize("position", [-1, 3])
def test_a_case_that_does_not_exist_is_refused(position: int) -> None:
    with pytest.raises(UnsupportedPlanError, match=r"Chosen\(int\) is not supported"):
        family(position)


def test_no_case_stands_behind_a_more_general_one() -> None:
    """The first case that matches decides, so a case with more conditions comes before the one without them."""
    behind = [
        (name, later)
        for name, described in registry.manifest().items()
        for number, later in enumerate(described["cases"])
        for earlier in described["cases"][:number]
        if all(later.get(key) == value for key, value in earlier.items())
    ]
    assert behind == []
