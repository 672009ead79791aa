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
from pyspark_pipeline.operators.aggregation.functions.count import CountState
from pyspark_pipeline.operators.aggregation.functions.extremes import (
    DecimalExtreme,
    DoubleExtreme,
    LongExtreme,
    StringExtreme,
)
from pyspark_pipeline.operators.aggregation.functions.first_last import EdgeState
from pyspark_pipeline.operators.aggregation.functions.moments import ColumnMoments, PairMoments
from pyspark_pipeline.operators.aggregation.functions.state import State
from pyspark_pipeline.operators.aggregation.functions.sum_states import (
    DoubleSumState,
    FrameDecimalSumState,
    LongSumState,
)
from tests.expressions.build import call, col, lit
from tests.operators.aggregate_kit import aggregate_call, chunks_of, leaf, partial_node, run_stages
from tests.operators.kit import column

MODULES = (
    "accumulate", "bloom", "first_last", "group_kernels", "interning", "moments", "murmur3", "partition", "row_hash",
    "row_ranges", "running", "xorshift", "xxhash64",
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
    inlined = ("_", "add_wide", "is_valid", "exceeds", "hash_long", "hash_string", "shortest_bytes", "slot_of_string")
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
            (LongSumState(True), [numbers]),
            (LongSumState(True), [numbers.cast(pa.int32())]),
            (DoubleSumState(), [numbers]),
            (DoubleSumState(), [numbers.cast(pa.float32())]),
            (FrameDecimalSumState(parse_type("decimal(29,0)")), [decimals]),
            (CountState(), [numbers]),
            (ColumnMoments(3), [doubles]),
            (PairMoments(), [doubles, doubles]),
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
            (EdgeState(parse_type("bigint"), select, ignore_nulls=ignore_nulls), [numbers])
            for select in (first_rows, last_rows)
            for ignore_nulls in (False, True)
        ]
        for state, columns in makes:
            for _ in range(2):
                state.reserve(5)
                state.scan(starts, columns)
                state.take(np.array([4]))
