"""The row that carries a chunk between Python and Spark, and Arrow batches of such rows.

``partition`` ≥ 0 is the destination of data (towards Python: the number of the input it belongs to);
negative numbers carry UTF-8 JSON instead of a chunk: control, statistics, errors, the map output that was written;
:data:`METRICS` carries a chunk.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pyspark_pipeline.exchange.codec import Payload, payload_pieces
from pyspark_pipeline.kernels.buffers import values

CONTROL = -1
STATISTICS = -1
ERROR = -2
WRITTEN = -3
#: A chunk of the metrics that a node collected; ``driver`` is the number of the node.
METRICS = -4
#: The driver of a row towards Python that stands for the chunk rows of blocks of Spark's shuffle in files.
BLOCKS = -2

CHUNK_ROW_SCHEMA = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("driver", pa.int32(), nullable=False),
        pa.field("sender", pa.int32(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("data", pa.binary(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRow:
    """One chunk in transit: destination, driver there (-1: any), sender, sequence at the destination, rows, message.

    Within a process ``data`` may be the chunk itself; :func:`pack_rows` is for messages.
    """

    partition: int
    rows: int
    data: Payload
    driver: int = -1
    sender: int = 0
    sequence: int = 0


def pack_rows(rows: Sequence[ChunkRow]) -> pa.RecordBatch:
    """Build an Arrow batch of chunk rows; the bytes of a single row are not copied."""
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + row.data.size)
    pieces = [piece for row in rows for piece in payload_pieces(row.data)]
    body = pieces[0] if len(pieces) == 1 else pa.py_buffer(b"".join(map(memoryview, pieces)))
    offsets = pa.py_buffer(struct.pack(f"<{len(ends)}i", *ends))
    columns = [
        pa.array([row.partition for row in rows], pa.int32()),
        pa.array([row.driver for row in rows], pa.int32()),
        pa.array([row.sender for row in rows], pa.int32()),
        pa.array([row.sequence for row in rows], pa.int64()),
        pa.array([row.rows for row in rows], pa.int64()),
        pa.Array.from_buffers(pa.binary(), len(rows), [None, offsets, body]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=CHUNK_ROW_SCHEMA)


def unpack_rows(batch: pa.RecordBatch) -> Iterator[ChunkRow]:
    """Yield the chunk rows of an Arrow batch; their data shares the batch's memory."""
    *numbers, data = batch.columns
    rows = zip(*(values(column).tolist() for column in numbers), strict=True)
    for i, (partition, driver, sender, sequence, count) in enumerate(rows):
        yield ChunkRow(
            partition=partition, driver=driver, sender=sender, sequence=sequence, rows=count, data=data[i].as_buffer()
        )
