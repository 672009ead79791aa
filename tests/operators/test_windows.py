"""Window functions match their definitions for all chunk boundaries, with several drivers, and with little memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.errors import SparkConditionError, UnsupportedPlanError
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.operators.windows import row_buffer
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Limit, Settings
from pyspark_pipeline.plan.sorts import SortKey
from pyspark_pipeline.plan.windows import Bound, Window, WindowGroupLimit
from tests.operators import spill_kit
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Builder, Chunks, column, literal, run, to_table
from tests.operators.sort_kit import DOUBLES, Direction, counted, limited, sorted_numbers
from tests.operators.window_kit import all_calls, are_peers, expected, window, window_call

spill_folder = spill_kit.spill_folder

SPEC = "row:bigint, p:double, o:int, x:bigint, d:double, n:decimal(38;2), s:string"
SMALL = Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": "4"}))
UP, DOWN = Direction(), Direction(descending=True, nulls_first=False)

ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, 0.0, -0.0, float("nan"), -float("nan"), 1.0]),
        st.sampled_from([None, 1, 2]),
        st.sampled_from([None, 1, -5, 2**62, 2**63 - 1]),
        st.sampled_from([None, *DOUBLES]),
        st.sampled_from([None, Decimal("1.25"), Decimal(-7), Decimal(10**35)]),
        st.sampled_from([None, "", "a", "b\0", "é", "zz"]),
    ),
    max_size=25,
)


def table_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    below = leaf(SPEC, ())
    data = [(number, *row) for number, row in enumerate(rows)]
    columns = list(zip(*data, strict=True)) if data else [()] * len(below.output)
    return pa.table({f.name: pa.array(list(c), f.type.arrow) for f, c in zip(below.output, columns, strict=True)})


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if value != value else value + 0.0
    return value


def partition_of(row: dict[str, Any]) -> Any:
    return plain(row["p"])


def check(node: Window, names: list[str], made: pa.Table, given: pa.Table, order: list[str]) -> None:
    """Assert that every value matches its definition over the sorted rows of the partition."""
    directions = [Direction(key.descending, key.nulls_first) for key in node.spec.order]
    rows = given.to_pylist()
    in_order = sorted_numbers([given[name].to_pylist() for name in order], directions) if order else range(len(rows))
    found = {row["row"]: row for row in made.to_pylist()}
    assert len(found) == made.num_rows == len(rows)
    for key in {partition_of(row) for row in rows} if node.spec.partition else {None}:
        part = [rows[i] for i in in_order if not node.spec.partition or partition_of(rows[i]) == key]
        peers = are_peers(part, order, directions)
        for at, row in enumerate(part):
            for place, name in enumerate(names):
                got, wanted = found[row["row"]][f"w{place}"], expected(name, part, at, peers)
                assert plain(got) == plain(wanted), (name, part, at)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS, chunk_rows=st.integers(1, 9), partition=st.booleans(), direction=st.sampled_from([UP, DOWN]),
    dop=st.sampled_from([1, 3]), limit=st.sampled_from([100, 10**9]), some=st.integers(0, 1000),
)  # fmt: skip
def test_window_functions_match_their_definitions(
    rows: list[Any], chunk_rows: int, partition: bool, direction: Direction, dop: int, limit: int, some: int
) -> None:
    given_rows = table_of(rows)
    below = leaf(SPEC, chunks_of(given_rows, chunk_rows))
    order = ["o"] if dop == 1 else ["o", "row"]  # drivers take chunks in any order
    calls = all_calls(below)
    if some:
        calls = {name: calls[name] for name in random.Random(some).sample(sorted(calls), 12)}
    node = window(below, ["p"] if partition else [], order, [direction, UP][: len(order)], *calls.values())
    instance = limited(node, limit, settings=SMALL, dop=dop)
    made = to_table(node, list(execute(instance, 1)))
    check(node, list(calls), made, given_rows, order)
    assert instance.memory.held == 0


@pytest.mark.parametrize("name", ["rank", "count range", "sum x whole", "Lead 5", "Lag 5", "cume_dist"])
@pytest.mark.parametrize("partitions", [1, 7, 2000])
def test_window_over_large_and_small_partitions(name: str, partitions: int) -> None:
    rng = np.random.default_rng(5)
    columns = (rng.integers(least, most, 2000).tolist() for least, most in ((0, partitions), (0, 9), (-9, 9)))
    rows = [(float(p), o, x, None, None, f"s{x}") for p, o, x in zip(*columns, strict=True)]
    given_rows = table_of(rows)
    below = leaf(SPEC, chunks_of(given_rows, 100))
    node = window(below, ["p"], ["o"], [UP], all_calls(below)[name])
    made = run(node, builder=Builder(Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": "64"}))))
    by_row = {row["row"]: row["w0"] for row in made.to_pylist()}
    data = given_rows.to_pylist()
    for key in sorted({row["p"] for row in data})[:5]:
        part = sorted((row for row in data if row["p"] == key), key=lambda row: row["o"])
        peers = are_peers(part, ["o"], [UP])
        for at in range(0, len(part), 1 + len(part) // 20):
            assert by_row[part[at]["row"]] == expected(name, part, at, peers)


_VALUES = {
    "bigint": [None, -5, 0, 1, 2, 3, 7, 2**62, -(2**62)],
    "double": [None, -0.0, 0.0, 1.0, 1.5, 4.0, float("nan"), float("inf"), -float("inf")],
    "decimal(20,2)": [None, *map(Decimal, ("-310.00", "-0.01", "0.00", "0.07", "999.99", "999999999999999999.99"))],
}
_OFFSETS = ["", "p", -3, -1, 0, 1, 3]


def is_within(value: Any, other: Any, bound: Any, sign: int, nulls: int) -> bool:
    """Return whether ``value`` is on the inner side of a bound of the row with ``other``; ``sign`` −1: of the lower."""

    def key(number: Any) -> tuple[int, Any]:
        if number is None:
            return nulls, 0
        return (0, float("inf"), 1) if number != number else (0, number, 0)  # type: ignore[return-value]

    if bound == "":
        return True
    limit = other if bound == "p" or other is None else other + bound
    return key(value) <= key(limit) if sign > 0 else key(value) >= key(limit)


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(sorted(_VALUES)), picks=st.lists(st.integers(0, 8), max_size=20),
    lower=st.sampled_from(_OFFSETS), upper=st.sampled_from(_OFFSETS), chunk_rows=st.integers(1, 7),
    descending=st.booleans(), nulls_first=st.booleans(),
)  # fmt: skip
def test_frames_of_values_match_their_definition(
    kind: str, picks: list[int], lower: Any, upper: Any, chunk_rows: int, descending: bool, nulls_first: bool
) -> None:
    values = [_VALUES[kind][pick % len(_VALUES[kind])] for pick in picks]
    type_ = parse_type(kind)
    made = {"row": pa.array(range(len(values)), pa.int64()), "v": pa.array(values, type_.arrow)}
    below = leaf(f"row:bigint, v:{kind.replace(',', ';')}", chunks_of(pa.table(made), chunk_rows))

    def bound(offset: Any) -> Bound:
        if isinstance(offset, str):
            return Bound(kind="peers" if offset else "unbounded")
        number = Decimal(offset) if type_.is_decimal else offset
        return Bound(kind="values", offset=number)

    key = SortKey(expr=column(below, "v"), descending=descending, nulls_first=nulls_first)
    bounds = bound(lower), bound(upper)
    order = key if "values" in (bounds[0].kind, bounds[1].kind) else None
    calls = [
        replace(window_call(name, "bigint", column(below, "row"), frame="0:0", **fields), bounds=bounds, order=order)
        for name, fields in (("Count", {}), ("Sum", {"evalMode": "LEGACY"}))
    ]
    node = window(below, [], ["v"], [Direction(descending, nulls_first)], *calls)
    table = run(node, builder=Builder(SMALL))
    nulls, low, high = -1 if nulls_first else 1, lower, upper
    if descending:
        low, high = (bound if isinstance(bound, str) else -bound for bound in (upper, lower))
        nulls = -nulls
    for row in table.to_pylist():
        rows = [
            number
            for number, value in enumerate(values)
            if is_within(value, row["v"], low, -1, nulls) and is_within(value, row["v"], high, 1, nulls)
        ]
        assert (row["w0"], row["w1"]) == (len(rows), sum(rows) if rows else None)


def long_table(rows: int) -> pa.Table:
    return table_of([(1.0, i, i, None, None, f"text {i}") for i in range(rows)])


@pytest.mark.parametrize("function", ["row_number", "count whole", "Lead 1"])
def test_window_spills_only_rows_without_known_values(function: str) -> None:
    below = leaf(SPEC, chunks_of(long_table(2000), 50))
    node = window(below, ["p"], [], [], all_calls(below)[function])
    bare = window(below, ["p"], [], [], window_call("First", "string", column(below, "s")))
    instance, of_sort = limited(node, 1, settings=SMALL), limited(bare, 1, settings=SMALL)
    made = to_table(node, list(execute(instance)))
    list(execute(of_sort))
    assert made["row"].to_pylist() == list(range(2000))
    first = {"row_number": 1, "count whole": 2000, "Lead 1": "text 1"}[function]
    assert made["w0"][0].as_py() == first
    more = counted(instance, "spill_files") - counted(of_sort, "spill_files")
    assert (more > 0) == (function == "count whole")
    assert instance.memory.held == 0


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Return a list that grows with every file of the row buffer."""
    made: list[int] = []
    create = row_buffer.SpillFiles.create
    monkeypatch.setattr(row_buffer.SpillFiles, "create", lambda self: (made.append(1), create(self))[1])
    yield made


def test_spilled_partition_is_one_file(files: list[int]) -> None:
    below = leaf(SPEC, chunks_of(long_table(500), 50))
    node = window(below, [], [], [], window_call("Count", "bigint", column(below, "x"), frame="whole"))
    instance = limited(node, 1)
    assert set(to_table(node, list(execute(instance)))["w0"].to_pylist()) == {500}
    assert len(files) == 1 and counted(instance, "spilled_bytes") > 500 * 8


def test_spill_files_are_deleted_after_early_close_and_limit() -> None:
    below = leaf(SPEC, chunks_of(long_table(500), 50))
    node = window(below, [], ["o"], [UP], window_call("Count", "bigint", column(below, "x"), frame="whole"))
    with closing(execute(limited(node, 1, settings=SMALL))) as rows:
        next(rows)
    cut = Limit(output=node.output, limit=3, child=node)
    assert sum(row.rows for row in execute(limited(cut, 1, settings=SMALL))) == 3


def test_missing_spill_directory_raises_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/not-there")
    below = leaf(SPEC, chunks_of(long_table(500), 50))
    node = window(below, [], [], [], window_call("Count", "bigint", column(below, "x"), frame="whole"))
    with pytest.raises(Exception, match="not-there"):
        list(execute(limited(node, 1)))


@pytest.mark.parametrize("frame", ["rows", "range", "whole"])
def test_intermediate_overflow_of_bigint_sum_raises_in_ansi_mode(frame: str) -> None:
    rows = [(1.0, i, x, None, None, None) for i, x in enumerate([2**63 - 1, 1, -5])]
    below = leaf(SPEC, chunks_of(table_of(rows), 2))
    ansi = window_call("Sum", "bigint", column(below, "x"), frame=frame, evalMode="ANSI")
    with pytest.raises(SparkConditionError, match="ARITHMETIC_OVERFLOW"):
        run(window(below, ["p"], ["o"], [UP], ansi))


def decimals(*values: str) -> Chunks:
    rows = [(1.0, i, None, None, Decimal(v), None) for i, v in enumerate(values)]
    return leaf(SPEC, chunks_of(table_of(rows), 2))


def test_decimal_sum_is_exact_if_only_intermediate_sums_exceed_38_digits() -> None:
    large = "9" * 36
    below = decimals(large, large, "-" + large, "0.05")
    n = column(below, "n")
    whole = window_call("Sum", "decimal(38,2)", n, frame="whole", evalMode="ANSI")
    made = run(window(below, ["p"], ["o"], [UP], whole))
    assert made["w0"].to_pylist() == [Decimal(large + ".05")] * 4
    legacy = run(window(below, ["p"], ["o"], [UP], window_call("Sum", "decimal(38,2)", n, evalMode="LEGACY")))
    assert legacy["w0"].to_pylist() == [Decimal(large), None, Decimal(large), Decimal(large + ".05")]
    with pytest.raises(SparkConditionError, match="NUMERIC_VALUE_OUT_OF_RANGE"):
        run(window(below, ["p"], ["o"], [UP], window_call("Sum", "decimal(38,2)", n, evalMode="ANSI")))


def test_decimal_average_rounds_half_up() -> None:
    below = decimals("1.00", "0.01", "-" + "9" * 30, "0.00")
    made = run(window(below, ["p"], ["o"], [UP], window_call("Average", "decimal(38,6)", column(below, "n"))))
    assert made["w0"].to_pylist()[:3] == [Decimal(1), Decimal("0.505"), Decimal("-" + "3" * 29 + "2.663333")]


def test_windows_with_compatible_order_share_one_sort() -> None:
    below = leaf(SPEC, chunks_of(long_table(20), 3))
    inner = window(below, ["p"], ["o"], [DOWN], window_call("RowNumber", "int"))
    outer = window(inner, ["p"], ["o"], [DOWN], window_call("Rank", "int", column(inner, "o")))
    other = window(inner, ["p"], ["o"], [UP], window_call("Rank", "int", column(inner, "o")))
    for node, sorts in ((outer, 1), (other, 2)):
        builder = Builder(SMALL)
        builder.add_pipeline(builder.decompose(node))
        names = [factory.name for pipeline in builder.pipelines for factory in pipeline.factories]
        assert names.count("SortSink") == sorts
    assert run(outer).columns[-1].to_pylist() == list(range(1, 21))


@pytest.mark.parametrize(("function", "kept"), [("RowNumber", [1, 2]), ("Rank", [1, 2, 3]), ("DenseRank", [1, 2, 3])])
@pytest.mark.parametrize("dop", [1, 3])
def test_group_limit_keeps_first_rows_of_each_partition(function: str, kept: list[int], dop: int) -> None:
    order = [1, 2, 2, 3, 4]
    rows = [(float(p), o, None, None, None, None) for o in reversed(order) for p in range(20)]
    below = leaf(SPEC, chunks_of(table_of(rows), 7))
    spec = window(below, ["p"], ["o"], [UP]).spec
    node = WindowGroupLimit(output=below.output, spec=spec, function=function, limit=2, child=below)
    made = run(node, builder=Builder(SMALL, dop=dop)).to_pylist()
    for p in range(20):
        assert [row["o"] for row in made if row["p"] == p] == [order[k - 1] for k in kept]


def test_unsupported_window_function_is_rejected_before_execution() -> None:
    below = leaf(SPEC, ())
    for call in (window_call("NoSuchFunction", "int"), window_call("Sum", "string", literal("a", "string"))):
        with pytest.raises(UnsupportedPlanError):
            run(window(below, ["p"], [], [], call))
