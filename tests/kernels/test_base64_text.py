"""Base64 text decodes to its bytes whatever stands between its characters; an incomplete end is a fault."""

from __future__ import annotations

import base64
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.kernels import base64_text
from pyspark_pipeline.kernels.text_parse import text_of


def _decode(texts: list[str]) -> tuple[list[bytes], int, int]:
    ends = np.zeros(len(texts) + 1, dtype=np.int32)
    out = np.zeros(sum(len(text.encode()) for text in texts) + 3, dtype=np.uint8)
    fault, position = base64_text.decode(*text_of(pa.array(texts, pa.string())), base64_text.CODES, ends, out)
    return [out[start:end].tobytes() for start, end in zip(ends, ends[1:], strict=False)], fault, position


@given(st.lists(st.binary(max_size=9)), st.text(" \r\n-_é😀", max_size=3), st.booleans())
def test_bytes_return_from_their_text(values: list[bytes], between: str, padded: bool) -> None:
    texts = [base64.b64encode(value).decode() for value in values]
    texts = [text if padded else text.rstrip("=") for text in texts]
    with_others = [between + "".join(letter + (between if letter != "=" else "") for letter in text) for text in texts]
    assert _decode(with_others) == (values, 0, 0)


@pytest.mark.parametrize(
    ("text", "fault", "position"),
    [
        ("=", base64_text.WRONG_END, 0),
        ("QUJD=", base64_text.WRONG_END, 0),
        ("QQ=", base64_text.WRONG_END, 0),
        ("QQ=\n=", base64_text.WRONG_END, 0),
        ("Q", base64_text.FEW_BITS, 0),
        ("Q=", base64_text.FEW_BITS, 0),
        ("QUJDR", base64_text.FEW_BITS, 0),
        ("QQ==éA", base64_text.AFTER_END, 6),
        ("QUI=QQ==", base64_text.AFTER_END, 5),
    ],
)
def test_the_first_fault_is_returned(text: str, fault: int, position: int) -> None:
    assert _decode(["QQ==", text, "Q"])[1:] == (fault, position)


@given(st.lists(st.binary(max_size=130), max_size=20), st.booleans())
def test_encodes_as_python(values: list[bytes], in_lines: bool) -> None:
    offsets, data = text_of(pa.array(values, pa.binary()))
    ends = np.empty(len(values) + 1, dtype=np.int64)
    base64_text.encoded_ends(offsets, in_lines, ends)
    out = np.empty(int(ends[-1]), dtype=np.uint8)
    base64_text.encode(offsets, data, base64_text.DIGITS, in_lines, out)
    found = [out[start:end].tobytes() for start, end in pairwise(ends.tolist())]
    plain = [base64.b64encode(value) for value in values]
    lines = [b"\r\n".join(text[at : at + 76] for at in range(0, len(text), 76)) for text in plain]
    assert found == (lines if in_lines else plain)
