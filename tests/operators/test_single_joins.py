"""Joins in which a row of the left side must have at most one match, as a scalar subquery's: ``LeftSingle``."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from pyspark_pipeline.errors import SparkConditionError, UnsupportedPlanError
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.operators.joins import spilled_probe
from pyspark_pipeline.plan.joins import Join, JoinType, join_shape
from pyspark_pipeline.plan.nodes import Limit
from tests.operators.join_kit import Row, bag, expected, join, joined, less, side
from tests.operators.sort_kit import counted
from tests.operators.spill_kit import spill_folder  # noqa: F401 (a fixture for every test)
from tests.operators.test_join_spill import limited, run

_TWO_ROWS = "SCALAR_SUBQUERY_TOO_MANY_ROWS"
# The condition of the joins takes one of the three rows of each key.
_THREE_OF_A_KEY = [(key, value) for key in range(100) for value in (-1, -2, key % 7)]


def single(left: Sequence[Row], right: Sequence[Row], *, hashed: bool = True, conditional: bool = False) -> Join:
    first, second = side("k:bigint,vl:bigint", left, 11), side("k:bigint,vr:bigint", right, 13)
    condition = less(first, second, "vl", "vr") if conditional else None
    return join(first, second, JoinType.LEFT_SINGLE, False, ["k"] if hashed else [], condition=condition)


def outer(left: Sequence[Row], right: Sequence[Row], *, hashed: bool = True, conditional: bool = False) -> list[Row]:
    def holds(a: Row, b: Row) -> bool:
        return not conditional or a[1] < b[1]

    return expected(left, right, JoinType.LEFT_OUTER, 1 if hashed else 0, holds)


@pytest.mark.parametrize("conditional", [False, True], ids=["keys", "condition"])
@pytest.mark.parametrize("dop", [1, 3])
@pytest.mark.parametrize("sizes", [(0, 50), (50, 1), (1, 1), (150, 100)])
def test_single_join_with_one_match_is_outer_join(conditional: bool, dop: int, sizes: tuple[int, int]) -> None:
    dice = random.Random(1)
    left = [(dice.choice([None, *range(130)]), dice.randrange(7)) for _ in range(sizes[0])]
    right = [(key, key % 7) for key in range(sizes[1])]
    found = joined(single(left, right, conditional=conditional), dop=dop, batch_rows=20)
    assert bag(found) == bag(outer(left, right, conditional=conditional))


@pytest.mark.parametrize("dop", [1, 3])
def test_condition_leaves_one_match_of_several(dop: int) -> None:
    left = [(key, 0) for key in (*range(120), None)]
    found = joined(single(left, _THREE_OF_A_KEY, conditional=True), dop=dop, batch_rows=10)
    assert bag(found) == bag(outer(left, _THREE_OF_A_KEY, conditional=True))
    assert sum(row[2] is not None for row in found) == sum(key % 7 > 0 for key in range(100))


def test_nested_loop_leaves_one_match() -> None:
    left = [(0, value) for value in range(5, 30)]
    right = [(0, value) for value in (3, 4, 20)]
    found = joined(single(left, right, hashed=False, conditional=True), batch_rows=4)
    assert bag(found) == bag(outer(left, right, hashed=False, conditional=True))


@pytest.mark.parametrize("hashed", [True, False], ids=["hash", "nested loop"])
@pytest.mark.parametrize("conditional", [False, True], ids=["keys", "condition"])
@pytest.mark.parametrize("dop", [1, 3])
def test_second_match_is_an_error(hashed: bool, conditional: bool, dop: int) -> None:
    left, right = [(key, 0) for key in range(40)], [(key, 1) for key in (3, 17, 39, 39)]
    with pytest.raises(SparkConditionError, match=_TWO_ROWS) as caught:
        joined(single(left, right, hashed=hashed, conditional=conditional), dop=dop, batch_rows=7)
    assert caught.value.exception == "SparkRuntimeException"


@pytest.mark.parametrize("batch_rows", [1, 5, 100])
def test_rows_before_the_one_with_two_matches_leave_first(batch_rows: int) -> None:
    left = [(key, 0) for key in range(40)]
    right = [(key, value) for key in range(0, 40, 2) for value in ((1,) if key != 30 else (1, 1))]
    node = single(left, right, conditional=True)
    found = joined(Limit(output=node.output, child=node, limit=30), batch_rows=batch_rows)
    assert bag(found) == bag([row for row in outer(left, right, conditional=True) if row[0] < 30])
    with pytest.raises(SparkConditionError, match=_TWO_ROWS):
        joined(Limit(output=node.output, child=node, limit=32), batch_rows=batch_rows)


@pytest.mark.parametrize("dop", [1, 3])
def test_spilled_single_join(dop: int) -> None:
    left = [(key, 0) for key in (*range(120), *range(50), None)]
    node = single(left, _THREE_OF_A_KEY, conditional=True)
    instance = limited(node, 1, dop=dop, batch_rows=20)
    assert bag(run(node, instance, dop)) == bag(outer(left, _THREE_OF_A_KEY, conditional=True))
    assert counted(instance, "spill_files") > 10


def test_second_match_in_another_block_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled_probe, "LAST_LEVEL", 0)
    monkeypatch.setattr(spilled_probe, "_PIECE_ROWS", 7)
    left = [(key % 3, 5) for key in range(50)]
    for high in ([0, 99], [150], []):
        right = [(0, 9 if i in high else 1) for i in range(200)]
        node = single(left, right, conditional=True)
        instance = limited(node, 1, batch_rows=20)
        if len(high) < 2:
            assert bag(run(node, instance)) == bag(outer(left, right, conditional=True))
            assert counted(instance, "join_blocks") > 1
        else:
            with pytest.raises(SparkConditionError, match=_TWO_ROWS):
                list(execute(instance, 1))


def test_building_the_left_side_is_rejected() -> None:
    with pytest.raises(UnsupportedPlanError, match="LeftSingle"):
        join_shape(JoinType.LEFT_SINGLE, True)
