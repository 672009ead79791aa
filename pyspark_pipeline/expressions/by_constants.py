"""Functions with an implementation for constant arguments, of columns: rows are grouped by the values of those columns.

Each group is evaluated by the kernel of its constants, built once per expression and combination of values. A few
values cost little; where every row has others, a row takes 20 to 50 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.per_value import python_values
from pyspark_pipeline.expressions.registry import (
    Builder,
    Case,
    ExpressionSettings,
    Kernel,
    Value,
    function,
    implementation,
)
from pyspark_pipeline.expressions.values import decode, to_array
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.buffers import values as numbers_of
from pyspark_pipeline.plan.expr import Call, Literal

#: Kernels that an expression keeps.
_KEPT = 1024


def by_constants(
    name: str,
    cases: Sequence[Case],
    positions: Sequence[int],
    *,
    otherwise: Builder | None = None,
    can_raise: bool = False,
    of_null: int | None = None,
) -> None:
    """Register a function for columns at ``positions``, after its cases with constants there.

    ``otherwise`` builds the kernel of constants without a case. ``can_raise``: some constant makes a kernel raise.
    ``of_null`` is the result for a NULL at ``positions``.
    """

    def build(call: Call, settings: ExpressionSettings) -> Kernel:
        @lru_cache(_KEPT)
        def kernel_of(constants: tuple[Any, ...]) -> Kernel:
            arguments = list(call.args)
            for position, constant in zip(positions, constants, strict=True):
                arguments[position] = Literal(type=call.args[position].type, nullable=False, value=constant)
            bound = replace(call, args=tuple(arguments), case=None)
            found = implementation(bound)
            made = (otherwise if found is build and otherwise is not None else found)(bound, settings)
            assert isinstance(made, Kernel), f"the constants of {name} have a kernel of their own"
            return made

        def run(values: Sequence[Value], rows: int) -> Value:
            null = pa.scalar(of_null, call.type.arrow)
            return _evaluate(kernel_of, values, rows, positions, null)

        return Kernel(run=run, can_raise=can_raise, null_intolerant=of_null is None)

    function(name, cases)(build)


def _evaluate(
    kernel_of: Callable[[tuple[Any, ...]], Kernel],
    values: Sequence[Value],
    rows: int,
    positions: Sequence[int],
    null: pa.Scalar,
) -> pa.Array:
    columns = [to_array(values[position], rows).dictionary_encode() for position in positions]
    order, ends, firsts = group_rows([column.indices for column in columns])
    constants = zip(*(python_values(column.take(firsts).dictionary_decode()) for column in columns), strict=True)
    sorted_values = [value if isinstance(value, pa.Scalar) else value.take(order) for value in values]
    parts, start = [], 0
    for chosen, end in zip(constants, ends.tolist(), strict=True):
        if None in chosen:
            parts.append(pa.repeat(null, end - start))
        else:
            arguments = [_slice(value, start, end - start) for value in sorted_values]
            for position, constant in zip(positions, chosen, strict=True):
                arguments[position] = pa.scalar(constant, values[position].type)
            parts.append(decode(to_array(kernel_of(chosen).run(arguments, end - start), end - start)))
        start = end
    if sum(part.nbytes for part in parts) > np.iinfo(np.int32).max:
        raise pa.ArrowCapacityError(f"{rows} strings have more than 2 GiB")
    inverse = np.empty(rows, dtype=np.int64)
    inverse[numbers_of(order)] = np.arange(rows)
    return pa.concat_arrays(parts).take(pa.array(inverse))


def _slice(value: Value, start: int, rows: int) -> Value:
    return value if isinstance(value, pa.Scalar) else value.slice(start, rows)


def group_rows(codes: Sequence[pa.Array]) -> tuple[pa.Array, Int64Array, pa.Array]:
    """Group rows by their codes: return the rows in order of groups, and the end and a row of each group; int64."""
    keys = np.zeros(len(codes[0]), dtype=np.int64)
    for each in codes:
        found = np.where(np.asarray(each.is_valid()), np.asarray(each.fill_null(0)), -1).astype(np.int64) + 1
        _, keys = np.unique(keys * (found.max() + 1) + found, return_inverse=True)
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(np.bincount(keys))
    return pa.array(order), ends, pa.array(order[ends - 1])
