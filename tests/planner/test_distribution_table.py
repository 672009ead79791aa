"""Which local exchange an aggregation gets: a table of how its rows come and of what its stage needs.

Between fragments Spark decides (``EnsureRequirements``). As there, rows dealt by some of the keys will do for all.
"""

from __future__ import annotations

import dataclasses

import pytest

from pyspark_pipeline.exec.local_exchange_operators import LocalExchangeSourceFactory
from pyspark_pipeline.plan.nodes import Aggregate, ExchangeSource, Settings
from tests.operators.aggregate_kit import aggregate_call
from tests.operators.kit import DEFAULTS, Builder, column, fields

ROWS = ExchangeSource(output=fields("k:bigint, x:bigint"), input_id=0)
K, X = column(ROWS, "k"), column(ROWS, "x")
NONE, SHUFFLE, GATHER = "", "to 3 drivers", "to 1 driver"

#: How the rows come: drivers of the instance, the keys by which the sender dealt them to drivers, and for how many.
GIVEN = {
    "one driver": (1, (), 1),
    "any": (3, (), 1),
    "dealt by the key": (3, (K,), 3),
    "dealt by another column": (3, (X,), 3),
    "dealt by the key and another": (3, (K, X), 3),
    "dealt to fewer drivers": (3, (K,), 2),
}
STAGES = {"first of two": "Partial", "second of two": "Final", "only one": "Complete"}

#: What comes before a stage that must meet its groups: without keys, by k, by k and x.
TABLE = {
    "one driver": (NONE, NONE, NONE),
    "any": (GATHER, SHUFFLE, SHUFFLE),
    "dealt by the key": (GATHER, NONE, NONE),
    "dealt by another column": (GATHER, SHUFFLE, NONE),
    "dealt by the key and another": (GATHER, SHUFFLE, NONE),
    "dealt to fewer drivers": (GATHER, SHUFFLE, SHUFFLE),
}


def exchanges(given: str, stage: str, num_keys: int) -> str:
    """Cut the aggregation; say what its local exchange does."""
    drivers, dealt_by, dealt_to = GIVEN[given]
    child = dataclasses.replace(ROWS, dealt_by=dealt_by, drivers=dealt_to)
    mode = STAGES[stage]
    call = dataclasses.replace(aggregate_call("Count", X), mode=mode, args=() if mode == "Final" else (X,))
    grouping = (K, X)[:num_keys]
    output = fields("k:bigint, x:bigint, n:bigint")[2 - num_keys :]
    results = tuple(column(dataclasses.replace(ROWS, output=output), field.name) for field in output)
    node = Aggregate(
        output=output, grouping=grouping, calls=(call,), results=None if mode == "Partial" else results, child=child
    )
    builder = Builder(Settings(ansi=True, time_zone="UTC", options=DEFAULTS.options), dop=drivers)
    builder.add_pipeline(builder.decompose(node))
    opened = [p.dop for p in builder.pipelines if isinstance(p.factories[0], LocalExchangeSourceFactory)]
    assert len(opened) <= 1
    return {(): NONE, (3,): SHUFFLE, (1,): GATHER}[tuple(opened)]


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("stage", STAGES)
def test_an_exchange_stands_where_what_comes_is_not_what_is_needed(given: str, stage: str) -> None:
    """The first of two stages needs nothing; one that is alone needs what the second of two needs."""
    found = tuple(exchanges(given, stage, num_keys) for num_keys in range(3))
    assert found == ((NONE, NONE, NONE) if stage == "first of two" else TABLE[given])
