"""Tests of the TPC-H benchmark: queries, oracles, report; and a small run of both engines."""

import datetime
import json
from decimal import Decimal as D
from pathlib import Path

import pytest

from benchmarks import oracle, report
from benchmarks.answers import Answer
from benchmarks.tpch import data, published
from benchmarks.tpch.queries import NUMBERS, choose, load, names
from benchmarks.tpch.suite import TPCH

SCALE = 0.01


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data.make(SCALE, tmp_path_factory.mktemp("tpch") / "small")


def test_choose_returns_22_queries_and_data_is_made_once(small: Path) -> None:
    assert [query.name for query in choose(None, 1)] == list(NUMBERS)
    times = {path: Path(path).stat().st_mtime_ns for path in data.tables(small).values()}
    assert data.make(SCALE, small) == small
    assert times == {path: Path(path).stat().st_mtime_ns for path in data.tables(small).values()}


def test_choose_by_number_range_and_name() -> None:
    assert [query.name for query in choose("1,3-5, groupkey", 1)] == ["1", "3", "4", "5", "groupkey"]
    with pytest.raises(KeyError, match="no query 'x'"):
        choose("x", 1)


def test_query_11_fraction_depends_on_scale() -> None:
    assert "* 0.0001\n" in load("11", 1).sql
    assert "* 0.00001\n" in load("11", 10).sql
    assert "$" not in "".join(load(name, 0.1).sql for name in names())


def test_published_answers_detect_changed_digit_row_or_text() -> None:
    texts = published.answers(1.0)["1"]
    columns = ("l_returnflag", "l_linestatus", *(f"c{number}" for number in range(8)))
    rows = [(line[0], line[1], *(D(text).quantize(D("0.0001")) for text in line[2:9]), int(line[9])) for line in texts]

    def differing(changed: list[tuple[object, ...]]) -> str | None:
        return oracle.difference(Answer(columns=columns, schema="", rows=changed), texts)

    assert differing(rows) is None
    assert differing(rows[::-1]) is None
    assert differing(rows[:-1]) is not None
    assert differing([*rows[:-1], rows[0]]) is not None
    assert differing([("X", *rows[0][1:]), *rows[1:]]) is not None
    assert differing([(*rows[0][:4], rows[0][4] + D("0.1"), *rows[0][5:]), *rows[1:]]) is not None
    assert differing([(*rows[0][:9], rows[0][9] + 1), *rows[1:]]) is not None


@pytest.mark.parametrize(
    ("ours", "text", "is_equal"),
    [
        (D("1.23"), "1.2349", True),
        (D("1.23"), "1.25", False),
        (1, "1.0", True),
        (1, "1.5", False),
        (0.1, "0.1", True),
        (0.1, "0.100001", False),
        ("a", "a", True),
        ("a", "", False),
        (datetime.date(1995, 1, 2), "1995-01-02", True),
        (datetime.date(1995, 1, 2), "1995-01-03", False),
    ],
)
def test_published_value_comparison(ours: object, text: str, is_equal: bool) -> None:
    found = oracle.difference(Answer(columns=("c",), schema="", rows=[(ours,)]), [[text]])
    assert (found is None) is is_equal


def test_ratio_uses_warm_medians() -> None:
    assert report.ratio([100.0, 4.0, 6.0, 5.0], [50.0, 2.0, 2.5, 100.0]) == 2.0
    assert report.ratio([8.0], [2.0]) == 4.0
    assert report.ratio([], [2.0]) is None


def test_summary_is_not_all_equal_if_one_query_differs() -> None:
    part = report.timing([2.0, 2.0])
    query = {"spark": part, "pipeline": report.timing([1.0, 1.0]), "ratio": 2.0, "equal": True}
    assert report.summary({"1": query, "2": query})["all_equal"] is True
    assert report.summary({"1": query, "2": query | {"equal": False}})["all_equal"] is False
    summary = report.summary({"1": query, "2": query | {"ratio": 8.0}})
    assert (summary["geomean_ratio"], summary["min_ratio"], summary["total_ratio"]) == (4.0, 2.0, 2.0)


def test_summary_names_slower_different_and_partly_converted_queries() -> None:
    part = report.timing([2.0])
    whole = {"spark": part, "pipeline": part, "ratio": 1.0, "equal": True, "operators": 5, "converted": 5}
    part_of_it = whole | {"ratio": 0.5, "equal": False, "converted": 3}
    found = report.summary({"1": whole | {"transitions": 1}, "2": part_of_it | {"transitions": 2}})
    assert (found["all_equal"], found["not_equal"], found["slower_than_spark"]) == (False, ["2"], {"2": 0.5})
    assert (found["queries"], found["wholly_converted"], found["partly_converted"]) == (2, 1, {"2": "3/5"})
    assert (found["operators"], found["converted"], found["transitions"]) == (10, 8, 3)


def test_summary_of_one_engine_has_its_conversion_and_no_ratio() -> None:
    found = report.summary({"1": {"pipeline": report.timing([1.0]), "operators": 5, "converted": 5, "transitions": 1}})
    assert found["wholly_converted"] == 1
    assert "all_equal" not in found and "geomean_ratio" not in found


@pytest.mark.rotates
def test_benchmark_runs_both_engines(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    words = ["--scale", str(SCALE), "--queries", "1,6,groupkey", "--runs", "2", "--json", str(file), "--memory", "1g"]
    words += ["--data", str(small), "--conf", "spark.pysparkPipeline.cost.enabled=false"]
    assert TPCH.main(words) == 0
    document = json.loads(file.read_text())
    assert set(document) == {"meta", "queries", "summary"}
    assert set(document["meta"]["peak_rss_mib"]) == {"spark", "pipeline"}
    for name in ("1", "6", "groupkey"):
        query = document["queries"][name]
        assert query["equal"] is True
        assert query["spark"]["cold_s"] > 0 and len(query["pipeline"]["warm_s"]) == 1
        assert query["converted"] > 0 and query["transitions"] >= 1
        assert query["pipeline"]["peak_rss_mib"]["workers"] > 0
    spent = list(document["queries"].values())  # of one query perhaps less than a tick of the clock, 10 ms
    assert sum(query["pipeline"]["cpu_s"]["workers_user"] for query in spent) > 0
    assert sum(query["spark"]["cpu_s"]["jvm_other"] for query in spent) > 0
    assert document["queries"]["1"]["published_equal"] is True
    assert document["queries"]["6"]["duckdb_equal"] is True
    assert document["summary"]["all_equal"] is True
