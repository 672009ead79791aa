"""Every kernel is loaded by warm_up and has one compiled form, whatever memory holds its inputs."""

from __future__ import annotations

import functools
import importlib
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.expressions import ExpressionSettings, compile_predicate
from pyspark_pipeline.kernels.first_last import first_rows, last_rows
from pyspark_pipeline.kernels.group_table import GroupTable
from pyspark_pipeline.kernels.murmur3 import hash_rows
from pyspark_pipeline.kernels.warm_up import warm_up
from pyspark_pipeline.kernels.xxhash64 import xxhash64_rows
from pyspark_pipeline.operators.aggregation.functions import warm_up_steps
from pyspark_pipeline.operators.aggregation.functions.approximate import RegisterState
from pyspark_pipeline.operators.aggregation.functions.bitwise import BitState
from pyspark_pipeline.operators.aggregation.functions.count import CountState
from pyspark_pipeline.operators.aggregation.functions.extreme_by import ExtremeByState
from pyspark_pipeline.operators.aggregation.functions.extremes import (
    DecimalExtreme,
    DoubleExtreme,
    LongExtreme,
    StringExtreme,
    extreme_state,
)
from pyspark_pipeline.operators.aggregation.functions.first_last import EdgeState
from pyspark_pipeline.operators.aggregation.functions.moments import ColumnMoments, PairMoments
from pyspark_pipeline.operators.aggregation.functions.nth_row import NthState
from pyspark_pipeline.operators.aggregation.functions.state import State
from pyspark_pipeline.operators.aggregation.functions.sum_states import (
    DoubleSumState,
    FrameDecimalSumState,
    LongSumState,
    TryLongSumState,
    long_overflow,
)
from pyspark_pipeline.operators.aggregation.functions.value_codes import value_coder
from pyspark_pipeline.operators.aggregation.functions.value_counts import ValueCountState
from pyspark_pipeline.operators.windows.range_bounds import RangeBounds
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.sorts import SortKey
from pyspark_pipeline.plan.windows import Bound
from tests.expressions.build import call, col, lit
from tests.operators.aggregate_kit import aggregate_call, chunks_of, leaf, partial_node, run_stages
from tests.operators.kit import column

MODULES = (
    "accumulate", "bloom", "extreme_rows", "first_last", "frames", "group_kernels", "hyperloglog", "interning",
    "moments", "murmur3", "partition", "row_hash", "row_ranges", "running", "value_counts",
    "value_frames", "xorshift", "xxhash64",
)  # fmt: skip


def _forms() -> dict[str, Any]:
    made = {}
    for name in MODULES:
        module = importlib.import_module(f"pyspark_pipeline.kernels.{name}")
        for key, value in vars(module).items():
            if hasattr(value, "signatures") and value.__module__ == module.__name__:
                made[f"{name}.{key}"] = list(value.signatures)
    return made


def test_warm_up_loads_the_only_form_of_every_kernel() -> None:
    warm_up()
    for step in warm_up_steps():
        step()
    before = _forms()
    called_inside = {name for name, forms in before.items() if not forms}
    inlined = (
        "_", "add_wide", "combined", "compare_bytes", "copy_bytes", "exceeds", "hash_long", "hash_string", "is_valid",
        "less_double", "shortest_bytes", "slot_of_string", "try_add",
    )  # fmt: skip
    assert all(name.split(".")[1].startswith(inlined) for name in called_inside)
    table = pa.table(
        {
            "k": pa.array([1, None, 3] * 50, pa.int64()),
            "s": pa.array(["a", None, "c"] * 50),
            "d": pa.array([Decimal("1.5"), None, Decimal("-2.5")] * 50, pa.decimal128(12, 1)),
            "f": pa.array([0.5, None, 1.5] * 50),
        }
    )
    child = leaf("k:bigint, s:string, d:decimal(12;1), f:double", chunks_of(table, 40))
    calls = [
        aggregate_call(name, column(child, value))
        for name in ("Sum", "Average", "Min", "Max", "Count")
        for value in "kdf"
    ] + [aggregate_call("Min", column(child, "s"))]
    run_stages(partial_node(child, [column(child, "k"), column(child, "s")], calls))
    run_stages(partial_node(child, [], calls))
    for array in (table.column("s").combine_chunks(), table.column("f").combine_chunks().slice(3)):
        hash_rows([array], len(array))
        xxhash64_rows([array], len(array), 42)
        GroupTable([array.type]).group_ids([array])
    _filter()
    _bloom()
    _windows()
    _value_frames()
    _value_counts()
    after = _forms()
    assert {name: forms for name, forms in after.items() if len(forms) > max(1, len(before[name]))} == {}


def _filter() -> None:
    """Filter chunks of every encoding by ranges: from numpy and Arrow, with and without NULLs, sliced, unscaled."""
    wide = pa.array([Decimal(i) for i in range(40)], pa.decimal128(12, 0))
    for numbers in (pa.array(range(40)), pa.array([*range(39), None]), pa.array(np.arange(40))):
        for start, most in ((0, 3), (3, 100), (0, 100), (1, 39)):
            columns = [numbers, numbers, numbers.cast(pa.int32()), wide, numbers.cast(pa.int32())]
            chunk = pa.RecordBatch.from_arrays([each.slice(start) for each in columns], list("abcde"))
            kinds = ["decimal(15,0)", "bigint", "int", "decimal(12,0)"]
            values = [Decimal(most) if "(" in kind else most for kind in kinds]
            parts = [
                call("LessThan", "boolean", col(i, kind), lit(value, kind))
                for i, (kind, value) in enumerate(zip(kinds, values, strict=True))
            ]
            unscaled = [pa.decimal128(15, 0), None, None, None, pa.decimal128(9, 0)]
            for part in (*parts, functools.reduce(lambda a, b: call("And", "boolean", a, b), parts)):
                compile_predicate(part, ExpressionSettings(ansi=True, time_zone="UTC"), unscaled).filter(chunk)


def _bloom() -> None:
    """Probe filters of both versions with values from numpy and from Arrow."""
    for header in (struct.pack(">iii", 1, 2, 1), struct.pack(">iiii", 2, 2, 0, 1)):
        filter_ = lit(header + bytes(8), "binary")
        condition = call("BloomFilterMightContain", "boolean", filter_, col(0, "bigint"))
        for numbers in (pa.array(range(40)), pa.array(np.arange(40)), pa.array([None, *range(39)]).slice(1)):
            chunk = pa.RecordBatch.from_arrays([numbers], ["a"])
            compile_predicate(condition, ExpressionSettings(ansi=True, time_zone="UTC")).filter(chunk)


def _windows() -> None:
    """Scan states with columns from numpy and from Arrow, with and without NULLs, sliced, over two chunks."""
    starts = np.array([False, False, True, False])
    for numbers in (pa.array(range(4)), pa.array(np.arange(4)), pa.array([1, None, 2, None, 3]).slice(1)):
        decimals, doubles = numbers.cast(pa.decimal128(19, 0)), numbers.cast(pa.float64())
        makes: list[tuple[State, list[pa.Array]]] = [
            (LongSumState(long_overflow), [numbers]),
            (LongSumState(long_overflow), [numbers.cast(pa.int32())]),
            (LongSumState(long_overflow), [pa.array([2**62, 1, -(2**62), 7])]),
            (DoubleSumState(), [numbers]),
            (DoubleSumState(), [pa.array([0.5, 1.25, None, 7.0])]),
            (DoubleSumState(), [numbers.cast(pa.float32())]),
            (FrameDecimalSumState(parse_type("decimal(29,0)")), [decimals]),
            (CountState(), [numbers]),
            (TryLongSumState(), [numbers]),
            (RegisterState(), [numbers]),
            (BitState(parse_type("bigint"), "^"), [numbers]),
            (BitState(parse_type("int"), "&"), [numbers.cast(pa.int32())]),
            (ColumnMoments(3, True), [doubles]),
            (PairMoments(True), [doubles, doubles]),
        ]
        makes += [
            (make(parse_type(kind), sign), [column])
            for sign in (1, -1)
            for make, kind, column in (
                (LongExtreme, "bigint", numbers), (DoubleExtreme, "double", doubles),
                (DecimalExtreme, "decimal(19,0)", decimals), (StringExtreme, "string", numbers.cast(pa.string())),
            )
        ]  # fmt: skip
        makes += [
            (ExtremeByState(parse_type("bigint"), extreme_state(parse_type(kind), -1)), [numbers, column])
            for kind, column in (("bigint", numbers), ("double", doubles), ("decimal(19,0)", decimals))
        ]
        makes += [
            (EdgeState(parse_type("bigint"), select, ignore_nulls=ignore_nulls), [numbers])
            for select in (first_rows, last_rows)
            for ignore_nulls in (False, True)
        ]
        makes += [
            (NthState(parse_type("bigint"), 2, ignore_nulls=ignore_nulls), [numbers]) for ignore_nulls in (False, True)
        ]
        for state, columns in makes:
            for rows in (slice(0, 4), slice(1, 3)):
                state.clear()
                state.reserve(5)
                state.over(np.array([0, 0, 1, 3])[rows], np.array([1, 2, 4, 4])[rows], columns)
            state.clear()
            for _ in range(2):
                state.reserve(5)
                state.scan(starts, columns)
                state.take(np.array([4]))


def _value_counts() -> None:
    """Count values of every kind, from numpy and from Arrow, with and without NULLs, sliced, and merge the counts."""
    for kind in ("boolean", "int", "bigint", "float", "double", "decimal(18,0)", "decimal(38,0)", "string", "date"):
        arrow = parse_type(kind).arrow
        for numbers in (pa.array(range(4), pa.int32()), pa.array([1, None, 2, None, 3], pa.int32()).slice(1)):
            state = ValueCountState(value_coder(parse_type(kind)))
            state.update(np.arange(4) % 2, [numbers.cast(arrow)])
            state.update(np.arange(0), [numbers.slice(0, 0).cast(arrow)])
            state.merge(np.arange(2), state.columns(0, 2)[0])
            state.merge(np.arange(1), state.columns(1, 2)[0])
            state.bounds(0, 2)


def _value_frames() -> None:
    """Compute frames of values of every kind, with and without NULLs, that overflow or not."""
    starts = np.array([True, False, True, False])
    settings = Settings(ansi=True, time_zone="UTC", options=Options({}))
    for kind, unit in (("bigint", ""), ("double", ""), ("decimal(20,0)", ""), ("date", ""), ("date", "months")):
        type_ = parse_type(kind)
        numbers = pa.array([1, None, 3, 4], pa.int32() if kind == "date" else pa.int64()).cast(type_.arrow)
        child = leaf(f"v:{kind.replace(',', ';')}", ())
        offset = Decimal(1) if type_.is_decimal else 1
        for bound in (Bound(kind="unbounded"), Bound(kind="peers"), Bound(kind="values", offset=offset, unit=unit)):
            for descending in (False, True):
                key = SortKey(expr=column(child, "v"), descending=descending)
                frames = RangeBounds(key, bound, bound, settings)
                frames.frames(starts, numbers, np.arange(4), (0, 0))
                frames.frames(starts, numbers.slice(0, 3), np.arange(1, 3), (0, 1))
