"""Pages that allocators keep go back after so many bytes that came and went."""

from __future__ import annotations

import pytest

from pyspark_pipeline.kernels import kept_pages
from pyspark_pipeline.kernels.kept_pages import RELEASE_BYTES, KeptPages


def test_pages_go_back_once_much_came_and_went(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[bool] = []
    monkeypatch.setattr(kept_pages, "release_kept", lambda: given.append(True))
    kept = KeptPages()
    kept.left(RELEASE_BYTES - 1)
    assert given == []
    kept.left(1)
    assert given == [True]
    kept.left(RELEASE_BYTES - 1)
    assert given == [True]
    kept.left(10 * RELEASE_BYTES)
    assert given == [True, True]
