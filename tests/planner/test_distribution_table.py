"""The local exchange below an aggregation: a table by the distribution of its input and the needs of its stage.

Between fragments Spark decides (``EnsureRequirements``). As there, a partitioning by a subset of the keys suffices.
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

#: The input distribution: drivers of the instance, the sender's partitioning keys, and its number of drivers.
DISTRIBUTIONS = {
    "one driver": (1, (), 1),
    "any": (3, (), 1),
    "partitioned by the key": (3, (K,), 3),
    "partitioned by another column": (3, (X,), 3),
    "partitioned by the key and another": (3, (K, X), 3),
    "partitioned to fewer drivers": (3, (K,), 2),
}
STAGES = {"first of two": "Partial", "second of two": "Final", "only one": "Complete"}

#: The local exchange below a stage that needs whole groups: without keys, by k, by k and x.
TABLE = {
    "one driver": (NONE, NONE, NONE),
    "any": (GATHER, SHUFFLE, SHUFFLE),
    "partitioned by the key": (GATHER, NONE, NONE),
    "partitioned by another column": (GATHER, SHUFFLE, NONE),
    "partitioned by the key and another": (GATHER, SHUFFLE, NONE),
    "partitioned to fewer drivers": (GATHER, SHUFFLE, SHUFFLE),
}


def exchanges(distribution: str, stage: str, num_keys: int) -> str:
    """Decompose the aggregation; return the kind of its local exchange."""
    drivers, partitioning, sender_drivers = DISTRIBUTIONS[distribution]
    child = dataclasses.replace(ROWS, partitioning=partitioning, drivers=sender_drivers)
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


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("stage", STAGES)
def test_local_exchange_is_inserted_iff_the_input_distribution_is_insufficient(distribution: str, stage: str) -> None:
    """The first of two stages needs no exchange; a single stage has the needs of the second of two."""
    found = tuple(exchanges(distribution, stage, num_keys) for num_keys in range(3))
    assert found == ((NONE, NONE, NONE) if stage == "first of two" else TABLE[distribution])
