"""Which columns of a join's sides are needed, and the condition bound to just those it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr
from pyspark_pipeline.plan.joins import Emits, Join

_GIVES_BUILD = (Emits.PAIRS, Emits.BUILD_MATCHED, Emits.BUILD_UNMATCHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualColumns:
    """The condition of a join, bound to ``probe`` columns of the probe chunk followed by ``build`` kept columns."""

    condition: Expr
    probe: tuple[int, ...]
    build: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinColumns:
    """What of the sides' columns a join works with.

    ``kept``: the ordinals of the build side's columns that are kept, of ``build_types``; ``probe_types``: the types
    of all columns of the probe side. ``pairs``: whether build rows are asked for, not only whether there is one.
    """

    kept: tuple[int, ...]
    build_types: tuple[pa.DataType, ...]
    probe_types: tuple[pa.DataType, ...]
    pairs: bool
    residual: ResidualColumns | None

    @classmethod
    def of(cls, join: Join) -> JoinColumns:
        """Find what ``join`` needs for its output and its condition."""
        num_left = len(join.left.output)
        used = sorted(_ordinals(join.condition)) if join.condition is not None else []
        left, right = [i for i in used if i < num_left], [i - num_left for i in used if i >= num_left]
        probe, build = (right, left) if join.build_left else (left, right)
        gives_build = join.shape.emits in _GIVES_BUILD
        kept = tuple(range(len(join.build.output))) if gives_build else tuple(build)
        residual = None
        if join.condition is not None:
            from_left, from_right = (0, num_left) if join.probe is join.left else (num_left, 0)
            places = {i + from_left: place for place, i in enumerate(probe)}
            places.update({i + from_right: place + len(probe) for place, i in enumerate(build)})
            residual = ResidualColumns(
                condition=_rebound(join.condition, places),
                probe=tuple(probe),
                build=tuple(kept.index(i) for i in build),
            )
        probe_types = tuple(field.type.arrow for field in join.probe.output)
        build_types = tuple(join.build.output[i].type.arrow for i in kept)
        pairs = gives_build or residual is not None
        return cls(kept=kept, build_types=build_types, probe_types=probe_types, pairs=pairs, residual=residual)


def _ordinals(expr: Expr) -> set[int]:
    if isinstance(expr, ColumnRef):
        return {expr.ordinal}
    if isinstance(expr, Call):
        return {ordinal for arg in expr.args for ordinal in _ordinals(arg)}
    return set()


def _rebound(expr: Expr, places: Mapping[int, int]) -> Expr:
    if isinstance(expr, ColumnRef):
        return dataclasses.replace(expr, ordinal=places[expr.ordinal])
    if isinstance(expr, Call):
        return dataclasses.replace(expr, args=tuple(_rebound(arg, places) for arg in expr.args))
    return expr
