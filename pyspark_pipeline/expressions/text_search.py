"""Search in strings: positions, parts around a delimiter, replacement (Spark: stringExpressions.scala, UTF8String)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.per_value import per_row, per_value
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_arrays import mapped, sliced
from pyspark_pipeline.expressions.values import from_numbers, to_array
from pyspark_pipeline.kernels import text_slices, text_translate
from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.decimal_words import EACH_ROW, ONE_ROW, validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, Literal, constants

#: The kernel of a function of strings with a constant NULL.
NULL_TEXT = Kernel(run=lambda values, rows: pa.scalar(None, pa.string()))


@function("StringInstr", [case(["string"], ["string"])])
def _instr(call: Call, settings: ExpressionSettings) -> Kernel:
    text, part = 0, 1
    return _position(call, text, part, 1)


@function("StringLocate", [case(["string"], ["string"], ["int"], matches={"2": r"-?\d+"})])
def _locate(call: Call, settings: ExpressionSettings) -> Kernel:
    """``locate(part, text, start)`` with a constant start, which Spark evaluates first."""
    (start,) = constants(call.args[2:])
    part, text = 0, 1
    return _position(call, text, part, start)


by_constants("StringLocate", [case(["string"], ["string"], ["int"])], [2], of_null=0)


def _position(call: Call, text: int, part: int, start: int) -> Kernel:
    """Build the kernel of the position (from 1) of the first occurrence at or after position ``start``; 0 if none."""
    found = call.args[part]
    constant = found.value if isinstance(found, Literal) else None

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = to_array(values[text], rows)
        if constant and start == 1 and pc.all(pc.string_is_ascii(texts)).as_py() is not False:
            return pc.add(pc.find_substring(texts, constant), pa.scalar(1, pa.int32()))
        parts = values[part]
        step = ONE_ROW if isinstance(parts, pa.Scalar) else EACH_ROW
        parts = to_array(parts, 1)
        out = np.zeros(rows, dtype=np.int32)
        if start > 0:
            text_slices.positions_of(*text_of(texts), *text_of(parts), step, start - 1, out)
        return from_numbers(out, pa.int32(), validity_of([texts, parts]))

    return Kernel(run=run, by_dictionary=True)


@function("SubstringIndex", [case(["string"], ["string"], ["int"], literal=[1, 2])])
def _substring_index(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the part before the ``count``-th delimiter, or after the ``-count``-th from the right."""
    delimiter, count = constants(call.args[1:])
    if delimiter is None or count is None:
        return NULL_TEXT
    if not delimiter or not count:
        return per_value(lambda text: "", pa.string())
    wanted = frozen(np.frombuffer(delimiter.encode(), dtype=np.uint8))

    def find(offsets: Int32Array, data: UInt8Array, starts: Int32Array, ends: Int32Array) -> None:
        text_slices.parts_around(offsets, data, wanted, count, starts, ends)

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = to_array(values[0], rows)
        return sliced(texts, find, validity_of([texts]))

    return Kernel(run=run, by_dictionary=True)


by_constants("SubstringIndex", [case(["string"], ["string"], ["int"])], [1, 2])


@function("StringReplace", [case(["string"], ["string"], ["string"])])
def _replace(call: Call, settings: ExpressionSettings) -> Kernel:
    """Replace all occurrences from the left, without overlap; an empty search string replaces nothing."""
    if len(constants(call.args[1:])) < 2:
        return per_row(lambda text, search, by: text.replace(search, by) if search else text, pa.string())
    search, by = constants(call.args[1:])
    if search is None or by is None:
        return NULL_TEXT
    if not search:
        return Kernel(run=lambda values, rows: values[0])
    return Kernel(run=lambda values, rows: pc.replace_substring(values[0], search, by), by_dictionary=True)


@function("StringTranslate", [case(["string"], ["string"], ["string"], literal=[1, 2])])
def _translate(call: Call, settings: ExpressionSettings) -> Kernel:
    """Replace character by character; one without a counterpart, or with U+0000 as counterpart, is removed."""
    search, by = constants(call.args[1:])
    if search is None or by is None:
        return NULL_TEXT
    table: dict[int, str | None] = {}
    for position, character in enumerate(search):
        to = by[position] if position < len(by) else "\0"
        table.setdefault(ord(character), None if to == "\0" else to)
    if not (search + by).isascii():
        return _translation(table)
    entries = np.arange(256, dtype=np.int16)
    for code, to in table.items():
        entries[code] = -1 if to is None else ord(to)

    def write(offsets: Int32Array, data: UInt8Array, ends: Int32Array, out: UInt8Array) -> None:
        text_slices.map_bytes(offsets, data, entries, ends, out)

    return Kernel(run=lambda values, rows: mapped(to_array(values[0], rows), write), by_dictionary=True)


def _translation(table: Mapping[int, str | None]) -> Kernel:
    """Build the kernel that replaces the characters of ``table``, by code point, by strings."""
    codes = sorted(table)
    texts = [(table[code] or "").encode() for code in codes]
    places = frozen(np.array(codes, dtype=np.int32))
    starts = frozen(np.cumsum([0, *map(len, texts)], dtype=np.int32))
    data = frozen(np.frombuffer(b"".join(texts) or b"\0", dtype=np.uint8))
    growth = max([1, *(len(text) / len(chr(code).encode()) for code, text in zip(codes, texts, strict=True))])

    def write(offsets: Int32Array, read: UInt8Array, ends: Int32Array, out: UInt8Array) -> None:
        text_translate.translate(offsets, read, places, starts, data, ends, out)

    return Kernel(run=lambda values, rows: mapped(to_array(values[0], rows), write, growth), by_dictionary=True)


by_constants("StringTranslate", [case(["string"], ["string"], ["string"])], [1, 2])


def _index_in_set(text: str, members: str) -> int:
    if "," in text:
        return 0
    split = members.split(",")
    return split.index(text) + 1 if text in split else 0


@function("FindInSet", [case(["string"], ["string"], slower=True)])
def _find_in_set(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the 1-based index of a string in a list separated by commas; 0 if it is not there."""
    return per_row(_index_in_set, pa.int32())


_IN_BYTES: dict[str, Callable[[bytes, bytes], bool]] = {
    "ByteArrayMethods.contains": bytes.__contains__,
    "ByteArrayMethods.startsWith": bytes.startswith,
    "ByteArrayMethods.endsWith": bytes.endswith,
}

_IN_BYTES_OF_ARROW: dict[str, Callable[[pa.Array, bytes], pa.Array]] = {
    "ByteArrayMethods.contains": pc.match_substring,
    "ByteArrayMethods.startsWith": pc.starts_with,
    "ByteArrayMethods.endsWith": pc.ends_with,
}

for _name in _IN_BYTES:

    @function(_name, [case(["binary"], ["binary"])])
    def _in_bytes(call: Call, settings: ExpressionSettings) -> Kernel:
        """Search bytes; Arrow searches for constant ones."""
        wanted = call.args[1]
        if isinstance(wanted, Literal) and wanted.value is not None:
            search = _IN_BYTES_OF_ARROW[call.name]
            return Kernel(run=lambda values, rows: search(to_array(values[0], rows), wanted.value))
        return per_row(_IN_BYTES[call.name], pa.bool_())
