"""Validation of every chunk that moves between operators: a debugging aid.

Disabled, it costs nothing: a driver without a check makes no call. Enabled, it reads every value once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.ids import OperatorId


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnForm:
    """The Arrow types allowed for one column of an operator's chunks, and whether it may hold NULL."""

    types: frozenset[pa.DataType]
    nullable: bool = True


class ChunkChecker:
    """Validates chunks against the declared output of the operator that produced them.

    ``forms`` maps (pipeline, operator index) to the output columns of an operator. Chunks of other operators are
    checked only for the rules that hold for every chunk.
    """

    def __init__(self, forms: Mapping[tuple[int, int], Sequence[ColumnForm]]) -> None:
        self._forms = forms

    def __call__(self, chunk: Chunk, operator: OperatorId) -> None:
        """Raise :class:`EngineBugError` with the fault found if ``chunk`` is not a valid output of ``operator``."""
        fault = _broken(chunk) or _misfit(chunk, self._forms.get((operator.pipeline, operator.index)))
        if fault:
            raise EngineBugError(f"{operator} gave a chunk of {chunk.num_rows} rows that is wrong: {fault}")


def _broken(chunk: Chunk) -> str:
    """Return the fault that no chunk may have (in lengths, offsets, dictionary indices, digits, null counts), or ''."""
    try:
        chunk.validate()
        for column in chunk.columns:
            _validate(column)
    except pa.ArrowInvalid as error:
        return str(error)
    for place, column in enumerate(chunk.columns):
        if isinstance(column, pa.DictionaryArray) and column.dictionary.null_count:
            return f"column {place} has a NULL in its dictionary"
    return ""


def _validate(column: pa.Array) -> None:
    """Raise ``ArrowInvalid`` for a fault of a column; nested strings may be invalid UTF-8, too, but have no view."""
    try:
        _as_bytes(column).validate(full=True)
    except pa.ArrowInvalid as error:
        if not (pa.types.is_nested(column.type) and "Invalid UTF8" in str(error)):
            raise


def _as_bytes(column: pa.Array) -> pa.Array:
    """View strings as bytes: as in Spark they may be invalid UTF-8 (a binary column read as string)."""
    if pa.types.is_string(column.type):
        return column.view(pa.binary())
    if isinstance(column, pa.DictionaryArray) and pa.types.is_string(column.dictionary.type):
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.view(pa.binary()), safe=False)
    return column


def _misfit(chunk: Chunk, forms: Sequence[ColumnForm] | None) -> str:
    if forms is None:
        return ""
    if chunk.num_columns != len(forms):
        return f"it has {chunk.num_columns} columns instead of {len(forms)}"
    for place, (column, form) in enumerate(zip(chunk.columns, forms, strict=True)):
        if column.type not in form.types:
            return f"column {place} is {column.type}, allowed is {' or '.join(sorted(map(str, form.types)))}"
        if column.null_count and not form.nullable and not pa.types.is_null(column.type):
            return f"column {place} holds {column.null_count} NULLs and may hold none"
    return ""
