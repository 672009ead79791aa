"""Sets of values: their order is that of Spark's own function, over one partial set or several, merged or spilled."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.operators.aggregation.functions.collect_set import CollectSet
from pyspark_pipeline.operators.aggregation.functions.state import StatePool
from pyspark_pipeline.plan.nodes import AggregateCall
from tests.operators.aggregate_kit import chunks_of, complete_node, leaf, partial_node, rows_of, run_stages
from tests.operators.kit import DEFAULTS, column, run, to_table
from tests.operators.sort_kit import counted, limited
from tests.operators.spark_aggregate import SparkAggregate
from tests.operators.spill_kit import spill_folder  # noqa: F401 (a fixture for every test)
from tests.support.sessions import java_release

_SETTINGS = replace(DEFAULTS, spark=pyspark.__version__)
_IS_43 = _SETTINGS.is_spark(4, 3)
_FIELDS = {"ignoreNulls": True} if _IS_43 else {}
_NAN, _INFINITY = float("nan"), float("inf")


def _texts(dice: random.Random) -> str:
    return "".join(dice.choice("ab é日\U0001f600") for _ in range(dice.randrange(9)))


def _decimal(dice: random.Random, digits: int, scale: int) -> Decimal:
    unscaled = dice.choice([dice.randrange(-(10**digits) + 1, 10**digits), dice.randrange(-500, 500)])
    if dice.random() < 0.3:
        unscaled = int(Decimal(unscaled) / 10**scale) * 10**scale
    return Decimal(unscaled).scaleb(-scale)


_DOUBLES = [0.0, -0.0, _NAN, _NAN, _INFINITY, -_INFINITY, 2.0**31, 2.0**63, -(2.0**63), 5e-324, 0.1, 1e300, 1.5, -3.25]
MAKERS: dict[str, Any] = {
    "boolean": lambda dice: dice.choice([True, False]),
    "tinyint": lambda dice: dice.randrange(-128, 128),
    "smallint": lambda dice: dice.randrange(-(2**15), 2**15),
    "int": lambda dice: dice.choice([dice.randrange(-(2**31), 2**31), dice.randrange(40) << 16]),
    "bigint": lambda dice: dice.choice([dice.randrange(-(2**63), 2**63), dice.randrange(-40, 40) * (2**32 + 1)]),
    "float": lambda dice: _float(dice.choice([dice.choice([2.5e9, *_DOUBLES]), dice.gauss(0, 1e6)])),
    "double": lambda dice: dice.choice([dice.choice(_DOUBLES), dice.gauss(0, 1e6), dice.randrange(99) / 8]),
    "decimal(9,2)": lambda dice: _decimal(dice, 9, 2),
    "decimal(18,0)": lambda dice: _decimal(dice, 18, 0),
    "decimal(18,4)": lambda dice: _decimal(dice, 18, 4),
    "decimal(18,18)": lambda dice: _decimal(dice, 18, 18),
    "string": _texts,
    "binary": lambda dice: _texts(dice).encode(),
}

def _float(number: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(number))


class _SparkSet(SparkAggregate):
    """Spark's CollectSet over a column of one type."""

    def __init__(self, vanilla: Any, kind: str) -> None:
        super().__init__(vanilla, kind, "CollectSet")

    def elements(self, buffers: list[bytes]) -> list[Any]:
        """Return the values of the set to which others are added."""
        found = self.merged(buffers).array()
        return [v if isinstance(v, (bool, int, float, bytes)) else v.toString() for v in found]


def _column(kind: str, values: list[Any]) -> pa.Array:
    return pa.array(values, parse_type(kind).arrow)


def _call(kind: str, mode: str, *args: Any) -> AggregateCall:
    return AggregateCall(
        function="CollectSet", mode=mode, args=args, arg_types=(parse_type(kind),), filter=None,
        type=parse_type(f"array<{kind}>"), buffer=(parse_type("binary"),), fields=_FIELDS, constants=(None,),
    )  # fmt: skip


def _function(kind: str, mode: str, java: int = 17) -> CollectSet:
    return CollectSet(_call(kind, mode), StatePool(), replace(_SETTINGS, java=java))


def _partial(kind: str, values: list[Any]) -> bytes:
    function = _function(kind, "Partial")
    state = function._state
    state.reserve(1)
    for start in range(0, len(values), 13):
        part = values[start : start + 13]
        state.update(np.zeros(len(part), dtype=np.int64), [_column(kind, part)])
    return bytes(function.buffers(0, 1)[0][0].as_py())


def _merged(kind: str, buffers: list[bytes], java: int = 17) -> list[Any]:
    function = _function(kind, "Final", java)
    function._state.reserve(1)
    function.merge(np.zeros(len(buffers), dtype=np.int64), [pa.array(buffers)])
    found = function.result(0, 1)[0].as_py()
    return [_decimal_text(v) if isinstance(v, Decimal) else v for v in found]


def _decimal_text(value: Decimal) -> str:
    return format(value, "f")


def _parts(kind: str, seed: int) -> list[list[Any]]:
    """Return the values of several partial sets, which overlap; some have sizes at which a table grows."""
    dice = random.Random(seed)
    pool = [MAKERS[kind](dice) for _ in range(200)]
    sizes = [dice.choice([0, 1, 11, 12, 23, 24, 47, 90]) for _ in range(dice.randrange(1, 5))]
    return [[dice.choice([*pool, None]) for _ in range(size)] for size in sizes]


@pytest.mark.rotates
@pytest.mark.parametrize("kind", MAKERS)
def test_merged_sets_have_the_order_of_spark(vanilla: Any, kind: str) -> None:
    spark, java = _SparkSet(vanilla, kind), int(java_release(vanilla))
    for seed in range(12):
        parts = _parts(kind, seed)
        own, theirs = [_partial(kind, part) for part in parts], [spark.buffer(part) for part in parts]
        expected = _shown(kind, spark.elements(theirs))
        assert _shown(kind, _merged(kind, own, java)) == expected
        assert _shown(kind, _merged(kind, theirs, java)) == expected
        assert _shown(kind, spark.elements(own)) == expected


def _shown(kind: str, values: list[Any]) -> list[str]:
    """Return texts that tell −0.0 from 0.0; floats and decimals are written in one way."""
    return [repr(_float(value)) if kind == "float" else _text(value) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, str) and "E" in value:
        return repr(_decimal_text(Decimal(value)))
    return repr(value)


def test_hash_depends_on_the_digits_that_java_prints(vanilla: Any) -> None:
    kind = "decimal(18,1)"
    numbers = [Decimal(unscaled).scaleb(-1) for unscaled in range(2 * 10**17 + 1, 2 * 10**17 + 4000, 7)]
    spark = _SparkSet(vanilla, kind)
    java = int(java_release(vanilla))
    assert _merged(kind, [_partial(kind, numbers)], java) == spark.elements([spark.buffer(numbers)])


@pytest.mark.parametrize("kind", MAKERS)
def test_stages_and_spilled_sets_equal_one_stage(kind: str) -> None:
    dice = random.Random(5)
    pool = [MAKERS[kind](dice) for _ in range(150)]
    keys = [dice.randrange(90) for _ in range(4000)]
    values = [dice.choice([None, *pool]) for _ in keys]
    if kind in ("float", "double") and not _IS_43:
        values = [value for value in values if value is None or value == value]
        keys = keys[: len(values)]
    table = pa.table({"k": pa.array(keys, pa.int32()), "v0": _column(kind, values)})
    child = leaf(f"k:int, v0:{kind.replace(',', ';')}", chunks_of(table, 200))
    grouping = [column(child, "k")]
    call = _call(kind, "Partial", column(child, "v0"))
    node = complete_node(child, grouping, [call])
    expected = rows_of(run(node))
    first = partial_node(child, grouping, [call])
    assert rows_of(run_stages(first)) == expected
    assert rows_of(run_stages(first, merge_between=True)) == expected
    instance = limited(node, 60_000)
    assert rows_of(to_table(node, list(execute(instance, 1)))) == expected
    assert counted(instance, "spill_files") >= (0 if kind == "boolean" else 16)


def test_spilled_sets_keep_the_size_of_the_largest_partial_set() -> None:
    kind = "int"
    parts = [_partial(kind, [value << 16 for value in part]) for part in (range(11), range(11, 22), range(22, 30))]
    once = _merged(kind, parts)
    assert sorted(once) == [value << 16 for value in range(30)]
    first, second = _function(kind, "Final"), _function(kind, "Final")
    for function, buffers in ((first, parts[:2]), (second, parts[2:])):
        function._state.reserve(1)
        function.merge(np.zeros(len(buffers), dtype=np.int64), [pa.array(buffers)])
    spilled = [function.buffers(0, 1)[0][0].as_py() for function in (first, second)]
    assert _merged(kind, spilled) == once
    assert _merged(kind, [_partial(kind, [value << 16 for value in range(30)])]) != once


def test_sets_that_spark_sorts_are_merged_with_those_it_had() -> None:
    kind = "int"
    small = _partial(kind, list(range(0, 160, 16)))
    other = _partial(kind, list(range(160, 320, 16)))
    groups = np.array([0, 0, *range(1, 200)])
    function = _function(kind, "Final")
    function._state.reserve(200)
    function.merge(groups, [pa.array([small, other, *[small] * 199])])
    assert function._state.largest(0, 3).tolist() == [20, 10, 10]
    fewer = _function(kind, "Final")
    fewer._state.reserve(128)
    fewer.merge(groups[:129], [pa.array([small, other, *[small] * 127])])
    assert fewer._state.largest(0, 3).tolist() == [10, 10, 10]
    fewer.merge(np.array([0]), [pa.array([small])])
    assert fewer._state.largest(0, 3).tolist() == [20, 10, 10]
