"""The committed reference pages are equal to freshly generated ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
NAMES = ["options.md", "functions.md", "operators.md", "metrics.md"]


@pytest.fixture(scope="module")
def fresh() -> dict[str, str]:
    """Return the pages generated in a subprocess, because tests register counters too."""
    script = "import json; from pyspark_pipeline.cli.reference import pages; print(json.dumps(pages()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    pages: dict[str, str] = json.loads(done.stdout)
    return pages


@pytest.mark.parametrize("name", NAMES)
def test_page_is_fresh(name: str, fresh: dict[str, str]) -> None:
    committed = (FOLDER / name).read_text(encoding="utf-8")
    assert committed == fresh[name], "run: python -m pyspark_pipeline.cli.reference docs/reference"
