"""Column tests select the same rows as the conjuncts one by one, for every encoding of a column."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions, compile_predicate, gains_from_unscaled
from pyspark_pipeline.expressions.ranges import Range, range_of, split_ranges
from pyspark_pipeline.plan.expr import Expr, Literal
from tests.expressions.build import call, chunk, col, lit

SETTINGS = ExpressionSettings(ansi=True, time_zone="UTC")
COMPARISONS = {
    "EqualTo": lambda a, b: a == b,
    "LessThan": lambda a, b: a < b,
    "LessThanOrEqual": lambda a, b: a <= b,
    "GreaterThan": lambda a, b: a > b,
    "GreaterThanOrEqual": lambda a, b: a >= b,
}
POOLS: dict[str, list[int]] = {
    "int": [0, 1, -1, 5, 2**31 - 1, -(2**31)],
    "bigint": [0, 1, -1, 5, 2**63 - 1, -(2**63), 2**31],
    "date": [0, 1, -1, 9131, 2**31 - 1, -(2**31)],
    "timestamp": [0, 1, -1, 2**53, 2**63 - 1],
    "timestamp_ntz": [0, 1, -1, 2**53],
    "decimal(15,2)": [0, 1, -1, 500, 10**15 - 1, -(10**15) + 1],
    "decimal(38,2)": [0, 1, -1, 500, 10**18, 2**63 - 1, -(2**63)],
}
BEYOND = {"decimal(38,2)": [2**63, -(2**63) - 1, 10**38 - 1, -(10**38) + 1, 2**64]}
DECIMAL = pa.decimal128(15, 2)


def decimal(unscaled: int) -> Decimal:
    return Decimal(unscaled).scaleb(-2, Context(prec=80))


def as_array(kind: str, values: list[int | None]) -> pa.Array:
    """Build a column from unscaled values."""
    type_ = col(0, kind).type
    if type_.is_decimal:
        return pa.array([None if v is None else decimal(v) for v in values], type_.arrow)
    return pa.array(values, pa.int32() if kind in ("int", "date") else pa.int64()).view(type_.arrow)


def constant(kind: str, value: int) -> Literal:
    return lit(decimal(value) if kind.startswith("decimal") else value, kind)


def conjunction(parts: list[Expr]) -> Expr:
    made = parts[0]
    for part in parts[1:]:
        made = call("And", "boolean", made, part)
    return made


@pytest.mark.parametrize("kind", list(POOLS))
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("beyond", [False, True])
def test_ranges_select_the_rows_of_their_comparisons(kind: str, nulls: bool, beyond: bool) -> None:
    """Test every comparison with every constant, on either side, alone and in pairs, on a slice of odd offset."""
    generator = random.Random(kind)
    pool: list[Any] = [*POOLS[kind], *(BEYOND.get(kind, []) if beyond else []), *([None] if nulls else [])]
    values = pool + [generator.choice(pool) for _ in range(90)]
    rows = list(range(len(values)))
    data = chunk(as_array(kind, values), pa.array(rows)).slice(3)
    tests = [
        (name, value, mirrored)
        for name in COMPARISONS
        for value in [*POOLS[kind], *BEYOND.get(kind, [])]
        for mirrored in (False, True)
    ]
    pairs = [[test] for test in tests] + [generator.sample(tests, 2) for _ in range(60)]
    for chosen in pairs:
        parts: list[Expr] = [call("IsNotNull", "boolean", col(0, kind))] if generator.random() < 0.5 else []
        for name, value, mirrored in chosen:
            sides = (constant(kind, value), col(0, kind)) if mirrored else (col(0, kind), constant(kind, value))
            parts.append(call(name, "boolean", *sides))
        kept = compile_predicate(conjunction(parts), SETTINGS).filter(data)
        expected = [
            row
            for row, held in zip(rows[3:], values[3:], strict=True)
            if held is not None
            and all(COMPARISONS[n](*((c, held) if m else (held, c))) for n, c, m in chosen)
        ]
        assert kept.column(1).to_pylist() == expected, chosen
        assert kept.column(0).type == data.column(0).type


def _unscaled_columns() -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield a decimal column unscaled and as decimal128: int64 and int32, with and without NULLs, sliced."""
    for type_ in (pa.int64(), pa.int32()):
        for null in (None, 7):
            numbers = [null if null is None and i % 5 == 0 else i % 997 - 400 for i in range(2003)]
            unscaled = pa.array(numbers, type_)
            wide = as_array("decimal(15,2)", numbers)
            yield unscaled, wide
            yield unscaled.slice(13), wide.slice(13)


@pytest.mark.parametrize("share", [-1.0, 0.01, 0.2, 0.6, 0.99, 2.0])
def test_filter_converts_unscaled_decimals_to_decimal128(share: float) -> None:
    """Narrow columns, tested or not, leave as decimals; other columns go along; few or most rows kept."""
    for unscaled, wide in _unscaled_columns():
        rows = pa.array(range(len(wide)))
        words = pa.array([["a", "b", None][i % 3] for i in range(len(wide))]).dictionary_encode()
        bound = int(share * 997) - 400
        less = call("LessThan", "boolean", col(0, "decimal(15,2)"), constant("decimal(15,2)", bound))
        rest = call("EqualTo", "boolean", col(3, "string"), lit("b", "string"))
        for condition in (less, call("And", "boolean", less, rest), call("And", "boolean", rest, less)):
            types = [DECIMAL, DECIMAL, None, None]
            expected = compile_predicate(condition, SETTINGS).filter(chunk(wide, wide, rows, words))
            given = chunk(unscaled, unscaled, rows, words)
            kept = compile_predicate(condition, SETTINGS, types).filter(given)
            assert kept.to_pylist() == expected.to_pylist()
            assert kept.schema.types == expected.schema.types
            kept.validate(full=True)
            some = compile_predicate(condition, SETTINGS, types, frozenset({0, 3})).filter(given)
            assert some.select([1, 2]).to_pylist() == expected.select([1, 2]).to_pylist()


def test_filter_converts_unscaled_decimals_without_ranges_and_beside_wide_values() -> None:
    """Narrow columns are widened where no kernel runs: no range, or a decimal of more than 64 bits beside them."""
    unscaled = pa.array([1, None, 3, 4])
    large = as_array("decimal(38,2)", [10**30, 5, None, 6])
    test = call("IsNotNull", "boolean", col(0, "decimal(15,2)"))
    kept = compile_predicate(test, SETTINGS, [DECIMAL, None]).filter(chunk(unscaled, large))
    assert kept.column(0).to_pylist() == [Decimal("0.01"), Decimal("0.03"), Decimal("0.04")]
    both = call("And", "boolean",
        call("GreaterThan", "boolean", col(1, "decimal(38,2)"), constant("decimal(38,2)", 5)),
        call("LessThan", "boolean", col(0, "decimal(15,2)"), constant("decimal(15,2)", 4)),
    )  # fmt: skip
    kept = compile_predicate(both, SETTINGS, [DECIMAL, None]).filter(chunk(unscaled, large))
    assert kept.column(0).to_pylist() == [Decimal("0.01")] and kept.schema.types[0] == DECIMAL
    empty = chunk(unscaled, large).slice(0, 0)
    assert compile_predicate(both, SETTINGS, [DECIMAL, None]).filter(empty).schema.types[0] == DECIMAL


def test_range_ignores_values_of_null_rows() -> None:
    words = b"".join(value.to_bytes(16, "little", signed=True) for value in (5, 10**37, 300, -7))
    array = pa.Array.from_buffers(pa.decimal128(15, 2), 4, [pa.py_buffer(b"\x0d"), pa.py_buffer(words)])
    less = call("LessThan", "boolean", col(0, "decimal(15,2)"), constant("decimal(15,2)", 100))
    assert compile_predicate(less, SETTINGS).filter(chunk(array)).column(0).to_pylist() == [
        Decimal("0.05"), Decimal("-0.07")]  # fmt: skip


def test_range_runs_after_a_preceding_conjunct_that_can_raise() -> None:
    """As in Spark, a conjunct raises if it precedes the range, and not for rows that a preceding range drops."""
    data = chunk(pa.array([1, 2, 3]), pa.array([0, 1, 1]))
    divides = call("EqualTo", "boolean", call("IntegralDivide", "bigint", lit(1, "bigint"), col(1, "bigint"),
                                              evalMode="ANSI"), lit(1, "bigint"))  # fmt: skip
    large = call("GreaterThan", "boolean", col(0, "bigint"), lit(1, "bigint"))
    kept = compile_predicate(call("And", "boolean", large, divides), SETTINGS).filter(data)
    assert kept.column(0).to_pylist() == [2, 3]
    with pytest.raises(SparkConditionError):
        compile_predicate(call("And", "boolean", divides, large), SETTINGS).filter(data)


def test_split_ranges_finds_comparisons_with_constants() -> None:
    day = col(0, "date")
    since, until = lit(8766, "date"), lit(9131, "date")
    between = [call("GreaterThanOrEqual", "boolean", day, since), call("GreaterThan", "boolean", until, day)]
    assert split_ranges(between) == {Range(ordinal=0, low=8766, high=9130): [0, 1]}
    assert range_of(call("LessThan", "boolean", day, lit(None, "date"))) is None
    assert range_of(call("LessThan", "boolean", col(0, "double"), lit(1.0, "double"))) is None
    assert range_of(call("EqualTo", "boolean", day, col(1, "date"))) is None
    assert range_of(call("EqualTo", "boolean", since, until)) is None
    assert split_ranges([call("IsNotNull", "boolean", day)]) == {}
    assert gains_from_unscaled(conjunction(between))
    assert not gains_from_unscaled(call("EqualTo", "boolean", day, col(1, "date")))


def test_range_of_merges_connected_intervals() -> None:
    """OR, AND and IN of one column's comparisons are one range if the accepted values are connected."""
    number, other = col(0, "int"), col(1, "int")

    def between(low: int, high: int, column: Expr = number) -> Expr:
        least = call("GreaterThanOrEqual", "boolean", column, lit(low, "int"))
        return call("And", "boolean", least, call("LessThanOrEqual", "boolean", column, lit(high, "int")))

    def one_of(*values: int | None) -> Expr:
        return call("In", "boolean", number, *(lit(value, "int") for value in values))

    def either(*parts: Expr) -> Expr:
        return parts[0] if len(parts) == 1 else call("Or", "boolean", parts[0], either(*parts[1:]))

    assert range_of(either(between(1, 11), between(10, 20), between(20, 30))) == Range(ordinal=0, low=1, high=30)
    assert range_of(either(between(21, 30), between(1, 10), between(11, 20))) == Range(ordinal=0, low=1, high=30)
    assert range_of(either(between(1, 10), between(12, 20))) is None
    assert range_of(either(between(1, 10), between(5, 20, other))) is None
    assert range_of(one_of(3, 1, 2, 2)) == Range(ordinal=0, low=1, high=3)
    assert range_of(one_of(1, 3)) is None and range_of(one_of(1, None)) is None
    empty = range_of(between(5, 4))
    assert empty is not None and empty.low > empty.high
    assert range_of(call("LessThan", "boolean", number, lit(-(2**31), "int"))) == empty
    rows = chunk(pa.array([None, *range(-40, 60)], pa.int32()))
    joined = [either(between(1, 11), between(10, 30)), either(one_of(3), between(4, 9))]
    for condition in [*joined, one_of(7, 6, 8), between(5, 4)]:
        wanted = range_of(condition)
        assert wanted is not None
        expected = [i for i in range(-40, 60) if wanted.low <= i <= wanted.high]
        assert compile_predicate(condition, SETTINGS).filter(rows).column(0).to_pylist() == expected


WORDS = ["AIR", "air", "", "REG AIR", "Über", "空"]


@pytest.mark.parametrize("nulls", ["none", "rows", "dictionary", "all"])
@pytest.mark.parametrize("form", ["few strings", "many strings", "plain"])
def test_dictionary_conditions_select_the_same_rows_as_expressions(nulls: str, form: str) -> None:
    """Conditions on one string column select the same rows whether it is dictionary-encoded or not."""
    generator = random.Random(nulls + form)
    words: list[str | None] = [None] * 60 if nulls == "all" else [generator.choice(WORDS) for _ in range(60)]
    if nulls == "rows":
        words[5] = words[17] = words[59] = None
    plain = pa.array(words, pa.string())
    column: pa.Array = plain
    if form != "plain":
        column = plain.dictionary_encode()
    if nulls == "dictionary" and form == "few strings":
        with_null = pa.array([*column.dictionary.to_pylist(), None], pa.string())
        indices = [len(with_null) - 1 if i % 7 == 0 else index for i, index in enumerate(column.indices.to_pylist())]
        column = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), with_null)
        plain = column.dictionary.take(column.indices)
    if form == "many strings" and nulls != "all":
        filler = pa.array([*column.dictionary.to_pylist(), *(f"w{i}" for i in range(100))], pa.string())
        column = pa.DictionaryArray.from_arrays(column.indices, filler)
    text, number = col(0, "string"), col(1, "int")
    is_air = call("In", "boolean", text, lit("AIR", "string"), lit("REG AIR", "string"))
    longer = call("GreaterThan", "boolean", call("Length", "int", text), lit(3, "int"))
    unknown = call("IsNull", "boolean", text)
    known = call("IsNotNull", "boolean", text)
    few = call("LessThan", "boolean", number, lit(40, "int"))
    both = call("EqualTo", "boolean", call("Length", "int", text), number)
    conditions = [
        [is_air], [known, is_air], [known], [unknown], [call("Or", "boolean", unknown, is_air)],
        [is_air, few], [few, longer, is_air], [is_air, both], [call("Not", "boolean", is_air), longer],
        [call("Not", "boolean", call("In", "boolean", text, lit("AIR", "string"), lit(None, "string")))],
    ]  # fmt: skip
    numbers = pa.array([i % 45 if i % 11 else None for i in range(60)], pa.int32())
    order = pa.array(range(60), pa.int32())
    for start in (0, 3):
        for parts in conditions:
            given = chunk(column, numbers, order).slice(start)
            same = chunk(plain, numbers, order).slice(start)
            predicate = compile_predicate(conjunction(parts), SETTINGS)
            expected = _by_expressions(parts, same)
            kept = predicate.filter(given)
            assert kept.column(2).to_pylist() == expected, parts
            assert pc.cast(kept.column(0), pa.string()).to_pylist() == [plain[row].as_py() for row in expected]
            some = compile_predicate(conjunction(parts), SETTINGS, (), frozenset({0, 1})).filter(given)
            assert some.column(2).to_pylist() == expected


def _by_expressions(parts: list[Expr], data: pa.RecordBatch) -> list[int]:
    """Return the rows (their column 2) for which every part, evaluated as an expression, is true."""
    values = compile_expressions(parts, SETTINGS).evaluate(data)
    passed = [all(value is True for value in row) for row in zip(*(v.to_pylist() for v in values), strict=True)]
    return [row for row, passes in zip(data.column(2).to_pylist(), passed, strict=True) if passes]


def test_unsupported_encoding_is_evaluated_as_an_expression() -> None:
    """A column whose encoding no kernel supports (here a dictionary of days) is filtered by expressions."""
    days = pa.array([datetime.date(1994, 1, 1), None, datetime.date(1996, 1, 1)]).dictionary_encode()
    less = call("LessThan", "boolean", col(0, "date"), lit(9131, "date"))
    assert compile_predicate(less, SETTINGS).filter(chunk(days)).num_rows == 1


def test_filter_output_does_not_share_scratch_memory() -> None:
    """The rows of one chunk do not change when the next chunk is filtered."""
    predicate = compile_predicate(call("LessThan", "boolean", col(0, "bigint"), lit(50, "bigint")), SETTINGS)
    first = predicate.filter(chunk(pa.array(np.arange(100))))
    before = first.to_pydict()
    predicate.filter(chunk(pa.array(np.arange(100)[::-1].copy())))
    assert first.to_pydict() == before
