"""Session windows match a loop over the rows, for all chunk boundaries, with several drivers and little memory."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Field, Settings
from pyspark_pipeline.plan.normalized_keys import normalized
from pyspark_pipeline.plan.sorts import SortKey
from pyspark_pipeline.plan.windows import Window, WindowCall, WindowSpec
from tests.operators import spill_kit
from tests.operators.aggregate_kit import chunks_of
from tests.operators.kit import Chunks, column, fields, to_table
from tests.operators.sort_kit import limited

spill_folder = spill_kit.spill_folder

_SESSION = 'struct<"start":timestamp,"end":timestamp>'
_SMALL = Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": "4"}))
# An interval may end before it starts: gaps are columns.
_ROWS = st.lists(
    st.tuples(st.sampled_from([None, 1, 2]), st.integers(0, 40), st.sampled_from([0, 1, 2, 9, -3])), max_size=30
)


def _expected(rows: list[tuple[Any, int, int]]) -> dict[int, tuple[int, int]]:
    """Return start and end of the session of each row, by its number."""
    found: dict[int, tuple[int, int]] = {}
    for key in {row[0] for row in rows}:
        session: list[int] = []
        start = end = 0
        of_key = [place for place, row in enumerate(rows) if row[0] == key]
        for place in sorted(of_key, key=lambda place: (rows[place][1], rows[place][2])):
            _, first, length = rows[place]
            if session and first <= end:
                end = max(end, first + length)
            else:
                found |= dict.fromkeys(session, (start, end))
                session, start, end = [], first, first + length
            session.append(place)
        found |= dict.fromkeys(session, (start, end))
    return found


def _sessions(rows: list[tuple[Any, int, int]], chunk_rows: int) -> Window:
    """Return a window that appends the session of each row: a key, a start and a length."""
    kind = parse_type(_SESSION)
    table = pa.table({
        "row": pa.array(range(len(rows)), pa.int64()),
        "k": pa.array([row[0] for row in rows], pa.int32()),
        "w": pa.array([(row[1], row[1] + row[2]) for row in rows], kind.arrow),
    })  # fmt: skip
    session = Field(id=3, name="w", type=kind)
    below = Chunks(output=(*fields("row:bigint, k:int"), session), chunks=tuple(chunks_of(table, chunk_rows)))
    own = column(below, "w")
    spec = WindowSpec(partition=(column(below, "k"),), order=(SortKey(expr=normalized(own)),))
    call = WindowCall(function="SessionWindow", frame="session", args=(own,), type=kind)
    return Window(output=(*below.output, below.output[2]), spec=spec, calls=(call,), child=below)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=_ROWS, chunk_rows=st.integers(1, 9), dop=st.sampled_from([1, 3]), limit=st.sampled_from([100, 10**9])
)  # fmt: skip
def test_sessions_match_a_loop(rows: list[Any], chunk_rows: int, dop: int, limit: int) -> None:
    node = _sessions(rows, chunk_rows)
    instance = limited(node, limit, settings=_SMALL, dop=dop)
    made = to_table(node, list(execute(instance, 1)))
    places = made.column(0).to_pylist()
    sessions = [field.cast(pa.int64()).to_pylist() for field in made.column(3).combine_chunks().flatten()]
    assert dict(zip(places, zip(*sessions, strict=True), strict=True)) == _expected(rows)
    assert instance.memory.held == 0


@pytest.mark.parametrize("partitions", [1, 5, 3000])
def test_long_sessions_continue_in_later_chunks(partitions: int) -> None:
    """Every row overlaps the next one of its partition, so that each partition is one session."""
    rows = 3000
    node = _sessions([(row % partitions, row, partitions) for row in range(rows)], 100)
    made = to_table(node, list(execute(limited(node, 10**9, settings=_SMALL), 1)))
    starts, ends = (field.cast(pa.int64()).to_pylist() for field in made.column(3).combine_chunks().flatten())
    keys = made.column(1).to_pylist()
    assert starts == keys
    assert ends == [rows + key for key in keys]
