"""A sample keeps the rows that Spark's ``BernoulliCellSampler`` keeps, however the rows are cut into chunks."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.buffers import rows_only
from pyspark_pipeline.kernels.xorshift import initial_state
from pyspark_pipeline.operators.sample import SampleOperator
from pyspark_pipeline.plan.nodes import Fragment, Limit, ResultSink
from pyspark_pipeline.plan.samples import Sample
from pyspark_pipeline.planner import depends_on_row_order
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import DEFAULTS, Builder, Chunks, run, run_rows

MASK = 2**64 - 1


def numbers(rows: int, chunk_rows: int = 7) -> Chunks:
    return leaf("k:bigint", chunks_of(pa.table({"k": pa.array(range(rows), pa.int64())}), chunk_rows))


def sample(child: Chunks, lower: float, upper: float, seed: int = 3) -> Sample:
    return Sample(output=child.output, number=0, lower=lower, upper=upper, seed=seed, child=child)


def kept(node: Sample, partition: int = 0) -> list[int]:
    rows: list[int] = run(node, builder=Builder(partition=partition))["k"].to_pylist()
    return rows


def doubles(seed: int) -> Iterator[float]:
    """Yield the numbers of ``XORShiftRandom.nextDouble``, after its source."""
    state = int(initial_state(seed)[0])
    while True:
        bits = 0
        for width in (26, 27):
            state ^= state << 21 & MASK
            state ^= state >> 35
            state ^= state << 4 & MASK
            bits = (bits << width) + (state & (1 << width) - 1)
        yield bits * 2.0**-53


def test_first_numbers_are_those_of_spark() -> None:
    """Compare with ``new XORShiftRandom(42)`` of Spark 4.1."""
    found = doubles(42)
    assert [next(found) for _ in range(3)] == [0.619189370225301, 0.5096018842446481, 0.8325259388871524]


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 100])
@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
@pytest.mark.parametrize(("lower", "upper"), [(0.0, 0.0), (0.0, 1.0), (0.0, 0.3), (0.3, 0.9), (0.5, 0.2), (0.0, 1e-9)])
def test_rows_are_those_of_the_numbers_in_the_cell(rows: int, chunk_rows: int, lower: float, upper: float) -> None:
    drawn = zip(range(rows), doubles(3), strict=False)
    assert kept(sample(numbers(rows, chunk_rows), lower, upper)) == [row for row, x in drawn if lower <= x < upper]


@pytest.mark.parametrize("seed", [0, -1, 2**63 - 1, -(2**63)])
def test_partition_is_added_to_the_seed_as_java_adds_longs(seed: int) -> None:
    node = sample(numbers(50), 0.0, 0.5, seed)
    wrapped = (seed + 5 + 2**63) % 2**64 - 2**63
    assert kept(node, 5) == kept(sample(numbers(50), 0.0, 0.5, wrapped)) != kept(node, 6)


def test_adjacent_cells_split_the_rows() -> None:
    parts = [kept(sample(numbers(100), *cell)) for cell in ((0.0, 0.2), (0.2, 0.7), (0.7, 1.0))]
    assert all(parts) and sorted(sum(parts, [])) == list(range(100))


def test_columns_keep_their_form() -> None:
    strings = pa.array(["a", None, "b"] * 20).dictionary_encode()
    child = leaf("s:string", [pa.RecordBatch.from_arrays([strings], ["c0"])])
    assert run(sample(child, 0.0, 1.0))["s"].to_pylist() == ["a", None, "b"] * 20
    made = run(sample(child, 0.0, 0.5))["s"].to_pylist()
    assert made == [strings[row].as_py() for row, x in zip(range(60), doubles(3), strict=False) if x < 0.5]


def test_rows_without_columns_are_counted() -> None:
    node = sample(Chunks(output=(), chunks=(rows_only(40),)), 0.0, 0.5)
    assert sum(row.rows for row in run_rows(node)) == len(kept(sample(numbers(40), 0.0, 0.5)))


def test_limit_downstream_ends_the_sample_early() -> None:
    node = sample(numbers(1000, 10), 0.0, 0.5)
    assert run(Limit(output=node.output, limit=15, child=node))["k"].to_pylist() == kept(node)[:15]


def test_cancelled_operator_drops_its_chunk() -> None:
    operator = SampleOperator(0.0, 1.0, 3)
    operator.push_chunk(numbers(5).chunks[0])
    assert operator.has_output() and not operator.need_input()
    operator.set_finished()
    assert operator.is_finished() and not operator.has_output()


def test_one_driver_runs_a_sample() -> None:
    node = sample(numbers(1), 0.0, 1.0)
    for root, ordered, expected in ((node, False, True), (node.child, False, False), (node.child, True, True)):
        fragment = Fragment(id=0, root=root, sink=ResultSink(), settings=DEFAULTS, ordered=ordered)
        assert depends_on_row_order(fragment) is expected
