"""The Arrow types that the output columns of a node may have after its last operator: the negotiated forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from pyspark_pipeline.exec import OperatorFactory, Pipeline
from pyspark_pipeline.exec.chunk_check import ChunkChecker, ColumnForm
from pyspark_pipeline.plan.nodes import Field
from pyspark_pipeline.plan.properties import RequiredOutput

_UNSCALED = (pa.int32(), pa.int64())


Output = tuple[Sequence[Field], RequiredOutput]


def chunk_checker(pipelines: Iterable[Pipeline], outputs: Mapping[OperatorFactory, Output]) -> ChunkChecker:
    """Build the check of the chunks of ``pipelines``.

    ``outputs`` are the columns, and what the consumer requires of them, by the factory that outputs them.
    """
    return ChunkChecker(
        {
            (pipeline.id, index): _forms(*outputs[factory])
            for pipeline in pipelines
            for index, factory in enumerate(pipeline.factories)
            if factory in outputs
        }
    )


def _forms(fields: Sequence[Field], required: RequiredOutput) -> list[ColumnForm]:
    free = required.unused | required.nulls_dropped
    return [
        _form(field, i in required.unused, i in required.unscaled, nullable=field.nullable or i in free)
        for i, field in enumerate(fields)
    ]


def _form(field: Field, is_unused: bool, may_be_unscaled: bool, *, nullable: bool) -> ColumnForm:
    """Return the allowed types of one column.

    These are its own type, a dictionary for strings, integers for decimals that may be unscaled, and the null type if
    the column is unused.
    """
    types = {field.type.arrow}
    if field.type.kind == "string":
        types.add(pa.dictionary(pa.int32(), pa.string()))
    if may_be_unscaled:
        types.update(_UNSCALED)
    if is_unused:
        types.add(pa.null())
    return ColumnForm(types=frozenset(types), nullable=nullable)
