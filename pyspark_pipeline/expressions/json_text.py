"""Values in JSON documents (Spark: GetJsonObject, JsonTuple, JsonExpressionUtils).

A compiled kernel finds and writes the values of documents in plain grammar; the others are parsed one by one, as
Jackson does (``json_parse.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.expressions.json_parse import Step, array_length, last_values, object_keys, units, value_at
from pyspark_pipeline.expressions.json_wildcards import Wildcard, matches_at
from pyspark_pipeline.expressions.nested import list_array
from pyspark_pipeline.expressions.per_value import by_distinct, java_text
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.expressions.text_search import NULL_TEXT
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.kernels import json_scan, text_slices
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants

#: A member by name or an element by place: Spark's parser of paths skips white space, and recurses for each element.
_STEP = r"\.[^.\[\s*][^.\[]*|\['[^'?\s*][^'?]*'\]|\[[0-9]{1,3}\]"
_PATH = rf"\$(?:{_STEP})*"
#: Steps to every element, and to every member, which match nothing: Spark looks for members by name alone.
_EVERY, _ANY = r"\[\*\]", r"\.\*|\['\*'\]"
_WILD_PATH = rf"\$(?:{_STEP}|{_EVERY}|{_ANY})*"


#: Characters that names of documents have as escapes alone, and the bytes of no name.
_ESCAPED, _NO_NAME = frozenset('"\\'), b"\xff"


def parse_path(path: str) -> tuple[Step, ...]:
    """Return the steps of a path that matches ``_PATH``."""
    return tuple(map(_step, re.findall(_STEP, path, re.DOTALL | re.ASCII)))


def _step(step: str) -> Step:
    return step[1:] if step[0] == "." else step[2:-2] if step[1] == "'" else int(step[1:-1])


def parse_wild_path(path: str) -> tuple[Step | Wildcard, ...] | None:
    """Return the steps of a path that matches ``_WILD_PATH``, names as UTF-16 units; None if it matches nothing."""
    found = re.findall(rf"{_STEP}|{_EVERY}|{_ANY}", path, re.DOTALL | re.ASCII)
    if any(re.fullmatch(_ANY, step) for step in found):
        return None
    steps = (Wildcard.EVERY if step == "[*]" else _step(step) for step in found)
    return tuple(units(step) if isinstance(step, str) else step for step in steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPath:
    """A path as the kernel reads it, see ``find_values``."""

    kinds: Any
    indexes: Any
    name_ends: Any
    names: Any

    @classmethod
    def of(cls, path: Sequence[Step]) -> KernelPath:
        names = [b"" if isinstance(step, int) else _NO_NAME if set(step) & _ESCAPED else step.encode() for step in path]
        kinds = [json_scan.KEY if isinstance(step, str) else json_scan.INDEX for step in path]
        indexes = [step if isinstance(step, int) else 0 for step in path]
        return cls(
            kinds=frozen(np.array(kinds, dtype=np.int64)),
            indexes=frozen(np.array(indexes, dtype=np.int64)),
            name_ends=frozen(np.cumsum([0, *map(len, names)], dtype=np.int64)),
            names=frozen(np.frombuffer(b"".join(names) or b"\0", dtype=np.uint8)),
        )


def find_texts(texts: pa.Array, path: KernelPath, *, is_shortest: bool) -> tuple[pa.Array, Any]:
    """Return the values that the kernel finds in documents of valid UTF-8, and a mask of those it does not decide."""
    offsets, data = text_of(texts)

    def write(ends: Any, out: Any, statuses: Any) -> None:
        json_scan.find_values(
            offsets, data, path.kinds, path.indexes, path.name_ends, path.names, ends, out, statuses
        )

    return _written(texts, write, is_shortest)


def _written(texts: pa.Array, write: Callable[[Any, Any, Any], None], is_shortest: bool) -> tuple[pa.Array, Any]:
    """Return the values that ``write(ends, out, statuses)`` writes, and a mask of the documents not decided."""
    rows, (offsets, _) = len(texts), text_of(texts)
    ends, statuses = np.empty(rows + 1, dtype=np.int32), np.empty(rows, dtype=np.uint8)
    out = allocate(int(offsets[-1]) - int(offsets[0]), np.uint8)
    write(ends, out, statuses)
    found = printed_numbers(string_array(ends, out[: ends[-1]], None), statuses, is_shortest)
    valid = np.asarray(texts.is_valid())
    is_known = valid & (statuses != json_scan.ABSENT) & (statuses != json_scan.OTHER)
    if not is_known.all():
        found = pc.if_else(pa.array(is_known), found, pa.scalar(None, pa.string()))
    return found, valid & (statuses == json_scan.OTHER)


def printed_numbers(found: pa.Array, statuses: Any, is_shortest: bool) -> pa.Array:
    """Return texts that the kernels wrote, with those of the status NUMBER as Jackson prints them."""
    is_number = statuses == json_scan.NUMBER
    if not is_number.any():
        return found
    chosen = pa.array(is_number)
    return pc.replace_with_mask(found, chosen, _printed(found.filter(chosen), is_shortest))


def _printed(numbers: pa.Array, is_shortest: bool) -> pa.Array:
    """Return floating-point numbers as Jackson prints them: those that are too large in quotes."""
    values = np.array([float(text) for text in numbers.to_pylist()], dtype=np.float64)
    printed = Digits.of(values, is_shortest).texts(None)
    if np.isfinite(values).all():
        return printed
    return pc.if_else(pa.array(np.isfinite(values)), printed, pc.binary_join_element_wise('"', printed, '"', ""))


def tuple_values(texts: pa.Array, names: Sequence[str], *, is_shortest: bool) -> list[pa.Array]:
    """Return an array for each name: the last value that is not null of its members (Spark: JsonTupleEvaluator)."""
    texts = java_text(texts)
    offsets, data = text_of(texts)
    wanted = list(dict.fromkeys(names))
    path = KernelPath.of(wanted)
    starts, statuses = np.empty((len(wanted), len(texts)), dtype=np.int32), np.empty(len(texts), dtype=np.uint8)
    json_scan.find_members(offsets, data, path.name_ends, path.names, starts, statuses)
    is_other = np.asarray(texts.is_valid()) & (statuses == json_scan.OTHER)
    starts[:, statuses == json_scan.OTHER] = -1
    found: dict[str, pa.Array] = {}
    for name, places in zip(wanted, starts, strict=True):
        found[name], is_undecided = _written(texts, partial(_write_at, texts, frozen(places)), is_shortest)
        is_other |= is_undecided
    if is_other.any():
        print_double = double_printer(is_shortest)
        rows = [last_values(text, wanted, print_double) for text in texts.filter(pa.array(is_other)).to_pylist()]
        for name, column in zip(wanted, zip(*rows, strict=True), strict=True):
            others = pa.array(column, pa.binary()).view(pa.string())
            found[name] = pc.replace_with_mask(found[name], pa.array(is_other), others)
    return [found[name] for name in names]


def _write_at(texts: pa.Array, places: Any, ends: Any, out: Any, statuses: Any) -> None:
    json_scan.write_values(*text_of(texts), places, ends, out, statuses)


def double_printer(is_shortest: bool) -> Callable[[float], str]:
    """Return the function that prints a double as ``Double.toString``."""
    return lambda value: str(Digits.of(np.array([value]), is_shortest).texts(None)[0])


@function("GetJsonObject", [case(["string"], ["string"], matches={"1": _PATH})])
def _get_json_object(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the value that a path leads to: a string without quotes, others as JSON; NULL if there is none."""
    (text,) = constants(call.args[1:])
    steps = parse_path(text)
    path, steps = KernelPath.of(steps), tuple(units(step) if isinstance(step, str) else step for step in steps)
    is_shortest = settings.prints_shortest_digits
    print_double = double_printer(is_shortest)

    def parse(documents: pa.Array) -> pa.Array:
        values = [value_at(document, steps, print_double) for document in documents.to_pylist()]
        return pa.array(values, pa.binary()).view(pa.string())

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = java_text(to_array(values[0], rows))
        found, is_other = find_texts(texts, path, is_shortest=is_shortest)
        if not is_other.any():
            return found
        is_other = pa.array(is_other)
        return pc.replace_with_mask(found, is_other, by_distinct(texts.filter(is_other), parse))

    return Kernel(run=run, by_dictionary=True)


@function("GetJsonObject", [case(["string"], ["string"], matches={"1": _WILD_PATH})])
def _get_json_objects(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the values that a path with wildcards leads to."""
    (text,) = constants(call.args[1:])
    steps = parse_wild_path(text)
    if steps is None:
        return NULL_TEXT
    print_double = double_printer(settings.prints_shortest_digits)

    def parse(documents: pa.Array) -> pa.Array:
        texts = documents.to_pylist()
        values = [None if text is None else matches_at(text, steps, print_double) for text in texts]
        return pa.array(values, pa.binary()).view(pa.string())

    def run(values: Sequence[Value], rows: int) -> Value:
        return by_distinct(java_text(to_array(values[0], rows)), parse)

    return Kernel(run=run, by_dictionary=True)


by_constants("GetJsonObject", [case(["string"], ["string"], choices={"1": _WILD_PATH})], [1])


@function("JsonExpressionUtils.lengthOfJsonArray", [case(["string"])])
def _json_array_length(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count the elements of an array; NULL for another document."""

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = java_text(to_array(values[0], rows))
        counts, is_found, is_other = _count_children(texts, "[")
        found = pa.array(counts, mask=~is_found)
        if not is_other.any():
            return found
        others = texts.filter(pa.array(is_other)).to_pylist()
        return pc.replace_with_mask(found, pa.array(is_other), pa.array(map(array_length, others), pa.int32()))

    return Kernel(run=run, by_dictionary=True)


@function("JsonExpressionUtils.jsonObjectKeys", [case(["string"], result=["array"])])
def _json_object_keys(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the names of the members of an object; NULL for another document."""

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = java_text(to_array(values[0], rows))
        counts, is_found, is_other = _count_children(texts, "{")
        offsets, data = text_of(texts)
        size = int(counts.sum())
        starts, ends = np.empty(size, dtype=np.int32), np.empty(size + 1, dtype=np.int32)
        json_scan.slice_names(offsets, data, frozen(counts), starts, ends)
        out = allocate(int(ends[-1]), np.uint8)
        text_slices.copy_slices(data, starts, ends, out)
        found = list_array(call.type.arrow, counts.astype(np.int64), string_array(ends, out, None), is_found)
        if not is_other.any():
            return found
        others = [object_keys(text) for text in texts.filter(pa.array(is_other)).to_pylist()]
        place = np.arange(rows)
        place[is_other] = rows + np.arange(len(others))
        return pa.concat_arrays([found, pa.array(others, call.type.arrow)]).take(pa.array(place))

    return Kernel(run=run)


def _count_children(texts: pa.Array, opening: str) -> tuple[Any, Any, Any]:
    """Return counts (int32) of children and masks of the documents with them, and of those not decided."""
    offsets, data = text_of(texts)
    counts, statuses = np.empty(len(texts), dtype=np.int32), np.empty(len(texts), dtype=np.uint8)
    json_scan.count_children(offsets, data, ord(opening), counts, statuses)
    valid = np.asarray(texts.is_valid())
    counts[~valid] = 0
    return counts, valid & (statuses == json_scan.FOUND), valid & (statuses == json_scan.OTHER)
