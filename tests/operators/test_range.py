"""The drivers of a range share its numbers; each finishes only when its own request finds none."""

from __future__ import annotations

from pyspark_pipeline.operators.range import RangeFactory
from tests.exec.kit import values


def test_range_driver_finishes_only_by_its_own_request() -> None:
    factory = RangeFactory(5, 4, 3, 4)
    first, second = factory.create(2, 0), factory.create(2, 1)
    taken = first.pull_chunk()
    assert taken is not None and values([taken]) == [5, 8, 11, 14]
    assert second.has_output() and not second.is_finished()
    assert second.pull_chunk() is None
    assert second.is_finished() and not second.has_output()
