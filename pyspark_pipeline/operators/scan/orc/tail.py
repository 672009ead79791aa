"""The metadata of an ORC file: its types, stripes and their statistics, and the streams of a stripe.

A file ends with the statistics of its stripes, the footer, the postscript, and a byte with the length of the
postscript. The postscript says how the others are compressed. The messages are those of ``orc_proto.proto``.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO

import pyarrow as pa

from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.operators.scan.orc.blocks import decompressed
from pyspark_pipeline.operators.scan.orc.protobuf import integers, messages, numbers

_MAGIC = b"ORC"
_AT_ONCE = 16 << 10
_FOOTER_LENGTH, _COMPRESSION, _METADATA_LENGTH, _WRITER_VERSION = 1, 2, 5, 6
_STRIPES, _TYPES, _WRITER = 3, 4, 9
_OFFSET, _INDEX_LENGTH, _DATA_LENGTH, _STRIPE_FOOTER_LENGTH, _ROWS = 1, 2, 3, 4, 5
_SUBTYPES, _FIELD_NAMES = 2, 3
_STREAMS, _ENCODINGS = 1, 2
_KIND, _COLUMN, _LENGTH = 1, 2, 3
_ENCODING, _DICTIONARY_SIZE = 1, 2

#: The errors that damaged metadata raise.
DAMAGED = (IndexError, KeyError, ValueError, OSError, zlib.error, pa.ArrowException)


@dataclass(frozen=True, slots=True)
class Stripe:
    """The place of a stripe in the file, and its rows."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    rows: int


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of a stripe: its kind, the number of its column, and its place in the file."""

    kind: int
    column: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class StripeFooter:
    """The streams of a stripe, and for each column the kind of its encoding and the size of its dictionary."""

    streams: tuple[Stream, ...]
    encodings: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Tail:
    """The metadata of a file.

    ``names`` and ``columns`` are those of the fields of a row, ``last_columns`` their last descendants. ``statistics``
    has, for each stripe, the message of each column, or is empty.
    """

    compression: int
    writer: int
    writer_version: int
    stripes: tuple[Stripe, ...]
    names: tuple[str, ...]
    columns: tuple[int, ...]
    last_columns: tuple[int, ...]
    statistics: tuple[tuple[memoryview, ...], ...]


@lru_cache(maxsize=16)
def read_tail(path: str, size: int, changed_ns: int) -> Tail:
    """Return the metadata of the file of this size and modification time; raise :class:`CorruptFileError`."""
    with open(path, "rb") as file:
        try:
            return _read_tail(file, size)
        except DAMAGED as error:
            message = f"{path} could not be read as ORC: its footer is damaged: {error!r}"
            raise CorruptFileError(message, path) from error


def _read_tail(file: BinaryIO, size: int) -> Tail:
    file.seek(max(size - _AT_ONCE, 0))
    end = file.read()
    length = end[-1]
    script = memoryview(end[-1 - length : -1])
    if bytes(script[-len(_MAGIC) :]) != _MAGIC:
        raise ValueError("the file does not end as ORC")
    footer_length, compression, metadata_length, version = numbers(
        script, _FOOTER_LENGTH, _COMPRESSION, _METADATA_LENGTH, _WRITER_VERSION
    )
    stop = len(end) - 1 - length
    needed = footer_length + metadata_length
    if needed > stop:
        file.seek(size - 1 - length - needed)
        end, stop = file.read(needed), needed
    footer = memoryview(decompressed(end[stop - footer_length : stop], compression))
    stop -= footer_length
    metadata = memoryview(decompressed(end[stop - metadata_length : stop], compression))
    (writer,) = numbers(footer, _WRITER)
    types = messages(footer, _TYPES)
    columns = tuple(integers(types[0], _SUBTYPES)) if types else ()
    names = tuple(str(name, "utf-8") for name in messages(types[0], _FIELD_NAMES)) if types else ()
    if len(names) != len(columns):
        raise ValueError("columns have no names")
    return Tail(
        compression,
        writer,
        version,
        tuple(Stripe(*numbers(each, *range(_OFFSET, _ROWS + 1))) for each in messages(footer, _STRIPES)),
        names,
        columns,
        tuple(following - 1 for following in (*columns[1:], len(types))) if columns else (),
        tuple(tuple(messages(stripe, 1)) for stripe in messages(metadata, 1)),
    )


def stripe_footer(data: bytes, stripe: Stripe) -> StripeFooter:
    """Return the contents of the decompressed footer of a stripe."""
    footer, at, streams = memoryview(data), stripe.offset, []
    for message in messages(footer, _STREAMS):
        kind, column, length = numbers(message, _KIND, _COLUMN, _LENGTH)
        streams.append(Stream(kind, column, at, length))
        at += length
    encodings = [numbers(message, _ENCODING, _DICTIONARY_SIZE) for message in messages(footer, _ENCODINGS)]
    return StripeFooter(tuple(streams), tuple((kind, size) for kind, size in encodings))
