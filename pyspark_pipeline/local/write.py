"""Builders of plan nodes by hand: columns, expressions, fragments of a local query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.local.fragment import LocalFragment
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal
from pyspark_pipeline.plan.nodes import (
    ExchangeSource,
    Field,
    FileScan,
    Filter,
    Fragment,
    Node,
    Project,
    ResultSink,
    Settings,
    Sink,
)


def fields(spec: str) -> tuple[Field, ...]:
    """Parse ``"a:bigint, b:decimal(10,2)"`` to output columns, numbered from 0; types have Spark's names."""
    parts = re.split(r",(?![^(]*\))", spec) if spec else []
    pairs = [part.strip().split(":", 1) for part in parts]
    return tuple(Field(id=i, name=name, type=parse_type(kind)) for i, (name, kind) in enumerate(pairs))


def column(node: Node, name: str) -> ColumnRef:
    """Return a reference to an output column of ``node`` by name; raise ValueError if there is none."""
    place = [field.name for field in node.output].index(name)
    return ColumnRef(type=node.output[place].type, ordinal=place)


def literal(value: Any, kind: str) -> Literal:
    """Build a constant of Spark's type ``kind``; ``value`` in the form of :class:`~..plan.expr.Literal`."""
    return Literal(type=parse_type(kind), value=value)


def call(name: str, kind: str, *args: Expr, **fields_: Any) -> Call:
    """Build an expression from its Catalyst class and type: ``call("Add", "bigint", a, b, evalMode="ANSI")``."""
    return Call(name=name, type=parse_type(kind), args=args, fields=fields_)


def scan(spec: str, input_id: int = 0, format: str = "parquet") -> FileScan:
    """Read the columns ``spec`` of the files in the fragment's ``splits``."""
    output = fields(spec)
    return FileScan(output=output, input_id=input_id, format=format, num_data_columns=len(output))


def source(output: Sequence[Field], input_id: int = 0) -> ExchangeSource:
    """Read the exchange of another fragment, whose root has the columns ``output``."""
    return ExchangeSource(output=tuple(output), input_id=input_id)


def where(child: Node, condition: Expr) -> Filter:
    """Keep the rows for which ``condition`` is true."""
    return Filter(output=child.output, condition=condition, child=child)


def select(child: Node, **exprs: Expr) -> Project:
    """Compute one named column for each expression."""
    output = tuple(Field(id=i, name=name, type=expr.type) for i, (name, expr) in enumerate(exprs.items()))
    return Project(output=output, exprs=tuple(exprs.values()), child=child)


def file_splits(paths: Sequence[Path | str], pieces: int = 1) -> list[dict[str, Any]]:
    """Cut each file into ``pieces`` splits of equal bytes."""
    splits = []
    for path in paths:
        size = Path(path).stat().st_size
        starts = [size * piece // pieces for piece in range(pieces + 1)]
        splits += [
            {"path": str(path), "start": start, "length": end - start, "partitionValues": []}
            for start, end in zip(starts, starts[1:], strict=False)
        ]
    return splits


def fragment(
    id: int,
    root: Node,
    sink: Sink | None = None,
    *,
    options: Mapping[str, str] | None = None,
    ansi: bool = True,
    **runs: Any,
) -> LocalFragment:
    """Build a fragment of ``root`` that ends in ``sink`` (None: the query's result).

    ``options`` are the engine's, without their prefix; the time zone is UTC. ``runs`` are instances, drivers, inputs
    and splits, as :class:`~.fragment.LocalFragment` has them.
    """
    settings = Settings(ansi=ansi, time_zone="UTC", options=Options(options))
    return LocalFragment(plan=Fragment(id=id, root=root, sink=sink or ResultSink(), settings=settings), **runs)
