"""Tests of user-defined operators: that of the how-to, and a join with a bridge."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange import CONTROL, STATISTICS, ChunkRow, decode_chunk, pack_rows, plain_schema, unpack_rows
from pyspark_pipeline.extend import (
    Barrier,
    BlockingReason,
    Bridge,
    Chunk,
    Node,
    Operator,
    OperatorFactory,
    StreamingOperator,
    Waker,
    decodes,
    register_join,
    register_operator,
)
from pyspark_pipeline.operators import registry
from pyspark_pipeline.plan import registry as decoders
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.plan.nodes import Range
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.task import run_fragment
from pyspark_pipeline.task.run import _decoded
from tests.operators.kit import fields
from tests.task.kit import layout_of

HOW_TO = Path(__file__).resolve().parents[1] / "docs" / "extend.md"
ID = {"id": 1, "name": "id", "type": "bigint", "nullable": False}


@pytest.fixture(autouse=True)
def own_registries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the registries after the test, and clear the worker's cache of decoded fragments."""
    monkeypatch.setattr(registry, "_DECOMPOSERS", dict(registry._DECOMPOSERS))
    monkeypatch.setattr(decoders, "_DECODERS", dict(decoders._DECODERS))
    _decoded.cache_clear()
    yield
    _decoded.cache_clear()


def numbers(scan: int) -> dict[str, Any]:
    return {"op": "RangeExec", "output": [ID], "scan": scan}


def run(root: dict[str, Any], cpus: int, **options: str) -> tuple[list[int], dict[str, Any]]:
    """Run a fragment over the numbers below 100 (scan 0) and below 40 by fours (scan 1); return values and profile."""
    given = {"batchRows": "7", "debug.checkChunks": "true", **options}
    settings = {"ansi": True, "timeZone": "UTC", "options": given}
    content = {"version": WIRE_VERSION, "id": 0, "root": root, "sink": {"kind": "result"}}
    text = json.dumps({**content, "settings": settings})
    control = {"partition": 0, "cpus": cpus, "splits": {"0": [0, 100, 1], "1": [0, 10, 4]}}
    control |= layout_of(decode_fragment(text).root)
    first = ChunkRow(partition=CONTROL, rows=0, data=pa.py_buffer(json.dumps(control).encode()))
    rows = [row for batch in run_fragment(text, iter([pack_rows([first])])) for row in unpack_rows(batch)]
    assert rows[0].partition == STATISTICS
    schema = plain_schema([field.type for field in fields("x:bigint")])
    values = [value for row in rows[1:] for value in decode_chunk(row.data, schema).column(0).to_pylist()]
    return values, json.loads(json.loads(rows[0].data.to_pybytes())["profile"])


def how_to(part: int, names: dict[str, Any]) -> dict[str, Any]:
    """Run a program of the how-to; return its namespace."""
    code = re.findall(r"```python\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)[part]
    exec(compile(code, str(HOW_TO), "exec"), names)
    return names


def every_third() -> dict[str, Any]:
    how_to(2, {"__name__": __name__})
    return {"op": "EveryNthExec", "output": [ID], "fields": {"n": 3}, "children": [numbers(0)]}


def test_how_to_operator_runs_in_a_fragment() -> None:
    values, profile = run(every_third(), 1)
    assert values == list(range(0, 100, 3))
    source, own, _ = profile["pipelines"][0]["operators"]
    assert (source["name"], own["name"]) == ("Range", "EveryNth")
    assert (own["rows_in"], own["rows_out"]) == (100, 34)


def test_how_to_test_passes() -> None:
    names = how_to(3, how_to(2, {"__name__": __name__}))
    values = [value for chunk in names["chunks"] for value in chunk.column(0).to_pylist()]
    assert len(set(values)) == len(values) and 333 <= len(values) <= 335


def test_each_driver_has_its_own_operator() -> None:
    values, profile = run(every_third(), 3)
    assert len(profile["pipelines"][0]["drivers"]) == 3
    assert len(set(values)) == len(values) and 34 <= len(values) <= 36


def test_second_registration_of_a_node_raises() -> None:
    with pytest.raises(ValueError, match="Range has an operator already"):
        register_operator(Range, lambda node, settings: Build(Table(), settings))
    with pytest.raises(ValueError, match="Range has an operator already"):
        register_join(Range, lambda node, settings: (Build(Table()), Probe(Table())))


def test_output_of_user_defined_operator_is_checked() -> None:
    class Wrong(StreamingOperator):
        def transform(self, chunk: Chunk) -> Chunk:
            return pa.record_batch([chunk.column(0).cast(pa.string())], names=["c0"])

    class WrongFactory(OperatorFactory):
        name = "Wrong"

        def create(self, dop: int, driver_sequence: int) -> Operator:
            return Wrong()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class WrongNode(Node):
        child: Node

    register_operator(WrongNode, lambda node, settings: WrongFactory())
    decodes("WrongExec")(lambda node, output, children: WrongNode(output=output, child=children[0]))
    root = {"op": "WrongExec", "output": [ID], "children": [numbers(0)]}
    with pytest.raises(EngineBugError, match=r"\(Wrong\) of pipeline 0.*column 0 is string, allowed is int64"):
        run(root, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Among(Node):
    """The rows of ``left`` whose value occurs in ``right``."""

    left: Node
    right: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)


class Table:
    """State shared by build and probe."""

    def __init__(self) -> None:
        self.bridge: Bridge[pa.Array] = Bridge("the values")
        self.barrier: Barrier[list[pa.Array]] | None = None


class BuildOperator(Operator):
    def __init__(self, table: Table, driver: int) -> None:
        self.table, self.driver = table, driver
        self.values: list[pa.Array] = []
        self.ended = False

    def need_input(self) -> bool:
        return not self.ended

    def push_chunk(self, chunk: Chunk) -> None:
        self.values.append(chunk.column(0))

    def set_finishing(self) -> None:
        self.ended = True
        assert self.table.barrier is not None
        parts = self.table.barrier.arrive(self.driver, self.values)
        if parts is not None:
            self.table.bridge.publish(pa.concat_arrays([array for part in parts for array in part]))

    def is_finished(self) -> bool:
        return self.ended


class ProbeOperator(StreamingOperator):
    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table

    def is_blocked(self, waker: Waker) -> BlockingReason:
        waker.wait_for(self.table.bridge.ready)
        return BlockingReason.JOIN_BUILD

    def transform(self, chunk: Chunk) -> Chunk:
        return chunk.filter(pc.is_in(chunk.column(0), self.table.bridge.get()))


class Build(OperatorFactory):
    name = "AmongBuild"

    def __init__(self, table: Table, settings: Any = None) -> None:
        self.table = self.shared_state = table

    def create(self, dop: int, driver_sequence: int) -> Operator:
        self.table.barrier = self.table.barrier or Barrier(dop)
        return BuildOperator(self.table, driver_sequence)


class Probe(OperatorFactory):
    name = "AmongProbe"

    def __init__(self, table: Table) -> None:
        self.table = self.shared_state = table

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return ProbeOperator(self.table)

    def precondition_ready(self) -> bool:
        return self.table.bridge.is_ready()


@pytest.mark.parametrize("cpus", [1, 3])
@pytest.mark.parametrize("build_left", [False, True])
def test_user_defined_join_shares_a_bridge(build_left: bool, cpus: int) -> None:
    def make(node: Among, settings: Any) -> tuple[OperatorFactory, OperatorFactory]:
        table = Table()
        return Build(table), Probe(table)

    register_join(Among, make, build_left=build_left)
    decodes("AmongExec")(lambda node, output, children: Among(output=output, left=children[0], right=children[1]))
    values, profile = run({"op": "AmongExec", "output": [ID], "children": [numbers(0), numbers(1)]}, cpus)
    assert sorted(values) == list(range(0, 40, 4))
    names = [[operator["name"] for operator in pipeline["operators"]] for pipeline in profile["pipelines"]]
    assert names == [["Range", "AmongBuild"], ["Range", "AmongProbe", "ResultSink"]]
    build, probe = profile["pipelines"]
    assert (build["operators"][0]["rows_out"], probe["operators"][0]["rows_out"]) == (
        (100, 10) if build_left else (10, 100)
    )
    assert len(build["drivers"]) == len(probe["drivers"]) == cpus
    assert "join build" in probe["operators"][1]["blocked_s"] and profile["missed_wakeups"] == 0
