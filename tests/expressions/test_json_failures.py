"""The errors of ``from_json`` in the mode FAILFAST name the row that Spark has read, as Spark prints it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.expressions.registry import Kernel, build
from pyspark_pipeline.plan.expr import Call, ColumnRef

_ROWS = {
    ('"a":int', '{"a":"x"}'): "[null]",
    ('"a":int', '{"a":1'): "[null]",
    ('"a":int,"b":struct<"c":int>', '{"a":1,"b":{"c":"x"}}'): "[1,[null]]",
    ('"b":struct<"c":int,"d":date>,"e":boolean', '{"b":{"c":1,"d":"2020-01-01"},"e":2}'): "[[1,18262],null]",
    ('"f":int,"g":array<int>,"h":map<string,int>', '{"g":[1,null],"h":{"x":1,"y":null},"f":"q"}'):
        "[null,[1,null],keys: [x,y], values: [1,null]]",
    ('"f":int,"s":string,"x":decimal(10,5),"y":double,"z":float,"t":boolean,"u":timestamp',
     '{"f":"","s":"é","x":1.50,"y":1e10,"z":1.1,"t":true,"u":"2020-01-01"}'):
        "[null,é,1.50000,1.0E10,1.1,true,1577836800000000]",
    ('"_corrupt_record":string,"a":int,"b":int', '{"a":1,"b":"x"}'): '[{"a":1,"b":"x"},1,null]',
}  # fmt: skip


@pytest.mark.parametrize(("schema", "document"), _ROWS)
def test_error_names_the_row(schema: str, document: str) -> None:
    kind = parse_type(f"struct<{schema}>")
    fields = {"schema": f"struct<{schema}>", "options": "mode=FAILFAST\n", "timeZoneId": "UTC"}
    call = Call(name="JsonToStructs", type=kind, args=(ColumnRef(type=DataType("string"), ordinal=0),), fields=fields)
    kernel = build(call, ExpressionSettings())
    assert isinstance(kernel, Kernel)
    with pytest.raises(SparkConditionError) as raised:
        kernel.run([pa.array(["{}", None, document, "x"])], 4)
    assert raised.value.parameters["badRecord"] == _ROWS[schema, document]
