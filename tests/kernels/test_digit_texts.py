"""Numbers in other bases, and check digits, against Python's arithmetic on each text."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.expressions.text_rare import is_luhn_number
from pyspark_pipeline.kernels.digit_texts import UNDECIDED, check_digits, write_bits, write_in_base
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of

_ALL = "0123456789abcdefghijklmnopqrstuvwxyz"
_TEXTS = st.text(alphabet="0123456789zZaF- é", max_size=24) | st.integers(0, 2**65).map(str)


def converted(text: str, source: int, target: int) -> tuple[str | None, bool]:
    """Return the text in another base, and whether the number does not fit 64 bits."""
    text = text.strip(" ")
    if not text:
        return None, False
    digits = text.removeprefix("-").lower()
    end = next((i for i, c in enumerate(digits) if c not in _ALL[:source]), len(digits))
    number, is_negative = int(digits[:end] or "0", source), text[0] == "-"
    is_too_large = number >= 2**64
    number = min(number, 2**64 - 1)
    if is_negative and target > 0:
        number = 2**64 - 1 if number >> 63 else -number % 2**64
    if target < 0 and number >> 63:
        number, is_negative = -number % 2**64, True
    made = ""
    while number or not made:
        number, digit = divmod(number, abs(target))
        made = _ALL[digit].upper() + made
    return ("-" if is_negative and target < 0 else "") + made, is_too_large


@given(st.lists(st.none() | _TEXTS, max_size=20), st.integers(2, 36), st.integers(2, 36), st.booleans())
def test_numbers_in_other_bases(texts: list[str | None], source: int, target: int, is_signed: bool) -> None:
    column = pa.array(texts, pa.string())
    valid = np.array([text is not None for text in texts], dtype=np.bool_)
    ends, out = np.empty(len(texts) + 1, dtype=np.int32), np.empty(65 * len(texts), dtype=np.uint8)
    target = -target if is_signed else target
    overflow = write_in_base(*text_of(column), source, target, valid, out, ends)
    found = [
        out[start:end].tobytes().decode() if known else None
        for known, (start, end) in zip(valid.tolist(), pairwise(ends.tolist()), strict=True)
    ]
    wanted = [(None, False) if text is None else converted(text, source, target) for text in texts]
    assert found == [text for text, _ in wanted]
    assert overflow == next((row for row, (_, is_too_large) in enumerate(wanted) if is_too_large), -1)


@given(st.lists(st.text(alphabet="0123456789", max_size=20) | st.text(alphabet="019a-é٣ ", max_size=5), max_size=20))
def test_check_digits(texts: list[str]) -> None:
    found = np.empty(len(texts), dtype=np.uint8)
    check_digits(*text_of(pa.array(texts, pa.string())), found)
    for text, verdict in zip(texts, found.tolist(), strict=True):
        assert verdict == UNDECIDED if not text.isascii() else verdict == is_luhn_number(text)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 300), max_size=20), st.sampled_from([1, 4]))
def test_digits_of_bits(numbers: list[int], width: int) -> None:
    ends, out = np.empty(len(numbers) + 1, dtype=np.int32), np.empty(64 * len(numbers), dtype=np.uint8)
    write_bits(frozen(np.array(numbers, dtype=np.int64)), width, out, ends)
    found = [out[start:end].tobytes().decode() for start, end in pairwise(ends.tolist())]
    assert found == [f"{number % 2**64:{'b' if width == 1 else 'X'}}" for number in numbers]
