"""Records of CSV: fields in quotes, escapes and white space; strings that are one record each."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.buffers import make_chunk
from tests.expressions.build import call, col

_SETTINGS = ExpressionSettings(ansi=True, time_zone="UTC")
_PAIR = 'struct<"a":string,"b":int>'


def _written(texts: list[str | None], options: str = "") -> list[str]:
    columns = [pa.array(texts, pa.string()), pa.array([1] * len(texts), pa.int32())]
    struct = pa.StructArray.from_arrays(columns, ["a", "b"])
    expr = call("StructsToCsv", "string", col(0, _PAIR), options=options, timeZoneId="UTC")
    return list(compile_expressions([expr], _SETTINGS).evaluate(make_chunk([struct], len(texts)))[0].to_pylist())


def _read(texts: list[str | None], options: str = "") -> list[tuple[object, ...] | None]:
    fields = {"schema": "struct<a:string,b:int>", "requiredSchema": None, "options": options, "timeZoneId": "UTC"}
    expr = call("CsvToStructs", _PAIR, col(0, "string"), **fields)
    chunk = make_chunk([pa.array(texts, pa.string())], len(texts))
    structs = compile_expressions([expr], _SETTINGS).evaluate(chunk)[0].to_pylist()
    return [None if struct is None else tuple(struct.values()) for struct in structs]


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("x", "x,1"), (None, ",1"), ("", '"",1'), (" \t", '"",1'), (" x ", "x,1"), ("x,", '"x,",1'), ("#", '"#",1'),
        ('a"\\', '"a\\"\\\\",1'), ("a\\", "a\\,1"), ("\n", '"",1'), ("a\nb", '"a\nb",1'), ("é", "é,1"),
    ],
)  # fmt: skip
def test_fields_are_in_quotes_if_they_have_marks(text: str | None, record: str) -> None:
    assert _written([text]) == [record]
    assert _written(["y", text, None]) == ["y,1", record, ",1"]


def test_options_change_marks_and_texts() -> None:
    texts = ["|", "'", "", None, " x"]
    marks, trims = "sep=|\nquote='\nnullValue=-\nemptyValue=_\n", "ignore{}WhiteSpace=false\n"
    options = marks + trims.format("Leading") + trims.format("Trailing")
    assert _written(texts, options) == ["'|'|1", "'\\''|1", "_|1", "-|1", " x|1"]
    assert _written(["x", None], "quoteAll=true\n") == ['"x","1"', '"","1"']


def test_a_string_is_one_record() -> None:
    records = ["x,1", '"x,\n",2', "x\n,3", "x", "", None, ",4", "x,1,2", "x,y"]
    assert _read(records) == [
        ("x", 1), ("x,\n", 2), ("x\n", 3), ("x", None), (None, None), None, (None, 4), ("x", 1), ("x", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "row"), [("x", "[x,null]"), ("", "[null,null]"), ("x,1,2", "[x,1]"), ("é,y", "[é,null]")]
)
def test_a_malformed_record_is_an_error_in_the_mode_failfast(text: str, row: str) -> None:
    with pytest.raises(SparkConditionError, match="MALFORMED_RECORD_IN_PARSING") as raised:
        _read(["x,1", text], "mode=FAILFAST\n")
    assert raised.value.parameters["badRecord"] == row


def test_a_record_of_too_many_fields_is_an_error() -> None:
    with pytest.raises(SparkConditionError, match="MALFORMED_CSV_RECORD"):
        _read(["x,1", "," * 20480])
