"""An invalid row raises only if it is reached: rows after a limit are not evaluated."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.plan.expr import Call, Expr
from pyspark_pipeline.plan.nodes import Filter, Limit, Node, Project
from tests.expressions.build import call, col, lit
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import fields, run

_BAD = 7


def _quotient() -> Call:
    """Return 10 div (k - 7)."""
    shifted = call("Subtract", "bigint", col(0, "bigint"), lit(_BAD, "bigint"), evalMode="ANSI")
    return call("IntegralDivide", "bigint", lit(10, "bigint"), shifted, evalMode="ANSI")


def _numbers(chunk_rows: int) -> Node:
    return leaf("k:bigint", chunks_of(pa.table({"k": pa.array(range(20), pa.int64())}), chunk_rows))


def _filtered(child: Node) -> Node:
    condition: Expr = call("GreaterThan", "boolean", _quotient(), lit(-100, "bigint"))
    return Filter(output=child.output, condition=condition, child=child)


def _projected(child: Node) -> Node:
    return Project(output=fields("x:bigint"), exprs=(_quotient(),), child=child)


def _limited(child: Node, rows: int) -> Node:
    return Limit(output=child.output, limit=rows, offset=0, child=child)


@pytest.mark.parametrize("chunk_rows", [1, 3, 7, 8, 100])
@pytest.mark.parametrize("plan", [_filtered, _projected])
@pytest.mark.parametrize("threads", [1, 2])
def test_row_after_the_limit_does_not_raise(chunk_rows: int, plan: type, threads: int) -> None:
    made = run(_limited(plan(_numbers(chunk_rows)), _BAD), threads=threads)
    assert made.num_rows == _BAD
    with pytest.raises(SparkConditionError, match="DIVIDE_BY_ZERO"):
        run(_limited(plan(_numbers(chunk_rows)), _BAD + 1), threads=threads)


def test_projection_is_evaluated_after_the_limit() -> None:
    node = Limit(output=fields("x:bigint"), limit=20, offset=_BAD + 1, child=_projected(_numbers(4)))
    assert run(node).num_rows == 20 - _BAD - 1


def test_rows_before_the_error_are_output_first() -> None:
    below = _filtered(_numbers(100))
    shifted = call("Subtract", "bigint", col(0, "bigint"), lit(2, "bigint"), evalMode="ANSI")
    remainder = call("Remainder", "bigint", lit(10, "bigint"), shifted, evalMode="ANSI")
    with pytest.raises(SparkConditionError, match="REMAINDER_BY_ZERO"):
        run(Project(output=fields("x:bigint"), exprs=(remainder,), child=below))
