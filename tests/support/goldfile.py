"""Reads gold files: SQL statements with directives in comments.

A file starts with directives for the whole file; comment lines right before a statement hold directives for
that statement only. All other comments are prose. The directives::

    -- tables: numbers, texts            views the file needs (file only)
    -- matrix: ansi=true,false ; tz=UTC  combinations to run (file only); default ansi=true,false ; aqe=true
    -- answers: by plan                  Spark's rows depend on AQE and reuse, as those of a sample do (file only)
    -- set: key=value ; key=value        settings of Spark
    -- oracle: key=value                 settings for vanilla Spark only, if its answer would be wrong without them
    -- expect: converted                 every operator of the plan runs in the pipeline engine (the default)
    -- expect: some                      at least one operator does
    -- expect: partly [regex]            some operators do, not all; a reason of the rest matches
    -- expect: declined [regex]          none does; a reason matches
    -- expect: any                       same rows, converted or not
    -- expect: error CONDITION           both engines raise this condition (or none of Spark's), and the engine ran it
    -- expect: rejected CONDITION        Spark rejects the statement, as one with a function of a later version
    -- expect[ansi=true,spark=4.1]: …    the same, only if the combination (or a version, also java=17) matches
    -- rows: ordered                     the order of rows counts
    -- floats: approximate               floats to a relative 1e-9 (sums and averages of doubles)
    -- zeros: unsigned                   0.0 and -0.0 count as equal
    -- errors: exact                     messages and query contexts of errors are equal (one task decides the error)
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.compare import Rule

_DIRECTIVE = re.compile(
    r"--\s*(tables|matrix|answers|set|oracle|expect|rows|floats|zeros|errors)(?:\[([^\]]*)\])?:\s*(.*)"
)
_DEFAULT_MATRIX = {"ansi": ("true", "false"), "aqe": ("true",)}
_SETTING_OF = {
    "ansi": "spark.sql.ansi.enabled",
    "aqe": "spark.sql.adaptive.enabled",
    "tz": "spark.sql.session.timeZone",
    "codegen": "spark.sql.codegen.wholeStage",
    "batch": "spark.pysparkPipeline.batchRows",
}
_KINDS = ("converted", "some", "partly", "declined", "any", "error", "rejected")


class GoldFileError(ValueError):
    """A gold file is invalid; names the file and line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The expected outcome of a statement if ``when`` matches the combination: ``kind`` and its regex or condition."""

    kind: str
    detail: str = ""
    when: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One SQL statement with its expected outcomes and the rule that compares its rows."""

    sql: str
    line: int
    expectations: tuple[Expectation, ...]
    settings: Mapping[str, str]
    oracle: Mapping[str, str]
    rule: Rule

    def expected(self, combination: Mapping[str, str]) -> Expectation:
        """Return the last expectation whose conditions the combination meets."""
        matching = [
            item
            for item in self.expectations
            if all(combination.get(key) == value for key, value in item.when.items())
        ]
        return matching[-1] if matching else Expectation(kind="converted", when={})


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldFile:
    """A parsed gold file; ``by_plan`` if the rows depend on how Spark plans a statement."""

    path: Path
    tables: tuple[str, ...]
    combinations: tuple[Mapping[str, str], ...]
    statements: tuple[Statement, ...]
    by_plan: bool = False


def settings_of(combination: Mapping[str, str]) -> dict[str, str]:
    """Return the Spark settings of a combination (``ansi=true``); a key with a dot is a setting itself."""
    return {_SETTING_OF.get(key, key): value for key, value in combination.items()}


def read(path: Path) -> GoldFile:
    """Read one gold file; raise :class:`GoldFileError` if it is invalid."""
    header: dict[str, list[tuple[str, str]]] = {}
    statements = []
    for number, (line, comments, sql) in enumerate(_split(path.read_text(encoding="utf-8"))):
        own = _directives(path, line, comments)
        if number == 0:
            # The first paragraph of comments (up to a blank line) belongs to the file.
            cut = comments.index("") if "" in comments else len(comments)
            header, own = _directives(path, 1, comments[:cut]), _directives(path, line, comments[cut:])
        statements.append(_statement(path, line, sql, header, own))
    if not statements:
        raise GoldFileError(f"{path}: no statement")
    tables = [name.strip() for _, text in header.get("tables", []) for name in text.split(",")]
    matrix = dict(_DEFAULT_MATRIX)
    for _, text in header.get("matrix", []):
        matrix.update({key: tuple(value.split(",")) for key, value in _pairs(text).items()})
    answers = [text for _, text in header.get("answers", [])]
    if set(answers) - {"by plan"}:
        raise GoldFileError(f"{path}: 'answers' can only be 'by plan', not {answers}")
    combinations = [dict(zip(matrix, values, strict=True)) for values in itertools.product(*matrix.values())]
    return GoldFile(
        path=path,
        tables=tuple(tables),
        combinations=tuple(combinations),
        statements=tuple(statements),
        by_plan=bool(answers),
    )


def _statement(
    path: Path, line: int, sql: str, header: dict[str, list[tuple[str, str]]], own: dict[str, list[tuple[str, str]]]
) -> Statement:
    for name in ("tables", "matrix", "answers"):
        if name in own:
            raise GoldFileError(f"{path}:{line}: '{name}' belongs into the file's first paragraph")
    last = {name: entries[-1][1] for name, entries in [*header.items(), *own.items()]}
    expectations = [
        _expectation(path, line, when, text) for when, text in [*header.get("expect", []), *own.get("expect", [])]
    ]
    settings, oracle = (
        {key: value for _, text in [*header.get(name, []), *own.get(name, [])] for key, value in _pairs(text).items()}
        for name in ("set", "oracle")
    )
    rule = Rule(
        ordered=last.get("rows") == "ordered",
        relative=1e-9 if last.get("floats") == "approximate" else 0.0,
        signed_zeros=last.get("zeros") != "unsigned",
        exact_errors=last.get("errors") == "exact",
    )
    return Statement(
        sql=sql, line=line, expectations=tuple(expectations), settings=settings, oracle=oracle, rule=rule
    )


def _expectation(path: Path, line: int, when: str, text: str) -> Expectation:
    kind, _, detail = text.partition(" ")
    if kind not in _KINDS:
        raise GoldFileError(f"{path}:{line}: expect one of {', '.join(_KINDS)}, not {text!r}")
    conditions = _pairs(when.replace(",", ";"))
    return Expectation(kind=kind, detail=detail.strip(), when=conditions)


def _directives(path: Path, line: int, comments: list[str]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for comment in comments:
        match = _DIRECTIVE.fullmatch(comment)
        if match:
            found.setdefault(match[1], []).append((match[2] or "", match[3].strip()))
        elif re.match(r"--\s*[a-z]+(\[.*\])?:\s", comment):
            raise GoldFileError(f"{path}:{line}: unknown directive {comment!r}")
    return found


def _pairs(text: str) -> dict[str, str]:
    entries = [entry.strip() for entry in text.split(";") if entry.strip()]
    return {key.strip(): value.strip() for key, _, value in (entry.partition("=") for entry in entries)}


def _split(text: str) -> Iterator[tuple[int, list[str], str]]:
    """Yield (line of the statement, comment lines before it with "" for blanks, statement) of ``text``."""
    comments: list[str] = []
    lines: list[str] = []
    start = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not lines and (line.startswith("--") or not line.strip()):
            comments.append(line.strip())
            continue
        if not lines:
            start = number
        lines.append(line)
        if line.rstrip().endswith(";"):
            yield start, comments, "\n".join(lines).rstrip().removesuffix(";")
            comments, lines = [], []
    if lines:
        yield start, comments, "\n".join(lines)
