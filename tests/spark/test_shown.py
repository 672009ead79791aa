"""Reports are displayed once, in scripts, REPLs and notebooks; ``install`` rejects a Connect client."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.spark import explain as explained
from pyspark_pipeline.spark.install import InstallError, install
from pyspark_pipeline.spark.profile import Profile
from pyspark_pipeline.spark.shown import ShownReport, shown


class Report(ShownReport):
    def __init__(self, text: str) -> None:
        self.text = text


def report(text: str = "a <b> c") -> Report:
    return shown(Report(text), sys._getframe(1))


def test_call_with_dropped_value_prints(capsys: pytest.CaptureFixture[str]) -> None:
    report("one")
    for word in ("two", "three"):
        report(text=word)
    report(*["four"])
    report(**{"text": "five"})
    assert capsys.readouterr().out.split() == ["one", "two", "three", "four", "five"]


def test_call_with_used_value_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    kept = report("kept")
    _ = [report("listed")]
    assert str(report("asked")) == "asked" and report("true") is not None
    assert not capsys.readouterr().out
    print(report("printed"))
    print(f"{kept}")
    assert capsys.readouterr().out.split() == ["printed", "kept"]


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    values: list[str] = []
    monkeypatch.setattr(sys, "displayhook", lambda value: values.append(repr(value)))
    yield values


def test_repl_displays_the_value_once(
    displayed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile("report('one')\n", "<stdin>", "single"), globals())
    exec(compile("for word in ('two', 'three'): report(word)\n", "<stdin>", "single"), globals())
    assert displayed == ["one", "two", "three"] and not capsys.readouterr().out


def test_notebook_prints_all_calls_but_the_last_of_a_cell(
    displayed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    # IPython runs the last expression of a cell as a REPL does.
    *first, last = ast.parse("report('one')\nreport('two')").body
    exec(compile(ast.Module(first, []), "cell", "exec"), globals())
    exec(compile(ast.Interactive([last]), "cell", "single"), globals())
    assert (capsys.readouterr().out.split(), displayed) == (["one"], ["two"])


def test_html_is_escaped() -> None:
    assert report()._repr_html_() == "<pre>a &lt;b&gt; c</pre>"


_TEXT = """3 of 6 operators in pipelines, 2 transition(s); stayed in Spark: Project: f(<x>) is not supported
fragment 57
  pipeline 0: FileScan(parquet t) → Filter(a < 3) → Sink
  pipeline 1: Input(PipelineExchange) → Sink
fragment 60
  pipeline 0: Input(Project) → Sink
stayed in Spark
  Project: f(<x>) is not supported
  SortMergeJoin: one
  SortMergeJoin: two
  Window: three"""


def test_explanation_parsed_from_text_has_all_fragments_and_reasons() -> None:
    made = explained._of_text(_TEXT)
    assert (made.operators, made.converted, made.transitions) == (6, 3, 2)
    assert [(fragment.id, len(fragment.pipelines)) for fragment in made.fragments] == [(57, 2), (60, 1)]
    assert made.fragments[0].pipelines[0] == "FileScan(parquet t) → Filter(a < 3) → Sink"
    assert len(made.reasons) == 4 and made.reasons[-1] == "Window: three"
    assert str(made) == repr(made) == _TEXT
    page = made._repr_html_()
    assert all(f"<li>{part}</li>" in page for part in ("Window: three", "Project: f(&lt;x&gt;) is not supported"))
    assert "Filter(a &lt; 3)" in page and "3 of 6 operators" in page


def test_empty_profile_has_message_in_text_and_html() -> None:
    made = Profile(fragments=(), text="nothing ran")
    assert str(made) == "nothing ran" and "nothing ran in the engine" in made._repr_html_()


@pytest.mark.parametrize("key", ["spark.remote", "spark.master"])
def test_install_rejects_connect_client_builder(key: str) -> None:
    builder: Any = SparkSession.Builder().config("spark.api.mode", "connect").config(key, "sc://localhost")
    with pytest.raises(InstallError, match=r"SparkConnectServer \$\(pyspark-pipeline submit-args\)") as refused:
        install(builder)
    assert isinstance(refused.value, PipelineError)
