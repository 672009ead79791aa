"""Operator errors name the operator and call; resource errors also name the memory holders, once."""

from __future__ import annotations

import pickle

import pytest

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.exec.operator_errors import wrap_operator_error
from pyspark_pipeline.ids import DriverSequence, OperatorId, OperatorIndex, PipelineId
from pyspark_pipeline.memory import MemoryTracker

OPERATOR = OperatorId(pipeline=PipelineId(1), driver=DriverSequence(0), index=OperatorIndex(2), name="Sort")


def tracker() -> MemoryTracker:
    memory = MemoryTracker("instance", limit=100).child("Sort")
    memory.reserve(70)
    return memory


@pytest.mark.parametrize("error", [ResourceExhaustedError("the disk is full"), MemoryError("the disk is full")])
def test_resource_error_outside_the_tracker_names_memory_holders(error: Exception) -> None:
    made = wrap_operator_error(error, OPERATOR, "push_chunk", tracker())
    assert isinstance(made, ResourceExhaustedError)
    told = "the disk is full; Sort holds 70 bytes; instance holds 70 of its limit 100 bytes (most held by: Sort 70)"
    assert str(made).endswith(told)
    copy = pickle.loads(pickle.dumps(made))
    assert str(copy) == str(made)
    again = wrap_operator_error(made, OPERATOR, "close", tracker())
    assert str(again).count("most held by") == 1


def test_tracker_error_names_memory_holders_once() -> None:
    memory = tracker()
    with pytest.raises(ResourceExhaustedError) as caught:
        memory.reserve(101)
    made = wrap_operator_error(caught.value, OPERATOR, "push_chunk", memory)
    assert made is caught.value and str(made).count("most held by") == 1
    assert "asked for 31 bytes and holds 70" in str(pickle.loads(pickle.dumps(made)))
