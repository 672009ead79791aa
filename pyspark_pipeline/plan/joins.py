"""The nodes of joins, and how Spark's join operators become them.

One side is *built*: taken in whole, its rows found by key. The other side is *probed*: it streams. Which is
which, and what comes out, is the join's :class:`JoinShape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Field, Node
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


class Emits(Enum):
    """What rows a join gives: pairs of rows, or rows of one side by whether they have a match."""

    PAIRS = "pairs"
    PROBE_MATCHED = "probe rows with a match"
    PROBE_UNMATCHED = "probe rows without a match"
    PROBE_FLAGGED = "probe rows and whether they have a match"
    BUILD_MATCHED = "build rows with a match"
    BUILD_UNMATCHED = "build rows without a match"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinShape:
    """A join by what is probed and built instead of left and right.

    ``keeps_probe``/``keeps_build``: rows of that side without a match come with NULLs for the other side.
    """

    probe_is_left: bool
    emits: Emits
    keeps_probe: bool = False
    keeps_build: bool = False

    @property
    def marks_build(self) -> bool:
        """Whether build rows are given by whether *no* probe row meets them, or any one does.

        Such a join is right only where this instance sees every probe row of the keys it has built.
        """
        return self.keeps_build or self.emits in (Emits.BUILD_MATCHED, Emits.BUILD_UNMATCHED)


_OF_LEFT = {
    (JoinType.LEFT_SEMI, False): Emits.PROBE_MATCHED,
    (JoinType.LEFT_ANTI, False): Emits.PROBE_UNMATCHED,
    (JoinType.EXISTENCE, False): Emits.PROBE_FLAGGED,
    (JoinType.LEFT_SEMI, True): Emits.BUILD_MATCHED,
    (JoinType.LEFT_ANTI, True): Emits.BUILD_UNMATCHED,
}
_KEEPS_LEFT = (JoinType.LEFT_OUTER, JoinType.FULL_OUTER)
_KEEPS_RIGHT = (JoinType.RIGHT_OUTER, JoinType.FULL_OUTER)


def join_shape(join_type: JoinType, build_left: bool) -> JoinShape:
    """Give the shape; raise :class:`UnsupportedPlanError` for an existence join that builds the left side."""
    emits = _OF_LEFT.get((join_type, build_left))
    if emits is not None:
        return JoinShape(probe_is_left=not build_left, emits=emits)
    if join_type is JoinType.EXISTENCE:
        raise UnsupportedPlanError("an existence join that builds its left side is not supported")
    keeps = (join_type in _KEEPS_LEFT, join_type in _KEEPS_RIGHT)
    keeps_build, keeps_probe = keeps if build_left else keeps[::-1]
    return JoinShape(
        probe_is_left=not build_left, emits=Emits.PAIRS, keeps_probe=keeps_probe, keeps_build=keeps_build
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Node):
    """What joins have in common.

    ``condition`` is bound to the columns of ``left`` followed by those of ``right``. A pair that does not
    fulfil it is no match. Output: left and right columns; those of ``left`` only for semi and anti joins; those
    and a boolean for existence joins.

    Where the shape :attr:`~JoinShape.marks_build` the build side must not be broadcast: each of the tasks that
    share it would give the build rows that *its own* probe rows leave without a match. The decoder refuses.
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
        """The join by what is probed and built."""
        return join_shape(self.join_type, self.build_left)

    @property
    def probe(self) -> Node:
        """The side that streams."""
        return self.right if self.build_left else self.left

    @property
    def build(self) -> Node:
        """The side that is taken in whole first."""
        return self.left if self.build_left else self.right


@dataclass(frozen=True, slots=True, kw_only=True)
class HashJoin(Join):
    """Rows match whose keys are equal and not NULL. ``left_keys`` are bound to ``left``, ``right_keys`` to ``right``.

    ``null_aware`` is ``NOT IN`` (a left anti join of one key, building the whole right side): a NULL among the
    build keys leaves no row; an empty build side leaves every row; else rows with a NULL key go too.
    """

    left_keys: tuple[Expr, ...]
    right_keys: tuple[Expr, ...]
    null_aware: bool = False

    @property
    def probe_keys(self) -> tuple[Expr, ...]:
        """The keys of the side that streams."""
        return self.right_keys if self.build_left else self.left_keys

    @property
    def build_keys(self) -> tuple[Expr, ...]:
        """The keys of the side that is built."""
        return self.left_keys if self.build_left else self.right_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedLoopJoin(Join):
    """Every row of one side meets every row of the other; ``condition`` decides whether they match."""


_TYPES = {**{kind.value: kind for kind in JoinType}, "Cross": JoinType.INNER}
_BROADCASTING = ("BroadcastHashJoinExec", "BroadcastNestedLoopJoinExec")


@decodes("SortMergeJoinExec", "ShuffledHashJoinExec", "BroadcastHashJoinExec")
def _hash_join(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    left, right = children
    fields = node["fields"]
    made = HashJoin(
        **_in_common(node, output, children),
        left_keys=ExpressionDecoder(left.output).decode_all(fields["leftKeys"]),
        right_keys=ExpressionDecoder(right.output).decode_all(fields["rightKeys"]),
        null_aware=node["op"] == "BroadcastHashJoinExec" and fields.get("isNullAwareAntiJoin", False),
    )
    _refuse_wrong_keys(made)
    _refuse_broadcast(node, made)
    return made


@decodes("BroadcastNestedLoopJoinExec", "CartesianProductExec")
def _nested_loop_join(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    made = NestedLoopJoin(**_in_common(node, output, children))
    _refuse_broadcast(node, made)
    return made


def _in_common(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> dict[str, Any]:
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


def _refuse_wrong_keys(join: HashJoin) -> None:
    if not join.left_keys:
        raise UnsupportedPlanError("a hash join without keys is not supported")
    for left, right in zip(join.left_keys, join.right_keys, strict=True):
        if left.type != right.type:
            raise UnsupportedPlanError(f"a join of a {left.type} key with a {right.type} key is not supported")
    if join.null_aware and (
        join.join_type is not JoinType.LEFT_ANTI or join.build_left or len(join.left_keys) > 1 or join.condition
    ):
        raise UnsupportedPlanError("a null-aware anti join has one key, no condition, and builds its right side")


def _refuse_broadcast(node: Json, join: Join) -> None:
    if join.shape.marks_build and node["op"] in _BROADCASTING:
        raise UnsupportedPlanError(f"a {join.join_type.value} join cannot broadcast the side whose rows it must keep")
