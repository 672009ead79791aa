"""In which Arrow forms the columns of a node's output may leave the last operator of the node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from pyspark_pipeline.exec import OperatorFactory, Pipeline
from pyspark_pipeline.exec.chunk_check import ChunkChecker, ColumnForm
from pyspark_pipeline.plan.nodes import Field

_STORED = (pa.int32(), pa.int64())


def chunk_checker(
    pipelines: Iterable[Pipeline], outputs: Mapping[OperatorFactory, Sequence[Field]]
) -> ChunkChecker:
    """Make the check of the chunks of ``pipelines``; ``outputs`` are the columns by the factory that gives them."""
    return ChunkChecker(
        {
            (pipeline.id, index): [_form(factory, i, field) for i, field in enumerate(outputs[factory])]
            for pipeline in pipelines
            for index, factory in enumerate(pipeline.factories)
            if factory in outputs
        }
    )


def _form(factory: OperatorFactory, ordinal: int, field: Field) -> ColumnForm:
    """Give the forms of one column.

    Its own type, strings also by dictionary, decimals also as the integers they are stored as where the factory was
    asked for them, and nothing at all where nobody reads the column.
    """
    types = {field.type.arrow}
    if field.type.kind == "string":
        types.add(pa.dictionary(pa.int32(), pa.string()))
    if field.type.is_decimal and factory.gives_stored_decimals:
        types.update(_STORED)
    if ordinal in factory.unread:
        types.add(pa.null())
    return ColumnForm(types=frozenset(types), nullable=field.nullable or ordinal in factory.unread)
