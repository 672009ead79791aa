"""Limit passes the rows from its offset to its limit, and requests no more input than needed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.operators.limit import RowQuota
from pyspark_pipeline.plan.nodes import Limit
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Chunks, run


def numbers(rows: int, chunk_rows: int) -> Chunks:
    return leaf("k:bigint", chunks_of(pa.table({"k": pa.array(range(rows), pa.int64())}), chunk_rows))


@pytest.mark.parametrize("rows", [0, 1, 10, 11])
@pytest.mark.parametrize("chunk_rows", [1, 4, 100])
@pytest.mark.parametrize("limit", [None, 0, 1, 4, 5, 10, 20])
@pytest.mark.parametrize("offset", [0, 1, 4, 7, 20])
def test_limit_passes_rows_from_offset_to_limit(rows: int, chunk_rows: int, limit: int | None, offset: int) -> None:
    child = numbers(rows, chunk_rows)
    node = Limit(output=child.output, limit=limit, offset=offset, child=child)
    assert run(node)["k"].to_pylist() == list(range(rows))[offset:limit]


def test_drivers_share_the_quota() -> None:
    child = numbers(1000, 10)
    node = Limit(output=child.output, limit=25, offset=5, child=child)
    made = run(node, dop=3, threads=3)["k"].to_pylist()
    assert len(made) == len(set(made)) == 20


def test_quota_includes_skipped_rows() -> None:
    quota = RowQuota(5, 3)
    assert [quota.take(rows) for rows in (2, 2, 4, 4)] == [(2, 0), (1, 1), (0, 1), (0, 0)]
    assert quota.is_used_up


def test_blocked_driver_is_woken_when_another_takes_the_last_row() -> None:
    quota = RowQuota(5)
    woken: list[bool] = []
    quota.used_up.subscribe(lambda: woken.append(quota.is_used_up))
    quota.take(4)
    assert not woken
    quota.take(4)
    assert woken == [True]


def test_quota_without_a_limit_is_never_used_up() -> None:
    quota = RowQuota(None, 3)
    assert quota.take(10) == (3, 7)
    assert not quota.is_used_up
