"""The kernels that read documents of a schema find what the reader of single documents finds."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.expressions.json_read import Leaves, Schema
from pyspark_pipeline.expressions.json_reader import Features

_NAMES = st.sampled_from(["a", "b", "c", "é"])
_TEXTS = st.sampled_from(["", "x", "é\U0001f600", 'q"\\', "1.5", "NaN", "-INF", "2020-01-02", "2020-01-02 03:04:05Z"])
_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.integers(-200, 300) | _TEXTS
    | st.floats(allow_nan=False, allow_infinity=False) | st.decimals(-1000, 1000, places=3).map(float)
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=12
)
_DOCUMENTS = st.tuples(_VALUES, st.booleans(), st.sampled_from([None, 2]), st.booleans(), st.booleans()).map(
    lambda made: _loosened(json.dumps(made[0], ensure_ascii=made[1], indent=made[2]), made[3], made[4])
) | st.text('{}[]",:ab10.e- \\', max_size=12)
_SCHEMAS = (
    'struct<"a":int,"b":string,"c":double,"é":boolean>', 'struct<"c":decimal(8,2),"b":date,"a":timestamp,"é":float>',
    'struct<"a":array<int>,"b":map<string,string>,"c":struct<"a":bigint,"b":array<string>>>', "map<string,int>",
    'array<struct<"a":tinyint,"b":array<array<string>>>>', "map<string,array<double>>", "array<string>",
)  # fmt: skip


_FEATURES = (Features(), Features(unquoted_field_names=True), Features(numeric_leading_zeros=True, single_quotes=False))


def _loosened(document: str, is_bare: bool, has_zeros: bool) -> str:
    """Return a document with names without quotes and zeros before numbers, among them wrong ones."""
    document = re.sub(r'"(\w*)":', r"\1:", document) if is_bare else document
    return re.sub(r"(?<![\w.])(\d)", r"00\1", document) if has_zeros else document


@pytest.mark.parametrize("kind", _SCHEMAS)
@given(texts=st.lists(_DOCUMENTS, min_size=1, max_size=100), features=st.sampled_from(_FEATURES))
def test_columns_have_the_values_of_single_documents(kind: str, texts: list[str], features: Features) -> None:
    schema = Schema(parse_type(kind), Leaves(ExpressionSettings(), "UTC", features, {}))
    found, has_error, is_other = schema.read(pa.array(texts))
    documents = schema.read_others(texts)
    others = pa.array([document.value for document in documents], found.type)
    for row, document in enumerate(documents):
        if not is_other[row]:
            assert _comparable(found[row]) == _comparable(others[row]), texts[row]
            assert has_error[row] == (document.error is not None), texts[row]


def _comparable(value: pa.Scalar) -> Any:
    return _without_nan(value.as_py())


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return {name: _without_nan(item) for name, item in value.items()} if isinstance(value, dict) else value
