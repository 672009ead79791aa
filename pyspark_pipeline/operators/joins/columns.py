"""The columns of both sides that a join needs, and the condition bound to the columns it reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa

from pyspark_pipeline.plan.expr import ColumnRef, Expr, columns_read, rebound
from pyspark_pipeline.plan.joins import HashJoin, Join, JoinOutputKind
from pyspark_pipeline.plan.properties import ALL_PLAIN, RequiredOutput

_EMITS_BUILD = (JoinOutputKind.PAIRS, JoinOutputKind.BUILD_MATCHED, JoinOutputKind.BUILD_UNMATCHED)
_EMITS_UNMATCHED_PROBE = (JoinOutputKind.PROBE_UNMATCHED, JoinOutputKind.PROBE_FLAGGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualColumns:
    """The condition of a join, bound to ``probe`` columns of the probe chunk followed by ``build`` kept columns."""

    condition: Expr
    probe: tuple[int, ...]
    build: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinColumns:
    """The columns of both sides that a join uses.

    ``kept``: the ordinals of the build columns stored with the table, ``kept_types`` their types. ``probe``: the type
    of every probe column, None if it is not read above; ``build``: the index in ``kept`` of every build column, None
    if it is not in the output or not read above. ``pairs``: whether the join needs the matching build rows, not only
    whether a match exists.
    """

    kept: tuple[int, ...]
    kept_types: tuple[pa.DataType, ...]
    probe: tuple[pa.DataType | None, ...]
    build: tuple[int | None, ...]
    pairs: bool
    residual: ResidualColumns | None

    @classmethod
    def of(cls, join: Join, required: RequiredOutput = ALL_PLAIN) -> JoinColumns:
        """Return the columns that ``join`` needs for its condition and the output columns that are ``required``."""
        emits_build = join.shape.output_kind in _EMITS_BUILD
        used = columns_read([join.condition]) if join.condition is not None else set()
        wanted = set(range(len(join.output))) - required.unused
        probe_read, build_read = _by_side(join, wanted)
        if not emits_build:
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
            pairs=emits_build or residual is not None,
            residual=residual,
        )

    def required_probe(self, join: Join, nulls_dropped: Collection[int] = ()) -> RequiredOutput:
        """Return the requirement on the probe side of ``join``: output, condition and keys.

        The join drops NULLs of its keys, its consumer those of the probe columns ``nulls_dropped``.
        """
        read = {i for i, kind in enumerate(self.probe) if kind is not None}
        read |= columns_read(join.probe_keys) if isinstance(join, HashJoin) else set()
        read |= set(self.residual.probe) if self.residual is not None else set()
        return RequiredOutput.of_columns(join.probe.output, read, {*_keys_without_nulls(join), *nulls_dropped})

    def required_build(self, join: Join) -> RequiredOutput:
        """Return the requirement on the build side of ``join``: kept columns and keys."""
        read = columns_read(join.build_keys) if isinstance(join, HashJoin) else set()
        return RequiredOutput.of_columns(join.build.output, read | set(self.kept))


def required_inputs(join: Join, required: RequiredOutput) -> tuple[RequiredOutput, RequiredOutput]:
    """Return the requirements of ``join`` on its left and its right side."""
    columns = JoinColumns.of(join, required)
    dropped_above = _by_side(join, required.nulls_dropped)[0] if _passes_nulls(join) else ()
    probe, build = columns.required_probe(join, dropped_above), columns.required_build(join)
    return (build, probe) if join.build_left else (probe, build)


def _keys_without_nulls(join: Join) -> set[int]:
    """Return the probe columns that are keys of a join without probe rows that match nothing."""
    emits_unmatched = join.shape.probe_outer or join.shape.output_kind in _EMITS_UNMATCHED_PROBE
    if not isinstance(join, HashJoin) or emits_unmatched:
        return set()
    return {key.ordinal for key in join.probe_keys if isinstance(key, ColumnRef)}


def _passes_nulls(join: Join) -> bool:
    """Return whether probe rows with NULLs that are dropped above may go through ``join``: nothing in it can raise."""
    if not isinstance(join, HashJoin) or join.condition is not None:
        return False
    return not join.null_aware and all(isinstance(key, ColumnRef) for key in join.probe_keys)


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
        condition=rebound(condition, places),
        probe=tuple(probe),
        build=tuple(kept.index(i) for i in build),
    )
