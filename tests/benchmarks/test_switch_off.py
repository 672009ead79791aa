"""The benchmark of excluded functions chooses queries by the names in their plans."""

from __future__ import annotations

from benchmarks.switch_off import choose

_USED = {"1": ["FilterExec", "Sum"], "2": ["Sum"], "3": ["Average", "FilterExec"]}


def test_all_names_are_chosen_without_a_list() -> None:
    assert choose(_USED, [], 9) == {"Average": ["3"], "FilterExec": ["1", "3"], "Sum": ["1", "2"]}


def test_names_are_limited_and_unused_ones_kept() -> None:
    assert choose(_USED, ["Sum", "Upper"], 1) == {"Sum": ["1"], "Upper": []}
