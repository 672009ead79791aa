"""Where the rows come from that a join looks up: down to which operators a row without a match may be dropped.

Only joins from which such a row vanishes, and only keys that are plain columns. On the way down are filters and
projections none of whose expressions can raise an error (which a row that is dropped earlier would not), and
other joins that stream the key's side and give none of their built rows by whether they were met. Below a union there
are scans of several inputs, which run in pipelines of their own where the instance runs more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark_pipeline.expressions import ExpressionSettings, can_raise
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.joins import Emits, HashJoin, Join
from pyspark_pipeline.plan.nodes import Filter, Node, ParquetScan, Project
from pyspark_pipeline.plan.unions import Union

_DROPS_UNMATCHED = (Emits.PAIRS, Emits.PROBE_MATCHED, Emits.BUILD_MATCHED)

Ordinals = tuple[int | None, ...]
Branch = Callable[[Union], int | None]


@dataclass(frozen=True, slots=True)
class Reached:
    """A scan, in which of its columns the keys are, and whether it stands apart: in another pipeline than the probe."""

    scan: ParquetScan
    columns: Ordinals
    is_apart: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Where the probe keys of a join are columns further down; None for a key that is no column there.

    ``lowest``: the lowest other join on whose probe side all keys are; at ``below`` of its probe side's columns.
    ``scans``: what the rows are read by.
    """

    lowest: Join | None = None
    below: tuple[int, ...] = ()
    scans: tuple[Reached, ...] = ()


def drops_unmatched(join: Join) -> bool:
    """Say whether a probe row whose key was not built changes nothing of what ``join`` gives."""
    shape = join.shape
    return isinstance(join, HashJoin) and shape.emits in _DROPS_UNMATCHED and not shape.keeps_probe


def trace_keys(join: HashJoin, settings: ExpressionSettings, branch: Branch) -> Trace:
    """Follow the probe keys of ``join`` down; what :func:`drops_unmatched` is not true of is followed nowhere.

    ``branch`` says which input of a union the instance runs; None for all.
    """
    if not drops_unmatched(join):
        return Trace()
    at: Node = join.probe
    columns = _columns(join.probe_keys)
    lowest, below = None, columns
    while any(column is not None for column in columns):
        step = _step(at, columns, settings)
        if step is None:
            break
        child, columns = step
        if isinstance(at, Join) and None not in columns:
            lowest, below = at, columns
        at = child
    scans = tuple(_scans(join.probe, _columns(join.probe_keys), settings, branch))
    return Trace(lowest=lowest, below=_all(below), scans=scans)


def _scans(
    at: Node, columns: Ordinals, settings: ExpressionSettings, branch: Branch, is_apart: bool = False
) -> Iterator[Reached]:
    """Find the scans that read some of the ``columns`` of a node."""
    if all(column is None for column in columns):
        return
    if isinstance(at, ParquetScan):
        yield Reached(at, columns, is_apart)
    elif isinstance(at, Union):
        place = branch(at)
        for child in at.inputs if place is None else [at.inputs[place]]:
            yield from _scans(child, columns, settings, branch, is_apart or place is None)
    elif (step := _step(at, columns, settings)) is not None:
        yield from _scans(*step, settings, branch, is_apart)


def _step(at: Node, columns: Ordinals, settings: ExpressionSettings) -> tuple[Node, Ordinals] | None:
    """Go down one node, if rows may be dropped below it."""
    if isinstance(at, Filter):
        return None if can_raise([at.condition], settings) else (at.child, columns)
    if isinstance(at, Project):
        return None if can_raise(at.exprs, settings) else (at.child, _through(columns, at.exprs))
    if isinstance(at, Join) and not at.shape.marks_build and not can_raise(_evaluated(at), settings):
        return at.probe, _of_probe(columns, at)
    return None


def _columns(exprs: Sequence[Expr]) -> Ordinals:
    return tuple(expr.ordinal if isinstance(expr, ColumnRef) else None for expr in exprs)


def _through(columns: Ordinals, exprs: Sequence[Expr]) -> Ordinals:
    below = _columns(exprs)
    return tuple(None if column is None else below[column] for column in columns)


def _of_probe(columns: Ordinals, join: Join) -> Ordinals:
    """Give the columns of the probe side that output columns of a join are."""
    first = 0 if join.shape.probe_is_left else len(join.left.output)
    last = first + len(join.probe.output)
    return tuple(None if column is None or not first <= column < last else column - first for column in columns)


def _evaluated(join: Join) -> list[Expr]:
    """Give the expressions that a join evaluates of a probe row."""
    keys = join.probe_keys if isinstance(join, HashJoin) else ()
    return [*keys, *([] if join.condition is None else [join.condition])]


def _all(columns: Ordinals) -> tuple[int, ...]:
    return tuple(column for column in columns if column is not None)
