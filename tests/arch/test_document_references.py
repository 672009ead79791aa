"""Every file, folder and test that the documents refer to exists, and so do the modules of docstrings."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AUDIT = "docs/audit/mechanisms.md"
DOCUMENTS = (
    AUDIT,
    "ARCHITECTURE.md",
    "docs/glossary.md",
    "docs/life-of-a-query.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("add-*.md")),
)
#: Names of files that a how-to makes.
EXAMPLES = {".scala", "pyspark_pipeline/operators/scan/avro/"}
#: The folders that a path may be relative to.
BASES = (
    "pyspark_pipeline",
    "tests",
    "tests/gold",
    "",
    "docs",
    "pyspark_pipeline/expressions",
    "jvm-shim/src",
    "jvm-shim/src/common",
    "jvm-shim/src/common/conversion",
)
#: A file or folder, or "…" for the last one in the line; and a test in it.
_REFERENCE = re.compile(r"`(…|[\w./*-]+?(?:/|\.(?:py|scala|sql|md|json)))(?:::(\w+))?(?:\[[^`]*\])?`")


def references(document: str) -> list[tuple[str, str]]:
    """Return the file or folder, and the test or "", of every reference."""
    found = set()
    for line in (ROOT / document).read_text(encoding="utf-8").splitlines():
        last = ""
        for file, test in _REFERENCE.findall(line):
            last = last if file == "…" else file
            if last not in EXAMPLES:
                found.add((last, test))
    return sorted(found)


@cache
def scala_files() -> frozenset[str]:
    return frozenset(path.name for path in (ROOT / "jvm-shim" / "src").rglob("*.scala"))


@cache
def functions(path: Path) -> frozenset[str]:
    """Return the names of the functions of a Python file."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef))


def problem(file: str, test: str) -> str | None:
    """Return why a reference is wrong; None if the file exists and has the test."""
    if file.endswith(".scala") and "/" not in file:
        return None if file in scala_files() else f"{file}: no such file in the shim"
    found = [path for base in BASES for path in (ROOT / base).glob(file.rstrip("/"))]
    if not found:
        return f"{file}: no such file"
    if test and not any(test in functions(path) for path in found):
        return f"{file}::{test}: no such test"
    return None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_references_exist(document: str) -> None:
    found = references(document)
    assert len(found) > (200 if document == AUDIT else 0)
    problems = [message for reference in found if (message := problem(*reference))]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    "reference",
    [("exec/no_such_file.py", ""), ("Places.scala", ""), ("arch/test_document_references.py", "test_of_nothing")],
)
def test_wrong_references_are_found(reference: tuple[str, str]) -> None:
    assert problem(*reference)


#: A role of Sphinx with a module, or a name in one: relative to the package of the file, or absolute.
_ROLE = re.compile(r":(?:class|mod|func|meth|data|attr):`~?((?:\.+|pyspark_pipeline\.)[\w.]+)`")


def wrong_roles(folder: Path, text: str) -> list[str]:
    """Return the references in the text of a file in ``folder`` to modules or names that do not exist."""
    return [reference for reference in _ROLE.findall(text) if not _is_defined(folder, reference)]


def _is_defined(folder: Path, reference: str) -> bool:
    names = reference.lstrip(".").split(".")
    dots = len(reference) - len(reference.lstrip("."))
    base = [folder, *folder.parents][dots - 1] if dots else ROOT
    for count in range(len(names), 0, -1):
        path = base.joinpath(*names[:count])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                source = file.read_text(encoding="utf-8")
                return all(re.search(rf"\b{name}\b", source) for name in names[count:])
    return False


def test_references_of_docstrings_exist() -> None:
    package = ROOT / "pyspark_pipeline"
    found = {path: wrong_roles(path.parent, path.read_text(encoding="utf-8")) for path in package.rglob("*.py")}
    assert {path.relative_to(ROOT).as_posix(): wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        (":mod:`~.states`", False),
        (":class:`~.states.DriverState`", False),
        (":class:`pyspark_pipeline.plan.expr.Call`", False),
        (":mod:`~.marks`", True),
        (":class:`~.states.NoSuchState`", True),
    ],
)
def test_checker_finds_wrong_references_of_docstrings(text: str, is_wrong: bool) -> None:
    assert bool(wrong_roles(ROOT / "pyspark_pipeline" / "exec", text)) == is_wrong
