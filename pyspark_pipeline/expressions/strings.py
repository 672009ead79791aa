"""String functions: substring, length, concatenation, case and trimming, by Unicode code points as in UTF8String."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_arrays import sliced
from pyspark_pipeline.expressions.values import numbers, to_array
from pyspark_pipeline.kernels import text_slices
from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.plan.expr import Call, Literal, constants

_INT_MAX = 2**31 - 1


def slice_bounds(position: int, length: int) -> tuple[int, int | None] | None:
    """Convert SQL's (position, length) to Arrow's (start, stop); None for the empty string.

    UTF8String.substringSQL: positions 1 and 0 are the first character. A negative position counts from the end and
    may lie before the start; the length counts from there.
    """
    if length <= 0:
        return None
    if position >= 0:
        start = max(position - 1, 0)
        return start, min(start + length, _INT_MAX)
    stop = position + length
    return position, (None if stop >= 0 else stop)


@function("Substring", [case(["string"], ["int"], ["int"], literal=[1, 2])])
def _substring(call: Call, settings: ExpressionSettings) -> Kernel:
    position, length = constants(call.args[1:])
    if position is None or length is None:
        return Kernel(run=lambda values, rows: pa.scalar(None, pa.string()))
    bounds = slice_bounds(position, length)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        if bounds is None:
            return pc.if_else(array.is_valid(), pa.scalar(""), pa.scalar(None, pa.string()))
        return pc.utf8_slice_codeunits(array, start=bounds[0], stop=bounds[1])

    return Kernel(run=run, by_dictionary=True)


@function("Substring", [case(["string"], ["int"], ["int"])])
def _substring_of_columns(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        texts, *bounds = (to_array(value, rows) for value in values)
        positions, lengths = (numbers(value) for value in bounds)

        def find(offsets: Int32Array, data: UInt8Array, starts: Int32Array, ends: Int32Array) -> None:
            text_slices.substrings(offsets, data, positions, lengths, starts, ends)

        return sliced(texts, find, validity_of([texts, *bounds]))

    return Kernel(run=run)


@function("Substring", [case(["binary"], ["int"], ["int"], literal=[1, 2])])
def _substring_of_bytes(call: Call, settings: ExpressionSettings) -> Kernel:
    position, length = constants(call.args[1:])
    bounds = None if position is None or length is None else slice_bounds(position, length)
    start, stop = bounds or (0, 0)
    return Kernel(run=lambda values, rows: pc.binary_slice(values[0], start, stop), by_dictionary=True)


by_constants("Substring", [case(["binary"], ["int"], ["int"])], [1, 2])


@function("Length", [case(["string"]), case(["binary"])])
def _length(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count the characters of a string, the bytes of a binary."""
    count = pc.utf8_length if call.args[0].type.kind == "string" else pc.binary_length
    return Kernel(run=lambda values, rows: count(values[0]), by_dictionary=True)


@function("Concat", [case(["string"], ["string"], variadic=True), case(["string"])])
def _concat(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pc.binary_join_element_wise(*values, ""), by_dictionary=True)



_TRIMS = {
    "StringTrim": (pc.ascii_trim, pc.utf8_trim),
    "StringTrimLeft": (pc.ascii_ltrim, pc.utf8_ltrim),
    "StringTrimRight": (pc.ascii_rtrim, pc.utf8_rtrim),
}


def _trim(call: Call, settings: ExpressionSettings) -> Kernel:
    """Trim spaces (only U+0020), or the characters of a constant second argument."""
    characters = call.args[1].value if len(call.args) == 2 and isinstance(call.args[1], Literal) else " "
    if characters is None:
        return Kernel(run=lambda values, rows: pa.scalar(None, pa.string()))
    if characters == "":
        return Kernel(run=lambda values, rows: values[0])
    strip = _TRIMS[call.name][0 if characters.isascii() else 1]
    return Kernel(run=lambda values, rows: strip(values[0], characters=characters), by_dictionary=True)


for _name in _TRIMS:
    function(_name, [case(["string"]), case(["string"], ["string"], literal=[1])])(_trim)
    by_constants(_name, [case(["string"], ["string"])], [1])


#: Spark maps cases by ICU; else by the JVM's own version of Unicode.
ICU_CASES = {"spark.sql.icu.caseMappings.enabled": ["true"]}

# Case pairs of Unicode 16, which Spark's ICU supports and Python supports since 3.14.
_LOWER_16 = [0x1C8A, 0x264, 0xA7CD, 0xA7DB, 0x19B, *range(0x10D70, 0x10D86)]
_UPPER_16 = [0x1C89, 0xA7CB, 0xA7CC, 0xA7DA, 0xA7DC, *range(0x10D50, 0x10D66)]
UPPER_OF = dict(zip(_LOWER_16, _UPPER_16, strict=True))
LOWER_OF = dict(zip(_UPPER_16, _LOWER_16, strict=True))


def case_kernel(by_bytes: Callable[[pa.Array], pa.Array], by_character: Callable[[str], str]) -> Kernel:
    """Build a kernel that converts ASCII strings by ``by_bytes``, all other strings by ``by_character``.

    Cases are converted by Unicode's full mappings, as ICU's root locale does.
    """

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        ascii_only = pc.string_is_ascii(array)
        if pc.all(ascii_only).as_py() is not False:
            return by_bytes(array)
        others = pc.fill_null(pc.invert(ascii_only), False)
        changed = [by_character(text) for text in array.filter(others).to_pylist()]
        plain = by_bytes(pc.if_else(others, pa.scalar(""), array))
        return pc.replace_with_mask(plain, others, pa.array(changed, pa.string()))

    return Kernel(run=run, by_dictionary=True)


@function("Upper", [case(["string"], settings=ICU_CASES)])
def _upper(call: Call, settings: ExpressionSettings) -> Kernel:
    return case_kernel(pc.ascii_upper, lambda text: text.upper().translate(UPPER_OF))


@function("Lower", [case(["string"], settings=ICU_CASES)])
def _lower(call: Call, settings: ExpressionSettings) -> Kernel:
    return case_kernel(pc.ascii_lower, lambda text: text.lower().translate(LOWER_OF))
