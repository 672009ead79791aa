"""Joins of every kind against an oracle that compares every row with every row."""

from __future__ import annotations

import dataclasses
import datetime
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.joins import JoinType, join_shape
from tests.operators.join_kit import Row, bag, expected, join, joined, less, side

KINDS = [kind for kind in JoinType if kind is not JoinType.LEFT_SINGLE]
SHAPES = [(kind, left) for kind in KINDS for left in (False, True) if (kind, left) != (JoinType.EXISTENCE, True)]
NAMES = [f"{kind.value}-{'left' if left else 'right'}" for kind, left in SHAPES]

POOLS: dict[str, list[Any]] = {
    "bigint": [0, 1, 2, -1, 7, 2**62, -(2**63), 2**63 - 1],
    "int": [0, 1, 2, 3, -(2**31), 2**31 - 1],
    "smallint": [0, 1, 2, -3],
    "boolean": [True, False],
    "string": ["", "a", "b", "abcdefgh", "abcdefghi", "longer than eight bytes", "ü"],
    "double": [0.0, -0.0, 1.5, float("nan"), float("inf"), -1e300],
    "float": [0.0, -0.0, 1.5, float("nan")],
    "decimal(10;2)": [Decimal("0.00"), Decimal("1.10"), Decimal("-1.10")],
    "decimal(38;0)": [Decimal(0), Decimal(10**30), Decimal(-(10**30)), Decimal(2**64), Decimal(-1)],
    "date": [datetime.date(1970, 1, 1), datetime.date(2020, 2, 29), datetime.date(1900, 1, 1)],
    "timestamp_ntz": [datetime.datetime(1970, 1, 1), datetime.datetime(2020, 2, 29, 1, 2, 3, 4)],
}
KEYS = [
    *((kind,) for kind in POOLS),
    ("bigint", "bigint"), ("int", "smallint"), ("string", "int"), ("string", "string"),
    ("decimal(38;0)", "string", "bigint"), ("double", "boolean"), ("date", "bigint", "bigint", "string"),
]  # fmt: skip


def rows(dice: random.Random, kinds: tuple[str, ...], count: int, nulls: float = 0.15) -> list[Row]:
    """Return rows of keys, an int, and a string."""
    made = []
    for i in range(count):
        keys = [None if dice.random() < nulls else dice.choice(POOLS[kind]) for kind in kinds]
        number = None if dice.random() < 0.1 else dice.randrange(10)
        made.append((*keys, number, f"s{i % 5}"))
    return made


def spec(kinds: tuple[str, ...], suffix: str) -> str:
    return ", ".join([*(f"k{i}:{kind}" for i, kind in enumerate(kinds)), f"v{suffix}:int", f"s{suffix}:string"])


def check(
    kinds: tuple[str, ...], shape: tuple[JoinType, bool], left: list[Row], right: list[Row], *,
    conditional: bool, hashed: bool = True, dop: int = 1, batch_rows: int = 1000, chunk_rows: int = 7,
) -> None:  # fmt: skip
    first = side(spec(kinds, "l"), left, chunk_rows, seed=1)
    second = side(spec(kinds, "r"), right, chunk_rows, seed=2)
    place = len(kinds)
    node = join(
        first, second, *shape, [f"k{i}" for i in range(place)] if hashed else (),
        condition=less(first, second, "vl", "vr") if conditional else None,
    )  # fmt: skip
    found = joined(node, dop=dop, batch_rows=batch_rows)

    def holds(a: Row, b: Row) -> bool:
        return a[place] is not None and b[place] is not None and a[place] < b[place]

    width = len(node.output)
    given = expected(left, right, shape[0], place if hashed else 0, holds if conditional else None)
    wanted = [row if len(row) == width else _padded(row, width, left) for row in given]
    assert bag(found) == bag(wanted)


def _padded(row: Row, width: int, left: list[Row]) -> Row:
    """Return the row padded with NULLs for a side without rows, whose width the oracle does not know."""
    missing = [None] * (width - len(row))
    return (*row, *missing) if left else (*missing, *row)


@pytest.mark.rotates
@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("conditional", [False, True], ids=["keys", "condition"])
def test_join_of_random_rows_matches_oracle(shape: tuple[JoinType, bool], conditional: bool) -> None:
    for number, kinds in enumerate(KEYS):
        dice = random.Random(number)
        left, right = rows(dice, kinds, 40), rows(dice, kinds, 30)
        check(kinds, shape, left, right, conditional=conditional, batch_rows=dice.choice([1, 3, 1000]))
        check(kinds, shape, left, right, conditional=conditional, dop=3, batch_rows=dice.choice([2, 1000]))


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("conditional", [False, True], ids=["keys", "condition"])
def test_join_with_unique_build_keys(shape: tuple[JoinType, bool], conditional: bool) -> None:
    """Dimension tables: every key once, with and without NULLs; all or some probe rows match."""
    for dop, steps in ((1, (1, 10**12)), (3, (3,))):
        for step in steps:
            keys = [(i * step, i % 10, "x") for i in range(50)]
            holed = [(None if i % 7 == 0 else key, v, s) for i, (key, v, s) in enumerate(keys)]
            some = [(i % 60 * step, i % 9, "y") for i in range(120)]
            every = [(i % 50 * step, i % 9, "y") for i in range(120)]
            for build in (keys, holed):
                for probe in (some, every):
                    left, right = (build, probe) if shape[1] else (probe, build)
                    check(("bigint",), shape, left, right, conditional=conditional, dop=dop, batch_rows=30)


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("conditional", [False, True], ids=["all", "condition"])
def test_nested_loop_join_matches_oracle(shape: tuple[JoinType, bool], conditional: bool) -> None:
    dice = random.Random(5)
    for sizes in ((12, 9), (0, 5), (5, 0), (0, 0), (1, 9), (9, 1)):
        left, right = (rows(dice, ("int",), size) for size in sizes)
        for dop in (1, 3):
            check(("int",), shape, left, right, conditional=conditional, hashed=False, dop=dop, batch_rows=5)


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("sizes", [(0, 20), (20, 0), (0, 0)])
def test_join_of_empty_sides(shape: tuple[JoinType, bool], sizes: tuple[int, int]) -> None:
    dice = random.Random(1)
    for kinds in (("bigint",), ("string",), ("decimal(38;0)", "string")):
        left, right = (rows(dice, kinds, size) for size in sizes)
        for conditional in (False, True):
            check(kinds, shape, left, right, conditional=conditional)


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_join_of_all_null_keys(shape: tuple[JoinType, bool]) -> None:
    dice = random.Random(1)
    left, right = rows(dice, ("bigint",), 20, nulls=1), rows(dice, ("bigint",), 20, nulls=1)
    check(("bigint",), shape, left, right, conditional=False)
    check(("bigint",), shape, rows(dice, ("bigint",), 20), right, conditional=False, dop=3)


@pytest.mark.parametrize("right", [[], [(1,), (2,)], [(1,), (None,)], [(None,)]])
@pytest.mark.parametrize("dop", [1, 3])
def test_null_aware_anti_join(right: list[Row], dop: int) -> None:
    """NOT IN: a NULL among the values drops all rows, no values keep all rows, else NULL keys are dropped."""
    left: list[Row] = [(1, "a"), (3, "b"), (None, "c"), (4, "d")]
    node = join(
        side("k:int, s:string", left, 2), side("k:int", right, 1), JoinType.LEFT_ANTI, False, ["k"], null_aware=True
    )
    if any(row[0] is None for row in right):
        wanted: list[Row] = []
    elif not right:
        wanted = left
    else:
        wanted = [row for row in left if row[0] is not None and row not in [(1, "a")]]
    assert bag(joined(node, dop=dop)) == bag(wanted)


def test_null_aware_anti_join_detects_nulls_in_dictionary_values() -> None:
    left = side("k:string", [("a",), ("b",)], 2)
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["a", None, "c"]))
    left = dataclasses.replace(left, chunks=(pa.record_batch([codes], names=["c0"]),))
    node = join(left, side("k:string", [("a",)], 2), JoinType.LEFT_ANTI, False, ["k"], null_aware=True)
    assert joined(node) == [("c",)]


def test_join_with_key_columns_only_and_without_keys() -> None:
    left, right = side("k:int", [(1,), (2,), (2,)], 2), side("k:int", [(2,), (2,), (3,)], 2)
    node = join(left, right, JoinType.INNER, False, ["k"])
    assert bag(joined(node)) == bag([(2, 2)] * 4)
    empty = join(left, right, JoinType.INNER, False)
    assert len(joined(empty)) == 9


def test_existence_join_building_left_side_is_rejected() -> None:
    with pytest.raises(UnsupportedPlanError):
        join_shape(JoinType.EXISTENCE, True)
