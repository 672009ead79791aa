"""Generate: joins each row with the rows that a generator makes of it, in order.

A chunk's generated rows are output in chunks of at most ``batch_rows`` rows, however long its arrays are, and of fewer
if the carried columns repeat long values. If a row makes an argument raise, the rows before it are output; then the
error is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions import CompiledExpressions, ExpressionSettings, compile_expressions
from pyspark_pipeline.expressions.by_constants import group_rows
from pyspark_pipeline.expressions.json_text import tuple_values
from pyspark_pipeline.expressions.nested import element_bounds, plain_array
from pyspark_pipeline.kernels.arrays import Array, BoolArray, Int32Array, Int64Array
from pyspark_pipeline.kernels.buffers import make_chunk, string_parts, values
from pyspark_pipeline.kernels.element_places import element_rows
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.expr import columns_read
from pyspark_pipeline.plan.generates import Generate
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.properties import RequiredOutput

#: The carried values of a chunk are repeated to about these many bytes at most.
_MAX_CARRIED_BYTES = 32 << 20


class GeneratedRows:
    """Successive rows of those that the rows of a chunk, their *owners*, generate: ``size`` from ``start`` on.

    ``ends``: the number of rows that the chunk's rows up to each one have; ``empty``: which chunk rows only have a row
    that an outer generator adds, None if it adds none.
    """

    def __init__(self, ends: Int64Array, start: int, size: int, empty: BoolArray | None) -> None:
        self.start = start
        self.size = size
        self._ends = ends
        self._empty = empty

    @cached_property
    def owners(self) -> Int64Array:
        """The positions of the owners in the chunk: int64, shape (size,)."""
        stop = self.start + self.size
        first, last = np.searchsorted(self._ends, [self.start, stop - 1], side="right")
        ends = np.clip(self._ends[first : last + 1], self.start, stop)
        return element_rows(np.diff(ends, prepend=self.start), int(first))

    @cached_property
    def missing(self) -> BoolArray | None:
        """Which rows an outer generator has added; None if it has added none."""
        return None if self._empty is None else self._empty[self.owners]

    @cached_property
    def places(self) -> Int64Array:
        """The positions of the rows without those that an outer generator has added, whose place is any: int64."""
        places = np.arange(self.start, self.start + self.size)
        if self._empty is None or self.missing is None:
            return places
        made: Int64Array = places - np.cumsum(self._empty)[self.owners] + self.missing
        return made

    def or_missing(self, places: Int64Array) -> Int64Array:
        """Return places (int64) of the rows, with −1 for those that an outer generator has added."""
        return places if self.missing is None else np.where(self.missing, -1, places)

    def first(self, size: int) -> GeneratedRows:
        """Return the first ``size`` of the rows."""
        return GeneratedRows(self._ends, self.start, size, self._empty)


#: The columns of generated rows.
Columns: TypeAlias = Callable[[GeneratedRows], list[pa.Array]]


class Generated:
    """The rows that a chunk generates: how many each row has, and a function that returns the columns of some."""

    __slots__ = ("counts", "columns")

    def __init__(self, counts: Int64Array, columns: Columns) -> None:
        self.counts = counts
        self.columns = columns


#: Generates the rows of the arguments, as columns of the output's types.
Generator: TypeAlias = Callable[[Sequence[pa.Array], Sequence[pa.DataType]], Generated]


def _exploded(array: pa.Array, parts: Sequence[pa.Array], has_position: bool = False) -> Generated:
    """Generate a row of each element of the array's rows; ``parts`` are the columns of all its elements."""
    firsts, counts = element_bounds(array)
    before = np.cumsum(counts) - counts
    is_dense = bool((firsts[:1] + before == firsts).all())

    def columns(rows: GeneratedRows) -> list[pa.Array]:
        if is_dense and rows.missing is None:
            found = [part.slice(int(firsts[0]) + rows.start, rows.size) for part in parts]
        else:
            elements = rows.or_missing(firsts[rows.owners] + rows.places - before[rows.owners])
            found = [take(part, elements, with_missing=rows.missing is not None) for part in parts]
        if not has_position:
            return found
        positions = rows.places - before[rows.owners]
        return [pa.array(positions.astype(np.int32), mask=rows.missing), *found]

    return Generated(counts, columns)


def _explode(arguments: Sequence[pa.Array], outputs: Sequence[pa.DataType], has_position: bool = False) -> Generated:
    (array,) = arguments
    return _exploded(array, [array.keys, array.items] if pa.types.is_map(array.type) else [array.values], has_position)


def _pos_explode(arguments: Sequence[pa.Array], outputs: Sequence[pa.DataType]) -> Generated:
    return _explode(arguments, outputs, has_position=True)


def _inline(arguments: Sequence[pa.Array], outputs: Sequence[pa.DataType]) -> Generated:
    """Generate a row of the fields of each struct of an array, of NULLs for a NULL struct."""
    (array,) = arguments
    return _exploded(array, [pc.struct_field(array.values, [ordinal]) for ordinal in range(len(outputs))])


def _stack(arguments: Sequence[pa.Array], outputs: Sequence[pa.DataType]) -> Generated:
    """Generate as many rows as the first argument says, filled with the others; NULL where they end."""
    count, width = len(arguments[0]), len(outputs)
    height = arguments[0][0].as_py() if count else 0
    cells = list(arguments[1:])

    def columns(rows: GeneratedRows) -> list[pa.Array]:
        made = []
        places = rows.or_missing(rows.places % height * count + rows.owners)
        for column, kind in enumerate(outputs):
            parts = [
                cells[at].cast(kind) if at < len(cells) else pa.nulls(count, kind)
                for at in range(column, width * height, width)
            ]
            made.append(take(pa.concat_arrays(parts), places, with_missing=rows.missing is not None))
        return made

    return Generated(np.full(count, height, dtype=np.int64), columns)


def _replicate_rows(arguments: Sequence[pa.Array], outputs: Sequence[pa.DataType]) -> Generated:
    """Repeat the other arguments as often as the first one says."""

    def columns(rows: GeneratedRows) -> list[pa.Array]:
        owners = rows.or_missing(rows.owners)
        return [take(column, owners, with_missing=rows.missing is not None) for column in arguments[1:]]

    return Generated(values(pc.fill_null(arguments[0], 0)).astype(np.int64), columns)


def _json_tuple(arguments: Sequence[pa.Array], outputs: Sequence[pa.DataType], is_shortest: bool) -> Generated:
    """Generate one row of the values of names in a JSON document; rows of equal names are read together."""
    documents, *names = arguments
    made = [pa.nulls(0, kind) for kind in outputs]
    if len(documents):
        encoded = [name.dictionary_encode() for name in names]
        order, ends, firsts = group_rows([name.indices for name in encoded])
        wanted = zip(*(name.take(firsts).to_pylist() for name in names), strict=True)
        starts = [0, *ends[:-1].tolist()]
        texts = documents if len(starts) == 1 else documents.take(order)
        parts = [
            _values_of(texts.slice(start, end - start), group, is_shortest)
            for start, end, group in zip(starts, ends.tolist(), wanted, strict=True)
        ]
        made = [pa.concat_arrays(column) for column in zip(*parts, strict=True)]
        if len(starts) > 1:
            inverse = np.argsort(values(order))
            made = [take(column, inverse) for column in made]

    def columns(rows: GeneratedRows) -> list[pa.Array]:
        return [take(column, rows.owners) for column in made]

    return Generated(np.ones(len(documents), dtype=np.int64), columns)


def _values_of(documents: pa.Array, names: Sequence[str | None], is_shortest: bool) -> list[pa.Array]:
    """Return an array of values for each name; NULLs for a NULL."""
    wanted = [name for name in names if name is not None]
    found = iter(tuple_values(documents, wanted, is_shortest=is_shortest) if wanted else ())
    return [pa.nulls(len(documents), pa.string()) if name is None else next(found) for name in names]


def _build_json_tuple(settings: ExpressionSettings) -> Generator:
    return partial(_json_tuple, is_shortest=settings.prints_shortest_digits)


#: For each generator the function that builds it for the settings.
_GENERATORS: Mapping[str, Callable[[ExpressionSettings], Generator]] = {
    "Explode": lambda settings: _explode,
    "PosExplode": lambda settings: _pos_explode,
    "Inline": lambda settings: _inline,
    "Stack": lambda settings: _stack,
    "ReplicateRows": lambda settings: _replicate_rows,
    "JsonTuple": _build_json_tuple,
}


def generator_of(node: Generate, settings: ExpressionSettings) -> Generator:
    """Build the generator of a node."""
    return _GENERATORS[node.generator](settings)


def _row_bytes(column: pa.Array) -> Array | None:
    """Return the bytes of each value, None if all values of the type have as many; elements count their mean."""
    kind = column.type
    if pa.types.is_struct(kind):
        sizes = [_row_bytes(column.field(place)) for place in range(kind.num_fields)]
        known = [size for size in sizes if size is not None]
        return sum(known[1:], known[0]) if known else None
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        bounds: Int32Array = string_parts(column)[0]
        return np.diff(bounds)
    if not (pa.types.is_list(kind) or pa.types.is_map(kind)):
        return None
    parts = [column.keys, column.items] if pa.types.is_map(kind) else [column.values]
    mean = sum(part.nbytes for part in parts) / max(len(parts[0]), 1)
    of_elements: Array = np.diff(column.offsets.to_numpy()) * mean
    return of_elements


class GenerateOperator(Operator):
    """Keeps its input chunk until all generated rows have been pulled.

    A chunk whose arguments one Arrow array does not hold is halved.
    """

    def __init__(
        self,
        node: Generate,
        generator: Generator,
        arguments: CompiledExpressions,
        batch_rows: int,
        unused: frozenset[int],
    ) -> None:
        self._node = node
        self._generator = generator
        self._arguments = arguments
        self._batch_rows = batch_rows
        self._unused = unused
        self._outputs = [field.type.arrow for field in node.output[len(node.carried) :]]
        self._chunk: Chunk | None = None
        self._halves: list[Chunk] = []
        self._made: Generated | None = None
        self._ends: Int64Array = np.zeros(0, dtype=np.int64)
        self._empty: BoolArray | None = None
        self._carried_bytes: Int32Array | None = None
        self._next = 0
        self._failure: SparkConditionError | None = None
        self._finishing = False

    def need_input(self) -> bool:
        return self._chunk is None and not self._finishing and self._failure is None

    def push_chunk(self, chunk: Chunk) -> None:
        self._chunk, self._made, self._next = chunk, None, 0

    def has_output(self) -> bool:
        return self._chunk is not None or self._failure is not None

    def pull_chunk(self) -> Chunk | None:
        chunk = self._chunk
        if chunk is None:
            if self._failure is not None:
                raise self._failure
            return None
        try:
            made = self._made or self._generate(chunk)
        except SparkConditionError as error:
            self._failure, self._halves = error, []
            self._chunk = chunk.slice(0, error.rows_before) if error.rows_before else None
            return None
        except pa.ArrowCapacityError:
            if chunk.num_rows == 1:
                raise
            middle = chunk.num_rows // 2
            self._halves.append(chunk.slice(middle))
            self._chunk = chunk.slice(0, middle)
            return None
        start, total = self._next, int(self._ends[-1]) if self._ends.size else 0
        if start == total:
            self._end_chunk()
            return None
        rows = self._within_bytes(GeneratedRows(self._ends, start, min(self._batch_rows, total - start), self._empty))
        self._next = start + rows.size
        out = self._make(chunk, made, rows)
        if self._next == total:
            self._end_chunk()
        return out

    def _end_chunk(self) -> None:
        self._chunk, self._made, self._next = self._halves.pop() if self._halves else None, None, 0

    def _generate(self, chunk: Chunk) -> Generated:
        rows = chunk.num_rows
        plain = [plain_array(value, rows) for value in self._arguments.evaluate(chunk)]
        self._made = self._generator(plain, self._outputs)
        counts = self._made.counts
        self._empty = counts == 0 if self._node.is_outer else None
        self._ends = np.cumsum(np.maximum(counts, 1) if self._node.is_outer else counts)
        carried = [place for output, place in enumerate(self._node.carried) if output not in self._unused]
        sizes = [size for place in carried if (size := _row_bytes(chunk.column(place))) is not None]
        self._carried_bytes = sum(sizes[1:], sizes[0]) if sizes else None
        return self._made

    def _within_bytes(self, rows: GeneratedRows) -> GeneratedRows:
        """Return the rows, or the first of them if the carried values are long."""
        if self._carried_bytes is None:
            return rows
        within = np.searchsorted(np.cumsum(self._carried_bytes[rows.owners]), _MAX_CARRIED_BYTES, side="right")
        return rows if within >= rows.size else rows.first(max(int(within), 1))

    def _make(self, chunk: Chunk, made: Generated, rows: GeneratedRows) -> Chunk:
        """Return the generated rows with the carried columns of their owners."""
        carried = [
            pa.nulls(rows.size) if output in self._unused else take(chunk.column(place), rows.owners)
            for output, place in enumerate(self._node.carried)
        ]
        return make_chunk([*carried, *made.columns(rows)], rows.size)

    def is_finished(self) -> bool:
        return self._finishing and self._chunk is None and self._failure is None

    def set_finishing(self) -> None:
        self._finishing = True

    def set_finished(self) -> None:
        self._finishing = True
        self._failure = None
        self.close()

    def close(self) -> None:
        self._chunk = self._made = None
        self._halves = []


class GenerateFactory(OperatorFactory):
    """Makes the operators, which share the compiled arguments."""

    name = "Generate"

    def __init__(self, node: Generate, settings: Settings, required: RequiredOutput) -> None:
        self._node = node
        expression_settings = ExpressionSettings.of(settings)
        self._arguments = compile_expressions(node.arguments, expression_settings)
        self._generator = generator_of(node, expression_settings)
        self._batch_rows = settings.options.batch_rows
        self._unused = required.unused

    def create(self, dop: int, driver_sequence: int) -> GenerateOperator:
        return GenerateOperator(self._node, self._generator, self._arguments, self._batch_rows, self._unused)


def _required_input(node: Generate, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require the columns of the arguments, and those carried that are read above."""
    carried = {place for output, place in enumerate(node.carried) if output not in required.unused}
    return (RequiredOutput.of_columns(node.child.output, columns_read(node.arguments) | carried),)


@implements(Generate, execs=["GenerateExec"], pipeline=["Generate"], requires=_required_input)
def decompose_generate(node: Generate, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a generate to the child's pipeline."""
    return [*builder.decompose(node.child), GenerateFactory(node, builder.settings, builder.required_output(node))]
