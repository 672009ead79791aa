"""The join nodes, and their decoding from Spark's join operators.

The rows of the *build* side are collected in a hash table; the rows of the *probe* side stream and are looked up in
it. The :class:`JoinShape` of a join states which side is which, and its output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.normalized_keys import normalized
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json


class JoinType(Enum):
    """Spark's join types by their names on the wire (``Cross`` is INNER)."""

    INNER = "Inner"
    LEFT_OUTER = "LeftOuter"
    RIGHT_OUTER = "RightOuter"
    FULL_OUTER = "FullOuter"
    LEFT_SEMI = "LeftSemi"
    LEFT_ANTI = "LeftAnti"
    EXISTENCE = "ExistenceJoin"
    LEFT_SINGLE = "LeftSingle"


class JoinOutputKind(Enum):
    """The rows that a join emits: pairs of rows, or rows of one side by whether they have a match."""

    PAIRS = "pairs"
    PROBE_MATCHED = "probe rows with a match"
    PROBE_UNMATCHED = "probe rows without a match"
    PROBE_FLAGGED = "probe rows and whether they have a match"
    BUILD_MATCHED = "build rows with a match"
    BUILD_UNMATCHED = "build rows without a match"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinShape:
    """A join type in terms of probe and build side instead of left and right.

    ``probe_outer``/``build_outer``: rows of that side without a match are emitted with NULLs for the other side.
    ``is_single``: a probe row with two matches is an error, as of a scalar subquery that returns two rows.
    """

    probe_is_left: bool
    output_kind: JoinOutputKind
    probe_outer: bool = False
    build_outer: bool = False
    is_single: bool = False

    @property
    def tracks_build_matches(self) -> bool:
        """Whether build rows are emitted by whether *any* probe row matches them.

        Such a join is correct only if this instance gets every probe row with the keys of its build rows.
        """
        return self.build_outer or self.output_kind in (JoinOutputKind.BUILD_MATCHED, JoinOutputKind.BUILD_UNMATCHED)


_LEFT_ONLY_KINDS = {
    (JoinType.LEFT_SEMI, False): JoinOutputKind.PROBE_MATCHED,
    (JoinType.LEFT_ANTI, False): JoinOutputKind.PROBE_UNMATCHED,
    (JoinType.EXISTENCE, False): JoinOutputKind.PROBE_FLAGGED,
    (JoinType.LEFT_SEMI, True): JoinOutputKind.BUILD_MATCHED,
    (JoinType.LEFT_ANTI, True): JoinOutputKind.BUILD_UNMATCHED,
}
_LEFT_OUTER = (JoinType.LEFT_OUTER, JoinType.FULL_OUTER, JoinType.LEFT_SINGLE)
_RIGHT_OUTER = (JoinType.RIGHT_OUTER, JoinType.FULL_OUTER)


def join_shape(join_type: JoinType, build_left: bool) -> JoinShape:
    """Return the shape; raise :class:`UnsupportedPlanError` for existence and single joins that build the left side."""
    output_kind = _LEFT_ONLY_KINDS.get((join_type, build_left))
    if output_kind is not None:
        return JoinShape(probe_is_left=not build_left, output_kind=output_kind)
    is_single = join_type is JoinType.LEFT_SINGLE
    if join_type is JoinType.EXISTENCE or (is_single and build_left):
        raise UnsupportedPlanError(f"a join of type {join_type.value} that builds its left side is not supported")
    outer = (join_type in _LEFT_OUTER, join_type in _RIGHT_OUTER)
    build_outer, probe_outer = outer if build_left else outer[::-1]
    return JoinShape(
        probe_is_left=not build_left,
        output_kind=JoinOutputKind.PAIRS,
        probe_outer=probe_outer,
        build_outer=build_outer,
        is_single=is_single,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Node):
    """The common part of joins.

    ``condition`` is bound to the columns of ``left`` followed by those of ``right``. A pair that does not
    satisfy it is not a match. Output: left and right columns; only those of ``left`` for semi and anti joins; those
    and a boolean for existence joins.

    If the shape :attr:`~JoinShape.tracks_build_matches`, the build side must not be broadcast: each of the tasks that
    share it would emit the build rows that *its own* probe rows do not match. The decoder rejects such plans.
    """

    left: Node
    right: Node
    join_type: JoinType
    build_left: bool
    condition: Expr | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        return self.left, self.right

    @property
    def shape(self) -> JoinShape:
        """The join type in terms of probe and build side."""
        return join_shape(self.join_type, self.build_left)

    @property
    def probe(self) -> Node:
        """The child that streams."""
        return self.right if self.build_left else self.left

    @property
    def build(self) -> Node:
        """The child whose rows are all collected first."""
        return self.left if self.build_left else self.right


@dataclass(frozen=True, slots=True, kw_only=True)
class HashJoin(Join):
    """An equi-join: rows match if their keys are equal and not NULL.

    ``left_keys`` are bound to ``left``, ``right_keys`` to ``right``.
    ``null_aware`` is ``NOT IN`` (a left anti join of one key, building the whole right side): with a NULL among the
    build keys it emits no row; with an empty build side every row; else it also drops rows with a NULL key.
    """

    left_keys: tuple[Expr, ...]
    right_keys: tuple[Expr, ...]
    null_aware: bool = False

    @property
    def probe_keys(self) -> tuple[Expr, ...]:
        """The keys of the probe side."""
        return self.right_keys if self.build_left else self.left_keys

    @property
    def build_keys(self) -> tuple[Expr, ...]:
        """The keys of the build side."""
        return self.left_keys if self.build_left else self.right_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedLoopJoin(Join):
    """A join that tests every pair of rows with ``condition``."""


_TYPES = {**{kind.value: kind for kind in JoinType}, "Cross": JoinType.INNER}
_BROADCASTING = ("BroadcastHashJoinExec", "BroadcastNestedLoopJoinExec")


@decodes("SortMergeJoinExec", "ShuffledHashJoinExec", "BroadcastHashJoinExec")
def _hash_join(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    left, right = children
    fields = node["fields"]
    made = HashJoin(
        **_common_fields(node, output, children),
        left_keys=_keys(left, fields["leftKeys"]),
        right_keys=_keys(right, fields["rightKeys"]),
        null_aware=node["op"] == "BroadcastHashJoinExec" and fields.get("isNullAwareAntiJoin", False),
    )
    _check_keys(made)
    _check_broadcast(node, made)
    return made


def _keys(child: Node, keys: Sequence[Json]) -> tuple[Expr, ...]:
    return tuple(normalized(key) for key in ExpressionDecoder(child.output).decode_all(keys))


@decodes("BroadcastNestedLoopJoinExec", "CartesianProductExec")
def _nested_loop_join(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    made = NestedLoopJoin(**_common_fields(node, output, children))
    _check_broadcast(node, made)
    return made


def _common_fields(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> dict[str, Any]:
    """Decode the fields of :class:`Join`."""
    left, right = children
    return {
        "output": output,
        "left": left,
        "right": right,
        "join_type": _join_type(node),
        "build_left": _builds_left(node),
        "condition": _condition(node, children),
    }


def _join_type(node: Json) -> JoinType:
    """Decode the type; a Cartesian product has none and is an inner join."""
    name = node["fields"].get("joinType", "Inner")
    found = _TYPES.get(name)
    if found is None:
        raise UnsupportedPlanError(f"join type {name} is not supported")
    return found


def _builds_left(node: Json) -> bool:
    return bool(node["fields"].get("buildSide", "BuildRight") == "BuildLeft")


def _condition(node: Json, children: tuple[Node, ...]) -> Expr | None:
    condition = node["fields"].get("condition")
    if condition is None:
        return None
    return ExpressionDecoder([field for child in children for field in child.output]).decode(condition)


def _check_keys(join: HashJoin) -> None:
    if not join.left_keys:
        raise UnsupportedPlanError("a hash join without keys is not supported")
    for left, right in zip(join.left_keys, join.right_keys, strict=True):
        if left.type != right.type:
            raise UnsupportedPlanError(f"a join of a {left.type} key with a {right.type} key is not supported")
    if join.null_aware and (
        join.join_type is not JoinType.LEFT_ANTI or join.build_left or len(join.left_keys) > 1 or join.condition
    ):
        raise UnsupportedPlanError("a null-aware anti join has one key, no condition, and builds its right side")


def _check_broadcast(node: Json, join: Join) -> None:
    if join.shape.tracks_build_matches and node["op"] in _BROADCASTING:
        raise UnsupportedPlanError(f"a {join.join_type.value} join cannot broadcast the side whose rows it must keep")
