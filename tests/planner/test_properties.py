"""The negotiation of required columns and physical forms over a plan."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.plan.coalesces import Coalesce
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.joins import JoinType
from pyspark_pipeline.plan.nodes import Filter, Limit, Node, Project
from pyspark_pipeline.plan.properties import ALL_PLAIN, RequiredOutput
from pyspark_pipeline.plan.samples import Sample
from pyspark_pipeline.plan.sorts import Sort, SortKey
from pyspark_pipeline.plan.unions import Union
from pyspark_pipeline.planner.properties import PlanProperties
from tests.operators.join_kit import join, less
from tests.operators.kit import Builder, Chunks, call, column, fields, literal, run

OUTPUT = fields("k:bigint, price:decimal(12;2), t:string, n:bigint")
LEAF = Chunks(output=OUTPUT)
RANGE = call("LessThan", "boolean", column(LEAF, "n"), literal(5, "bigint"))
NO_RANGE = call("EqualTo", "boolean", column(LEAF, "n"), column(LEAF, "k"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unregistered(Node):
    """A node whose class declares no requirements."""

    child: Node


def project(child: Node, *names: str) -> Project:
    exprs = tuple(column(child, name) for name in names)
    return Project(output=tuple(child.output[e.ordinal] for e in exprs), exprs=exprs, child=child)


def filtered(child: Node, condition: Expr = RANGE) -> Filter:
    return Filter(output=child.output, condition=condition, child=child)


def required(root: Node, of: Node = LEAF, by: RequiredOutput = ALL_PLAIN) -> RequiredOutput:
    properties = PlanProperties()
    properties.negotiate(root, by)
    return properties.required_output(of)


def unused(*ordinals: int) -> RequiredOutput:
    return RequiredOutput(unused=frozenset(ordinals))


def test_unregistered_node_requires_all_columns_plain() -> None:
    allowed = RequiredOutput(unused=frozenset({0, 1}), unscaled=frozenset({1}))
    assert required(Unregistered(output=OUTPUT, child=LEAF), by=allowed) == ALL_PLAIN


def test_projection_requires_the_columns_it_reads() -> None:
    assert required(project(LEAF, "n", "k")) == unused(1, 2)


def test_filter_requires_columns_of_its_condition_besides_those_read_above() -> None:
    below = filtered(LEAF, NO_RANGE)
    root = project(below, "t")
    assert required(root, below) == unused(0, 1, 3)
    assert required(root).unused == {1}


def test_scan_below_a_filter_may_leave_out_rows_unless_they_are_counted_between() -> None:
    both = call("And", "boolean", RANGE, NO_RANGE)
    assert required(filtered(LEAF, both)).conjuncts == (RANGE, NO_RANGE)
    assert required(filtered(Coalesce(output=OUTPUT, child=LEAF))).conjuncts == (RANGE,)
    assert required(filtered(Limit(output=OUTPUT, limit=1, child=LEAF))).conjuncts == ()
    assert required(filtered(project(LEAF, "k", "price", "t", "n"))).conjuncts == ()


@pytest.mark.parametrize(("condition", "allowed"), [(RANGE, {1}), (NO_RANGE, set())], ids=["range", "no range"])
def test_filter_allows_unscaled_decimals_if_a_column_test_gains(condition: Expr, allowed: set[int]) -> None:
    assert required(filtered(LEAF, condition)).unscaled == allowed
    assert required(Limit(output=OUTPUT, limit=1, child=filtered(LEAF, condition))).unscaled == allowed


def test_operators_between_filter_and_scan_require_plain_decimals() -> None:
    assert required(filtered(project(LEAF, "k", "price", "t", "n"))).unscaled == frozenset()
    assert required(filtered(filtered(LEAF, NO_RANGE))).unscaled == frozenset()
    assert required(filtered(Union(output=OUTPUT, inputs=(LEAF, LEAF)))).unscaled == frozenset()
    assert required(filtered(Limit(output=OUTPUT, limit=1, child=LEAF))).unscaled == {1}


def test_sort_requires_all_columns_for_its_consumer() -> None:
    keys = (SortKey(expr=column(LEAF, "k")),)
    assert required(project(Sort(output=OUTPUT, keys=keys, child=LEAF), "k")) == ALL_PLAIN


@pytest.mark.parametrize("build_left", [False, True])
@pytest.mark.parametrize("kind", [JoinType.INNER, JoinType.FULL_OUTER])
def test_join_requires_keys_condition_and_columns_read_above(kind: JoinType, build_left: bool) -> None:
    right = Chunks(output=OUTPUT)
    node = join(LEAF, right, kind, build_left, ["k"])
    read_above = unused(*set(range(8)) - {2, 5})
    assert required(node, LEAF, read_above).unused == {1, 3}
    assert required(node, right, read_above).unused == {2, 3}
    node = join(LEAF, right, kind, build_left, ["k"], condition=less(LEAF, right, "n", "n"))
    assert required(node, LEAF, read_above).unused == {1}
    assert required(node, right, read_above).unused == {2}


@pytest.mark.parametrize("kind", [JoinType.LEFT_SEMI, JoinType.LEFT_ANTI, JoinType.EXISTENCE])
def test_join_of_left_rows_requires_only_keys_of_the_right(kind: JoinType) -> None:
    right = Chunks(output=OUTPUT)
    node = join(LEAF, right, kind, False, ["k"])
    assert required(node, right) == unused(1, 2, 3)
    assert required(node, LEAF, unused(1, 2, 4)).unused == {1, 2}


@pytest.mark.parametrize("build_left", [False, True])
@pytest.mark.parametrize("kind", JoinType)
def test_join_drops_nulls_of_probe_keys_unless_it_emits_rows_without_a_match(kind: JoinType, build_left: bool) -> None:
    if kind in (JoinType.EXISTENCE, JoinType.LEFT_SINGLE) and build_left:
        pytest.skip("builds the right side always")
    right = Chunks(output=OUTPUT)
    node = join(LEAF, right, kind, build_left, ["k"])
    drops_left = (JoinType.INNER, JoinType.RIGHT_OUTER, JoinType.LEFT_SEMI)
    keeps_left = [other for other in JoinType if other not in drops_left]
    keeping = (JoinType.RIGHT_OUTER, JoinType.FULL_OUTER) if build_left else keeps_left
    assert required(node, node.probe).nulls_dropped == (set() if kind in keeping else {0})
    assert required(node, node.build).nulls_dropped == set()


def test_nulls_are_dropped_below_the_joins_and_columns_that_pass_them() -> None:
    right = Chunks(output=OUTPUT)
    dropped = RequiredOutput(nulls_dropped=frozenset({3, 6}))  # of the left and of the right side
    assert required(join(LEAF, right, JoinType.INNER, False, ["k"]), by=dropped).nulls_dropped == {0, 3}
    assert required(join(LEAF, right, JoinType.LEFT_OUTER, False, ["k"]), by=dropped).nulls_dropped == {3}
    condition = less(LEAF, right, "n", "n")  # it might raise for rows that should not be there
    node = join(LEAF, right, JoinType.INNER, False, ["k"], condition=condition)
    assert required(node, by=dropped).nulls_dropped == {0}
    assert required(project(LEAF, "n", "k"), by=RequiredOutput(nulls_dropped=frozenset({0}))).nulls_dropped == {3}
    computed = Project(output=OUTPUT[:2], exprs=(RANGE, column(LEAF, "k")), child=LEAF)
    assert required(computed, by=RequiredOutput(nulls_dropped=frozenset({1}))).nulls_dropped == set()
    assert required(filtered(LEAF), by=dropped).nulls_dropped == set()


@pytest.mark.parametrize(
    "node",
    [
        Sample(output=OUTPUT, child=LEAF, number=0, lower=0.0, upper=0.5, seed=1),
        Limit(output=OUTPUT, child=LEAF, limit=3),
    ],
)
def test_filter_drops_nulls_below_a_node_that_counts_rows(node: Node) -> None:
    dropped = RequiredOutput(unused=frozenset({1}), nulls_dropped=frozenset({3}))
    assert required(node, by=dropped) == unused(1)


def test_node_with_two_consumers_satisfies_both() -> None:
    union = Union(output=OUTPUT[:1], inputs=(project(LEAF, "k"), project(project(LEAF, "t", "k"), "k")))
    assert required(union) == unused(1, 3)


def test_inputs_of_a_union_may_differ_in_unused_columns() -> None:
    """A filter emits an unused column with the null type only if it drops rows."""

    class AllInputs(Builder):
        def active_input(self, union: Node) -> None:  # type: ignore[override]
            return None

    def rows(first: int) -> Node:
        numbers = pa.array(range(first, first + 3))
        chunk = pa.record_batch([numbers, pa.nulls(3, pa.decimal128(12, 2)), pa.array(["a", "b", "c"]), numbers],
                                names=["c0", "c1", "c2", "c3"])  # fmt: skip
        return filtered(Chunks(output=OUTPUT, chunks=(chunk,)))

    root = project(Union(output=OUTPUT, inputs=(rows(0), rows(3), rows(1))), "k")
    for dop in (1, 2):
        made = run(root, builder=AllInputs(dop=dop), threads=dop)
        assert sorted(made.column(0).to_pylist()) == [0, 1, 1, 2, 2, 3, 3, 4]


def test_concatenation_of_an_unused_column_has_the_null_type() -> None:
    chunks = [pa.record_batch([values], names=["c0"]) for values in (pa.array([1, 2]), pa.nulls(3))]
    assert concat_chunks(chunks).column(0).equals(pa.nulls(5))
