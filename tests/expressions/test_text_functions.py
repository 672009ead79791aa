"""Functions of strings by compiled kernels are those of Python strings, for Unicode, NULLs, slices and dictionaries."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.expressions.compile import compile_expressions
from pyspark_pipeline.plan.expr import Expr
from tests.expressions.build import call, chunk, col, lit

_TEXTS = st.lists(st.none() | st.text("abA .é€\U0001f600ß", max_size=8), max_size=12)
_PARTS = st.text("abA .é€", max_size=3)
_LENGTHS = st.integers(-3, 12)
_TEXT = col(0, "string")


def _values(expr: Expr, *columns: pa.Array) -> list[Any]:
    """Evaluate an expression; the result must be valid in every respect that Arrow can check."""
    (value,) = compile_expressions([expr], ExpressionSettings()).evaluate(chunk(*columns))
    if isinstance(value, pa.Scalar):
        return [value.as_py()] * len(columns[0])
    value.validate(full=True)
    return list(value.to_pylist())


def _check(
    expr: Expr, texts: list[str | None], expected: Callable[[str], Any], type_: pa.DataType | None = None
) -> None:
    """Compare with ``expected``: over an array, over a slice of it, over its dictionary, and without its NULLs."""
    array = pa.array(texts, type_ or pa.string())
    wanted = [None if text is None else expected(text) for text in texts]
    assert _values(expr, array) == wanted
    assert _values(expr, array.slice(1)) == wanted[1:]
    assert _values(expr, array.dictionary_encode()) == wanted
    assert _values(expr, array.drop_null()) == [value for value in wanted if value is not None]


def _position(text: str, part: str, start: int) -> int:
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


@given(texts=_TEXTS, part=_PARTS, start=st.integers(-1, 10))
def test_locate(texts: list[str | None], part: str, start: int) -> None:
    expr = call("StringLocate", "int", lit(part, "string"), _TEXT, lit(start, "int"))
    _check(expr, texts, lambda text: _position(text, part, start))
    columns = pa.array(texts, pa.string()), pa.array([part, None] * len(texts), pa.string()).slice(0, len(texts))
    expected = [None if text is None or row % 2 else _position(text, part, start) for row, text in enumerate(texts)]
    assert _values(call("StringLocate", "int", col(1, "string"), _TEXT, lit(start, "int")), *columns) == expected


@given(texts=_TEXTS, part=_PARTS)
def test_instr(texts: list[str | None], part: str) -> None:
    _check(call("StringInstr", "int", _TEXT, lit(part, "string")), texts, lambda text: _position(text, part, 1))


def _substring(text: str, position: int, length: int) -> str:
    """UTF8String.substringSQL: positions 0 and 1 are the first character; one before the start shortens the length."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)] if length > 0 else ""


@given(texts=_TEXTS, position=st.integers(-12, 12) | st.sampled_from([-(2**31), 2**31 - 1]), length=_LENGTHS)
def test_substring_of_columns(texts: list[str | None], position: int, length: int) -> None:
    rows = len(texts)
    columns = (
        pa.array(texts, pa.string()),
        pa.array([position] * rows, pa.int32()),
        pa.array([length] * rows, pa.int32()),
    )
    expected = [None if text is None else _substring(text, position, length) for text in texts]
    assert _values(call("Substring", "string", _TEXT, col(1, "int"), col(2, "int")), *columns) == expected


def _part_before(text: str, delimiter: str, count: int) -> str:
    """UTF8String.subStringIndex: occurrences may overlap; the whole text if it has fewer."""
    if not delimiter or not count:
        return ""
    found = [at for at in range(len(text)) if text.startswith(delimiter, at)]
    if len(found) < abs(count):
        return text
    return text[: found[count - 1]] if count > 0 else text[found[count] + len(delimiter) :]


@given(texts=_TEXTS, delimiter=st.sampled_from(["", "a", "aa", "aba", "é", ". "]), count=st.integers(-4, 4))
def test_substring_index(texts: list[str | None], delimiter: str, count: int) -> None:
    expr = call("SubstringIndex", "string", _TEXT, lit(delimiter, "string"), lit(count, "int"))
    _check(expr, texts, lambda text: _part_before(text, delimiter, count))


@pytest.mark.parametrize("name", ["StringLPad", "StringRPad"])
@given(texts=_TEXTS, length=_LENGTHS, padding=_PARTS)
def test_padding(name: str, texts: list[str | None], length: int, padding: str) -> None:
    def padded(text: str) -> str:
        filling = (padding * 12)[: max(length - len(text), 0)]
        kept = text[: max(length, 0)]
        return filling + kept if name == "StringLPad" else kept + filling

    _check(call(name, "string", _TEXT, lit(length, "int"), lit(padding, "string")), texts, padded)


@given(texts=_TEXTS, search=st.text("abA .é", max_size=4), by=st.text("xy\0é", max_size=4))
def test_translate(texts: list[str | None], search: str, by: str) -> None:
    def translated(text: str) -> str:
        to = dict(reversed(list(zip(search, by.ljust(len(search), "\0"), strict=False))))
        return "".join(to.get(character, character) for character in text).replace("\0", "")

    expr = call("StringTranslate", "string", _TEXT, lit(search, "string"), lit(by, "string"))
    _check(expr, texts, translated)


@given(texts=st.lists(st.none() | st.text("abAZ .z'é\t", max_size=8), max_size=12))
def test_initcap(texts: list[str | None]) -> None:
    def capitalized(text: str) -> str:
        return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))

    _check(call("InitCap", "string", _TEXT), texts, capitalized)


@given(texts=_TEXTS)
def test_digests(texts: list[str | None]) -> None:
    values: Any = [None if text is None else text.encode() for text in texts]
    data = col(0, "binary")
    expected: list[tuple[Expr, Callable[[Any], Any]]] = [
        (call("Md5", "string", data), lambda value: hashlib.md5(value).hexdigest()),
        (call("Sha1", "string", data), lambda value: hashlib.sha1(value).hexdigest()),
        (call("Sha2", "string", data, lit(224, "int")), lambda value: hashlib.sha224(value).hexdigest()),
        (call("Sha2", "string", data, lit(512, "int")), lambda value: hashlib.sha512(value).hexdigest()),
        (call("Crc32", "bigint", data), zlib.crc32),
        (call("Hex", "string", data), lambda value: value.hex().upper()),
    ]
    for expr, function in expected:
        _check(expr, values, function, pa.binary())


@given(texts=_TEXTS, mark=st.sampled_from([" ", ",", "b"]))
def test_split(texts: list[str | None], mark: str) -> None:
    expr = call("StringSplit", "array<string>", _TEXT, lit(mark, "string"), lit(-1, "int"))
    _check(expr, texts, lambda text: text.split(mark))


_PATTERNS = ["a", "ab", "[ab]", "[ab]+", "[^a]", "[^a.]+", "\\.", "é", "[é€]+", "[^\\x00-\\x7f]", "\\W+", ".", "(?:a)+"]


@pytest.mark.parametrize("pattern", _PATTERNS)
@given(texts=_TEXTS, by=st.text("xé\U0001f600", max_size=2))
def test_replacements_of_characters_and_texts(pattern: str, texts: list[str | None], by: str) -> None:
    expr = call("RegExpReplace", "string", _TEXT, lit(pattern, "string"), lit(by, "string"), lit(1, "int"))
    _check(expr, texts, lambda text: re.sub(pattern, by, text, flags=re.ASCII))


def _grouped(number: Decimal, digits: int) -> str:
    return f"{number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN, Context(prec=400)):,f}"


_DIGITS = st.integers(0, 25)


@given(numbers=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-2000, 2000)), digits=_DIGITS)
def test_integers_with_grouped_digits(numbers: list[int | None], digits: int) -> None:
    expr = call("FormatNumber", "string", col(0, "bigint"), lit(digits, "int"))
    expected = [None if number is None else _grouped(Decimal(number), digits) for number in numbers]
    assert _values(expr, pa.array(numbers, pa.int64())) == expected


@given(numbers=st.lists(st.none() | st.decimals(-(10**32), 10**32, places=5, allow_nan=False)), digits=_DIGITS)
def test_decimals_with_grouped_digits(numbers: list[Decimal | None], digits: int) -> None:
    expected = [None if number is None else _grouped(number, digits) for number in numbers]
    for precision in (38, 18):
        fits = [number is None or abs(number) < 10 ** (precision - 5) for number in numbers]
        kept = pa.array([number for number, fit in zip(numbers, fits, strict=True) if fit], pa.decimal128(precision, 5))
        expr = call("FormatNumber", "string", col(0, f"decimal({precision},5)"), lit(digits, "int"))
        assert _values(expr, kept) == [text for text, fit in zip(expected, fits, strict=True) if fit]


@given(numbers=st.lists(st.none() | st.integers(-(10**9), 10**9)), digits=_DIGITS, power=st.integers(0, 4))
def test_doubles_with_grouped_digits(numbers: list[int | None], digits: int, power: int) -> None:
    """Doubles of few digits round as the decimals that they print, but for exact halves, which go to even ones."""
    doubles = [None if number is None else number / 2**power for number in numbers]
    expr = call("FormatNumber", "string", col(0, "double"), lit(digits, "int"))
    expected = [None if number is None else _grouped(Decimal(number), digits) for number in doubles]
    assert _values(expr, pa.array(doubles, pa.float64())) == expected
