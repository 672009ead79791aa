"""Replaced characters, against Python's translation of each text."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.kernels.text_translate import translate

_CHARACTERS = "ab\u007f\u0080é߿ࠀ日\uffff😀\U0010ffff"
_TEXTS = st.text(alphabet=_CHARACTERS, max_size=12)


@given(st.lists(_TEXTS, max_size=20), st.dictionaries(st.sampled_from(_CHARACTERS), _TEXTS), st.integers(0, 3))
def test_characters_are_replaced(texts: list[str], table: dict[str, str], start: int) -> None:
    column = pa.array(texts, pa.string())[start:]
    codes = sorted(table)
    replacements = [table[code].encode() for code in codes]
    ends, out = np.empty(len(column) + 1, dtype=np.int32), np.empty(48 * 12 * len(texts) + 1, dtype=np.uint8)
    translate(
        *text_of(column),
        frozen(np.array(list(map(ord, codes)), dtype=np.int32)),
        frozen(np.cumsum([0, *map(len, replacements)], dtype=np.int32)),
        frozen(np.frombuffer(b"".join(replacements) or b"\0", dtype=np.uint8)),
        ends,
        out,
    )
    found = [out[first:end].tobytes().decode() for first, end in pairwise(ends.tolist())]
    assert found == [text.translate(str.maketrans(table)) for text in texts[start:]]
