"""Places of the elements of arrays, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from pyspark_pipeline.kernels.element_places import (
    element_positions,
    element_rows,
    padded_places,
    range_places,
    reversed_places,
)


@pytest.mark.parametrize("counts", [[], [0], [3], [0, 2, 0, 0, 5, 1, 0]])
def test_places_of_ranges(counts: list[int]) -> None:
    sizes = np.array(counts, dtype=np.int64)
    starts = np.arange(100, 100 - 10 * sizes.size, -10, dtype=np.int64)
    parts = [np.arange(start, start + count) for start, count in zip(starts, sizes, strict=True)]
    nothing = [np.empty(0, dtype=np.int64)]
    assert range_places(starts, sizes).tolist() == np.concatenate([*parts, *nothing]).tolist()
    assert reversed_places(starts, sizes).tolist() == np.concatenate([*(p[::-1] for p in parts), *nothing]).tolist()
    assert element_rows(sizes).tolist() == np.repeat(np.arange(sizes.size), sizes).tolist()
    assert element_positions(sizes).tolist() == [place for count in counts for place in range(count)]


def test_places_of_padded_arrays() -> None:
    firsts, counts, lengths = np.array([[3, 5, 5, 9], [2, 0, 4, 1], [3, 2, 4, 0]], dtype=np.int64)
    assert padded_places(firsts, counts, lengths).tolist() == [3, 4, -1, -1, -1, 5, 6, 7, 8]
