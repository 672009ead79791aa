"""The kernels for JSON find what the parser of single documents finds, in all documents that they decide."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.expressions.compile import compile_expressions
from pyspark_pipeline.expressions.json_parse import array_length, last_values, object_keys, units, value_at
from pyspark_pipeline.expressions.json_text import KernelPath, double_printer, find_texts, parse_path, tuple_values
from pyspark_pipeline.kernels.json_scan import plain_end
from pyspark_pipeline.plan.expr import Expr
from tests.expressions.build import call, chunk, col, lit

_NAMES = st.sampled_from(["a", "b", "", "é", "\U0001f600", 'q"', "a b"])
_SCALARS = (
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(-1000, 1000, places=3).map(float) | st.text('ab \n\\/"é€\U0001f600\x01', max_size=6)
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=12
)
_WRITTEN = st.tuples(_VALUES, st.booleans(), st.sampled_from([None, 2]), st.sampled_from([(",", ":"), (" , ", ": ")]))
_DOCUMENTS = _WRITTEN.map(
    lambda made: json.dumps(made[0], ensure_ascii=made[1], indent=made[2], separators=made[3])
) | st.text('{}[]",:ab10.e- \\', max_size=12)
_STEPS = st.sampled_from([".a", ".b", "['a b']", ".é", "[0]", "[1]", ".\U0001f600"])
_PATHS = st.lists(_STEPS, max_size=3).map(lambda steps: "$" + "".join(steps))
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_FRACTIONS = st.decimals(-(10**8), 10**8, allow_nan=False).map(lambda value: f"{value:f}") | _FLOATS.map(repr)
_TEXT = col(0, "string")
_BYTES = st.sampled_from(b'ab "\\\x00\x1f!#[]\x7f\x80\xbf\xc3\xef\xf0\xf4\xff')


@given(st.lists(_BYTES, max_size=40), st.integers(0, 9))
def test_end_of_plain_bytes_is_that_of_a_search_byte_by_byte(data: list[int], at: int) -> None:
    stop = len(data)
    found = plain_end(np.array(data + [0] * 8, dtype=np.uint8), at, stop)
    others = [place for place in range(at, stop) if data[place] < 32 or data[place] >= 240 or data[place] in b'"\\']
    expected = others[0] if others else stop
    assert found <= max(expected, at)
    assert found == expected or found > stop - 8


def _one(text: str, path: str) -> str | None:
    steps = [units(step) if isinstance(step, str) else step for step in parse_path(path)]
    found = value_at(text, steps, double_printer(is_shortest=False))
    return None if found is None else found.decode(errors="surrogateescape")


def _evaluate(expr: Expr, texts: list[str | None]) -> list[Any]:
    (value,) = compile_expressions([expr], ExpressionSettings()).evaluate(chunk(pa.array(texts, pa.string())))
    return list(value.to_pylist())


@given(texts=st.lists(st.none() | _DOCUMENTS, min_size=1, max_size=8), path=_PATHS)
def test_the_value_of_a_path(texts: list[str | None], path: str) -> None:
    expr = call("GetJsonObject", "string", _TEXT, lit(path, "string"))
    assert _evaluate(expr, texts) == [None if text is None else _one(text, path) for text in texts]


@given(texts=st.lists(st.none() | _DOCUMENTS, min_size=1, max_size=8))
def test_children(texts: list[str | None]) -> None:
    lengths = _evaluate(call("JsonExpressionUtils.lengthOfJsonArray", "int", _TEXT), texts)
    keys = _evaluate(call("JsonExpressionUtils.jsonObjectKeys", "array<string>", _TEXT), texts)
    assert lengths == [None if text is None else array_length(text) for text in texts]
    assert keys == [None if text is None else object_keys(text) for text in texts]


@given(texts=st.lists(st.none() | _DOCUMENTS, min_size=1, max_size=8))
def test_the_values_of_several_names(texts: list[str | None]) -> None:
    names = ["a", "b", "", "a", "\U0001f600", 'q"']
    found = tuple_values(pa.array(texts, pa.string()), names, is_shortest=False)
    printer = double_printer(is_shortest=False)
    wanted = [[None] * len(names) if text is None else last_values(text, names, printer) for text in texts]
    columns = [column.cast(pa.binary()).to_pylist() for column in found]
    assert [list(row) for row in zip(*columns, strict=True)] == wanted


@pytest.mark.parametrize("text", [
    '{"a": "x"}', '{ "a" : [1, {"b": null}] }', '{"b": "\\u00e9", "a": {"c": "\\n\\u00e9", "d": 1.5}}', '{"a": 1.50}',
    "[]",
])  # fmt: skip
def test_documents_that_the_kernel_decides(text: str) -> None:
    found, is_other = find_texts(pa.array([text]), KernelPath.of(parse_path("$.a")), is_shortest=False)
    assert not is_other.any()
    assert found.to_pylist() == [_one(text, "$.a")]


@given(number=_FRACTIONS)
def test_fractions_are_those_of_java(number: str) -> None:
    expr = call("GetJsonObject", "string", _TEXT, lit("$.a", "string"))
    text = number if "." in number or "e" in number else number + ".0"
    (found,) = _evaluate(expr, [f'{{"a":{text}}}'])
    assert found == double_printer(is_shortest=False)(np.float64(text))
