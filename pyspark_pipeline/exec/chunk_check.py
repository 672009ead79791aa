"""What a chunk that moves between operators must be; a debugging aid that looks at every one.

Off, it costs nothing: a driver without a check does not call one. On, it reads every value once.
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
    """What one column of an operator's chunks may be: its Arrow types, and whether it may hold NULL."""

    types: frozenset[pa.DataType]
    nullable: bool = True


class ChunkChecker:
    """Checks chunks by where they come from.

    ``forms`` has the columns of the chunks that an operator gives, by pipeline and place in it. The chunks of an
    operator that is not among them are only checked for what holds of every chunk.
    """

    def __init__(self, forms: Mapping[tuple[int, int], Sequence[ColumnForm]]) -> None:
        self._forms = forms

    def __call__(self, chunk: Chunk, operator: OperatorId) -> None:
        """Raise :class:`EngineBugError` where ``chunk`` is not what ``operator`` may give; says what is wrong."""
        fault = _broken(chunk) or _misfit(chunk, self._forms.get((operator.pipeline, operator.index)))
        if fault:
            raise EngineBugError(f"{operator} gave a chunk of {chunk.num_rows} rows that is wrong: {fault}")


def _broken(chunk: Chunk) -> str:
    """Tell what no chunk may be: lengths, offsets, dictionary indices, UTF-8, digits, null counts; else nothing."""
    try:
        chunk.validate(full=True)
    except pa.ArrowInvalid as error:
        return str(error)
    for place, column in enumerate(chunk.columns):
        if isinstance(column, pa.DictionaryArray) and column.dictionary.null_count:
            return f"column {place} has a NULL in its dictionary"
    return ""


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
