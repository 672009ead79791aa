"""Grouping sets: rows are grouped by all keys before they are expanded.

``ROLLUP``, ``CUBE`` and ``GROUPING SETS`` output each row once for every set (:class:`Expand`), and aggregate these
rows. The partial aggregation of a task gives the same groups if it first groups by the keys of all sets, expands these
groups, and merges them: of the rows there are far more than of such groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark_pipeline.operators.aggregation.aggregator import is_partial, merge_stage
from pyspark_pipeline.operators.aggregation.functions import build_function
from pyspark_pipeline.operators.aggregation.functions.state import StatePool
from pyspark_pipeline.plan.expands import Expand
from pyspark_pipeline.plan.expr import ColumnRef, Expr, Literal, columns_read, rebound
from pyspark_pipeline.plan.nodes import Aggregate, AggregateCall, Field, Settings
from pyspark_pipeline.plan.normalized_keys import is_nested


def group_before_expand(node: Aggregate, settings: Settings) -> Aggregate | None:
    """Return a stage that merges the expanded groups of all keys instead of aggregating the expanded rows of ``node``.

    None if ``node`` is no partial aggregation above an :class:`Expand` of sets of columns, with functions of columns
    that all sets keep; or if merging parts of a group could change a result.
    """
    expand = node.child
    if not isinstance(expand, Expand) or node.results is not None or not is_partial(node.calls):
        return None
    functions = [build_function(call, StatePool(), settings) for call in node.calls]
    if not all(function.is_exact_in_parts and function.ignores_order for function in functions):
        return None
    exprs = [expr for call in node.calls for expr in (*call.args, call.filter) if expr is not None]
    kept = {column: expand.projections[0][column] for column in columns_read(exprs)}
    keys = [key.ordinal for key in node.grouping if isinstance(key, ColumnRef) and not is_nested(key.type)]
    sources = {projection[key] for projection in expand.projections for key in keys}
    if (
        len(keys) < len(node.grouping)
        or any(projection[column] != source for projection in expand.projections for column, source in kept.items())
        or not all(isinstance(source, ColumnRef) for source in kept.values())
        or not all(isinstance(source, (ColumnRef, Literal)) for source in sources)
    ):
        return None
    columns = sorted({source.ordinal: source for source in sources if isinstance(source, ColumnRef)}.items())
    if not columns:
        return None
    places = {column: source.ordinal for column, source in kept.items() if isinstance(source, ColumnRef)}
    first = _stage([source for _, source in columns], [_moved(call, places) for call in node.calls], expand)
    groups = {ordinal: number for number, (ordinal, _) in enumerate(columns)}
    buffers = [ColumnRef(type=f.type, ordinal=i) for i, f in enumerate(first.output)][len(groups) :]
    projections = tuple((*(rebound(p[key], groups) for key in keys), *buffers) for p in expand.projections)
    merging = merge_stage(node)
    return replace(merging, child=Expand(output=merging.child.output, projections=projections, child=first))


def _stage(grouping: Sequence[Expr], calls: Sequence[AggregateCall], expand: Expand) -> Aggregate:
    types = [*(key.type for key in grouping), *(kind for call in calls for kind in call.buffer)]
    output = tuple(Field(id=-1 - i, name="", type=kind) for i, kind in enumerate(types))
    return Aggregate(output=output, grouping=tuple(grouping), calls=tuple(calls), results=None, child=expand.child)


def _moved(call: AggregateCall, places: dict[int, int]) -> AggregateCall:
    """Return ``call`` over the columns below the expand, whose ordinals ``places`` has for those above."""
    condition = None if call.filter is None else rebound(call.filter, places)
    return replace(call, args=tuple(rebound(arg, places) for arg in call.args), filter=condition)
