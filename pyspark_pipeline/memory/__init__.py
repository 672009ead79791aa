"""Memory counted and bounded: a tree of trackers, worker → fragment instance → operator."""

from pyspark_pipeline.memory.arbitration import REVOCATIONS, Revocable
from pyspark_pipeline.memory.sized import Sized, SizedValue
from pyspark_pipeline.memory.spill_room import SpillRoom
from pyspark_pipeline.memory.tracker import MemoryTracker
from pyspark_pipeline.memory.waiting import WaitingBytes

__all__ = ["REVOCATIONS", "MemoryTracker", "Revocable", "Sized", "SizedValue", "SpillRoom", "WaitingBytes"]
