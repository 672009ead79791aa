"""The column lineage of a join's probe keys: the operators below at which a row without a match may be dropped.

It covers joins that drop probe rows without a match, and keys that are plain columns. Keys are traced through filters
and projections whose expressions cannot raise an error (a row dropped earlier would not raise it), and through other
joins that probe with the key's side and do not track build matches. Below a union there are scans of several inputs,
which run in separate pipelines if the instance runs more than one input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark_pipeline.expressions import ExpressionSettings, can_raise
from pyspark_pipeline.operators.registry import Ordinals, column_lineage
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.joins import HashJoin, Join, JoinOutputKind
from pyspark_pipeline.plan.nodes import FileScan, Node
from pyspark_pipeline.plan.unions import Union

_DROPS_UNMATCHED = (JoinOutputKind.PAIRS, JoinOutputKind.PROBE_MATCHED, JoinOutputKind.BUILD_MATCHED)

ActiveInput = Callable[[Union], int | None]


@dataclass(frozen=True, slots=True)
class ScanTarget:
    """A scan that reads keys, the keys' columns in it, and whether it runs in another pipeline than the probe."""

    scan: FileScan
    columns: Ordinals
    is_separate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLineage:
    """The columns further down that the probe keys of a join come from; None for a key that is no column there.

    ``lowest_join``: the lowest other join whose probe side has all keys, at its probe columns ``join_columns``.
    ``build_join``: an inner join whose build side has all keys, at its build columns ``build_columns``.
    ``scans``: the scans that read the rows.
    """

    lowest_join: Join | None = None
    join_columns: tuple[int, ...] = ()
    build_join: Join | None = None
    build_columns: tuple[int, ...] = ()
    scans: tuple[ScanTarget, ...] = ()


def drops_unmatched(join: Join) -> bool:
    """Return whether a probe row whose key is not in the table has no effect on the output of ``join``."""
    shape = join.shape
    return isinstance(join, HashJoin) and shape.output_kind in _DROPS_UNMATCHED and not shape.probe_outer


def trace_column_lineage(join: HashJoin, settings: ExpressionSettings, active_input: ActiveInput) -> KeyLineage:
    """Trace the probe keys of ``join`` down; return an empty lineage unless :func:`drops_unmatched`.

    ``active_input`` returns the input of a union that the instance runs; None for all.
    """
    if not drops_unmatched(join):
        return KeyLineage()
    at: Node = join.probe
    columns = _columns(join.probe_keys)
    lowest_join, join_columns = None, columns
    build_join, build_columns = None, columns
    while any(column is not None for column in columns):
        step = column_lineage(at, columns, settings)
        if step is None:
            break
        if isinstance(at, Join) and _may_drop_build_rows(at, settings):
            of_build = _of_side(columns, at, at.build)
            if None not in of_build:
                build_join, build_columns = at, of_build
        child, columns = step
        if isinstance(at, Join) and None not in columns:
            lowest_join, join_columns = at, columns
        at = child
    return KeyLineage(
        lowest_join=lowest_join,
        join_columns=present(join_columns),
        build_join=build_join,
        build_columns=present(build_columns),
        scans=tuple(_scans(join.probe, _columns(join.probe_keys), settings, active_input)),
    )


def _may_drop_build_rows(join: Join, settings: ExpressionSettings) -> bool:
    """Return whether a build row has no effect but on the output rows that it is a part of."""
    shape, keys = join.shape, join.build_keys if isinstance(join, HashJoin) else ()
    has_pairs_alone = shape.output_kind is JoinOutputKind.PAIRS and not shape.probe_outer and not shape.is_single
    return has_pairs_alone and not can_raise(keys, settings)


def _scans(
    at: Node, columns: Ordinals, settings: ExpressionSettings, active_input: ActiveInput, is_separate: bool = False
) -> Iterator[ScanTarget]:
    """Yield the scans that read some of the ``columns`` of a node."""
    if all(column is None for column in columns):
        return
    if isinstance(at, FileScan):
        yield ScanTarget(at, columns, is_separate)
    elif isinstance(at, Union):
        place = active_input(at)
        for child in at.inputs if place is None else [at.inputs[place]]:
            yield from _scans(child, columns, settings, active_input, is_separate or place is None)
    elif (step := column_lineage(at, columns, settings)) is not None:
        yield from _scans(*step, settings, active_input, is_separate)


def probe_lineage(join: Join, columns: Ordinals, settings: ExpressionSettings) -> tuple[Node, Ordinals] | None:
    """Return the probe side and the columns in it; None if no row may be dropped below ``join``."""
    if join.shape.tracks_build_matches or join.shape.is_single or can_raise(_evaluated(join), settings):
        return None
    return join.probe, _of_side(columns, join, join.probe)


def _columns(exprs: Sequence[Expr]) -> Ordinals:
    return tuple(expr.ordinal if isinstance(expr, ColumnRef) else None for expr in exprs)


def _of_side(columns: Ordinals, join: Join, side: Node) -> Ordinals:
    """Return the columns of a side of a join that output columns of the join come from; None for others."""
    first = 0 if side is join.left else len(join.left.output)
    last = first + len(side.output)
    return tuple(None if column is None or not first <= column < last else column - first for column in columns)


def _evaluated(join: Join) -> list[Expr]:
    """Return the expressions that a join evaluates for a probe row."""
    keys = join.probe_keys if isinstance(join, HashJoin) else ()
    return [*keys, *([] if join.condition is None else [join.condition])]


def present(columns: Ordinals) -> tuple[int, ...]:
    """Return the columns that exist."""
    return tuple(column for column in columns if column is not None)
