"""The query of the how-to runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "local.md"


def test_how_to_query_returns_sums() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    found = sorted(zip(*(column.to_pylist() for column in names["result"].columns), strict=True))
    assert found == [(digit, sum(range(digit, 1_000_000, 10))) for digit in range(10)]
