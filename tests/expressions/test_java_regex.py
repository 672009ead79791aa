"""Java's regular expressions: which are supported, and their meaning in RE2 and in Python."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyspark_pipeline.expressions import java_regex
from pyspark_pipeline.expressions.java_regex import UnsupportedPatternError, parse, replacement_parts
from pyspark_pipeline.expressions.java_words import marked_words


@pytest.mark.parametrize("pattern", [
    "[a&&[b]]", "(a*)*", "(?<!a).", "(?<=a|bc)d", "(?<n>a)", "a*+", "\\bé", "\\B.", "\\p{L}", "(?i)\\p{Lower}",
    "[^😀]", "😀", "[\\u0080-\\uffff]", "(a)\\2", "(a\\1)", "(?=(a))", "^*", "a{2}{3}", "\\Qa\\E", "(?s).", "[]a]",
])  # fmt: skip
def test_patterns_that_are_not_supported(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError):
        parse(pattern)


def test_properties_of_patterns() -> None:
    assert parse("a|b*").may_be_empty
    assert not parse("a|b+").may_be_empty
    assert parse("((a)|b)?(c)+(d)").extractable == {1, 2, 4}
    assert parse("(a)").has_replacement("$0\\$$12")
    assert not parse("(a)").has_replacement("$2")
    assert replacement_parts("x$12\\$", 1) == ["x", 1, "2", "$"]
    assert replacement_parts("$12", 12) == [12]


@pytest.mark.parametrize(("pattern", "text", "is_class", "is_run"), [
    ("abc", "abc", False, False), ("\\.", ".", True, False), ("[ab]", None, True, False), ("\\s+", None, True, True),
    ("[ab]+?", None, False, False), ("a{2}", None, False, False), ("(a)", None, False, False),
    ("^a", None, False, False), ("a|b", None, False, False), ("", None, False, False), ("(?i)a", None, True, False),
])  # fmt: skip
def test_texts_and_classes(pattern: str, text: str | None, is_class: bool, is_run: bool) -> None:
    assert java_regex.as_text(parse(pattern)) == text
    found = java_regex.as_class(parse(pattern))
    assert (found is not None) == is_class and (found is None or found[1] == is_run)


@pytest.mark.parametrize(("pattern", "texts"), [
    ("(?i)aB|\\x31", {"xAb": True, "1": True, "a": False, "ſ": False}),
    ("[^\\w\\s]", {"a_1 \x0b": False, "é": True}),
    (".", {"\n": False, "\x85": False, "\u2028": False, "\r": False, "😀": True}),
    ("[a-c-x]", {"-": True, "d": False, "x": True}),
    ("[^\\w\\W]", {"a": False, "": False}),
])  # fmt: skip
def test_both_engines_agree(pattern: str, texts: dict[str, bool]) -> None:
    parsed = parse(pattern)
    re2 = java_regex.to_re2(parsed)
    assert re2 is not None
    assert pc.match_substring_regex(pa.array(list(texts)), re2).to_pylist() == list(texts.values())
    assert [bool(java_regex.to_python(parsed).search(text)) for text in texts] == list(texts.values())


def test_the_end_is_before_a_line_terminator() -> None:
    python = java_regex.to_python(parse("a\\s?$"))
    assert all(python.search(text) for text in ("a", "a\n", "a\r\n"))
    assert not any(python.search(text) for text in ("a\n\n\n", "a\r\nb"))
    assert [found.end() for found in java_regex.to_python(parse("\\s$")).finditer("a\r\n")] == [3]


def test_characters_of_words() -> None:
    """A mark belongs to the word of its letter; Unicode 14 and later are not known."""
    assert marked_words("a\u0301é \u0301日1\u2028-\ua7c0") == "aªª ¡ª1\u2028-¡"
    assert marked_words("a\U00011046\u0301\U0001d49c\u0301😀") == "a¢¡ª¡¡"
    python = java_regex.to_python(parse("\\b.\\b"))
    assert [found.span() for found in python.finditer(marked_words("é ab ¡ _"))] == [(0, 1), (1, 2), (7, 8)]
