"""Queries of several fragments over ranges and small files, for tests of the local runner."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark_pipeline.local import LocalFragment
from pyspark_pipeline.local.aggregates import aggregate_call, merge_node, partial_node, references
from pyspark_pipeline.local.write import call, column, fields, fragment, literal, select, source
from pyspark_pipeline.plan.broadcasts import BroadcastExchange
from pyspark_pipeline.plan.joins import HashJoin, JoinType
from pyspark_pipeline.plan.nodes import HashExchange, Node, Range, SingleExchange, Sink

SMALL = {"batchRows": "100", "exchange.chunkBytes": "4096", "debug.checkChunks": "true"}
NUMBERS = Range(output=fields("n:bigint"), input_id=0)
N = column(NUMBERS, "n")


def engine_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("pipeline-")]


@contextmanager
def no_threads_left() -> Iterator[None]:
    assert not engine_threads()
    yield
    assert not engine_threads()


def keyed(modulus: int) -> Node:
    """Return the numbers n with k = n mod ``modulus``."""
    key = call("Remainder", "bigint", N, literal(modulus, "bigint"), evalMode="ANSI")
    return select(NUMBERS, k=key, n=N)


def numbers(id: int, sink: Sink, count: int, root: Node = NUMBERS, **runs: Any) -> LocalFragment:
    """Return a fragment over the numbers below ``count``."""
    return fragment(id, root, sink, **{"splits": {0: (0, count, 1)}, "options": SMALL, **runs})


def pass_on(id: int, below: LocalFragment, sink: Sink | None = None, **runs: Any) -> LocalFragment:
    """Return a fragment that forwards the rows of ``below``."""
    root = source(below.plan.root.output)
    return fragment(id, root, sink, **{"inputs": {0: below.id}, "options": SMALL, **runs})


def sums_by_key(
    count: int, modulus: int, *, instances: int = 3, dop: int = 1, partitions: int = 4
) -> list[LocalFragment]:
    """Return three fragments: partial sums of n by n mod ``modulus``, final sums by hash of the key, and a gather."""
    rows = keyed(modulus)
    first = partial_node(rows, [column(rows, "k")], [aggregate_call("Sum", column(rows, "n"))])
    final = merge_node(first, "Final", source(first.output))
    by_key = HashExchange(keys=references(first.output)[:1], num_partitions=partitions)
    below = numbers(1, by_key, count, first, instances=instances, dop=dop)
    middle = fragment(
        2, final, SingleExchange(), instances=partitions, dop=dop, inputs={0: 1}, options=SMALL
    )
    return [below, middle, pass_on(3, middle)]


def expected_sums(count: int, modulus: int) -> list[tuple[int, int]]:
    return [(k, sum(range(k, count, modulus))) for k in range(modulus)]


def broadcast_join(
    count: int, modulus: int, instances: int, join_type: JoinType = JoinType.INNER
) -> list[LocalFragment]:
    """Return three fragments: a broadcast of the numbers below ``modulus`` is joined with n mod ``modulus``."""
    small = numbers(1, BroadcastExchange(num_partitions=instances), modulus // 2)
    rows = keyed(modulus)
    built = source(small.plan.root.output, input_id=1)
    joined = HashJoin(
        output=(*rows.output, *built.output), left=rows, right=built, join_type=join_type, build_left=False,
        left_keys=(column(rows, "k"),), right_keys=(column(built, "n"),),
    )  # fmt: skip
    large = numbers(2, SingleExchange(), count, joined, instances=instances, inputs={1: 1})
    return [small, large, pass_on(3, large)]
