"""Runtime filters: a built join drops rows and row groups upstream, and never one with a match."""

from __future__ import annotations

import dataclasses
import datetime
import random
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.exchange import SinkFactory, StreamTransport
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.exec.instance import FragmentInstance
from pyspark_pipeline.exec.output_queue import OutputQueue
from pyspark_pipeline.kernels import compile_cache
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.operators import runtime_filters
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.joins import Join, JoinType
from pyspark_pipeline.plan.nodes import FileScan, Filter, Limit, Node, Project, ResultSink, ScanSplit, Settings
from tests.operators.join_kit import RoundRobinBuilder, Row, bag, expected, join, less, side
from tests.operators.kit import call, column, fields, literal, to_table
from tests.operators.spill_kit import spill_folder  # noqa: F401 (a fixture for every test)
from tests.operators.test_joins import KEYS, NAMES, SHAPES, rows, spec

J = JoinType
DROPPING = [shape for shape in SHAPES if shape[0] in (J.INNER, J.LEFT_SEMI)] + [(J.RIGHT_OUTER, False)]


class Run:
    """One execution of a node: its rows and counters."""

    def __init__(
        self, node: Node, *, on: bool = True, dop: int = 1, batch_rows: int = 1000, limit: int | None = None,
        splits: Sequence[ScanSplit] = (), values: int = 1024,
    ) -> None:  # fmt: skip
        options = {
            "batchRows": str(batch_rows), "join.runtimeFilter.enabled": str(on).lower(),
            "join.runtimeFilter.inListValues": str(values), "debug.checkChunks": "true",
        }  # fmt: skip
        settings = Settings(ansi=True, time_zone="UTC", options=Options(options))
        builder = RoundRobinBuilder(settings, dop=dop, scans={0: splits})
        queue = OutputQueue(8)
        sink = SinkFactory(ResultSink(), tuple(f.type for f in node.output), settings, StreamTransport(queue))
        builder.add_pipeline([*builder.decompose(node), sink])
        memory = MemoryTracker("instance", limit=limit)
        instance = FragmentInstance(builder.pipelines, queue, memory=memory, check=builder.checker())
        table = to_table(node, list(execute(instance, dop)))
        assert memory.held == 0
        self.rows: list[Row] = list(zip(*(values.to_pylist() for values in table.columns), strict=True))
        operators = [o for pipeline in instance.metrics()["pipelines"] for o in pipeline["operators"]]
        self.names = [operator["name"] for operator in operators]
        self.counters: Counter[str] = Counter()
        for operator in operators:
            self.counters.update(operator.get("counters", {}))


def star(kinds: tuple[str, ...], shape: tuple[JoinType, bool], dice: random.Random) -> tuple[Join, list[Row]]:
    """Join facts with a left outer join by their int, then by their keys with few rows by ``shape``."""
    facts, few = rows(dice, kinds, 60), rows(dice, kinds, 4)
    if len(kinds) == 1 and kinds[0] == "bigint":
        few = [(1, 2, "x"), (2**62, 4, "y")]
    names = [f"k{i}" for i in range(len(kinds))]
    first = side(spec(kinds, "l"), facts, 7, seed=1)
    numbers = side("vl:int, w:string", [(i, f"w{i}") for i in range(8)], 3)
    lower = join(first, numbers, J.LEFT_OUTER, False, ["vl"])
    lower_rows = [(*row, *((row[-2], f"w{row[-2]}") if row[-2] in range(8) else (None, None))) for row in facts]
    second = side(spec(kinds, "r"), few, 3, seed=2)
    left, right = (second, lower) if shape[1] else (lower, second)
    given = (few, lower_rows) if shape[1] else (lower_rows, few)
    return join(left, right, *shape, names), expected(*given, shape[0], len(kinds))


@pytest.mark.rotates
@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("most", [0.5, 1.0], ids=["chosen", "all"])
def test_join_with_runtime_filter_returns_the_same_rows(
    shape: tuple[JoinType, bool], most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without filters, also filters that drop nothing, in memory and spilled."""
    monkeypatch.setattr(runtime_filters, "MAX_PASS_RATE", most)
    for number, kinds in enumerate(KEYS):
        node, wanted = star(kinds, shape, random.Random(number))
        for on, dop, limit in ((True, 1, None), (False, 1, None), (True, 3, None)):
            assert bag(Run(node, on=on, dop=dop, limit=limit).rows) == bag(wanted), (kinds, on, dop)


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("dop", [1, 3])
def test_spilled_join_with_runtime_filter_returns_the_same_rows(shape: tuple[JoinType, bool], dop: int) -> None:
    for number, kinds in enumerate((("bigint",), ("string", "int"))):
        node, wanted = star(kinds, shape, random.Random(number))
        found = Run(node, dop=dop, limit=600)
        assert found.counters["join_partitions"] > 0
        assert bag(found.rows) == bag(wanted), kinds


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_only_joins_that_drop_unmatched_rows_have_row_filters(shape: tuple[JoinType, bool]) -> None:
    node, _ = star(("bigint",), shape, random.Random(1))
    drops = not node.shape.probe_outer and shape[0] not in (J.LEFT_ANTI, J.EXISTENCE)
    assert ("RuntimeFilter" in Run(node).names) == drops
    assert "RuntimeFilter" not in Run(node, on=False).names


def dimensions(facts: Node, share: int) -> Join:
    """Join facts (a, b) with all a, then with every ``share``-th b."""
    every = side("a:bigint, x:string", [(i, f"x{i}") for i in range(100)], 40)
    some = side("b:bigint, y:string", [(i, f"y{i}") for i in range(0, 100, share)], 40)
    return join(join(facts, every, J.INNER, False, ["a"]), some, J.INNER, False, ["b"])


FACTS: list[Row] = [(i * 7 % 100, i % 100) for i in range(3000)]


@pytest.mark.parametrize("dop", [1, 3])
def test_row_filter_applies_before_the_first_join_of_the_pipeline(dop: int) -> None:
    found = Run(dimensions(side("a:bigint, b:bigint", FACTS, 500), 10), dop=dop)
    assert len(found.rows) == 300
    assert found.counters["runtime_filter_rows"] == 2700
    assert found.counters["runtime_filters_off"] == 0
    assert found.counters["join_probe_rows"] == 300 + 300


def test_unselective_row_filter_is_disabled_after_a_sample() -> None:
    found = Run(dimensions(side("a:bigint, b:bigint", FACTS, 500), 1))
    assert len(found.rows) == 3000
    assert found.counters["runtime_filter_rows"] == 0
    assert found.counters["runtime_filters_off"] == 1


def test_row_filter_less_selective_than_the_first_join_is_disabled() -> None:
    """The first join keeps one row in fifty, the other would drop nine in ten."""
    facts = side("a:bigint, b:bigint", FACTS, 500)
    some = [side(f"{name}:bigint, {name}s:string", [(i, "s") for i in range(0, 100, step)], 40)
            for name, step in (("a", 50), ("b", 10))]  # fmt: skip
    for kind, off in ((J.INNER, 1), (J.LEFT_OUTER, 0), (J.LEFT_ANTI, 0)):
        node = join(join(facts, some[0], kind, False, ["a"]), some[1], J.INNER, False, ["b"])
        found = Run(node)
        assert bag(found.rows) == bag(Run(node, on=False).rows)
        assert found.counters["runtime_filters_off"] == off
        assert found.counters["runtime_filter_rows"] == (0 if off else 2700)


def test_row_filter_that_becomes_unselective_is_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_filters, "OBSERVED_ROWS", 1000)
    later: list[Row] = [(i % 100, 50 + i % 50 if i < 500 else 0) for i in range(5000)]
    node = dimensions(side("a:bigint, b:bigint", [(a, b + 1 if a < 90 and i < 500 else b) for i, (a, b) in
                                                 enumerate(later)], 500), 10)  # fmt: skip
    found = Run(node)
    assert found.counters["runtime_filters_off"] == 1
    assert 0 < found.counters["runtime_filter_rows"] <= 500
    assert bag(found.rows) == bag(Run(node, on=False).rows)


def test_row_filter_is_not_pushed_past_limits_or_raising_expressions() -> None:
    facts = side("a:bigint, b:bigint", FACTS, 500)
    safe = call("GreaterThan", "boolean", column(facts, "b"), literal(3, "bigint"))
    sum_ = call("Add", "bigint", column(facts, "a"), column(facts, "b"), evalMode="ANSI")
    raising = call("GreaterThan", "boolean", sum_, literal(3, "bigint"))
    lower = dimensions(facts, 10).left

    def above(made: Node) -> bool:
        few = side("b:bigint, y:string", [(1, "y")], 1)
        return "RuntimeFilter" in Run(join(made, few, J.INNER, False, ["b"])).names

    def kept(condition: Expr) -> Node:
        return Filter(output=lower.output, condition=condition, child=lower)

    def chosen(*exprs: Expr) -> Node:
        output = (*lower.output[1:2], dataclasses.replace(lower.output[0], name="c"))
        return Project(output=output, exprs=exprs, child=lower)

    b = column(lower, "b")
    assert above(lower) and above(kept(safe)) and above(chosen(b, column(lower, "a")))
    assert not above(kept(raising)) and not above(chosen(b, sum_))
    assert not above(Limit(output=lower.output, limit=10_000, child=lower))
    computed = dataclasses.replace(chosen(sum_, column(lower, "a")))
    assert not above(computed)


POOLS: dict[str, list[Any]] = {
    "bigint": [i * 10**12 for i in range(-5, 5)],
    "int": list(range(-5, 5)),
    "date": [datetime.date(1500, 1, 1) + datetime.timedelta(days=20_000 * i) for i in range(10)],
    "timestamp": [datetime.datetime(1960, 1, 1, 0, 0, 0, 7, ZoneInfo("UTC")) + datetime.timedelta(days=700 * i)
                  for i in range(10)],
    "timestamp_ntz": [datetime.datetime(1960, 1, 1) + datetime.timedelta(days=700 * i) for i in range(10)],
    "decimal(12;2)": [Decimal(i).scaleb(-2) for i in range(-5, 5)],
    "string": ["", *(chr(97 + i) * 100 for i in range(8)), "ü"],
    "decimal(38;0)": [Decimal(10**30 * i) for i in range(-5, 5)],
    "double": [float("-inf"), -1.0, -0.0, 0.0, 1.0, 2.0, 3.0, 1e300, float("inf"), float("nan")],
    "boolean": [False, True] * 5,
}  # fmt: skip
PRUNED_BY_VALUES = ("bigint", "int", "date", "timestamp", "timestamp_ntz", "decimal(12;2)", "string")


def stored(folder: Path, kind: str, pool: Sequence[Any]) -> tuple[FileScan, ScanSplit, list[Row]]:
    """Store ten row groups of (k, n): group i holds the value i of the pool, and NULLs."""
    output = fields(f"k:{kind}, n:int")
    given = [(None if i % 5 == 0 else pool[i // 10], i) for i in range(100)]
    arrays = [pa.array([row[i] for row in given], field.type.arrow) for i, field in enumerate(output)]
    path = folder.parent / f"{folder.name}-facts.parquet"
    pq.write_table(pa.table(arrays, names=["k", "n"]), path, row_group_size=10)
    split = ScanSplit(path=str(path), start=0, length=path.stat().st_size)
    return FileScan(format="parquet", output=output, input_id=0, num_data_columns=2), split, given


@pytest.mark.parametrize("kind", POOLS)
def test_row_groups_are_pruned_by_key_values_or_their_range(kind: str, spill_folder: Path) -> None:  # noqa: F811
    """Two values three apart: as a list they keep two row groups of ten, as a range four."""
    pool = POOLS[kind]
    node, split, given = stored(spill_folder, kind, pool)
    built: list[Row] = [(pool[2], "a"), (pool[5], "b"), (None, "c")]
    made = join(node, side(f"k:{kind}, s:string", built, 2), J.INNER, False, ["k"])
    wanted = bag(expected(given, built, J.INNER, 1))
    for dop in (1, 3):
        by_values, by_range = (Run(made, splits=[split], dop=dop, values=values) for values in (1024, 1))
        off = Run(made, splits=[split], dop=dop, on=False)
        assert bag(by_values.rows) == bag(by_range.rows) == bag(off.rows) == wanted
        is_list, is_range = kind in PRUNED_BY_VALUES, kind in PRUNED_BY_VALUES and kind != "string"
        counts = [run.counters["row_groups_pruned_by_joins"] for run in (by_values, by_range, off)]
        assert counts == [8 * is_list, 6 * is_range, 0]
        assert by_values.counters["row_groups_pruned"] == 0


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_only_joins_that_drop_unmatched_rows_prune_row_groups(shape: tuple[JoinType, bool], spill_folder: Path) -> None:  # noqa: F811
    node, split, given = stored(spill_folder, "bigint", POOLS["bigint"])
    few: list[Row] = [(POOLS["bigint"][1], 1)]
    other = side("k:bigint, m:int", few, 2)
    left, right, first, second = (other, node, few, given) if shape[1] else (node, other, given, few)
    made = join(left, right, *shape, ["k"])
    found = Run(made, splits=[split])
    assert bag(found.rows) == bag(expected(first, second, shape[0], 1))
    drops = not made.shape.probe_outer and shape[0] not in (J.LEFT_ANTI, J.EXISTENCE)
    assert found.counters["row_groups_pruned_by_joins"] == (9 if drops else 0)


def test_each_of_several_keys_prunes_row_groups(spill_folder: Path) -> None:  # noqa: F811
    node, split, given = stored(spill_folder, "bigint", POOLS["bigint"])
    built: list[Row] = [(POOLS["bigint"][2], n) for n in (21, 22, 99)] + [(POOLS["bigint"][5], 51)]
    made = join(node, side("k:bigint, n:int", built, 2), J.INNER, False, ["k", "n"])
    found = Run(made, splits=[split])
    assert bag(found.rows) == bag(expected(given, built, J.INNER, 2))
    assert found.counters["row_groups_pruned_by_joins"] == 8


def scattered(folder: Path, kind: str, rows: int = 4000) -> tuple[FileScan, ScanSplit, list[Row]]:
    """Store (k, n, p) in which each value of the pool of ``kind``, and NULL, is everywhere."""
    output = fields(f"k:{kind}, n:int, p:decimal(9;2)")
    pool = [*POOLS[kind], None]
    given = [(pool[i * 7 % len(pool)], i % 10, Decimal(i).scaleb(-2)) for i in range(rows)]
    arrays = [pa.array([row[i] for row in given], field.type.arrow) for i, field in enumerate(output)]
    path = folder.parent / f"{folder.name}-scattered.parquet"
    pq.write_table(pa.table(arrays, names=["k", "n", "p"]), path, row_group_size=1500, store_decimal_as_integer=True)
    split = ScanSplit(path=str(path), start=0, length=path.stat().st_size)
    return FileScan(format="parquet", output=output, input_id=0, num_data_columns=3), split, given


@pytest.fixture
def decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode pages though the cache of kernels may not be complete yet."""
    monkeypatch.setattr(compile_cache, "is_complete", lambda: True)


@pytest.mark.parametrize("kind", POOLS)
def test_columns_of_rows_without_a_match_are_not_decoded(
    kind: str, spill_folder: Path, decoding: None  # noqa: F811
) -> None:  # fmt: skip
    node, split, given = scattered(spill_folder, kind)
    pool = POOLS[kind]
    for values, is_selective in ((pool[3:5], True), (pool[1:9], False)):
        built: list[Row] = [(value, "a") for value in values] + [(None, "b")]
        made = join(node, side(f"k:{kind}, s:string", built, 2), J.INNER, False, ["k"])
        wanted = bag(expected(given, built, J.INNER, 1))
        for dop, batch_rows in ((1, 1000), (3, 700)):
            found, off = (Run(made, splits=[split], dop=dop, batch_rows=batch_rows, on=on) for on in (True, False))
            assert bag(found.rows) == bag(off.rows) == wanted
            is_tested = is_selective and kind in ("bigint", "int", "date", "timestamp", "timestamp_ntz")
            assert found.counters["rows_left_out"] == (len(given) - len(wanted) if is_tested else 0)
            assert off.counters["rows_left_out"] == 0


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_only_joins_that_drop_unmatched_rows_test_their_keys_in_a_scan(
    shape: tuple[JoinType, bool], spill_folder: Path, decoding: None  # noqa: F811
) -> None:  # fmt: skip
    node, split, given = scattered(spill_folder, "bigint")
    few: list[Row] = [(POOLS["bigint"][1], 1)]
    other = side("k:bigint, m:int", few, 2)
    left, right, first, second = (other, node, few, given) if shape[1] else (node, other, given, few)
    made = join(left, right, *shape, ["k"])
    found = Run(made, splits=[split])
    assert bag(found.rows) == bag(expected(first, second, shape[0], 1))
    drops = not made.shape.probe_outer and shape[0] not in (J.LEFT_ANTI, J.EXISTENCE)
    assert (found.counters["rows_left_out"] > 3000) == drops


def test_keys_of_joins_are_tested_in_a_scan_after_a_filter(spill_folder: Path, decoding: None) -> None:  # noqa: F811
    node, split, _ = scattered(spill_folder, "bigint")
    few = side("k:bigint, s:string", [(POOLS["bigint"][4], "a")], 2)

    def run(least: int) -> Run:
        condition = call("GreaterThanOrEqual", "boolean", column(node, "n"), literal(least, "int"))
        made = join(Filter(output=node.output, condition=condition, child=node), few, J.INNER, False, ["k"])
        found, off = (Run(made, splits=[split], on=on) for on in (True, False))
        assert bag(found.rows) == bag(off.rows) and found.rows
        return found

    for least in (2, 8):
        assert run(least).counters["rows_left_out"] == 4000 - len(run(least).rows)
    assert run(9).counters["rows_left_out"] == 4000 * 9 // 10  # the filter alone leaves few rows


@pytest.mark.parametrize("dop", [1, 3])
def test_keys_of_several_joins_are_tested_in_a_scan(
    dop: int, spill_folder: Path, decoding: None  # noqa: F811
) -> None:  # fmt: skip
    node, split, given = scattered(spill_folder, "bigint")
    keys, numbers = POOLS["bigint"][3:5], (2, 7)
    first = join(node, side("k:bigint", [(key,) for key in keys], 2), J.INNER, False, ["k"])
    made = join(first, side("n:int, s:string", [(n, "a") for n in numbers], 2), J.INNER, False, ["n"])
    found, off = (Run(made, splits=[split], dop=dop, batch_rows=1000, on=on) for on in (True, False))
    wanted = [row for row in given if row[0] in keys and row[1] in numbers]
    assert bag(found.rows) == bag(off.rows) and len(found.rows) == len(wanted) > 0
    assert found.counters["rows_left_out"] == len(given) - len(wanted)


def test_scan_filter_is_pushed_down_unless_an_expression_may_raise(
    spill_folder: Path,  # noqa: F811
) -> None:
    node, split, _ = stored(spill_folder, "bigint", POOLS["bigint"])
    few = side("k:bigint, s:string", [(POOLS["bigint"][4], "a")], 2)
    numbers = side("n:int, t:string", [(i, "t") for i in range(100)], 50)

    def pruned(condition: Expr) -> int:
        below = Filter(output=node.output, condition=condition, child=node)
        swapped = Project(
            output=node.output[::-1], exprs=(column(below, "n"), column(below, "k")), child=below
        )  # fmt: skip
        made = join(join(swapped, numbers, J.INNER, False, ["n"]), few, J.INNER, False, ["k"])
        run, off = (Run(made, splits=[split], on=on) for on in (True, False))
        assert bag(run.rows) == bag(off.rows) and len(run.rows) == 8
        return run.counters["row_groups_pruned_by_joins"]

    n = column(node, "n")
    added = call("Add", "int", n, literal(1, "int"), evalMode="ANSI")
    assert pruned(call("GreaterThan", "boolean", n, literal(3, "int"))) == 9
    assert pruned(call("GreaterThan", "boolean", added, literal(3, "int"))) == 0


def test_runtime_filter_is_not_pushed_past_a_raising_join_condition() -> None:
    facts = side("a:bigint, b:bigint", FACTS, 500)
    every = side("a:bigint, x:bigint", [(i, i) for i in range(100)], 40)
    few = side("b:bigint, y:string", [(i, f"y{i}") for i in range(0, 100, 10)], 40)
    plain = less(facts, every, "b", "x")
    both = (column(facts, "b"), column(every, "x"))
    sum_ = call("Add", "bigint", both[0], dataclasses.replace(both[1], ordinal=3), evalMode="ANSI")
    names = []
    for condition in (plain, call("GreaterThan", "boolean", sum_, literal(3, "bigint"))):
        lower = join(facts, every, J.INNER, False, ["a"], condition=condition)
        names.append("RuntimeFilter" in Run(join(lower, few, J.INNER, False, ["b"])).names)
    assert names == [True, False]
