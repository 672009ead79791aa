"""Every kernel is loaded by warm_up and has one compiled form, whatever memory its inputs live in."""

from __future__ import annotations

import importlib
from decimal import Decimal
from typing import Any

import pyarrow as pa

from pyspark_pipeline.kernels.group_table import GroupTable
from pyspark_pipeline.kernels.murmur3 import hash_rows
from pyspark_pipeline.kernels.warm_up import warm_up
from tests.operators.aggregate_kit import aggregate_call, chunks_of, leaf, partial_node, run_stages
from tests.operators.kit import column

MODULES = ("accumulate", "group_kernels", "interning", "murmur3", "partition")


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
    assert all(name.split(".")[1].startswith(("_", "is_valid", "exceeds", "hash_words")) for name in called_inside)
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
        GroupTable([array.type]).group_ids([array])
    after = _forms()
    assert {name: forms for name, forms in after.items() if len(forms) > max(1, len(before[name]))} == {}
