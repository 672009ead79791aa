"""The decoder of fragments: one function per Spark operator class, in a registry (:mod:`~.registry`).

The shim writes an operator as ``{"op": class, "output": […], "fields": {name: …}, "children": […]}``; leaves
that the task feeds, unions and partition-dependent nodes carry their number (:mod:`~.layout`) under the name of their
kind.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan import coalesces as _coalesces  # noqa: F401
from pyspark_pipeline.plan import expands as _expands  # noqa: F401
from pyspark_pipeline.plan import generates as _generates  # noqa: F401
from pyspark_pipeline.plan import joins as _joins  # noqa: F401
from pyspark_pipeline.plan import local_rows as _local_rows  # noqa: F401
from pyspark_pipeline.plan import python_functions as _python_functions  # noqa: F401
from pyspark_pipeline.plan import samples as _samples  # noqa: F401
from pyspark_pipeline.plan import sessions as _sessions  # noqa: F401
from pyspark_pipeline.plan import sorts as _sorts  # noqa: F401
from pyspark_pipeline.plan import unions as _unions  # noqa: F401
from pyspark_pipeline.plan import windows as _windows  # noqa: F401
from pyspark_pipeline.plan.broadcasts import BroadcastExchange
from pyspark_pipeline.plan.depth import raised_recursion_limit
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.layout import check_version
from pyspark_pipeline.plan.nodes import (
    Aggregate,
    AggregateCall,
    ExchangeSource,
    Field,
    FileScan,
    Filter,
    Fragment,
    HashExchange,
    Limit,
    Node,
    Project,
    Range,
    ResultSink,
    RoundRobinExchange,
    Settings,
    SingleExchange,
    Sink,
)
from pyspark_pipeline.plan.nondeterministic import nondeterministic_columns
from pyspark_pipeline.plan.observations import CollectMetrics
from pyspark_pipeline.plan.ranges import RangeExchange, RangeSample, Sample
from pyspark_pipeline.plan.registry import decoder_of, decodes
from pyspark_pipeline.plan.sorts import decode_sort_keys, sort_direction
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json, decode_fields, decode_type, strip_alias
from pyspark_pipeline.plan.writes import decode_parquet_sink

#: The longest chain of operators that is decoded; nested JSON of expressions is limited to some levels.
_MAX_LEVELS = 500

_SINKS: Mapping[str, Callable[[Json, ExpressionDecoder], Sink]] = {
    "result": lambda node, decoder: ResultSink(),
    "single": lambda node, decoder: SingleExchange(),
    "broadcast": lambda node, decoder: BroadcastExchange(num_partitions=node["numPartitions"]),
    "roundRobin": lambda node, decoder: RoundRobinExchange(num_partitions=node["numPartitions"]),
    "range": lambda node, decoder: RangeExchange(
        keys=decode_sort_keys(node["keys"], decoder),
        num_partitions=node["numPartitions"],
        samples=tuple(Sample(rows=s["rows"], message=base64.b64decode(s["message"])) for s in node["samples"]),
    ),
    "rangeSample": lambda node, decoder: RangeSample(keys=decode_sort_keys(node["keys"], decoder), rows=node["rows"]),
    "hash": lambda node, decoder: HashExchange(
        keys=decoder.decode_all(node["keys"]), num_partitions=node["numPartitions"], drivers=node.get("drivers", 1)
    ),
}


def decode_fragment(text: str) -> Fragment:
    """Decode the JSON of a fragment; raise :class:`UnsupportedPlanError` for unknown operators and expressions."""
    with raised_recursion_limit(_MAX_LEVELS):
        node = json.loads(text)
        check_version(node["version"], f"fragment {node['id']}")
        root = decode_node(node["root"])
    settings = node["settings"]
    sink = node["sink"]
    if sink["kind"] == "parquet":
        root, sink = decode_parquet_sink(sink, root), {"kind": "result"}
    return Fragment(
        id=node["id"],
        root=root,
        sink=_SINKS[sink["kind"]](sink, ExpressionDecoder(root.output)),
        settings=Settings(
            ansi=settings["ansi"],
            time_zone=settings["timeZone"],
            options=Options(settings["options"]),
            spark=settings.get("spark", ""),
            java=settings.get("java", 17),
        ),
        broadcasts=tuple(node.get("broadcasts", ())),
        depth=node.get("depth", 0),
        ordered=node.get("ordered", False),
    )


def decode_node(node: Json) -> Node:
    """Decode one operator and its subtree."""
    children = tuple(decode_node(child) for child in node.get("children", ()))
    return decoder_of(node["op"])(node, decode_fields(node["output"]), children)


@decodes("FileSourceScanExec")
def _scan(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return FileScan(
        output=output,
        input_id=node["scan"],
        format=node["format"],
        num_data_columns=node["numDataColumns"],
        pushed=ExpressionDecoder(output).decode_all(node["pushed"]),
        filters=ExpressionDecoder(output).decode_all(node.get("filters", ())),
        case_sensitive=node["caseSensitive"],
        options=node.get("options", {}),
    )


@decodes("RangeExec")
def _range(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return Range(output=output, input_id=node["scan"])


@decodes("Input")
def _input(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    partitioning = ExpressionDecoder(output).decode_all(node.get("dealtBy", ()))
    drivers = node.get("drivers", 1)
    return ExchangeSource(output=output, input_id=node["input"], partitioning=partitioning, drivers=drivers)


@decodes("FilterExec")
def _filter(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    if "partitionDependent" in node:
        return _nondeterministic_filter(node, output, children[0])
    decoder = ExpressionDecoder(children[0].output)
    return Filter(output=output, condition=decoder.decode(node["fields"]["condition"]), child=children[0])


def _nondeterministic_filter(node: Json, output: tuple[Field, ...], below: Node) -> Node:
    """Decode a filter whose last conjunct reads nondeterministic columns of the rows that pass the others."""
    if node["before"] is not None:
        before = ExpressionDecoder(below.output).decode(node["before"])
        below = Filter(output=below.output, condition=before, child=below)
    width = len(below.output)
    below = nondeterministic_columns(node["partitionDependent"], node["calls"], below)
    condition = ExpressionDecoder(below.output).decode(node["condition"])
    below = Filter(output=below.output, condition=condition, child=below)
    exprs = tuple(
        ColumnRef(type=field.type, nullable=field.nullable, ordinal=ordinal)
        for ordinal, field in enumerate(below.output[:width])
    )
    return Project(output=output, exprs=exprs, child=below)


@decodes("ProjectExec")
def _project(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    child = children[0]
    if "partitionDependent" in node:
        child = nondeterministic_columns(node["partitionDependent"], node["calls"], child)
    decoder = ExpressionDecoder(child.output)
    exprs = decoder.decode_all([strip_alias(e) for e in node["fields"]["projectList"]])
    return Project(output=output, exprs=exprs, child=child)


@decodes("LocalLimitExec", "GlobalLimitExec")
def _limit(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    limit = node["fields"]["limit"]
    offset = node["fields"].get("offset", 0)
    return Limit(output=output, limit=limit if limit >= 0 else None, offset=offset, child=children[0])


@decodes("HashAggregateExec", "ObjectHashAggregateExec", "SortAggregateExec")
def _aggregate(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    fields = node["fields"]
    child = children[0]
    decoder = ExpressionDecoder(child.output)
    grouping = decoder.decode_all([strip_alias(e) for e in fields["groupingExpressions"]])
    calls = tuple(_call(call, decoder) for call in fields["aggregateExpressions"])
    partial = any(not call.finalizes for call in calls) or _is_partial_distinct(fields)
    results = None if partial else _results(fields, grouping, calls)
    return Aggregate(output=output, grouping=grouping, calls=calls, results=results, child=child)


@decodes("CollectMetricsExec")
def _collect_metrics(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    decoder = ExpressionDecoder(children[0].output)
    calls = tuple(_call(call, decoder) for call in node["calls"])
    return CollectMetrics(output=output, number=node["partitionDependent"], calls=calls, child=children[0])


def _is_partial_distinct(fields: Json) -> bool:
    """Return whether this is the partial stage of an aggregation that has only keys."""
    return not fields["aggregateExpressions"] and fields["requiredChildDistributionExpressions"] is None


def _call(node: Json, decoder: ExpressionDecoder) -> AggregateCall:
    function = node["function"]
    merges = node["mode"] in ("PartialMerge", "Final")
    orders = [arg for arg in function["args"] if arg.get("class") == "SortOrder"]
    return AggregateCall(
        function=function["class"],
        mode=node["mode"],
        args=() if merges else decoder.decode_all(function["args"]),
        arg_types=tuple(decode_type(arg) for arg in function["args"]),
        filter=None if merges or node["filter"] is None else decoder.decode(node["filter"]),
        type=parse_type(function["type"]),
        buffer=tuple(parse_type(text) for text in function["buffer"]),
        fields=function.get("fields", {}),
        context=function.get("context", -1),
        constants=tuple(decoder.literal(arg) for arg in function["args"]),
        orders=tuple(sort_direction(order) for order in orders),
        is_sorted_by_first=[order["args"][0] for order in orders] in ([], function["args"][:1]),
    )


def _results(fields: Json, grouping: tuple[Expr, ...], calls: tuple[AggregateCall, ...]) -> tuple[Expr, ...]:
    """Bind result expressions to the grouping columns followed by one value per call."""
    ids = [_expression_id(e) for e in fields["groupingExpressions"]]
    ids += [attribute["ref"] for attribute in fields["aggregateAttributes"]]
    types = [expr.type for expr in grouping] + [call.type for call in calls]
    columns = [Field(id=i, name="", type=t) for i, t in zip(ids, types, strict=True)]
    return ExpressionDecoder(columns).decode_all([strip_alias(e) for e in fields["resultExpressions"]])


def _expression_id(node: Json) -> int:
    """Return the id by which operators above refer to a named expression."""
    if "ref" in node:
        return int(node["ref"])
    return int(node["fields"]["exprId"])
