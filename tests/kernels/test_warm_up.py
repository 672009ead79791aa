"""Every kernel is loaded by warm_up and has one compiled form, whatever memory its inputs live in."""

from __future__ import annotations

import functools
import importlib
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import ExpressionSettings, compile_predicate
from pyspark_pipeline.kernels.group_table import GroupTable
from pyspark_pipeline.kernels.murmur3 import hash_rows
from pyspark_pipeline.kernels.warm_up import warm_up
from pyspark_pipeline.kernels.xxhash64 import xxhash64_rows
from pyspark_pipeline.operators.windows.boundaries import WindowRows
from pyspark_pipeline.operators.windows.running import DecimalSums, DoubleSums, Extremes, LongSums, Running
from tests.expressions.build import call, col, lit
from tests.operators.aggregate_kit import aggregate_call, chunks_of, leaf, partial_node, run_stages
from tests.operators.kit import column

MODULES = (
    "accumulate", "bloom", "group_kernels", "interning", "murmur3", "partition", "row_hash", "row_ranges", "running",
    "xxhash64",
)  # fmt: skip


def _forms() -> dict[str, Any]:
    made = {}
    for name in MODULES:
        module = importlib.import_module(f"pyspark_pipeline.kernels.{name}")
        for key, value in vars(module).items():
            if hasattr(value, "signatures") and value.__module__ == module.__name__:
                made[f"{name}.{key}"] = list(value.signatures)
    return made


def test_warm_up_loads_every_kernel_in_its_only_form() -> None:
    warm_up()
    before = _forms()
    called_inside = {name for name, forms in before.items() if not forms}
    inlined = ("_", "is_valid", "exceeds", "hash_long", "hash_string", "shortest_bytes", "slot_of_string")
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
    """Filter chunks of every form by ranges: from numpy and from Arrow, with and without NULLs, sliced, narrow."""
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
            narrow = [pa.decimal128(15, 0), None, None, None, pa.decimal128(9, 0)]
            for part in (*parts, functools.reduce(lambda a, b: call("And", "boolean", a, b), parts)):
                compile_predicate(part, ExpressionSettings(ansi=True, time_zone="UTC"), narrow).filter(chunk)


def _bloom() -> None:
    """Probe filters of both versions with values from numpy and from Arrow."""
    for header in (struct.pack(">iii", 1, 2, 1), struct.pack(">iiii", 2, 2, 0, 1)):
        filter_ = lit(header + bytes(8), "binary")
        condition = call("BloomFilterMightContain", "boolean", filter_, col(0, "bigint"))
        for numbers in (pa.array(range(40)), pa.array(np.arange(40)), pa.array([None, *range(39)]).slice(1)):
            chunk = pa.RecordBatch.from_arrays([numbers], ["a"])
            compile_predicate(condition, ExpressionSettings(ansi=True, time_zone="UTC")).filter(chunk)


def _windows() -> None:
    """Run values from numpy and from Arrow, with and without NULLs, sliced, over two chunks."""
    rows = WindowRows(np.array([False, False, True, False]), np.ones(4, dtype=np.bool_))
    for numbers in (pa.array(range(4)), pa.array(np.arange(4)), pa.array([1, None, 2, None, 3]).slice(1)):
        decimals = numbers.cast(pa.decimal128(19, 0))
        makes: list[tuple[Running, pa.Array]] = [
            (LongSums(True, -1), numbers), (LongSums(True, -1), numbers.cast(pa.int32())),
            (DoubleSums(), numbers), (DoubleSums(), numbers.cast(pa.float32())), (DecimalSums(), decimals),
        ]  # fmt: skip
        for values in (numbers, decimals, numbers.cast(pa.string()), numbers.cast(pa.float64())):
            makes += [(Extremes(descending=descending), values) for descending in (False, True)]
        for running, values in makes:
            for _ in range(2):
                running.run(rows, [values])
