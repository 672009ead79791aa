"""Loads every kernel that expressions use, by evaluating one expression for each on a few rows.

See :mod:`pyspark_pipeline.kernels.warm_up`, which does the same for hashing, grouping and aggregation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.expressions.compile import compile_expressions
from pyspark_pipeline.expressions.json_text import tuple_values
from pyspark_pipeline.expressions.registry import ExpressionSettings
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.plan.expr import FIRST_VARIABLE, Call, ColumnRef, Expr, Literal

_SMALL = [Decimal("1.50"), None, Decimal("-2.25")]
_LARGE = [Decimal("1.50") * 10**28, None, Decimal("-2.25") * 10**28]
_COLUMNS: tuple[tuple[str, list[Any]], ...] = (
    ("decimal(9,2)", _SMALL),
    ("decimal(38,2)", _LARGE),
    ("string", ["1.5", None, "2"]),
    ("int", [1, None, -2]),
    ("bigint", [1, None, -2]),
    ("date", [0, None, 20_000]),
    ("string", ["2020-02-29", None, "1999-12-31"]),
    ("tinyint", [1, None, -2]),
    ("smallint", [1, None, -2]),
    ("array<bigint>", [[2, None, 1], None, [3]]),
)
_ORDINALS = {
    "small": 0, "large": 1, "text": 2, "int": 3, "bigint": 4, "date": 5, "day": 6, "tinyint": 7, "smallint": 8,
    "list": 9,
}  # fmt: skip


def steps() -> tuple[Callable[[], None], ...]:
    """Return one function per expression, which evaluates the expression, and one for ``json_tuple``."""
    return (*(partial(_evaluate, expr) for expr in _expressions()), _tuple)


def warm_up() -> None:
    """Load the kernels of decimals, text parsing and matching, and dates."""
    for step in steps():
        step()


def _tuple() -> None:
    tuple_values(pa.array(['{"a":1}', None]), ["a"], is_shortest=False)


def _evaluate(expr: Expr) -> None:
    arrays = [pa.array(values, parse_type(kind).arrow) for kind, values in _COLUMNS]
    chunk = make_chunk(arrays, len(_SMALL))
    dense = chunk.take(pa.array([0, 2]))
    compiled = compile_expressions([expr], ExpressionSettings(ansi=False, time_zone="UTC"))
    compiled.evaluate(chunk)
    compiled.evaluate(dense)


def _expressions() -> Iterator[Expr]:
    small, large = _column("small"), _column("large")
    two = Literal(type=parse_type("decimal(9,2)"), value=Decimal("2.00"))
    for name, kind in _ARITHMETIC:
        for left, right in ((small, small), (small, two), (large, small)):
            yield _call(name, kind, left, right)
    yield _call("Multiply", "decimal(38,3)", large, large)
    for name, kind in _CASTS:
        yield _call("Cast", kind, _column(name), timeZoneId="UTC")
    yield _call("Like", "boolean", _column("text"), _text("%1%5%"), escapeChar="\\")
    for name in ("Year", "Month", "DayOfMonth"):
        yield _call(name, "int", _column("date"))
    yield _call("LastDay", "date", _column("date"))
    yield _call("AddMonths", "date", _column("date"), _column("int"))
    moment = _call("Cast", "timestamp", _column("date"), timeZoneId="UTC")
    month = Literal(type=parse_type("interval year to month"), value=1)
    yield _call("TimestampAddYMInterval", "timestamp", moment, month, timeZoneId="UTC")
    yield _call("TruncDate", "date", _column("date"), _text("MM"))
    yield _call("Round", "decimal(8,1)", small, Literal(type=parse_type("int"), value=1))
    yield _call("GetTimestamp", "timestamp", _column("day"), _text("yyyy-MM-dd"), **_PARSING)
    yield from _of_text()
    yield from _of_arrays()
    double = _call("Cast", "double", _column("int"))
    yield _call("Cast", "string", double)
    yield _call("Round", "double", double, Literal(type=parse_type("int"), value=-1))
    yield _call("Round", "double", double, Literal(type=parse_type("int"), value=1))
    yield _call("Cast", "decimal(18,2)", double)
    for name in _OF_DOUBLE:
        yield _call(name, "double", double)
    for name in ("Pow", "Atan2", "Hypot"):
        yield _call(name, "double", double, double)


def _of_text() -> Iterator[Expr]:
    text, number, two = _column("text"), _column("int"), Literal(type=parse_type("int"), value=2)
    yield _call("Substring", "string", text, number, number)
    yield _call("StringLocate", "int", _text("5"), text, two)
    yield _call("SubstringIndex", "string", text, _text("."), two)
    yield _call("StringLPad", "string", text, two, _text("*"))
    yield _call("StringTranslate", "string", text, _text("1"), _text("2"))
    yield _call("InitCap", "string", text)
    yield _call("StringSplit", "array<string>", text, _text(" "), Literal(type=parse_type("int"), value=-1))
    yield _call("GetJsonObject", "string", text, _text("$.a[0]"))
    schema = {"schema": "", "options": "", "timeZoneId": "UTC"}
    yield _call("JsonToStructs", 'struct<"a":int,"b":array<string>>', text, **schema)
    kind = 'struct<"a":string,"b":array<bigint>>'
    struct = _call("CreateNamedStruct", kind, _text("a"), text, _text("b"), _column("list"))
    yield _call("StructsToJsonEvaluator.evaluate", "string", struct, **{**schema, "options": "ignoreNullFields=true\n"})
    fields = {"schema": "struct<a:string,b:bigint>", "requiredSchema": None, "options": "", "timeZoneId": "UTC"}
    yield _call("CsvToStructs", 'struct<"a":string,"b":bigint>', text, **fields)
    pair = _call("CreateNamedStruct", 'struct<"a":string,"b":string>', _text("a"), text, _text("b"), text)
    yield _call("StructsToCsv", "string", pair, options="", timeZoneId="UTC")
    yield _call("JsonExpressionUtils.lengthOfJsonArray", "int", text)
    yield _call("JsonExpressionUtils.jsonObjectKeys", "array<string>", text)
    yield _call("Levenshtein", "int", text, text)
    yield _call("MakeDate", "date", number, number, number, failOnError=False)
    yield _call("Crc32", "bigint", _call("Cast", "binary", text))
    yield _call("BitmapExpressionUtils.bitmapCount", "bigint", _call("Cast", "binary", text))
    yield _call("UnBase64", "binary", _call("Concat", "string", text, _text("A")), failOnError=False)
    in_lines = Literal(type=parse_type("boolean"), value=True)
    yield _call("Base64.encode", "string", _call("Cast", "binary", text), in_lines)
    bases = (Literal(type=parse_type("int"), value=base) for base in (10, 16))
    yield _call("Conv", "string", text, *bases, ansiEnabled=False)
    yield _call("ExpressionImplUtils.isLuhnNumber", "boolean", text)
    yield _call("Md5", "string", _call("Cast", "binary", text))
    for column in (_column("small"), _call("Cast", "double", number)):
        yield _call("FormatNumber", "string", column, two)
    one = Literal(type=parse_type("int"), value=1)
    yield _call("RegExpReplace", "string", text, _text("[.]+"), _text(","), one)


def _of_arrays() -> Iterator[Expr]:
    array, kind = _column("list"), "array<bigint>"
    for name in ("ArrayUnion", "ArrayIntersect"):
        yield _call(name, kind, array, array)
    element = ColumnRef(type=parse_type("bigint"), ordinal=FIRST_VARIABLE)
    for outcomes in ("120012", "111022"):
        key = _call("LambdaFunction", "bigint", element, element)
        yield _call("ArraySort.byKeys", kind, array, key, outcomes=outcomes)
    yield _call("ArrayMin", "bigint", array)
    yield _call("ArrayInsert", kind, array, _column("int"), _column("bigint"), legacyNegativeIndex=False)


_OF_DOUBLE = (
    "Exp", "Expm1", "Log", "Log10", "Log1p", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh",
    "Acosh", "Atanh", "Cbrt", "Sin", "Cos", "Tan",
)  # fmt: skip
_PARSING = {"timeZoneId": "UTC", "failOnError": False, "suggestedFuncOnFail": "try_to_timestamp"}
_ARITHMETIC = (
    ("Add", "decimal(38,2)"),
    ("Add", "decimal(38,1)"),
    ("Subtract", "decimal(38,2)"),
    ("Multiply", "decimal(38,4)"),
    ("Multiply", "decimal(38,3)"),
    ("Multiply", "decimal(18,4)"),
    ("Divide", "decimal(38,6)"),
    ("Remainder", "decimal(9,2)"),
)
_CASTS = (
    ("small", "decimal(10,1)"),
    ("small", "decimal(12,4)"),
    ("large", "decimal(38,0)"),
    ("small", "double"),
    ("large", "double"),
    ("small", "int"),
    ("large", "bigint"),
    ("tinyint", "decimal(12,2)"),
    ("smallint", "decimal(12,2)"),
    ("int", "decimal(12,2)"),
    ("bigint", "decimal(38,2)"),
    ("text", "tinyint"),
    ("text", "smallint"),
    ("text", "int"),
    ("text", "bigint"),
    ("text", "decimal(10,2)"),
    ("text", "double"),
    ("day", "date"),
    ("day", "timestamp"),
    ("date", "string"),
    ("small", "string"),
)


def _text(value: str) -> Literal:
    return Literal(type=parse_type("string"), value=value)


def _column(name: str) -> ColumnRef:
    ordinal = _ORDINALS[name]
    return ColumnRef(type=parse_type(_COLUMNS[ordinal][0]), ordinal=ordinal)


def _call(name: str, kind: str, *args: Expr, **fields: Any) -> Call:
    return Call(name=name, type=parse_type(kind), args=args, fields={"evalMode": "LEGACY", **fields})
