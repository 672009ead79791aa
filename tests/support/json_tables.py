"""A table of JSON documents: valid ones in many forms, those that Jackson reads nevertheless, and those it rejects."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.support import values as v
from tests.support.tables import table, write

_SCALARS = [
    "0", "-0", "1", "-12", "007", "1.0", "1.50", "-0.0", "0.001", "0.0001", "12345678.5", "123456.789", "1e5", "1E400",
    "-1e400", "4.9e-324", "1e23", "2.2250738585072014e-308", "0.12345678901234567", "123456789012345678901234567890",
    "1.", ".5", "+1", "1e", "NaN", "Infinity", "0x1", "1_0", "true", "false", "null", "tru", "truex", "undefined",
    '""', '"x"', '"a b"', r'"\n\t\r\b\f\/\\\""', r'"\u0041\u00e9\u20ac\ud83d\ude00"', r'"\u0000\u001f\u007f"',
    '"é€\U0001f600"', '"\u2028\u00a0\ufeff"', '"\x01\t\x7f"', r'"\ud83d"', r'"\ude00x"', r'"\ude00\ude00"',
    r'"a\ud83d"',
    r'"\x"', r'"\u12"', r'"\u00g0"', r'"\'"', '"open', "'single'", r"'it\'s'", "'a\"b'", "{}", "[]", "{ }", "[ ]",
    "[1,]",
    "[,1]", "[1 2]", '{"b"}', '{"b":}', '{"b":1,}', "{b:1}", '{"b" : [ 1 , 2.50 , "x" ] , "c" : null }',
    '{"b":{"c":[[1]]}}',
    "[null,1,[2,{\"b\":3}]]", '{"b":1,"b":2}', '{"b":null,"b":2,"b":3}', '{"b":[],"b":{"c":5}}', '{"b":"x"}',
    '{"\\u0062":7}', "{'b':8}", '{"":1," b":2,"é":3,"\U0001f600":4,"b c":5}',
    '{"\\ud83d":1,"b\\n":"\\u00e9\x02\U0001f600"}',
    "[1.10,-0,1e400,\"\\u0001\\/é\"]", "/*c*/1", "1 // c", "[" * 40 + "1" + "]" * 40, "[" * 1001 + "]" * 1001,
    "1" * 1000, "1" * 1001, '"' + "long \U0001f600" * 900 + '"', '["' + "é" * 5000 + '"]',
]  # fmt: skip
_ROOTS = [
    "", " ", "\n", "null", "true", "1", "1x", "1 x", '"a"', '"a" x', "a", "{", "[", "}", "]", "{}", "[]", " {} x",
    "[] [1]",
    "[1,2,3]", "[[1],[2,[3,4]],{\"a\":5}]", '[{"a":1},{"a":{"b":2}},null]', "[1,2", '{"a":1', '{"a":1,"b":', '{"a":1}}',
    '{"a":1} {"a":2}', '{"a":null}', '{"a":null,"a":1}', '{"a":1,"a":null}', '{"a":1,"a":2,"b":3}', "\ufeff{\"a\":1}",
    "\xa0{\"a\":1}", '\v{"a":1}', '{"a":1,"b":"\\x"}', '{"a":1,"b":01}', "{'a':'x','b':\"y\"}", '{"A":1}',
    '{"a.b":1,"a":{"b":2}}',
    '{"a" \t:\r\n1 , "b":2 }', '{"c":{"a":9},"a":{"a":{"a":7}}}', "[" * 1001 + "1" + "]" * 1001,
    "{\"a\":" * 500 + "1" + "}" * 500,
    '{"' + "k" * 50001 + '":1,"a":2}', '{"a":{"' + "k" * 49999 + '":[]}}',
]  # fmt: skip
_FORMS = ('{{"a":{}}}', '{{ "z" : [{{"a":0}}] , "a" : {} , "b":1}}', "[0,{}]", '{{"b":{{"a":[{}]}}}}')


def documents_data() -> pa.Table:
    """Return the documents, a few NULLs, and paths by row."""
    made = [form.format(scalar) for form in _FORMS for scalar in _SCALARS]
    texts = [*_SCALARS, *_ROOTS, *made, None]
    bad = [b'{"a":"\xff"}', b'{"a\xc3":1,"a":2}', b'{"a":["\xed\xa0\x80"]}', b"\xff", b'{"a":1\x80}',
    b'{"a":"\xf0\x9f\x98"}']
    rows = len(texts) + len(bad)
    return pa.table({
        "id": v.column(range(rows), pa.int32()),
        "j": pa.array([None if text is None else text.encode() for text in texts] + bad, pa.binary()),
        "p": v.column(v.cycle(["$.a", "$.a.b", None, "$[1]", "$.b.a[0]", "$"], rows), pa.string()),
    })  # fmt: skip


@table
def documents(_spark: SparkSession, folder: Path) -> str:
    write(folder, documents_data(), files=3)
    return "id int, j string, p string"
