"""Maps without rows that lack offsets, as Arrow's Java library writes them (``kernels.empty_offsets.py``)."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.empty_offsets import with_offsets

_MAP = pa.map_(pa.string(), pa.list_(pa.int32()))
_NOWHERE = pa.foreign_buffer(8, 0)


def _without_offsets(kind: pa.DataType) -> pa.Array:
    """Return no row; its offsets are outside the memory of the process."""
    if pa.types.is_nested(kind):
        children = [pa.array([], kind.field(0).type)]
        return pa.Array.from_buffers(kind, 0, [None, _NOWHERE], children=children)
    return pa.Array.from_buffers(kind, 0, [None, _NOWHERE, pa.py_buffer(b"")])


def _list_of(child: pa.Array, rows: int) -> pa.Array:
    offsets = pa.array([0] * (rows + 1), pa.int32()).buffers()[1]
    return pa.Array.from_buffers(pa.list_(child.type), rows, [None, offsets], children=[child])


def _struct_of(child: pa.Array) -> pa.Array:
    kind = pa.struct([pa.field("a", child.type), pa.field("b", pa.int32())])
    return pa.Array.from_buffers(kind, len(child), [None], children=[child, pa.nulls(len(child), pa.int32())])


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("in_struct", [False, True])
@pytest.mark.parametrize("kind", [_MAP, pa.list_(pa.int32()), pa.string(), pa.binary()], ids=str)
def test_vectors_get_offsets(depth: int, in_struct: bool, kind: pa.DataType) -> None:
    array = _list_of(_without_offsets(kind), 0 if depth > 1 else 3)
    for level in range(1, depth):
        array = _list_of(array, 3 if level == depth - 1 else 0)
    column = _struct_of(array) if in_struct else array
    chunk = with_offsets(pa.RecordBatch.from_arrays([column, pa.array([1, 2, 3])], names=["c0", "c1"]))
    assert chunk.nbytes > 0
    found = chunk.column(0).to_pylist()
    assert found == [{"a": [], "b": None} if in_struct else []] * 3


def test_chunks_with_offsets_remain() -> None:
    maps = pa.array([[("a", [1])], None, []], _MAP)
    lists = pa.array([[maps[0].as_py()], [], None], pa.list_(_MAP))
    chunk = pa.RecordBatch.from_arrays([maps, lists], names=["c0", "c1"])
    assert with_offsets(chunk) is chunk
    flat = pa.RecordBatch.from_arrays([pa.array([1])], names=["c0"])
    assert with_offsets(flat) is flat
