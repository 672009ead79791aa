"""``array_sort``: by the order of the elements, or by a lambda that compares keys of two elements (Spark: ArraySort).

The shim makes a lambda of each key, and a table of the outcomes of the comparison. If it is an order, any stable sort
has the same result. Others, such as one for which NULL equals all values, need the steps of Java's sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cases import ORDERED, case
from pyspark_pipeline.expressions.element_codes import order_keys, valid_flags
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.lambdas import evaluated, parameters_of
from pyspark_pipeline.expressions.nested import Elements, list_array, plain_array
from pyspark_pipeline.expressions.registry import ExpressionSettings, LazyKernel, function
from pyspark_pipeline.kernels.element_order import sorted_places
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.kernels.tim_sort import compared_places
from pyspark_pipeline.plan.expr import Call

_Numbers: TypeAlias = npt.NDArray[np.int64]

_KEYS = (*ORDERED, "array", "struct")
_ORDERS = _ASCENDING, _DESCENDING = "012", "210"
#: The outcomes for NULLs that are the last elements, or the first ones.
_NULLS_AT_END = _NULLS_LAST, _NULLS_FIRST = "120", "102"


@function("ArraySort.byKeys", [case(["array"], _KEYS, variadic=True, result=["array"])])
def _sort(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the elements in the order of a comparison of their keys, as Java's sort leaves them."""
    kind, outcomes = call.type.arrow, str(call.fields["outcomes"])
    parameters = [parameters_of(call, position)[0] for position in range(1, len(call.args))]
    is_order = len(parameters) == 1 and outcomes[3:] in _ORDERS and outcomes[:3] in _NULLS_AT_END

    def run(frame: Frame, args: Sequence[Evaluable]) -> pa.Array:
        elements = Elements(plain_array(frame.value(args[0]), frame.num_rows))
        found = elements.values()
        keys = [
            evaluated(frame, body, elements.owners, {parameter: found})
            for body, parameter in zip(args[1:], parameters, strict=True)
        ]
        codes, valid = [order_keys(key) for key in keys], [valid_flags(key) for key in keys]
        places = _stable_places(elements.ends, codes, valid, outcomes)
        if places is None:
            signs = np.array([int(outcome) - 1 for outcome in outcomes], dtype=np.int8)
            places, rejected = compared_places(elements.ends, np.stack(codes), np.stack(valid), signs)
            if rejected >= 0:
                raise conditions.java_error(
                    "IllegalArgumentException", "Comparison method violates its general contract!"
                )
        return list_array(kind, elements.counts, take(found, places), elements.valid)

    return LazyKernel(run=run, can_raise=not is_order)


def _stable_places(
    ends: _Numbers, codes: Sequence[_Numbers], valid: Sequence[npt.NDArray[np.bool_]], outcomes: str
) -> _Numbers | None:
    """Return the places of the elements in the order of one key; None if the comparison is no such order."""
    if len(codes) > 1 or outcomes[3:] not in _ORDERS:
        return None
    if outcomes[:3] not in _NULLS_AT_END and not valid[0].all():
        return None
    keys = codes[0] if outcomes[3:] == _ASCENDING else ~codes[0]
    return sorted_places(ends, keys, valid[0], nulls_first=outcomes[:3] == _NULLS_FIRST)
