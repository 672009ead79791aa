"""Session windows: the interval that joins the overlapping intervals of a partition's rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.cases import case
from pyspark_pipeline.kernels.buffers import fixed_array, values
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.sessions import merge_sessions
from pyspark_pipeline.operators.windows.boundaries import WindowRows
from pyspark_pipeline.operators.windows.frame_values import (
    FrameValue,
    PartitionBounds,
    RunningAtEnds,
    ValueAtLastPeer,
)
from pyspark_pipeline.operators.windows.registry import WindowFunction, WindowInput, window_function
from pyspark_pipeline.operators.windows.running import OwnValues
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import WindowCall


class SessionBounds(FrameValue):
    """Start and end of the session of each row, known at its last row: int64 columns of microseconds."""

    def __init__(self) -> None:
        self._at_end = ValueAtLastPeer(RunningAtEnds(OwnValues(), ValueAtLastPeer.starts))
        self._bounds = PartitionBounds()
        self._session = (0, 0)

    @property
    def nbytes(self) -> int:
        return self._at_end.nbytes

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Add rows; the only column is a struct of two timestamps, none of them NULL."""
        starts, ends = (values(field).astype(np.int64) for field in columns[0].flatten())
        begins = np.empty(rows.num_rows, dtype=np.uint8)
        merge_sessions(frozen(rows.partition_starts.view(np.uint8)), starts, ends, *self._session, begins)
        self._session = int(starts[-1]), int(ends[-1])
        sessions = WindowRows(rows.partition_starts, begins.view(np.bool_))
        self._bounds.add(sessions)
        return self._at_end.add(sessions, [fixed_array(pa.int64(), bound) for bound in (starts, ends)])

    def evaluate(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        return self._at_end.evaluate(kept, rows)

    def finish(self) -> None:
        self._at_end.finish()

    def complete_rows(self, bounds: PartitionBounds) -> int:
        return self._bounds.peers


_TIMES = ["timestamp", "timestamp_ntz"]


@window_function("SessionWindow", [case(["struct"], children={"0": _TIMES}, frames=["session"])])
def _session(call: WindowCall, settings: Settings) -> WindowFunction:
    kind = call.type.arrow

    def result(bounds: list[pa.Array]) -> pa.Array:
        fields = [bound.view(field.type) for bound, field in zip(bounds, kind, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=list(kind))

    return WindowFunction((WindowInput(SessionBounds, call.args),), result)
