"""The pipelines that a worker builds for a fragment, and those that explain shows for it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark_pipeline.exchange import StreamTransport
from pyspark_pipeline.exec import OutputQueue
from pyspark_pipeline.plan.layout import numbers_of
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.planner import FragmentBuilder

_SOURCES = {"ExchangeSource": "Input"}
_SINKS = {"ResultSink": "Sink"}
#: An operator that does the work of two nodes.
_BOTH = {"GroupingSets": ["Expand", "StreamingAggregate"]}


def built(text: str) -> list[list[str]]:
    """Return the operators of each pipeline of the fragment ``text``, with one driver, without runtime filters.

    An instance runs one input of a union; here the first one.
    """
    fragment = decode_fragment(text)
    unions = numbers_of(fragment.root)["union"]
    control: dict[str, Any] = {"partition": 0, "branches": {str(number): 0 for number in unions}}
    control["splits"] = defaultdict(list)
    builder = FragmentBuilder(fragment, control, StreamTransport(OutputQueue(), sender=0))
    names = [
        [name for factory in pipeline.factories for name in _BOTH.get(factory.name, [factory.name])]
        for pipeline in builder.build()
    ]
    return [
        [_SINKS.get(name, _SOURCES.get(name, name)) for name in pipeline if name != "RuntimeFilter"]
        for pipeline in names
    ]


def shown(line: str) -> list[str]:
    """Return the operators of a line of explain, without their details."""
    return [operator.partition("(")[0] for operator in line.split(" → ")]
