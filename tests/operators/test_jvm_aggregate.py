"""Functions that Spark computes: the buffers that rows update, in which order, and how parts of a group are merged."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.operators.aggregation.functions.hashed_rows import HASHED_GROUPS, HashedRows
from pyspark_pipeline.operators.aggregation.functions.jvm_aggregate import JvmAggregate
from pyspark_pipeline.operators.aggregation.functions.state import Groups, StatePool
from pyspark_pipeline.plan.nodes import AggregateCall
from tests.operators.aggregate_kit import chunks_of, complete_node, leaf
from tests.operators.kit import DEFAULTS, column, to_table
from tests.operators.sort_kit import counted, limited
from tests.operators.spill_kit import spill_folder  # noqa: F401 (a fixture for every test)

_FIRST_STEP = 40
_STRING, _BINARY = parse_type("string"), parse_type("binary")


class _Jvm:
    """Buffers as Spark would have them, of a function that notes its values, and merged buffers in brackets."""

    def __init__(self) -> None:
        self.buffers: dict[int, str] = {}
        self.most = 0

    def evaluate(self, step: int, chunk: pa.RecordBatch, types: Sequence[DataType]) -> list[pa.Array]:
        numbers, others = chunk.column(0).to_pylist(), chunk.column(1).to_pylist()
        if step - _FIRST_STEP in (0, 1):
            for number, other in zip(numbers, others, strict=True):
                text = f"({other.decode()})" if step - _FIRST_STEP else str(other)
                self.buffers[number] = self.buffers.get(number, "") + text
            self.most = max(self.most, len(self.buffers))
            return [pa.nulls(0, pa.int64())]
        results = []
        for number, merged in zip(numbers, others, strict=True):
            own = self.buffers.get(number, "") if number >= 0 else self.buffers.pop(number, "")
            results.append(own if merged is None else f"{own}[{self.buffers.get(merged, '')}]")
        return [pa.array(results, pa.string()).cast(types[0].arrow)]


def _call(mode: str) -> AggregateCall:
    return AggregateCall(
        function="JvmAggregate", mode=mode, args=(), arg_types=(_STRING,), filter=None, type=_STRING,
        buffer=(_BINARY,), fields={"number": _FIRST_STEP}, constants=(None,),
    )  # fmt: skip


def _function(jvm: _Jvm, mode: str, groups: Groups = Groups.BY_KEYS) -> JvmAggregate:
    return JvmAggregate(_call(mode), StatePool(groups), replace(DEFAULTS, evaluate_in_jvm=jvm.evaluate))


def _update(function: JvmAggregate, rows: list[tuple[int, str | None]], size: int = 50) -> None:
    for start in range(0, len(rows), size):
        groups, values = zip(*rows[start : start + size], strict=True)
        function._state.update(np.array(groups, dtype=np.int64), [pa.array(values, pa.string())])


def _rows(groups: int, count: int) -> list[tuple[int, str | None]]:
    """Return rows whose groups are numbered in the order of their first rows."""
    dice, seen, rows = random.Random(groups), 0, []
    for place in range(count):
        group = seen if seen < groups and (seen == 0 or dice.random() < 0.5) else dice.randrange(seen)
        seen = max(seen, group + 1)
        rows.append((group, None if place % 9 == 4 else chr(97 + place % 26)))
    return rows


def _expected(rows: list[tuple[int, str | None]], groups: int) -> list[str]:
    """Return the results of Spark, which sorts the rows after the one that makes the last hashed group."""
    full = next((place + 1 for place, (group, _) in enumerate(rows) if group == HASHED_GROUPS - 1), len(rows))
    hashed, later = [""] * groups, [""] * groups
    for place, (group, value) in enumerate(rows):
        (hashed if place < full else later)[group] += str(value)
    if full == len(rows):
        return hashed
    return [late + (f"[{hashed[group]}]" if group < HASHED_GROUPS else "") for group, late in enumerate(later)]


@pytest.mark.parametrize("count", [1, 60, 127, 128, 129, 700])
def test_rows_update_buffers_as_in_spark(count: int) -> None:
    rows = _rows(count, 3000)
    jvm = _Jvm()
    function = _function(jvm, "Partial")
    _update(function, rows)
    expected = _expected(rows, count)
    for _ in range(2):
        assert function.result(0, count).to_pylist() == expected
        assert function.buffers(0, count)[0].to_pylist() == [text.encode() for text in expected]
        assert function.result(count // 2, count).to_pylist() == expected[count // 2 :]
    assert len(jvm.buffers) <= HASHED_GROUPS
    assert jvm.most <= HASHED_GROUPS + 2048


def test_row_of_the_last_hashed_group_ends_a_chunk() -> None:
    rows: list[tuple[int, str | None]] = [(group, "a") for group in range(HASHED_GROUPS)]
    function = _function(_Jvm(), "Partial")
    _update(function, rows)
    assert function.result(0, 2).to_pylist() == ["a", "a"]
    _update(function, [(1, "b")])
    assert function.result(0, 2).to_pylist() == ["[a]", "b[a]"]


def test_rows_that_a_filter_drops_have_groups() -> None:
    rows = HashedRows()
    none, every = np.zeros(3, dtype=np.bool_), np.ones(3, dtype=np.bool_)
    groups = np.array([125, 126, HASHED_GROUPS - 1])
    assert rows.filter(groups[:2], every[:2]) == 2
    assert rows.count(groups[:2]) == 2
    assert rows.filter(groups, none) == 0
    assert not rows.is_exceeded
    assert rows.filter(groups[:1], none[:1]) == 0
    assert rows.is_exceeded
    assert rows.filter(groups, every) == 0
    assert rows.count(groups) == 0
    other = HashedRows()
    assert other.filter(np.array([HASHED_GROUPS - 1, 1, 2]), np.array([False, True, True])) == 0
    assert other.count(np.array([1, 2])) == 0


def test_merging_stages_merge_serialized_buffers() -> None:
    function = _function(_Jvm(), "Final")
    function.merge(np.array([0, 1, 0]), [pa.array([b"x", b"y", b"z"])])
    assert function.result(0, 3).to_pylist() == ["(x)(z)", "(y)", ""]


def test_one_group_has_one_buffer() -> None:
    jvm = _Jvm()
    function = _function(jvm, "Partial", Groups.ONE)
    _update(function, [(0, "a")] * 500)
    assert function.buffers(0, 1)[0].to_pylist() == [b"a" * 500]
    assert len(jvm.buffers) == 1
    assert function._state.nbytes == 0


def test_groups_that_do_not_fit_are_merged() -> None:
    jvm = _Jvm()
    table = pa.table({"k0": [place % 3000 for place in range(30_000)], "v0": [chr(97 + n % 26) for n in range(30_000)]})
    child = leaf("k0:bigint, v0:string", chunks_of(table, 500))
    call = replace(_call("Complete"), args=(column(child, "v0"),))
    node = complete_node(child, [column(child, "k0")], [call])
    settings = replace(DEFAULTS, evaluate_in_jvm=jvm.evaluate)
    instance = limited(node, 60_000, settings=settings)
    found = to_table(node, list(execute(instance, 1)))
    assert counted(instance, "spill_files") > 0
    values = {key: sorted(filter(str.isalpha, text)) for key, text in zip(*found.to_pydict().values(), strict=True)}
    assert values == {k: sorted(table["v0"].to_pylist()[k::3000]) for k in range(3000)}


def test_states_have_their_own_buffers() -> None:
    jvm = _Jvm()
    first, second = _function(jvm, "Partial"), _function(jvm, "Partial")
    _update(first, [(0, "a")])
    _update(second, [(0, "b")])
    assert [f.result(0, 1).to_pylist() for f in (first, second)] == [["a"], ["b"]]
    first._state.clear()
    assert first.result(0, 1).to_pylist() == [""]


def test_without_spark_there_is_no_function() -> None:
    function = JvmAggregate(_call("Partial"), StatePool(), DEFAULTS)
    with pytest.raises(EngineBugError, match="without Spark"):
        _update(function, [(0, "a")])
