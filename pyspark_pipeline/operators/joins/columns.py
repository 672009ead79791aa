"""Which columns of a join's sides are needed, and the condition bound to just those it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa

from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, columns_read
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

    ``kept``: the ordinals of the build side's columns that are kept, of ``kept_types``. ``probe``: for every column
    of the probe side its type, None where nothing above reads it; ``build``: for every column of the build side
    that comes out its place in ``kept``, None where nothing above reads it. ``pairs``: whether build rows are asked
    for, not only whether there is one.
    """

    kept: tuple[int, ...]
    kept_types: tuple[pa.DataType, ...]
    probe: tuple[pa.DataType | None, ...]
    build: tuple[int | None, ...]
    pairs: bool
    residual: ResidualColumns | None

    @classmethod
    def of(cls, join: Join, read: Collection[int] | None = None) -> JoinColumns:
        """Find what ``join`` needs for its condition and those columns of its output that are ``read`` (None: all)."""
        gives_build = join.shape.emits in _GIVES_BUILD
        used = columns_read([join.condition]) if join.condition is not None else set()
        wanted = set(range(len(join.output))) if read is None else set(read)
        probe_read, build_read = _by_side(join, wanted)
        if not gives_build:
            build_read = set()
        probe_used, build_used = _by_side(join, used)
        kept = sorted(build_read | build_used)
        residual = None
        if join.condition is not None:
            residual = _residual(join, join.condition, sorted(probe_used), sorted(build_used), kept)
        return cls(
            kept=tuple(kept),
            kept_types=tuple(join.build.output[i].type.arrow for i in kept),
            probe=tuple(f.type.arrow if i in probe_read else None for i, f in enumerate(join.probe.output)),
            build=tuple(kept.index(i) if i in build_read else None for i in range(len(join.build.output))),
            pairs=gives_build or residual is not None,
            residual=residual,
        )


def _by_side(join: Join, ordinals: Collection[int]) -> tuple[set[int], set[int]]:
    """Split ordinals of left and right columns into those of the probe side and those of the build side."""
    num_left = len(join.left.output)
    left = {i for i in ordinals if i < num_left}
    right = {i - num_left for i in ordinals if i >= num_left}
    return (right, left) if join.build_left else (left, right)


def _residual(join: Join, condition: Expr, probe: list[int], build: list[int], kept: list[int]) -> ResidualColumns:
    num_left = len(join.left.output)
    first_probe, first_build = (num_left, 0) if join.build_left else (0, num_left)
    places = {i + first_probe: place for place, i in enumerate(probe)}
    places.update({i + first_build: place + len(probe) for place, i in enumerate(build)})
    return ResidualColumns(
        condition=_rebound(condition, places),
        probe=tuple(probe),
        build=tuple(kept.index(i) for i in build),
    )


def _rebound(expr: Expr, places: Mapping[int, int]) -> Expr:
    if isinstance(expr, ColumnRef):
        return dataclasses.replace(expr, ordinal=places[expr.ordinal])
    if isinstance(expr, Call):
        return dataclasses.replace(expr, args=tuple(_rebound(arg, places) for arg in expr.args))
    return expr
