"""Overflow of sums and averages: Spark's value or Spark's error, by mode, with and without keys."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Settings
from tests.operators.aggregate_kit import aggregate_call, chunks_of, leaf, partial_node, rows_of, run_stages
from tests.operators.kit import column

BIG = "99999999999999999999999999999999999999"
CASES = {
    "long": ("bigint", [2**63 - 1, 1]),
    "long and back": ("bigint", [2**63 - 1, 1, -5]),
    "least long": ("bigint", [-(2**63), -1]),
    "decimal": ("decimal(38,0)", [BIG, "1"]),
    "decimal and back": ("decimal(38,0)", [BIG, "1", "-2"]),
    "negative decimal": ("decimal(38,0)", ["-" + BIG, "-1"]),
    "far over": ("decimal(38,0)", [BIG] * 5),
    "just fits": ("decimal(38,0)", [BIG, None, "0"]),
    "result too wide": ("decimal(38,4)", ["9999999999999999999999999999999999.9999"]),
    "tiny": ("decimal(38,38)", ["0." + "3" * 38, "0." + "0" * 37 + "1", "0"]),
    "halves": ("decimal(10,2)", ["0.01", "0.02", "0.02", "-7.77", "12345678.91"]),
    "negative halves": ("decimal(10,0)", ["-1", "0", "0", "0", "0", "0", "0", "-4"]),
}


def _spark(vanilla: Any, query: str) -> Any:
    try:
        return rows_of(vanilla.sql(query).toArrow())
    except Exception as error:  # the oracle's error is the expectation, whatever its class
        return error.getCondition(), dict(error.getMessageParameters())  # type: ignore[attr-defined]


def _ours(kind: str, data: list[Any], function: str, keyed: bool, ansi: bool) -> Any:
    plain = kind.replace(",", ";")
    strings = [None if v is None else str(v) for v in data]
    values = pa.array(strings, pa.string()).cast(pa.decimal128(38, 38) if "38,38" in kind else _arrow(kind))
    table = pa.table({"k": pa.array([1] * len(data), pa.int32()), "v": values})
    child = leaf(f"k:int, v:{plain}", chunks_of(table, 100))
    call = aggregate_call(function, column(child, "v"), ansi=ansi)
    first = partial_node(child, [column(child, "k")] if keyed else [], [call])
    settings = Settings(ansi=ansi, time_zone="UTC", options=Options({}))
    try:
        return rows_of(run_stages(first, partitions=1, settings=settings))
    except SparkConditionError as error:
        return error.condition, error.parameters


def _arrow(kind: str) -> pa.DataType:
    from pyspark_pipeline.datatypes import parse_type

    return parse_type(kind).arrow


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "legacy"])
@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "whole"])
@pytest.mark.parametrize("case", CASES)
def test_overflow_equals_spark(vanilla: Any, case: str, keyed: bool, ansi: bool) -> None:
    kind, data = CASES[case]
    vanilla.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    vanilla.conf.set("spark.sql.shuffle.partitions", "2")  # so that partial sums pass an exchange
    literals = ", ".join(f"(1, cast({'null' if v is None else repr(str(v))} as {kind}))" for v in data)
    source = f"(select k, v from values {literals} t(k, v) distribute by k)"
    try:
        for sql, function in (("sum", "Sum"), ("avg", "Average")):
            query = f"select {'k, ' if keyed else ''}{sql}(v) from {source} {'group by k' if keyed else ''}"
            assert _ours(kind, data, function, keyed, ansi) == _spark(vanilla, query), function
    finally:
        vanilla.conf.unset("spark.sql.ansi.enabled")
        vanilla.conf.set("spark.sql.shuffle.partitions", "1")
