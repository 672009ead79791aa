"""The queries of :mod:`benchmarks.limits`: each needs much memory and returns few rows.

Results are compared by their rows, and if there is an ``ordered`` query by its columns, in order.
``failing`` raises a division by zero in a row that is evaluated only after all input was collected.
"""

from __future__ import annotations

from dataclasses import dataclass

_SORTED = "select {given} from lineitem where l_linenumber = 1 order by l_extendedprice, l_orderkey, l_linenumber"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One query. ``sql`` is timed with ``sink``; ``{key}`` in ``failing`` is replaced by an existing key."""

    name: str
    sql: str
    sink: str
    failing: str
    ordered: str = ""


CASES = (
    Case(
        name="aggregation",
        sink="collect",
        sql="""select count(*), sum(c), max(c), sum(q), max(q)
            from (select l_orderkey, count(*) as c, sum(l_quantity) as q from lineitem group by l_orderkey)""",
        failing="""select 1 div (l_orderkey - {key}), count(*), sum(l_quantity) from lineitem group by l_orderkey""",
    ),
    Case(
        name="join",
        sink="collect",
        sql="""select /*+ shuffle_hash(o) */ count(*), sum(l_quantity), sum(o_totalprice), max(o_orderdate),
                max(o_orderpriority), max(o_custkey)
            from lineitem l join orders o on l_orderkey = o_orderkey""",
        failing="""select /*+ shuffle_hash(o) */ sum(1 div (o_custkey - l_suppkey)), sum(o_totalprice),
                max(o_orderdate), max(o_orderpriority)
            from lineitem l join orders o on l_orderkey = o_orderkey""",
    ),
    Case(
        name="sort",
        sink="count",
        sql=f"""select l_linenumber + length(l_shipinstruct) + l_partkey as v from ({_SORTED.format(given="*")})""",
        failing=f"""select 1 div (l_orderkey - {{key}}) + l_partkey + length(l_shipinstruct) as v
            from ({_SORTED.format(given="*")})""",
        ordered=_SORTED.format(given="l_orderkey, l_linenumber, l_partkey"),
    ),
)  # fmt: skip
