"""Imports point strictly down the layers; siblings do not import each other; only the top layer imports Spark.

import-linter enforces the layers too (``lint-imports``); this test also checks imports inside functions and under
``TYPE_CHECKING``, and requires a layer for every module of the package.
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "pyspark_pipeline"
FLOORS = (
    {"errors", "ids", "private_folder", "version"},
    {"options"},
    {"datatypes", "metrics", "shim_build", "launch"},
    {"plan", "kernels", "memory"},
    {"exec", "expressions"},
    {"operators", "exchange"},
    {"planner", "extend", "testing"},
    {"task"},
    {"manifest"},
    {"spark", "cli", "local"},
)
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names}
MAY_IMPORT_SPARK = {"spark"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(tree: ast.AST, module: tuple[str, ...]) -> list[str]:
    """Return the full names that a module imports, at any nesting."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(module[: len(module) - node.level]) + "." if node.level else ""
            names += [f"{base}{node.module or ''}.{alias.name}" for alias in node.names]
    return names


def violations(source: str, module: tuple[str, ...]) -> list[str]:
    """Return the layering violations in the source of ``module`` (``("pyspark_pipeline", "exec", "driver")``)."""
    room = module[1]
    found = []
    for name in imported(ast.parse(source), module):
        top, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if top == "pyspark" and room not in MAY_IMPORT_SPARK:
            found.append(f"{room} imports {name}: only {MAY_IMPORT_SPARK} may know Spark")
        if top != "pyspark_pipeline" or target in (room, ""):
            continue
        if target not in FLOOR_OF:
            is_version = target == "__version__"
            found += [] if is_version else [f"{name} has no floor"]
        elif FLOOR_OF[target] >= FLOOR_OF[room]:
            found.append(f"{room} (floor {FLOOR_OF[room]}) imports {name} (floor {FLOOR_OF[target]})")
    return found


def module_name(path: Path) -> tuple[str, ...]:
    return ("pyspark_pipeline", *path.relative_to(PACKAGE).with_suffix("").parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    module = module_name(path)
    if len(module) == 2 and module[1] == "__init__":
        pytest.skip("the package's front door may point anywhere")
    assert module[1] in FLOOR_OF, f"{module[1]} needs a layer in {__name__}"
    assert violations(path.read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_has_docstring_and_no_star_import(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "no docstring"
    stars = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    assert not stars


def test_reader_of_a_format_is_imported_only_by_its_package_and_the_list_of_formats() -> None:
    scan = PACKAGE / "operators" / "scan"
    formats = [folder for folder in scan.iterdir() if (folder / "__init__.py").exists()]
    assert scan / "parquet" in formats
    names = {path: list(imported(ast.parse(path.read_text(encoding="utf-8")), ())) for path in MODULES}
    for folder in formats:
        name = ".".join(module_name(folder))
        assert [
            path
            for path, found in names.items()
            if folder not in path.parents and any(f"{module}.".startswith(f"{name}.") for module in found)
        ] == [scan / "__init__.py"]


def test_every_folder_with_modules_is_a_package() -> None:
    assert [folder for folder in {path.parent for path in MODULES} if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize(
    "source",
    [
        "from pyspark_pipeline.task import run",
        "import pyspark_pipeline.operators.filter",
        "def f():\n    from pyspark_pipeline import planner",
        "from pyspark_pipeline.expressions import compile",
        "from ..exchange import sink",
        "from pyspark_pipeline.nowhere import x",
        "from pyspark.sql import SparkSession",
        "import pyspark",
    ],
)
def test_checker_reports_violation(source: str) -> None:
    assert violations(source, ("pyspark_pipeline", "exec", "driver"))


@pytest.mark.parametrize(
    "source",
    ["from pyspark_pipeline.plan.nodes import Node", "from . import queue", "from ..errors import X", "import pyarrow"],
)
def test_checker_accepts(source: str) -> None:
    assert violations(source, ("pyspark_pipeline", "exec", "driver")) == []
