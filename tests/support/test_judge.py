"""Tests of the judge: every kind of fault is provoked at least once."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row

from tests.support.compare import EXACT, Rule
from tests.support.conversion import Conversion
from tests.support.goldfile import Expectation
from tests.support.judge import judge
from tests.support.sessions import Outcome

_ALL = Conversion(operators=4, converted=4, transitions=1, reasons=())
_SOME = Conversion(operators=4, converted=2, transitions=2, reasons=("Upper(string) is not supported",))
_NONE = Conversion(operators=4, converted=0, transitions=0, reasons=("Upper(string) is not supported",))
_ROWS = [Row(v=1)]
_ZERO = ("ArithmeticException", "DIVIDE_BY_ZERO")
_OVERFLOW = ("ArithmeticException", "ARITHMETIC_OVERFLOW")


def _kinds(expect: str, vanilla: Outcome, pipeline: Outcome | None) -> list[str]:
    kind, _, detail = expect.partition(" ")
    return [fault.kind for fault in judge(Expectation(kind=kind, detail=detail, when={}), EXACT, vanilla, pipeline)]


@pytest.mark.parametrize(
    ("expect", "conversion", "faults"),
    [
        ("converted", _ALL, []),
        ("converted", _SOME, ["conversion"]),
        ("converted", _NONE, ["vacuous"]),
        ("converted", None, ["conversion"]),
        ("some", _SOME, []),
        ("some", _ALL, []),
        ("some", _NONE, ["vacuous"]),
        ("partly", _SOME, []),
        ("partly Upper", _SOME, []),
        ("partly Lower", _SOME, ["conversion"]),
        ("partly", _ALL, ["conversion"]),
        ("partly", _NONE, ["vacuous"]),
        ("declined", _NONE, []),
        ("declined Upper", _NONE, []),
        ("declined Lower", _NONE, ["conversion"]),
        ("declined", _SOME, ["conversion"]),
        ("declined", _ALL, ["conversion"]),
        ("any", _ALL, []),
        ("any", _NONE, []),
    ],
)
def test_judge_checks_conversion(expect: str, conversion: Any, faults: list[str]) -> None:
    assert _kinds(expect, Outcome(rows=_ROWS), Outcome(rows=_ROWS, conversion=conversion)) == faults


def test_judge_checks_rows_and_errors() -> None:
    good = Outcome(rows=_ROWS, conversion=_ALL)
    assert _kinds("converted", Outcome(rows=_ROWS), Outcome(rows=[], conversion=_ALL)) == ["rows"]
    assert _kinds("any", Outcome(rows=_ROWS), Outcome(error=_ZERO, conversion=_ALL)) == ["error"]
    assert _kinds("error DIVIDE_BY_ZERO", Outcome(error=_ZERO), good) == ["error"]
    assert _kinds("error DIVIDE_BY_ZERO", Outcome(error=_ZERO), Outcome(error=_OVERFLOW, conversion=_ALL)) == ["error"]
    assert _kinds("error DIVIDE_BY_ZERO", Outcome(error=_ZERO), Outcome(error=_ZERO, conversion=_NONE)) == ["vacuous"]
    assert _kinds("error DIVIDE_BY_ZERO", Outcome(error=_ZERO), Outcome(error=_ZERO, conversion=_ALL)) == []


def test_judge_reports_wrong_gold_file_without_engine() -> None:
    assert _kinds("error DIVIDE_BY_ZERO", Outcome(rows=_ROWS), None) == ["gold-file"]
    assert _kinds("error DIVIDE_BY_ZERO", Outcome(error=_OVERFLOW), None) == ["gold-file"]
    assert _kinds("converted", Outcome(error=_ZERO), None) == ["gold-file"]
    assert _kinds("converted", Outcome(rows=_ROWS), None) == []


def test_judge_compares_error_messages_if_exact() -> None:
    expected = Expectation(kind="error", detail=_ZERO[1], when={})
    here, there = (Outcome(error=_ZERO, message=f"[DIVIDE_BY_ZERO] position {n}", conversion=_ALL) for n in (8, 9))
    assert judge(expected, EXACT, here, there) == []
    exact = Rule(exact_errors=True)
    assert judge(expected, exact, here, here) == []
    assert [fault.kind for fault in judge(expected, exact, here, there)] == ["error"]
