"""Exchanges: chunks leave an instance through sinks and enter the next through sources; a transport carries them."""

from pyspark_pipeline.exchange.chunk_row import (
    CHUNK_ROW_SCHEMA,
    CONTROL,
    ERROR,
    METRICS,
    STATISTICS,
    WRITTEN,
    ChunkRow,
    pack_rows,
    unpack_rows,
)
from pyspark_pipeline.exchange.client import ExchangeClient
from pyspark_pipeline.exchange.codec import decode_chunk, encode_chunk, plain_chunk, plain_schema
from pyspark_pipeline.exchange.factory import SinkFactory
from pyspark_pipeline.exchange.map_output import MapFile, MapOutput
from pyspark_pipeline.exchange.source import ExchangeSourceFactory
from pyspark_pipeline.exchange.transport import StreamTransport, Transport

__all__ = [
    "CHUNK_ROW_SCHEMA",
    "CONTROL",
    "ERROR",
    "METRICS",
    "STATISTICS",
    "WRITTEN",
    "ChunkRow",
    "ExchangeClient",
    "ExchangeSourceFactory",
    "MapFile",
    "MapOutput",
    "SinkFactory",
    "StreamTransport",
    "Transport",
    "decode_chunk",
    "encode_chunk",
    "pack_rows",
    "plain_chunk",
    "plain_schema",
    "unpack_rows",
]
