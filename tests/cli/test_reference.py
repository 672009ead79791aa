"""The committed reference pages are what the registries say now."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyspark_pipeline.cli.reference import pages

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", ["options.md", "functions.md", "operators.md", "metrics.md"])
def test_page_is_fresh(name: str) -> None:
    committed = (FOLDER / name).read_text(encoding="utf-8")
    assert committed == pages()[name], "run: python -m pyspark_pipeline.cli.reference docs/reference"
