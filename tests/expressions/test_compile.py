"""Compilation: sharing, constants, laziness, dictionaries and filters, without a Spark."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import SparkConditionError, UnsupportedPlanError
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions, compile_predicate, manifest
from pyspark_pipeline.plan.expr import Expr
from tests.expressions.build import call, chunk, col, lit

SETTINGS = ExpressionSettings(ansi=True, time_zone="UTC")


def evaluate(expr: Expr, *columns: pa.Array) -> list[object]:
    """Evaluate one expression."""
    return list(compile_expressions([expr], SETTINGS).evaluate(chunk(*columns))[0].to_pylist())


def divide(left: Expr, right: Expr) -> Expr:
    """Build an ANSI division of two doubles, which raises if ``right`` is zero."""
    return call("Divide", "double", left, right, evalMode="ANSI")


def positive(expr: Expr) -> Expr:
    """Compare a double with 0."""
    return call("GreaterThan", "boolean", expr, lit(0.0, "double"))


X, Y = col(0, "double"), col(1, "double")
ONES = pa.array([1.0, 0.0, None, 4.0])


def test_equal_expressions_are_computed_once() -> None:
    """A common sub-expression of two results is one node, computed once."""
    product = call("Multiply", "double", X, X, evalMode="ANSI")
    again = call("Multiply", "double", X, X, evalMode="ANSI")
    compiled = compile_expressions([product, call("UnaryMinus", "double", again, failOnError=True)], SETTINGS)
    assert compiled.nodes[0].shared
    first, second = compiled.evaluate(chunk(ONES))
    assert first.to_pylist() == [1.0, 0.0, None, 16.0]
    assert second.to_pylist() == [-1.0, -0.0, None, -16.0]


def test_constants_are_folded_unless_they_raise() -> None:
    """1 + 1 is a scalar; 1 / 0 raises on evaluation and not for an empty chunk."""
    two = call("Add", "int", lit(1, "int"), lit(1, "int"), evalMode="ANSI")
    assert compile_expressions([two], SETTINGS).nodes[0].scalar == pa.scalar(2, pa.int32())
    bad = compile_expressions([divide(lit(1.0, "double"), lit(0.0, "double"))], SETTINGS)
    assert bad.evaluate(chunk(pa.array([], pa.float64())))[0].to_pylist() == []
    with pytest.raises(SparkConditionError, match="DIVIDE_BY_ZERO"):
        bad.evaluate(chunk(ONES))


def test_context_of_the_failing_call_is_reported() -> None:
    """The error carries the index of the query context."""
    bad = call("Divide", "double", X, lit(0.0, "double"), evalMode="ANSI", context=7)
    with pytest.raises(SparkConditionError) as caught:
        evaluate(bad, ONES)
    assert caught.value.context == 7


def test_branches_are_evaluated_only_on_their_rows() -> None:
    """CASE, AND, OR and COALESCE do not evaluate arguments on rows that Spark skips."""
    zero = call("EqualTo", "boolean", X, lit(0.0, "double"))
    safe = call("CaseWhen", "double", zero, lit(-1.0, "double"), divide(lit(8.0, "double"), X))
    assert evaluate(safe, ONES) == [8.0, -1.0, None, 2.0]
    guarded = call("And", "boolean", call("Not", "boolean", zero), positive(divide(lit(8.0, "double"), X)))
    assert evaluate(guarded, ONES) == [True, False, None, True]
    other = call("Or", "boolean", zero, positive(divide(lit(8.0, "double"), X)))
    assert evaluate(other, ONES) == [True, True, None, True]
    backup = call("Coalesce", "double", Y, divide(lit(8.0, "double"), X))
    assert evaluate(backup, ONES, pa.array([None, 5.0, None, None])) == [8.0, 5.0, None, 2.0]


def test_shared_value_is_reused_in_a_branch() -> None:
    """A value computed for all rows is filtered for the branch, not computed again."""
    ratio = divide(lit(8.0, "double"), X)
    choice = call("If", "double", positive(ratio), ratio, lit(0.0, "double"))
    assert evaluate(choice, pa.array([2.0, -4.0])) == [4.0, 0.0]


def test_null_argument_stops_evaluation_of_the_next_argument() -> None:
    """NULL + error is NULL; a NULL divisor hides an error of the dividend."""
    bad = divide(lit(1.0, "double"), lit(0.0, "double"))
    nulls = pa.array([None, None], pa.float64())
    assert evaluate(call("Add", "double", X, bad, evalMode="ANSI"), nulls) == [None, None]
    assert evaluate(divide(bad, X), nulls) == [None, None]
    with pytest.raises(SparkConditionError, match="DIVIDE_BY_ZERO"):
        evaluate(call("Add", "double", bad, X, evalMode="ANSI"), nulls)


def test_string_functions_keep_dictionaries_without_duplicates() -> None:
    """A string function maps the dictionary; unused values do not raise."""
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int32()), pa.array(["ab", "ac", "x"]))
    first = call("Substring", "string", col(0, "string"), lit(1, "int"), lit(1, "int"))
    result = compile_expressions([first], SETTINGS).evaluate(chunk(encoded))[0]
    assert isinstance(result, pa.DictionaryArray)
    assert result.to_pylist() == ["a", "a", None, "a"]
    assert result.dictionary.to_pylist() == ["a", "x"]
    numbers = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["1", "2", "x"]))
    as_int = call("Cast", "int", col(0, "string"), evalMode="ANSI")
    assert evaluate(as_int, numbers) == [1, 2]


def test_filter_evaluates_conjuncts_in_order() -> None:
    """Conjuncts are evaluated in order, NULL drops a row at once, and dictionaries are kept."""
    encoded = pa.array(["a", "b", "c", "d"]).dictionary_encode()
    data = chunk(ONES, encoded)
    not_zero = call("Not", "boolean", call("EqualTo", "boolean", X, lit(0.0, "double")))
    large = call("GreaterThan", "boolean", divide(lit(8.0, "double"), X), lit(3.0, "double"))
    kept = compile_predicate(call("And", "boolean", not_zero, large), SETTINGS).filter(data)
    assert kept.column(0).to_pylist() == [1.0]
    assert isinstance(kept.column(1), pa.DictionaryArray) and kept.column(1).to_pylist() == ["a"]
    everything = compile_predicate(lit(True, "boolean"), SETTINGS)
    assert everything.filter(data) is data
    assert compile_predicate(lit(None, "boolean"), SETTINGS).filter(data).num_rows == 0


@pytest.mark.parametrize("share", [0.05, 0.4, 0.9])
def test_filter_equals_masks_at_any_selectivity(share: float) -> None:
    """Taking by index and filtering by mask return the same rows."""
    values = pa.array([index * 7919 % 1000 for index in range(5000)], pa.int32())
    data = chunk(values, pa.array(range(5000)))
    less = call("LessThan", "boolean", col(0, "int"), lit(int(1000 * share), "int"))
    rest = call("Remainder", "int", col(0, "int"), lit(2, "int"), evalMode="ANSI")
    odd = call("EqualTo", "boolean", rest, lit(1, "int"))
    kept = compile_predicate(call("And", "boolean", less, odd), SETTINGS).filter(data)
    expected = [row for row, value in enumerate(values.to_pylist()) if value < 1000 * share and value % 2]
    assert kept.column(1).to_pylist() == expected


def test_sliced_decimals_ignore_values_of_null_rows() -> None:
    """The offset of a slice applies to words and validity; values of NULL rows are ignored."""
    words = b"".join(value.to_bytes(16, "little", signed=True) for value in (5, 10**37, 300, -7))
    array = pa.Array.from_buffers(pa.decimal128(15, 2), 4, [pa.py_buffer(b"\x0d"), pa.py_buffer(words)])
    expr = call("Add", "decimal(16,2)", col(0, "decimal(15,2)"), lit(Decimal("1.00"), "decimal(3,2)"), evalMode="ANSI")
    assert evaluate(expr, array) == [Decimal("1.05"), None, Decimal("4.00"), Decimal("0.93")]
    assert evaluate(expr, array.slice(1, 3)) == [None, Decimal("4.00"), Decimal("0.93")]


def test_unknown_functions_raise_unsupported_plan_error() -> None:
    """A function or signature that is not registered is an unsupported plan."""
    with pytest.raises(UnsupportedPlanError, match="Soundex"):
        compile_expressions([call("Soundex", "string", col(0, "string"))], SETTINGS)
    with pytest.raises(UnsupportedPlanError, match=r"Add\(int, bigint\)"):
        compile_expressions([call("Add", "int", col(0, "int"), col(1, "bigint"), evalMode="ANSI")], SETTINGS)


def test_manifest_has_only_documented_conditions() -> None:
    """Every case has argument kinds; its conditions are those that the JVM side supports."""
    known = {
        "args", "variadic", "same_type", "children", "least_children", "result", "max_precision", "fields",
        "field_matches", "literal", "matches", "choices", "without_nan", "settings", "packages", "difference", "keys",
        "nullable_elements", "regex", "slower",
    }  # fmt: skip
    for name, entry in manifest().items():
        assert entry["cases"], name
        assert all(set(case) <= known and isinstance(case["args"], list) for case in entry["cases"]), name


@pytest.mark.parametrize("type_", ["boolean", "tinyint", "bigint", "double", "decimal(38,10)", "string", "binary",
                                   "date", "timestamp", "timestamp_ntz"])  # fmt: skip
def test_void_is_cast_to_any_type(type_: str) -> None:
    """Spark plans such a cast for the columns of an outer join's empty side."""
    for nothing in (lit(None, "void"), col(0, "void")):
        cast = call("Cast", type_, nothing, evalMode="ANSI", timeZoneId="UTC")
        (array,) = compile_expressions([cast], SETTINGS).evaluate(chunk(pa.nulls(3)))
        assert array.type == cast.type.arrow
        assert array.null_count == 3


@pytest.mark.parametrize(("name", "value", "wanted"), [("IsNotNull", 1, True), ("IsNotNull", None, False),
                                                       ("IsNull", 1, False), ("IsNull", None, True)])  # fmt: skip
def test_null_tests_accept_a_constant(name: str, value: int | None, wanted: bool) -> None:
    """Spark leaves such tests in a plan if a scalar subquery has its value only at run time."""
    assert evaluate(call(name, "boolean", lit(value, "int")), ONES) == [wanted] * 4
