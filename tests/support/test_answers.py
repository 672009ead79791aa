from pathlib import Path

from pyspark.sql import Row

from tests.support.answers import Answers, record_of
from tests.support.compare import EXACT, Rule
from tests.support.goldfile import read
from tests.support.sessions import Outcome


def _record(*rows: object, rule: Rule = EXACT) -> str:
    return record_of(Outcome(rows=list(rows)), rule)


def test_records_are_equal_if_the_rule_finds_the_rows_equal() -> None:
    assert _record(Row(a=1), Row(a=2)) == _record(Row(a=2), Row(a=1))
    assert _record(Row(a={1: "x", 2: "y"})) == _record(Row(a={2: "y", 1: "x"}))
    assert _record(Row(a=float("nan"))) == _record(Row(a=float("nan")))
    unsigned = Rule(signed_zeros=False)
    assert _record(Row(a=0.0), rule=unsigned) == _record(Row(a=-0.0), rule=unsigned)


def test_records_differ_if_the_rule_finds_the_rows_different() -> None:
    ordered = Rule(ordered=True)
    assert _record(Row(a=1), Row(a=2), rule=ordered) != _record(Row(a=2), Row(a=1), rule=ordered)
    different = [(), (1,), (1, 1), (True,), ("1",), (None,), ([1],), ([1, None],), (0.0,), (-0.0,), (b"1",)]
    records = {_record(*(Row(a=value) for value in values)) for values in different}
    assert len(records) == len(different)
    assert _record(Row(a=1)) != _record(Row(b=1))


def test_a_tolerance_for_floats_does_not_make_records_equal() -> None:
    tolerant = Rule(relative=1e-9)
    assert _record(Row(a=1.0), rule=tolerant) != _record(Row(a=1.0 + 1e-12), rule=tolerant)


def test_records_of_errors_hold_messages_only_if_messages_count() -> None:
    failures = [Outcome(error=("E", "C"), message=message) for message in ("one", "two\n\nJVM stacktrace:\nx")]
    assert record_of(failures[0], EXACT) == record_of(failures[1], EXACT) != _record()
    exact = Rule(exact_errors=True)
    assert record_of(failures[0], exact) != record_of(failures[1], exact)


def test_answers_are_read_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "gold" / "file.sql"
    path.parent.mkdir()
    path.write_text("select 1;\n")
    gold = read(path)
    answers = Answers(folder=tmp_path / "answers", java="17")
    question = answers.question("select 1", {"a": "b"}, EXACT)
    answers.add(gold, question, "rows 1 x")
    answers.write()
    again = Answers(folder=tmp_path / "answers", java="17")
    assert again.has(gold, question, "rows 1 x")
    assert not again.has(gold, question, "rows 2 x")
    others = (
        again.question("select 2", {"a": "b"}, EXACT),
        again.question("select 1", {"a": "c"}, EXACT),
        again.question("select 1", {"a": "b"}, Rule(ordered=True)),
        Answers(folder=tmp_path, java="21").question("select 1", {"a": "b"}, EXACT),
    )
    assert not any(again.has(gold, other, "rows 1 x") for other in others)
