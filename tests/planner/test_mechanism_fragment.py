"""A fragment from its JSON to its last row, without Spark: decoded, decomposed, executed, ended by its statistics."""

from __future__ import annotations

import json
from typing import Any, get_type_hints

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import EngineBugError, OptionError, UnsupportedPlanError
from pyspark_pipeline.exchange import (
    CONTROL,
    STATISTICS,
    ChunkRow,
    StreamTransport,
    decode_chunk,
    pack_rows,
    plain_schema,
    unpack_rows,
)
from pyspark_pipeline.exec import OperatorFactory, OutputQueue
from pyspark_pipeline.operators import PipelineBuilder, decompose_node, implements, registry
from pyspark_pipeline.operators.range import RangeFactory
from pyspark_pipeline.options import OPTION_FIELDS, OPTIONS, Options
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.plan.nodes import Filter
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.planner import FragmentBuilder
from pyspark_pipeline.task import run_fragment
from tests.operators.kit import Builder, Chunks, call, column, fields, literal, run

BIGINT = {"type": "bigint", "nullable": False}
ID = {"id": 1, "name": "id", **BIGINT}
REF = {"ref": 1, **BIGINT}
ONE = {"literal": 1, "type": "bigint"}
BUFFER = {"id": 3, "name": "sum", "type": "bigint", "nullable": True}
SUM = {
    "mode": "Partial", "filter": None,
    "function": {"class": "Sum", "type": "bigint", "buffer": ["bigint"], "args": [REF], "fields": {"evalMode": "ANSI"}},
}  # fmt: skip


def node(op: str, output: list[Any], *children: Any, **fields_: Any) -> dict[str, Any]:
    return {"op": op, "output": output, "fields": fields_, "children": list(children)}


SCAN = {"op": "RangeExec", "output": [ID], "scan": 0}
FILTER = node(
    "FilterExec", [ID], SCAN,
    condition={"class": "GreaterThan", "type": "boolean", "nullable": False, "args": [REF, ONE], "fields": {}},
)  # fmt: skip
AGGREGATE = node(
    "HashAggregateExec", [BUFFER], FILTER,
    groupingExpressions=[], aggregateExpressions=[SUM], aggregateAttributes=[], resultExpressions=[],
    requiredChildDistributionExpressions=None,
)  # fmt: skip


def run_json(root: dict[str, Any], sink: dict[str, Any], cpus: int = 1, **options: str) -> list[ChunkRow]:
    settings = {"ansi": True, "timeZone": "UTC", "options": options}
    text = json.dumps({"version": WIRE_VERSION, "id": 4, "root": root, "sink": sink, "settings": settings})
    layout = {"version": WIRE_VERSION, "counts": {"scan": 1}}
    control = {"partition": 3, "cpus": cpus, "splits": {"0": [0, 10, 1]}, **layout}
    row = ChunkRow(partition=CONTROL, rows=0, data=pa.py_buffer(json.dumps(control).encode()))
    rows = [row for batch in run_fragment(text, iter([pack_rows([row])])) for row in unpack_rows(batch)]
    assert rows[0].partition == STATISTICS  # before the rows, for a reader that stops early
    return rows[1:] + rows[:1]


def values(rows: list[ChunkRow]) -> list[int]:
    schema = plain_schema([field.type for field in fields("x:bigint")])
    return [value for row in rows for value in decode_chunk(row.data, schema).column(0).to_pylist()]


def test_fragment_runs_from_its_json_and_reports_statistics() -> None:
    *data, last = run_json(AGGREGATE, {"kind": "single", "numPartitions": 1})
    assert [(row.partition, row.rows, row.sender, row.sequence) for row in data] == [(0, 1, 3, 0)]
    assert values(data) == [sum(range(2, 10))]
    assert (last.partition, last.rows) == (STATISTICS, 0)
    told = json.loads(last.data.to_pybytes())
    metrics = told["metrics"]
    assert (metrics["inputRows"], metrics["outputRows"], metrics["outputChunks"]) == (10, 1, 1)
    assert metrics["outputBytes"] == data[0].data.size and metrics["scanTime"] > 0


@pytest.mark.parametrize("cpus", [1, 3])
def test_pipelines_break_at_the_blocking_operator_and_are_numbered(cpus: int) -> None:
    told = json.loads(run_json(AGGREGATE, {"kind": "result"}, cpus)[-1].data.to_pybytes())
    pipelines = json.loads(told["profile"])["pipelines"]
    names = [[operator["name"] for operator in pipeline["operators"]] for pipeline in pipelines]
    assert names == [["Range", "Filter", "AggregateSink"], ["AggregateSource", "ResultSink"]]
    assert [(pipeline["id"], pipeline["dop"], len(pipeline["drivers"])) for pipeline in pipelines] == [
        (0, cpus, cpus), (1, cpus, cpus)
    ]  # fmt: skip
    scan = pipelines[0]["operators"][0]
    assert (scan["rows_out"], scan["chunks_out"]) == (10, 1) and scan["pull_s"] > 0
    assert {driver["state"] for pipeline in pipelines for driver in pipeline["drivers"]} == {"finished"}


def test_chunks_have_at_most_batch_rows() -> None:
    *data, _ = run_json(FILTER, {"kind": "result"}, batchRows="3")
    assert [row.rows for row in data] == [1, 3, 3, 1] and values(data) == list(range(2, 10))


def test_plan_without_node_or_operator_is_rejected_before_execution() -> None:
    with pytest.raises(UnsupportedPlanError, match="FlatMapExec has no node"):
        run_json(node("FlatMapExec", [ID], SCAN), {"kind": "result"})
    with pytest.raises(UnsupportedPlanError, match="no operator implements Chunks"):
        decompose_node(Chunks(output=()), Builder())


@pytest.mark.parametrize(
    ("key", "text"),
    [("batchRows", "0"), ("batchRows", "many"), ("enabled", "maybe"), ("jvmInput", "sometimes"), ("unheardOf", "1")],
)
def test_invalid_option_raises_with_its_name(key: str, text: str) -> None:
    with pytest.raises(OptionError, match=rf"spark\.pysparkPipeline\.{key} is"):
        Options({key: text})


def test_option_fields_have_the_type_of_their_defaults() -> None:
    types = get_type_hints(Options)
    for name, option in OPTION_FIELDS.items():
        assert getattr(Options(), name) == option.parse(option.default)
        assert type(option.parse(option.default)) is types[name]
    assert len(OPTION_FIELDS) == len(OPTIONS)


def test_check_chunks_option_checks_every_moved_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The range is patched to return a NULL in a column that is not nullable; the filter downstream would hide it."""
    made = RangeFactory.next_chunk

    def holed(factory: RangeFactory) -> pa.RecordBatch | None:
        chunk = made(factory)
        return None if chunk is None else pa.record_batch([pa.array([None, 5], pa.int64())], names=["c0"])

    checked = {"debug.checkChunks": "true"}
    assert values(run_json(FILTER, {"kind": "result"}, **checked)[:-1]) == list(range(2, 10))
    monkeypatch.setattr(RangeFactory, "next_chunk", holed)
    assert values(run_json(FILTER, {"kind": "result"})[:-1]) == [5]
    fault = r"operator 0 \(Range\) of pipeline 0, driver 0 gave a chunk of 2 rows that is wrong: column 0 holds 1 NULLs"
    with pytest.raises(EngineBugError, match=fault):
        run_json(FILTER, {"kind": "result"}, **checked)


@pytest.mark.parametrize("cpus", [1, 3])
def test_chunk_check_has_the_columns_of_the_last_operator_of_every_node(cpus: int) -> None:
    fragment = decode_fragment(json.dumps({
        "version": WIRE_VERSION, "id": 4, "root": AGGREGATE, "sink": {"kind": "result"},
        "settings": {"ansi": True, "timeZone": "UTC", "options": {"debug.checkChunks": "true"}},
    }))  # fmt: skip
    control = {"partition": 0, "splits": {"0": [0, 10, 1]}}
    builder = FragmentBuilder(fragment, control, StreamTransport(OutputQueue()), dop=cpus)
    pipelines = builder.build()
    checker = builder.checker()
    assert checker is not None
    known = {(pipeline, index): [str(t) for form in forms for t in form.types]
             for (pipeline, index), forms in checker._forms.items()}  # fmt: skip
    assert known == {(0, 0): ["int64"], (0, 1): ["int64"], (1, 0): ["int64"]}
    names = [[factory.name for factory in pipeline.factories] for pipeline in pipelines]
    assert names == [["Range", "Filter", "AggregateSink"], ["AggregateSource", "ResultSink"]]


def test_operator_registered_outside_the_package_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_DECOMPOSERS", dict(registry._DECOMPOSERS))
    monkeypatch.setattr(registry, "_OPERATORS", dict(registry._OPERATORS))

    class Kept(Filter):
        """A node of a user."""

    @implements(Kept, execs=["KeptExec"], pipeline=["Kept"])
    def decompose(kept: Kept, builder: PipelineBuilder) -> list[OperatorFactory]:
        return decompose_node(Filter(output=kept.output, condition=kept.condition, child=kept.child), builder)

    leaf = Chunks(output=fields("x:bigint"), chunks=(pa.record_batch([pa.array([1, 2, 3])], names=["c0"]),))
    condition = call("GreaterThan", "boolean", column(leaf, "x"), literal(1, "bigint"))
    assert run(Kept(output=leaf.output, condition=condition, child=leaf)).column(0).to_pylist() == [2, 3]
    assert registry.operator_manifest()["KeptExec"] == {"node": "Kept", "pipeline": ["Kept"]}
