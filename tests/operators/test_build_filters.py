"""The rows of a broadcast that a join above drops: its table does not have them, and the first join drops theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from pyspark_pipeline.exchange.broadcast import BroadcastCache
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.joins import Join, JoinType
from pyspark_pipeline.plan.nodes import Filter, Limit, Node, Project, Settings
from tests.operators.join_kit import Broadcasting, Row, bag, join, less, side
from tests.operators.kit import Chunks, call, column, literal
from tests.operators.test_join_mechanisms import Task

J = JoinType
FACTS = side("s:bigint, v:bigint", [(i % 120 if i % 11 else None, i) for i in range(600)], 100)
#: Suppliers 0 to 99, some twice, one in ten without a nation.
SUPPLIERS = side(
    "s:bigint, n:bigint, name:string",
    [(i % 100, i % 25 if i % 10 else None, f"s{i}") for i in range(130)], 50,
)  # fmt: skip
FEW = side("n:bigint, nation:string", [(7, "x"), (7, "y"), (21, "z"), (None, "u")], 2)


def snowflake(
    broadcasts: Mapping[int, Chunks], cache: BroadcastCache, *, on: bool = True, dop: int = 1
) -> Broadcasting:
    """Return a builder with the tables as broadcasts."""
    options = {"batchRows": "100", "join.runtimeFilter.enabled": str(on).lower()}
    settings = Settings(ansi=True, time_zone="UTC", options=Options(options))
    return Broadcasting({number: table.chunks for number, table in broadcasts.items()}, cache, settings, dop=dop)


def broadcast(number: int, given: Chunks) -> BroadcastSource:
    return BroadcastSource(output=given.output, broadcast=number)


def chain(
    kind: JoinType = J.INNER,
    above: JoinType = J.INNER,
    between: Callable[[Join], Node] = lambda lower: lower,
    condition: Expr | None = None,
) -> Join:
    """Join facts with suppliers by ``kind``, then with nations by ``above``."""
    lower = join(FACTS, broadcast(0, SUPPLIERS), kind, False, ["s"], condition=condition)
    return join(between(lower), broadcast(1, FEW), above, False, ["n"])


def found(
    node: Node, *, tables: Mapping[int, Chunks] | None = None, on: bool = True, dop: int = 1
) -> tuple[list[Row], list[tuple[int, int]]]:
    """Return the rows, and the probed and the found rows of the joins, in the order of the pipeline."""
    made = tables or {0: SUPPLIERS, 1: FEW}
    task = Task(node, builder=snowflake(made, BroadcastCache(0), on=on, dop=dop), dop=dop)
    rows = task.rows()
    assert task.memory.held == 0
    operators = [o for pipeline in task.instance.metrics()["pipelines"] for o in pipeline["operators"]]
    counts = [o.get("counters", {}) for o in operators if o["name"] == "HashJoinProbe"]
    return rows, [(c.get("join_probe_rows", 0), c.get("join_found_rows", 0)) for c in counts]


def is_filtered(node: Node) -> bool:
    """Return whether the table of the suppliers has only those of the nations; the rows are the same in any case."""
    rows, probes = found(node)
    wanted, plain = found(node, on=False)
    assert bag(rows) == bag(wanted)
    return probes[0][1] < plain[0][1]


@pytest.mark.parametrize("dop", [1, 3])
@pytest.mark.parametrize("above", [J.INNER, J.LEFT_SEMI])
def test_suppliers_of_other_nations_are_dropped_by_the_first_join(above: JoinType, dop: int) -> None:
    node = chain(above=above)
    rows, probes = found(node, dop=dop)
    wanted, plain = found(node, on=False, dop=dop)
    assert bag(rows) == bag(wanted) and len(rows) > 20
    assert probes[0][1] < plain[0][1] and probes[1] == (plain[1][1], plain[1][1])


@pytest.mark.parametrize(("kind", "filters"), [(J.INNER, True), (J.LEFT_OUTER, False)])
def test_only_inner_joins_have_filters_of_their_build_rows(kind: JoinType, filters: bool) -> None:
    assert is_filtered(chain(kind)) == filters


@pytest.mark.parametrize("above", [J.LEFT_OUTER, J.LEFT_ANTI, J.EXISTENCE])
def test_joins_that_keep_rows_without_a_match_filter_nothing(above: JoinType) -> None:
    assert not is_filtered(chain(above=above))


def test_a_filter_that_drops_few_rows_is_not_used() -> None:
    most = side("n:bigint, nation:string", [(i, "x") for i in range(24)], 10)
    node, tables = chain(), {0: SUPPLIERS, 1: most}
    assert found(node, tables=tables)[1] == found(node, tables=tables, on=False)[1]


def test_no_nation_leaves_no_supplier() -> None:
    none = side("n:bigint, nation:string", [], 1)
    rows, probes = found(chain(), tables={0: SUPPLIERS, 1: none})
    assert rows == [] and probes == [(0, 0), (0, 0)]


def test_filters_pass_joins_and_expressions_that_cannot_raise() -> None:
    lower = chain().left
    safe = call("GreaterThan", "boolean", column(lower, "n"), literal(3, "bigint"))
    sum_ = call("Add", "bigint", column(lower, "n"), column(lower, "v"), evalMode="ANSI")
    raising = call("GreaterThan", "boolean", sum_, literal(3, "bigint"))

    def kept(condition: Expr) -> Callable[[Join], Node]:
        return lambda below: Filter(output=below.output, condition=condition, child=below)

    def chosen(*exprs: Expr) -> Callable[[Join], Node]:
        names = [lower.output[3], lower.output[0]]
        return lambda below: Project(output=tuple(names), exprs=exprs, child=below)

    assert is_filtered(chain(between=kept(safe)))
    assert is_filtered(chain(between=chosen(column(lower, "n"), column(lower, "v"))))
    assert not is_filtered(chain(between=kept(raising)))
    assert not is_filtered(chain(between=chosen(column(lower, "n"), sum_)))
    assert not is_filtered(chain(between=chosen(sum_, column(lower, "n"))))
    assert not is_filtered(chain(between=lambda below: Limit(output=below.output, limit=10_000, child=below)))
    source = broadcast(0, SUPPLIERS)
    assert is_filtered(chain(condition=less(FACTS, source, "v", "n")))
    both = Chunks(output=(*FACTS.output, *source.output))
    total = call("Add", "bigint", column(both, "v"), column(both, "n"), evalMode="ANSI")
    assert not is_filtered(chain(condition=call("GreaterThan", "boolean", total, literal(3, "bigint"))))


def test_tables_filtered_by_different_tables_are_different_values() -> None:
    cache, node = BroadcastCache(0), chain()
    other = broadcast(2, FEW)
    again = join(node.left, other, J.INNER, False, ["n"])
    tables = {0: SUPPLIERS, 1: FEW, 2: side("n:bigint, nation:string", [(3, "q")], 1)}
    rows = [Task(each, builder=snowflake(tables, cache)).rows() for each in (node, again, node)]
    assert bag(rows[0]) == bag(rows[2])
    assert [{row[3] for row in each} for each in rows] == [{7, 21}, {3}, {7, 21}]
    assert cache.statistics()["values"] == 4


def test_filters_apply_from_the_last_table_to_the_first() -> None:
    """A region leaves one nation, and that few suppliers."""
    nations = side("n:bigint, r:bigint", [(i, i % 5) for i in range(25)], 10)
    regions = side("r:bigint, region:string", [(2, "x")], 1)
    lower = join(FACTS, broadcast(0, SUPPLIERS), J.INNER, False, ["s"])
    middle = join(lower, broadcast(1, nations), J.INNER, False, ["n"])
    node = join(middle, broadcast(2, regions), J.INNER, False, ["r"])
    tables = {0: SUPPLIERS, 1: nations, 2: regions}
    rows, probes = found(node, tables=tables)
    wanted, plain = found(node, tables=tables, on=False)
    assert bag(rows) == bag(wanted)
    assert probes[0][1] < plain[0][1] and probes[1] == probes[2] == (len(rows), len(rows)) and plain[2][0] > len(rows)
