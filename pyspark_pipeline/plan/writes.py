"""The WriteFiles node: writes rows to Parquet files, and emits a row for each file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.wire_expr import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenColumn:
    """A column of the files: ``ordinal`` is its position in the rows that are written."""

    ordinal: int
    name: str
    type: DataType
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OldestValue:
    """The first value that is written: days or microseconds since 1970; ``format`` is in the error for older ones."""

    value: int
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetLayout:
    """The form of Parquet files, by the settings of parquet-mr.

    ``codec`` and ``level`` compress pages; ``timestamps`` is Spark's output type of timestamps, ``oldest`` has the
    limits of dates and of timestamps by the name of the type, if there are any. A row group has about
    ``row_group_bytes`` before encoding. ``footer`` is the one of a file without rows, as parquet-mr writes it: its
    schema and keys become those of the files. ``mode`` are the permissions of a file.
    """

    codec: str
    level: int | None
    timestamps: str
    oldest: Mapping[str, OldestValue] = field(hash=False)
    dictionary: bool
    row_group_bytes: int
    page_bytes: int
    page_rows: int
    dictionary_bytes: int
    mode: int
    footer: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFiles(Node):
    """Writes the rows of ``child``, which arrive grouped by the values of ``partition_columns``, ordinals of the child.

    A file has the rows of one combination of partition values, at most ``max_rows`` (0: any number). The output has a
    row for each file: its partition values, its name in the staging folder of the task, and its number of rows.
    """

    child: Node
    partition_columns: tuple[int, ...]
    columns: tuple[WrittenColumn, ...]
    max_rows: int
    layout: ParquetLayout


def decode_parquet_sink(node: Json, child: Node) -> WriteFiles:
    """Decode the sink of a fragment that writes the rows of ``child``."""
    partition_columns = tuple(node["partitionColumns"])
    columns = tuple(
        WrittenColumn(ordinal=c["ordinal"], name=c["name"], type=parse_type(c["type"]), nullable=c["nullable"])
        for c in node["columns"]
    )
    values = tuple(child.output[ordinal] for ordinal in partition_columns)
    file = (Field(id=-1, name="file", type=parse_type("string")), Field(id=-2, name="rows", type=parse_type("bigint")))
    layout = ParquetLayout(
        codec=node["codec"],
        level=node.get("level"),
        timestamps=node["timestamps"],
        oldest={kind: OldestValue(value=o["value"], format=o["format"]) for kind, o in node["oldest"].items()},
        dictionary=node["dictionary"],
        row_group_bytes=node["rowGroupBytes"],
        page_bytes=node["pageBytes"],
        page_rows=node["pageRows"],
        dictionary_bytes=node["dictionaryBytes"],
        mode=node["mode"],
        footer=base64.b64decode(node["footer"]),
    )
    return WriteFiles(
        output=values + file,
        child=child,
        partition_columns=partition_columns,
        columns=columns,
        max_rows=max(node["maxRows"], 0),
        layout=layout,
    )
