"""MIN and MAX of dictionary-encoded strings equal those of plain strings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.operators.aggregation.functions.extremes import StringExtreme

WORDS = np.array(["", "a", "ab", "b" * 50, "é", "ÿ", "Z", "z", "𐍈", *(f"w{i}" for i in range(40))], dtype=object)


def extremes(chunks: list[tuple[np.ndarray, pa.Array]], groups: int, sign: int) -> list[str | None]:
    state = StringExtreme(DataType(kind="string"), sign)
    state.reserve(groups)
    for ids, column in chunks:
        state.update(ids, [column])
    return state.column(0, groups).to_pylist()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("groups", [1, 7, 64, 500])
@pytest.mark.parametrize("null_percent", [0, 30, 100])
def test_extremes_of_dictionary_strings_equal_those_of_plain_strings(sign: int, groups: int, null_percent: int) -> None:
    rng = np.random.default_rng(sign + groups + null_percent)
    plain, encoded = [], []
    for rows in (1, 300, 64, 900):
        ids = rng.integers(0, groups, rows)
        is_null = rng.integers(0, 100, rows) < null_percent
        column = pa.array(WORDS[rng.integers(0, len(WORDS), rows)], pa.string(), mask=is_null)
        start = rows // 3
        plain.append((ids[start:], column.slice(start)))
        encoded.append((ids[start:], column.dictionary_encode().slice(start)))
    assert extremes(encoded, groups, sign) == extremes(plain, groups, sign)


def test_extremes_of_dictionary_with_unused_null_and_repeated_values() -> None:
    dictionary = pa.array(["z", None, "b", "b", "a"])
    codes = pa.array([3, 1, 2, None, 0], pa.int32())
    column = pa.DictionaryArray.from_arrays(codes, dictionary)
    ids = np.array([0, 0, 0, 0, 1])
    for sign, expected in ((1, ["b", "z"]), (-1, ["b", "z"])):
        assert extremes([(ids, column)], 2, sign) == expected
