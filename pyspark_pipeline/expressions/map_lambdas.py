"""Functions with a lambda that makes the keys of maps, or that joins the entries of two maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.cases import ALL_KINDS, ORDERED, case
from pyspark_pipeline.expressions.element_codes import (
    equality_codes,
    valid_flags,
    without_signed_zeros,
)
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.lambdas import evaluated, parameters_of
from pyspark_pipeline.expressions.maps import make_maps, map_function
from pyspark_pipeline.expressions.nested import Elements, list_array, map_pairs, plain_array
from pyspark_pipeline.expressions.registry import ExpressionSettings, LazyKernel, Value, function
from pyspark_pipeline.kernels.element_places import element_rows, interleaved_places
from pyspark_pipeline.kernels.element_sets import first_places
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.plan.expr import Call


@map_function("TransformKeys", [case(["map"], ALL_KINDS, result=["map"], keys=ORDERED)])
def _transform_keys(call: Call, last_wins: bool) -> LazyKernel:
    """Return the entries with the keys that the lambda returns for them."""
    parameters = parameters_of(call, 1)

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        elements = Elements(plain_array(frame.value(args[0]), frame.num_rows))
        entries = elements.keys_and_items()
        keys = evaluated(frame, args[1], elements.owners, dict(zip(parameters, entries, strict=True)))
        return make_maps(
            call.type, elements.ends, elements.valid, keys, entries[1], last_wins=last_wins, keeps_zeros=True
        )

    return LazyKernel(run=run, can_raise=True)


@function("MapZipWith", [case(["map"], ["map"], ALL_KINDS, result=["map"], keys=ORDERED)])
def _zip_maps(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the value of the lambda for each key of both maps and its values in them, NULL in one without the key."""
    parameters, kind = parameters_of(call, 2), call.type.arrow

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        arrays = [plain_array(frame.value(arg), frame.num_rows) for arg in args[:2]]
        valid = np.asarray(pc.and_(arrays[0].is_valid(), arrays[1].is_valid()))
        left, right = (Elements(array, valid) for array in arrays)
        (keys, items), (other_keys, other_items) = left.keys_and_items(), right.keys_and_items()
        ends, places = left.ends + right.ends, interleaved_places(left.ends, right.ends)
        found = without_signed_zeros(take(pa.concat_arrays([keys, other_keys]), places))
        (codes,) = equality_codes([found])
        first = first_places(ends, codes, valid_flags(found))
        kept = np.flatnonzero(first == np.arange(first.size))
        at = np.full((2, first.size), -1, dtype=np.int64)
        # The first of equal keys of a map, which files may have, is the last one written.
        for side, is_of_side in enumerate((places < len(keys), places >= len(keys))):
            own = np.flatnonzero(is_of_side)[::-1]
            at[side, first[own]] = places[own] - side * len(keys)
        counts = np.diff(np.searchsorted(kept, ends))
        owners = element_rows(counts)
        chosen = take(found, kept)
        at = at[:, kept]
        values = [take(part, at[side], with_missing=True) for side, part in enumerate((items, other_items))]
        made = evaluated(frame, args[2], owners, dict(zip(parameters, [chosen, *values], strict=True)))
        return list_array(kind, counts, map_pairs(kind, [chosen, made]), valid)

    return LazyKernel(run=run)
