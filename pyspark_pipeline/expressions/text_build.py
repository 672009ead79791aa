"""New strings: padding, repetition, reversal, joining, code points (Spark: stringExpressions.scala, UTF8String)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.nested import Elements, list_array, plain_array
from pyspark_pipeline.expressions.per_value import map_distinct
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.strings import ICU_CASES, LOWER_OF, UPPER_OF, case_kernel
from pyspark_pipeline.expressions.text_arrays import mapped, string_array
from pyspark_pipeline.expressions.text_search import NULL_TEXT
from pyspark_pipeline.expressions.values import flags, from_numbers, numbers, set_null, to_array
from pyspark_pipeline.kernels import text_slices
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants


def padder(
    padding: str, length: int, *, is_left: bool = False, cuts: bool = True
) -> Callable[[pa.StringArray], pa.StringArray]:
    """Return a function that pads strings to ``length`` characters, before or after them, and ``cuts`` longer ones."""
    filling = (padding * (length // len(padding) + 1))[:length]
    sizes = [len(character.encode()) for character in filling]
    fill_ends = frozen(np.cumsum([0, *sizes], dtype=np.int64))
    fill = frozen(np.frombuffer(filling.encode(), dtype=np.uint8))

    def pad(texts: pa.StringArray) -> pa.StringArray:
        offsets, data = text_of(texts)
        rows = len(texts)
        if rows * fill.size + data.size > np.iinfo(np.int32).max:
            raise pa.ArrowCapacityError(f"{rows} strings padded to {length} characters may have more than 2 GiB")
        kept, ends = np.empty(rows, dtype=np.int32), np.empty(rows + 1, dtype=np.int32)
        text_slices.padded_ends(offsets, data, length, cuts, fill_ends, kept, ends)
        out = allocate(int(ends[-1]), np.uint8)
        text_slices.copy_padded(offsets, data, fill, is_left, kept, ends, out)
        return string_array(ends, out, validity_of([texts]))

    return pad


for _name in ("StringLPad", "StringRPad"):

    @function(_name, [case(["string"], ["int"], ["string"], literal=[1, 2])])
    def _pad(call: Call, settings: ExpressionSettings) -> Kernel:
        """Pad to a number of characters, or cut to it; nothing is added if the padding is empty."""
        length, padding = constants(call.args[1:])
        if length is None or padding is None:
            return NULL_TEXT
        length = max(length, 0)
        if not padding:
            return Kernel(run=lambda values, rows: pc.utf8_slice_codeunits(values[0], 0, length), by_dictionary=True)
        pad = padder(padding, length, is_left=call.name == "StringLPad")
        return Kernel(run=lambda values, rows: pad(to_array(values[0], rows)), by_dictionary=True)


    by_constants(_name, [case(["string"], ["int"], ["string"])], [1, 2])


@function("StringRepeat", [case(["string"], ["int"], literal=[1])])
def _repeat(call: Call, settings: ExpressionSettings) -> Kernel:
    (times,) = constants(call.args[1:])
    if times is None:
        return NULL_TEXT
    return Kernel(run=lambda values, rows: pc.binary_repeat(values[0], max(times, 0)), by_dictionary=True)


by_constants("StringRepeat", [case(["string"], ["int"])], [1])


@function("StringSpace", [case(["int"], literal=[0])])
def _space(call: Call, settings: ExpressionSettings) -> Kernel:
    (length,) = constants(call.args)
    if length is None:
        return NULL_TEXT
    return Kernel(run=lambda values, rows: pa.scalar(" " * max(length, 0)))


by_constants("StringSpace", [case(["int"])], [0])


@function("Reverse", [case(["string"])])
def _reverse(call: Call, settings: ExpressionSettings) -> Kernel:
    """Reverse the code points."""
    return Kernel(run=lambda values, rows: pc.utf8_reverse(values[0]), by_dictionary=True)


_JOINED = [case(["string"], ["string", "array"], variadic=True)]


# NULLs of an array's type are left out.
@function("ConcatWs(Null,Null)", _JOINED)
@function("ConcatWs(Null)", _JOINED)
@function("ConcatWs", _JOINED)
def _concat_ws(call: Call, settings: ExpressionSettings) -> Kernel:
    """Join the strings, and those of arrays, that are not NULL; NULL if the separator, the first argument, is NULL."""
    are_arrays = [argument.type.kind == "array" for argument in call.args]

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = [
            _joined_elements(plain_array(value, rows), values[0]) if is_array else to_array(value, rows)
            for value, is_array in zip(values[1:], are_arrays[1:], strict=True)
        ]
        missing = texts[0].is_null()
        for text in texts[1:]:
            missing = pc.and_(missing, text.is_null())
        # Arrow leaves out rows whose strings are all NULL.
        filled = pc.if_else(missing, pa.scalar(""), texts[0])
        return pc.binary_join_element_wise(filled, *texts[1:], values[0], null_handling="skip")

    return Kernel(run=run, null_intolerant=False)


def _joined_elements(array: pa.Array, separator: Value) -> pa.Array:
    """Return the elements of each array that are not NULL, joined; NULL for an array that has none."""
    elements = Elements(array)
    kept = flags(elements.values().is_valid())
    counts = elements.counts_of(kept)
    texts = elements.values().filter(pa.array(kept))
    return pc.binary_join(list_array(array.type, counts, texts, elements.valid & (counts > 0)), separator)


@function("ConcatWs(Null,Null)", [case(["string"])])
@function("ConcatWs(Null)", [case(["string"])])
@function("ConcatWs", [case(["string"])])
def _join_nothing(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the empty string; NULL if the separator is NULL."""
    return Kernel(run=lambda values, rows: set_null(pa.repeat("", rows), to_array(values[0], rows).is_null()))


@function("Empty2Null", [case(["string"])])
def _empty_to_null(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return NULL for the empty string: the values by which a write parts its files."""

    def run(values: Sequence[Value], rows: int) -> Value:
        return pc.if_else(pc.equal(values[0], ""), pa.scalar(None, pa.string()), values[0])

    return Kernel(run=run, by_dictionary=True)


@function("Ascii", [case(["string"])])
def _ascii(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the code point of the first character; 0 for the empty string."""

    def run(values: Sequence[Value], rows: int) -> Value:
        first = pc.utf8_slice_codeunits(to_array(values[0], rows), start=0, stop=1)
        return map_distinct(first, lambda text: ord(text) if text else 0, pa.int32())

    return Kernel(run=run, by_dictionary=True)


_CHARACTERS = pa.array(["", *map(chr, range(256))])


@function("Chr", [case(["bigint"])])
def _chr(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the character of the lowest 8 bits; the empty string for a negative number."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data: Any = numbers(array)
        codes = np.where(data < 0, 0, (data & 0xFF) + 1).astype(np.int32)
        return _CHARACTERS.take(from_numbers(codes, pa.int32(), validity_of([array])))

    return Kernel(run=run)


def capitalize(text: str) -> str:
    """Return ``text`` in lower case with each character after a space, and the first, in title case."""
    lowered = text.lower().translate(LOWER_OF)
    return "".join(
        _title(character) if position == 0 or lowered[position - 1] == " " else character
        for position, character in enumerate(lowered)
    )


def _title(character: str) -> str:
    changed = UPPER_OF.get(ord(character))
    return character.title() if changed is None else chr(changed)


@function("InitCap", [case(["string"], settings=ICU_CASES)])
def _init_cap(call: Call, settings: ExpressionSettings) -> Kernel:
    return case_kernel(lambda texts: mapped(texts, text_slices.capitalize_ascii), capitalize)
