"""Tests of the gold file reader: directives, combinations, overrides, and mistakes that must raise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.goldfile import GoldFileError, read, settings_of

_TEXT = """-- The subject of this file.
-- tables: numbers, texts
-- matrix: tz=UTC,Asia/Kathmandu
-- set: spark.a=1

-- expect[ansi=true]: error DIVIDE_BY_ZERO
-- floats: approximate
SELECT 1 / 0,
  ';' AS x;
-- prose
SELECT 2;
-- rows: ordered
-- zeros: unsigned
-- expect: partly Sort.*
-- set: spark.b=2 ; spark.a=3
-- oracle: spark.c=4
SELECT 3
"""


def _read(folder: Path, text: str) -> object:
    path = folder / "file.sql"
    path.write_text(text)
    return read(path)


def test_reader_parses_file(tmp_path: Path) -> None:
    path = tmp_path / "file.sql"
    path.write_text(_TEXT)
    gold = read(path)
    assert gold.tables == ("numbers", "texts")
    assert len(gold.combinations) == 4
    assert {"ansi": "false", "aqe": "true", "tz": "Asia/Kathmandu"} in gold.combinations
    first, second, third = gold.statements
    assert first.sql == "SELECT 1 / 0,\n  ';' AS x" and first.line == 8
    assert str(first.expected({"ansi": "true"})) == "error DIVIDE_BY_ZERO"
    assert str(first.expected({"ansi": "false"})) == "converted"
    assert first.rule.relative > 0 and not first.rule.ordered
    assert str(second.expected({"ansi": "true"})) == "converted"
    assert second.rule.relative == 0 and second.settings == {"spark.a": "1"}
    assert third.rule.ordered and not third.rule.signed_zeros
    assert str(third.expected({})) == "partly Sort.*" and third.settings == {"spark.a": "3", "spark.b": "2"}
    assert third.oracle == {"spark.c": "4"} and second.oracle == {}


@pytest.mark.parametrize(
    "text",
    [
        "-- tables: numbers\n",
        "-- expcet: converted\nSELECT 1;",
        "-- expect: sometimes\nSELECT 1;",
        "SELECT 1;\n-- tables: numbers\nSELECT 2;",
        "-- answers: by luck\n\nSELECT 1;",
        "SELECT 1;\n-- answers: by plan\nSELECT 2;",
    ],
)
def test_reader_rejects_mistakes(tmp_path: Path, text: str) -> None:
    with pytest.raises(GoldFileError):
        _read(tmp_path, text)


@pytest.mark.parametrize(("line", "by_plan"), [("-- answers: by plan\n", True), ("", False)])
def test_reader_reads_whether_rows_depend_on_the_plan(tmp_path: Path, line: str, by_plan: bool) -> None:
    path = tmp_path / "file.sql"
    path.write_text(f"-- The subject.\n{line}\nSELECT 1;")
    assert read(path).by_plan is by_plan


def test_settings_of_combination() -> None:
    assert settings_of({"ansi": "true", "spark.x": "1"}) == {"spark.sql.ansi.enabled": "true", "spark.x": "1"}
