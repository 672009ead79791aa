"""What leaves the engine of an error says where it happened, and of a resource who holds it, once."""

from __future__ import annotations

import pickle

import pytest

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.exec.blame import blamed
from pyspark_pipeline.ids import DriverSequence, OperatorId, OperatorIndex, PipelineId
from pyspark_pipeline.memory import MemoryTracker

OPERATOR = OperatorId(pipeline=PipelineId(1), driver=DriverSequence(0), index=OperatorIndex(2), name="Sort")


def tracker() -> MemoryTracker:
    memory = MemoryTracker("instance", limit=100).child("Sort")
    memory.hold(70)
    return memory


@pytest.mark.parametrize("error", [ResourceExhaustedError("the disk is full"), MemoryError("the disk is full")])
def test_what_ran_out_beside_the_limit_tells_who_holds_memory(error: Exception) -> None:
    made = blamed(error, OPERATOR, "push_chunk", tracker())
    assert isinstance(made, ResourceExhaustedError)
    told = "the disk is full; Sort holds 70 bytes; instance holds 70 of its limit 100 bytes (most held by: Sort 70)"
    assert str(made).endswith(told)
    copy = pickle.loads(pickle.dumps(made))
    assert str(copy) == str(made)
    again = blamed(made, OPERATOR, "close", tracker())
    assert str(again).count("most held by") == 1


def test_what_a_tracker_refused_is_told_once() -> None:
    memory = tracker()
    with pytest.raises(ResourceExhaustedError) as caught:
        memory.hold(101)
    made = blamed(caught.value, OPERATOR, "push_chunk", memory)
    assert made is caught.value and str(made).count("most held by") == 1
    assert "asked for 31 bytes and holds 70" in str(pickle.loads(pickle.dumps(made)))
