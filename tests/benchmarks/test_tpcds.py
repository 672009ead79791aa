"""Tests of the TPC-DS benchmark: data, statements, choice of queries; and a small run of both engines."""

import json
from pathlib import Path

import pytest

from benchmarks.duckdb_extensions import connect
from benchmarks.tpcds import data
from benchmarks.tpcds.queries import choose, texts
from benchmarks.tpcds.suite import TPCDS

SCALE = 0.01


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data.make(SCALE, tmp_path_factory.mktemp("tpcds") / "small")


def test_data_has_all_tables_and_is_made_once(small: Path) -> None:
    times = {path: Path(path).stat().st_mtime_ns for path in data.tables(small).values()}
    assert len(times) == 24
    assert data.make(SCALE, small) == small
    assert times == {path: Path(path).stat().st_mtime_ns for path in data.tables(small).values()}
    assert sorted(path.name for path in small.parent.iterdir()) == ["small", "small.making"]


def test_there_are_103_statements_that_duckdb_plans() -> None:
    assert len(texts()) == 103
    assert [name for name in texts() if not name.isdigit()] == [
        "14a", "14b", "23a", "23b", "24a", "24b", "39a", "39b",
    ]  # fmt: skip
    with connect("tpcds") as connection:
        connection.execute("call dsdgen(sf=0)")
        for sql in texts().values():
            connection.execute(f"explain {sql}")


def test_statements_of_one_query_share_the_with_clause_and_differ() -> None:
    for number in ("14", "23", "24", "39"):
        first, second = (texts()[number + letter] for letter in "ab")
        start = first[: first.rindex("\nSELECT")]
        assert second.startswith(start)
        assert first != second


def test_choose_by_number_range_and_name() -> None:
    assert len(choose(None, 1)) == 103
    assert [query.name for query in choose("1,13-15, 23b", 1)] == ["1", "13", "14a", "14b", "15", "23b"]
    with pytest.raises(KeyError, match="no query '100'"):
        choose("98-100", 1)


@pytest.mark.rotates
def test_benchmark_runs_both_engines(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    words = ["--scale", str(SCALE), "--queries", "12,42,50", "--runs", "1", "--json", str(file), "--memory", "1g"]
    words += ["--data", str(small), "--conf", "spark.pysparkPipeline.cost.enabled=false"]
    assert TPCDS.main(words) == 0
    document = json.loads(file.read_text())
    summary = document["summary"]
    assert (summary["queries"], summary["all_equal"], summary["all_duckdb_equal"]) == (3, True, True)
    assert summary["converted"] <= summary["operators"] and summary["transitions"] >= 1
    for query in document["queries"].values():
        assert query["equal"] is True
        assert query["spark"]["cold_s"] > 0 and query["pipeline"]["cold_s"] > 0
