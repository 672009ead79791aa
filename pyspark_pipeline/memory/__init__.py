"""Memory accounting and limits: a tree of trackers, worker → fragment instance → operator."""

from pyspark_pipeline.memory.arbitration import RECLAIMS, Reclaimable
from pyspark_pipeline.memory.buffered_bytes import BufferedBytes
from pyspark_pipeline.memory.sized import Sized, SizedValue
from pyspark_pipeline.memory.spill_budget import SpillBudget
from pyspark_pipeline.memory.tracker import MemoryTracker

__all__ = ["RECLAIMS", "MemoryTracker", "Reclaimable", "Sized", "SizedValue", "SpillBudget", "BufferedBytes"]
