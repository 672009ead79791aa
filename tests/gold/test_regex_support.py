"""The shim and the worker support the same regular expressions."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from pyspark_pipeline.expressions import java_regex

_PATTERNS = [
    "", "a", "(?i)a|B{2,3}?", "(a)(?:b)?(c)+", "((a)|b*)c", "^a$|\\Ab\\z", "(?=a)b(?!c)(?<=d{2})e", "(?<!a)b",
    "(?<!a).", "(?<=a|b)c", "(.)\\1", "(a\\1)", "\\b", "[a&&b]", "[\\w.-]+@[^\\s-]", "[^\\x00-\\x7F]",
    "\\p{Punct}\\P{Space}", "\\p{L}", "[\\u0080-\\uffff]", "[\\ue000-\\uffff]", "😀", "é", "(a*)*", "(a*)?",
    "(?:a{0})b", "(a|)+", "a{2}{3}", "x*+", "(?<n>a)", "(?i)\\p{Lower}", "[^\\w\\W]", "[]a]", "a]}", "\\uD83D",
    "(?i)(a)\\1", "[+--]", "[a-]", "(?=(a))", "\\_", "\\b[^a]\\Z", "\\Ba", "\\B.", "\\bé", "\\b{g}",
]  # fmt: skip


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_both_sides_agree(spark: SparkSession, pattern: str) -> None:
    jvm: Any = spark._jvm
    found = jvm.org.apache.spark.sql.pysparkpipeline.RegexSupport.parse(pattern)
    try:
        parsed = java_regex.parse(pattern)
    except java_regex.UnsupportedPatternError:
        assert found.isEmpty()
        return
    shim = found.get()
    assert (shim.leastLength() == 0, shim.groups()) == (parsed.may_be_empty, parsed.groups)
    assert [shim.hasGroup(number) for number in range(4)] == [parsed.has_groups([number]) for number in range(4)]
    assert shim.hasReplacement("\\$1$0") == parsed.has_replacement("\\$1$0")
