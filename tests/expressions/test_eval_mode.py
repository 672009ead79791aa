"""The evaluation mode of calls is typed: an enum of Spark's three modes, read in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

import pyspark_pipeline
from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.local.aggregates import aggregate_call
from pyspark_pipeline.local.write import call, column, scan
from pyspark_pipeline.plan.eval_mode import EvalMode, mode_fields

N = column(scan("n:bigint"), "n")


@pytest.mark.parametrize("mode", EvalMode)
def test_call_returns_its_mode(mode: EvalMode) -> None:
    """The field of the wire is the name of the mode; ANSI alone raises."""
    assert call("Add", "bigint", N, N, evalMode=mode.value).eval_mode is mode
    assert mode.raises == (mode is EvalMode.ANSI)


@pytest.mark.parametrize("fields", [{}, {"evalMode": "STRICT"}])
def test_missing_or_unknown_mode_is_an_error(fields: dict[str, str]) -> None:
    """No mode is assumed."""
    with pytest.raises(EngineBugError, match="Add has no evaluation mode"):
        _ = call("Add", "bigint", N, N, **fields).eval_mode


def test_aggregate_without_mode_follows_the_session() -> None:
    """Min has no mode; Sum has one."""
    assert aggregate_call("Min", N).eval_mode is None
    assert aggregate_call("Sum", N, ansi=False).eval_mode is EvalMode.LEGACY


def test_cases_name_all_modes_by_default() -> None:
    """The manifest lists the modes as Spark spells them."""
    assert mode_fields() == {"evalMode": ["ANSI", "LEGACY", "TRY"]}
    assert mode_fields(EvalMode.TRY) == {"evalMode": ["TRY"]}


def test_no_module_but_one_reads_the_field() -> None:
    """Kernels ask ``call.eval_mode``; only builders of plans by hand spell the field."""
    root = Path(pyspark_pipeline.__file__).parent
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if '"evalMode"' in path.read_text()}
    assert found == {"plan/eval_mode.py", "expressions/warm_up.py", "local/aggregates.py"}
