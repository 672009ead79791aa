"""Paths with wildcards in JSON documents write what Spark 4.1 writes."""

from __future__ import annotations

import pytest

from pyspark_pipeline.expressions.json_text import double_printer, parse_wild_path
from pyspark_pipeline.expressions.json_wildcards import matches_at

_DOCUMENT = '{"a":[{"b":1},{"b":[2,"x"]},{}],"c":[[1],[2,[3]]],"d":["s"],"e":[]}'


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.a[*].b", b'[1,[2,"x"]]'),
        ("$.a[*].b[*]", b'[2,"x"]'),
        ("$.c[*]", b"[[1],[2,[3]]]"),
        ("$.c[*][*]", b"[1,2,3]"),
        ("$.c[1][*]", b"[2,[3]]"),
        ("$.c[*][1]", b"[3]"),
        ("$.d[*]", b'"s"'),
        ("$.d[0]", b"s"),
        ("$.e[*]", None),
        ("$.z[*]", None),
    ],
)
def test_matches(path: str, found: bytes | None) -> None:
    steps = parse_wild_path(path)
    assert steps is not None
    assert matches_at(_DOCUMENT, steps, double_printer(True)) == found


def test_wildcard_for_members_matches_nothing() -> None:
    assert parse_wild_path("$.a.*") is None


def test_document_that_jackson_rejects_has_no_matches() -> None:
    steps = parse_wild_path("$[*]")
    assert steps is not None
    assert matches_at("[1,2", steps, double_printer(True)) is None
