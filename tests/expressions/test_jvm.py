"""The kernel of expressions that Spark evaluates: the chunks that it sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.errors import EngineBugError, SparkFailureError
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal

_STRING, _INT = parse_type("string"), parse_type("int")


@dataclass
class _Jvm:
    """Returns the texts of rows, with the number of each result; raises for a row with the text ``bad``."""

    sent: list[pa.RecordBatch] = field(default_factory=list)

    def evaluate(self, number: int, chunk: pa.RecordBatch, types: Sequence[DataType]) -> list[pa.Array]:
        self.sent.append(chunk)
        rows = list(zip(*(column.to_pylist() for column in chunk.columns), strict=True)) or [()] * chunk.num_rows
        if any("bad" in row for row in rows):
            raise SparkFailureError(len(self.sent))
        return [pa.array([str(row) + "+" * place for row in rows], kind.arrow) for place, kind in enumerate(types)]


def _call(*args: Expr) -> Call:
    return Call(type=_STRING, name="JvmExpression", args=args, fields={"number": 0})


def _evaluate(jvm: _Jvm, call: Expr, chunk: pa.RecordBatch) -> list[object]:
    settings = ExpressionSettings(evaluate_in_jvm=jvm.evaluate)
    values: list[object] = compile_expressions([call], settings).evaluate(chunk)[0].to_pylist()
    return values


def _chunk(*columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), names=[f"c{i}" for i in range(len(columns))])


_TEXT, _NUMBER = ColumnRef(type=_STRING, ordinal=0), ColumnRef(type=_INT, ordinal=1)


@pytest.mark.parametrize("encoded", [False, True])
def test_distinct_texts_are_sent_once_and_null_has_a_value(encoded: bool) -> None:
    jvm, texts = _Jvm(), pa.array(["a", None, "b", "a"] * 100)
    found = _evaluate(jvm, _call(_TEXT), _chunk(texts.dictionary_encode() if encoded else texts))
    assert found == ["('a',)", "(None,)", "('b',)", "('a',)"] * 100
    assert [chunk.num_rows for chunk in jvm.sent] == [3]


def test_several_columns_are_sent_as_they_are() -> None:
    jvm = _Jvm()
    chunk = _chunk(pa.array(["a", "a"]).dictionary_encode(), pa.array([1, None], pa.int32()))
    assert _evaluate(jvm, _call(_TEXT, _NUMBER), chunk) == ["('a', 1)", "('a', None)"]
    assert jvm.sent[0].schema.types == [pa.string(), pa.int32()]


@pytest.mark.parametrize("args", [(0,), (0, 1)])
def test_one_call_has_several_results(args: tuple[int, ...]) -> None:
    jvm, both = _Jvm(), parse_type('struct<"c0":string,"c1":string>')
    columns = [(_TEXT, _NUMBER)[place] for place in args]
    call = Call(type=both, name="JvmExpression", args=tuple(columns), fields={"number": 0, "results": 2})
    fields = [Call(type=_STRING, name="GetStructField", args=(call,), fields={"ordinal": place}) for place in (1, 0)]
    chunk = _chunk(pa.array(["a", None, "a"]), pa.array([1, None, 1], pa.int32()))
    compiled = compile_expressions(fields, ExpressionSettings(evaluate_in_jvm=jvm.evaluate))
    second, first = (array.to_pylist() for array in compiled.evaluate(chunk))
    assert first == [str(row) for row in zip(*(chunk.column(place).to_pylist() for place in args), strict=True)]
    assert second == [text + "+" for text in first]
    assert len(jvm.sent) == 1


def test_constants_are_one_row() -> None:
    jvm = _Jvm()
    constant = Literal(type=_INT, nullable=False, value=5)
    assert _evaluate(jvm, _call(constant), _chunk(pa.array(["a", "b"]))) == ["(5,)", "(5,)"]
    assert _evaluate(jvm, _call(), _chunk(pa.array(["a", "b"]))) == ["()", "()"]
    assert [chunk.num_rows for chunk in jvm.sent] == [1, 1]


@pytest.mark.parametrize("texts", [["a", "b", "bad", "c", "bad"], ["a", "bad"] * 60])
def test_the_first_row_that_raises_is_found(texts: list[str]) -> None:
    with pytest.raises(SparkFailureError) as raised:
        _evaluate(_Jvm(), _call(_TEXT), _chunk(pa.array(texts)))
    assert raised.value.rows_before == texts.index("bad")


def test_unused_values_of_a_dictionary_do_not_raise() -> None:
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", "b", "bad"]))
    assert _evaluate(_Jvm(), _call(_TEXT), _chunk(encoded)) == ["('a',)", "('b',)", "('a',)"]


def test_without_spark_it_is_a_bug() -> None:
    with pytest.raises(EngineBugError, match="without Spark"):
        compile_expressions([_call(_TEXT)], ExpressionSettings()).evaluate(_chunk(pa.array(["a"])))
