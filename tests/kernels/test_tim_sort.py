"""Java's sort: equal to a stable sort if the comparison is an order; a comparison that contradicts itself is found."""

from __future__ import annotations

import numpy as np
import pytest

from pyspark_pipeline.kernels.tim_sort import compared_places

#: NULL equals all values.
_UNORDERED = np.array([0, 0, 0, -1, 0, 1], dtype=np.int8)


def _keys(kind: str, size: int) -> np.ndarray:
    random = np.random.default_rng(size)
    keys = random.integers(0, {"few": 3, "many": 10**9}.get(kind, size + 1), size)
    if kind in ("runs", "falling"):
        keys = np.sort(keys)
        keys[random.integers(0, size, max(size // 20, 1))] = 0
    return keys[::-1].copy() if kind == "falling" else keys


@pytest.mark.parametrize("kind", ["few", "many", "repeated", "runs", "falling"])
@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 64, 100, 700, 3000])
def test_an_order_gives_the_result_of_a_stable_sort(kind: str, size: int) -> None:
    keys = _keys(kind, size)
    places, rejected = compared_places(np.array([0, size]), keys[None], np.ones((1, size), np.bool_), _UNORDERED)
    assert rejected == -1
    assert places.tolist() == np.argsort(keys, kind="stable").tolist()


def test_rows_are_sorted_apart_by_several_keys() -> None:
    keys, valid = np.array([[2, 1, 1, 5, 5], [0, 1, 0, 7, 6]]), np.ones((2, 5), np.bool_)
    outcomes = np.array([-1 if a == 3 or (a == 4 and b == 3) else 1 for a in range(6) for b in range(6)], dtype=np.int8)
    outcomes[4 * 6 + 4] = 0
    places, _ = compared_places(np.array([0, 3, 3, 5]), keys, valid, outcomes)
    assert places.tolist() == [2, 1, 0, 4, 3]


def test_a_comparison_that_contradicts_itself_is_rejected() -> None:
    keys = (np.arange(101) * 7919) % 37
    assert compared_places(np.array([0, 0, 101]), keys[None], (keys != 5)[None], _UNORDERED)[1] == 1
