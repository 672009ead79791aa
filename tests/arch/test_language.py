"""The tree uses the field's terms: no identifier or phrase of the tables below, and docstrings that start plainly.

``docs/glossary.md`` has the terms to use.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("pyspark_pipeline", "tests", "benchmarks", "build_backend", "examples", "docs", "jvm-shim")
SKIPPED = ("docs/audit/mechanisms.md", "benchmarks/results/", "tests/arch/test_language.py")

#: Banned regular expression -> replacement, for .py and .md files.
BANNED: Mapping[str, str] = {
    r"\b(put|puts|putting) aside\b": "spill",
    r"\bmeeting[_ ]place": "shared_state",
    r"\bPatience\b": "StallDetector",
    r"\bcomplaints?\b": "message",
    r"\b_?hurr(y|ies)\b": "prioritise",
    r"\brelieved?\b": "force_admit, break_deadlock",
    r"\bblamed\b": "wrap_operator_error",
    r"\bworks_with\b": "replay_dependencies",
    r"\bways_of\b": "channel_ids",
    r"\bOutlet\b": "SinkContext",
    r"\bSharedRest\b": "TailBuffer",
    r"\b(dealt|dealt_by|is_dealt|DealtSort|Dealer)\b|\bdeals? out\b": "partition",
    r"\bgets_runs\b": "input_presorted",
    r"\bmakes_?[rR]uns\b": "emits_sorted_runs",
    r"\bjoins_senders\b": "merge_senders",
    r"\bMarkFilter\b": "SelectionMask",
    r"\b(Told|is_told)\b": "StatisticsReporter, should_report",
    r"\bhold_least\b": "reserve_minimum",
    r"\btry_hold\b": "try_reserve",
    r"\bkept_pages\b|\brelease_kept\b": "allocator_trim, trim_allocators",
    r"\bSeats?\b": "OperatorSlot, OperatorChain",
    r"\bRevocable\b|\brevoke[sd]?\b": "Reclaimable, reclaim",
    r"\bWaitingBytes\b": "BufferedBytes",
    r"\bgives_stored_decimals\b": "emits_physical_decimals",
    r"\b(tells_holders|first_at_once|may_ask|hand_in|trace_keys|marks_build|build_rest)\b": "see docs/glossary.md",
    r"\b(HeldRows|AtRow|BuildPart|Handover)\b": "RowBuffer, ValueAtRow, BuildPartition, AggregateBridge",
    r"\bstands? in (the )?line\b": "wait in a WaiterQueue",
    r"\bPlaced(Node|Values|Function)\b": "PartitionDependentNode, NondeterministicColumns",
}
#: The same for .scala files.
BANNED_SCALA: Mapping[str, str] = {
    r"\bShares\b": "TaskAssignments",
    r"\bLinks\b": "LogicalLinks",
    r"\bPlaces\b": "FragmentNumbers",
    r"\bDeferral\b": "StageOrdering",
    r"\bgoesFirst\b": "shouldRunFirst",
    r"\bWrapping\b": "Convert",
    r"\bUnwrapping\b": "Revert",
    r"\bmakesRuns\b": "emitsSortedRuns",
    r"\bPlaced(Calls|Joins)\b": "NondeterministicCalls, PlacementSensitiveJoins",
    r"\bobject Written\b": "ExpressionOrigin",
}
#: Starts of function docstrings -> replacement.
FUNCTION_STARTS: Mapping[str, str] = {
    r"Give\b": "Return or Yield",
    r"Tell\b": "Return or Report",
    r"Say\b": "Return",
    r"Learn\b": "Handle",
    r"Hand over\b": "Return or Transfer",
    r"Put aside\b": "Spill",
    r"Let\b": "a precise verb",
}
#: Starts of docstrings of classes and attributes (also of ``#:`` comments) -> replacement.
NOUN_STARTS: Mapping[str, str] = {r"(What|Who|Which|Where)\b": "a noun phrase"}
_ATTRIBUTE_COMMENT = re.compile(r"^\s*#: (.*)")


def banned_terms(text: str, table: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield line number and message of each banned term in ``text``."""
    for pattern, replacement in table.items():
        for found in re.finditer(pattern, text):
            yield text.count("\n", 0, found.start()) + 1, f"{found[0]!r}: use {replacement}"


def banned_docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield line number and message of each docstring or ``#:`` comment of Python code with a banned start."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _start(node, ast.get_docstring(node), FUNCTION_STARTS)
        elif isinstance(node, ast.ClassDef):
            yield from _start(node, ast.get_docstring(node), NOUN_STARTS)
            for before, after in zip(node.body, node.body[1:], strict=False):
                is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                if isinstance(before, (ast.Assign, ast.AnnAssign)) and is_text:
                    yield from _start(after, str(after.value.value), NOUN_STARTS)
    lines = source.splitlines()
    for number, line in enumerate(lines, 1):
        comment = _ATTRIBUTE_COMMENT.match(line)
        if comment is not None and _ATTRIBUTE_COMMENT.match(lines[number - 2]) is None:
            yield from ((number, message) for message in _messages(comment[1], NOUN_STARTS))


def _start(node: ast.stmt, text: str | None, table: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    yield from ((node.lineno, message) for message in _messages(text or "", table))


def _messages(text: str, table: Mapping[str, str]) -> Iterator[str]:
    for pattern, replacement in table.items():
        found = re.match(pattern, text)
        if found is not None:
            yield f"docstring starts with {found[0]!r}: use {replacement}"


def violations(name: str, text: str) -> list[str]:
    """Return the violations in the text of the file ``name``, each as ``file:line: message``."""
    found = list(banned_terms(text, BANNED_SCALA if name.endswith(".scala") else BANNED))
    if name.endswith(".py"):
        found += banned_docstrings(text)
    return [f"{name}:{number}: {message}" for number, message in sorted(found)]


def files(folder: str) -> list[Path]:
    """Return the files of a folder of the repository that the rules apply to; of "" those at the root."""
    paths = ROOT.glob("*") if folder == "" else (ROOT / folder).rglob("*")
    names = [path for path in sorted(paths) if path.suffix in (".py", ".scala", ".md") and path.is_file()]
    return [path for path in names if not path.relative_to(ROOT).as_posix().startswith(SKIPPED)]


@pytest.mark.parametrize("folder", ["", *FOLDERS])
def test_language_of_folder(folder: str) -> None:
    found = [
        violation
        for path in files(folder)
        for violation in violations(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    ]
    assert found == [], "\n".join(found)


def test_rules_apply_to_all_kinds_of_files() -> None:
    kinds = {path.suffix for folder in FOLDERS for path in files(folder)}
    assert kinds == {".py", ".scala", ".md"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "x = 1  # rows are put aside"),
        ("a.py", "class F:\n    meeting_place = None"),
        ("a.md", "the driver is blamed"),
        ("a.md", "rows dealt to drivers"),
        ("a.py", "from x import Seat"),
        ("a.py", "self.memory.hold_least(1)"),
        ("a.scala", "object Links extends Rule"),
        ("a.scala", "if (goesFirst) left else right"),
        ("a.py", 'def f():\n    """Give the rows."""'),
        ("a.py", 'def f():\n    """Say whether it ended."""'),
        ("a.py", 'async def f():\n    """Hand over the chunk."""'),
        ("a.py", 'class C:\n    def f(self):\n        """Let go of it."""'),
        ("a.py", 'class C:\n    """What a join offers."""'),
        ("a.py", 'class C:\n    x: int = 1\n    """Where it stands."""'),
        ("a.py", "#: Which rows remain.\nX = 1"),
    ],
)
def test_checker_reports_banned_language(name: str, text: str) -> None:
    assert violations(name, text)


@pytest.mark.parametrize("table", [BANNED, BANNED_SCALA, FUNCTION_STARTS, NOUN_STARTS])
def test_patterns_compile_and_have_replacements(table: Mapping[str, str]) -> None:
    assert all(re.compile(pattern) and replacement for pattern, replacement in table.items())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", 'def f():\n    """Return the letters: Gives, Letter."""'),
        ("a.py", 'class C:\n    """A driver."""\n\n    #: Bytes\n    #: Where they are counted.\n    x = 1'),
        ("a.md", "Spark's SQL metric `revocations`; an ideal partition; linking; revoker"),
        ("a.scala", "val LogicalLinks = put(aside)"),
    ],
)
def test_checker_accepts_plain_language(name: str, text: str) -> None:
    assert violations(name, text) == []
