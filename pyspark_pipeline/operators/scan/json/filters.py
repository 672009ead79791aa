"""Filters that Spark's parser applies to an object as soon as it has read their columns (JsonFilters)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark_pipeline.expressions import compile_expressions
from pyspark_pipeline.expressions.json_documents import Records, array_of
from pyspark_pipeline.expressions.json_parse import JsonError
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.scan.reader import ReadRequest
from pyspark_pipeline.plan.expr import Expr, columns_read


class MemberFilters:
    """Decides what becomes of an object that has a member of a name several times.

    Filters of the same columns are one, which is evaluated when all of these have been read, if members of the same
    name count each. A later member of a column is an error. For other objects, the filters above the scan suffice.
    """

    def __init__(self, request: ReadRequest, corrupt: int) -> None:
        self._types = [column.type.arrow for column in request.columns]
        self._columns = [place for place in range(len(request.columns)) if place != corrupt]
        groups: dict[frozenset[int], list[Expr]] = {}
        for condition in request.filters:
            groups.setdefault(frozenset(columns_read([condition])), []).append(condition)
        self._groups = [(read, compile_expressions(each, request.expressions)) for read, each in groups.items()]

    def apply(self, record: Records) -> None:
        """Take the row of an object that Spark drops, and mark one that is malformed."""
        places = [place for place, _ in record.members]
        if record.is_array or len(set(places)) == len(places):
            return
        row: dict[int, Any] = {}
        missing = [len(read) for read, _ in self._groups]
        for place, value in record.members:
            column = self._columns[place]
            row[column] = value
            for number, (read, _) in enumerate(self._groups):
                if column not in read:
                    continue
                missing[number] -= 1
                if missing[number] < 0:
                    record.error = record.error or JsonError("a member of a name that was read")
                    break
                if missing[number] == 0 and not self._passes(number, row):
                    record.value = []
                    return

    def _passes(self, number: int, row: Mapping[int, Any]) -> bool:
        columns = [array_of([row.get(place)], type_) for place, type_ in enumerate(self._types)]
        found = self._groups[number][1].evaluate(make_chunk(columns, 1))
        return all(values[0].as_py() for values in found)
