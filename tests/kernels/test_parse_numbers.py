"""Doubles and floats of short texts are those that Python parses, which rounds exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.expressions.cast_text import java_double, parsed_numbers

_ODD = ["", "-", "+", ".", "-.", "1.", ".5", "-.5", "+1", "-0", "-0.0", "0.1", "1e5", "1_0", "１", "1.2.3", " 1", "1d",
        "0x1p3",
        "123456789012345", "1234567890123456", "9007199254740993", "0.000000000000001", "1.0000000000000000000001",
        "16777217", "0.3333333", "8388608.5", "3.4028236e38", "1e400", "NaN", "Infinity", "1" + "0" * 50]  # fmt: skip
_TEXTS = st.one_of(st.from_regex(r"\A[+-]?[0-9]{0,18}\.?[0-9]{0,25}\Z"), st.sampled_from(_ODD))


@pytest.mark.parametrize("target", [pa.float64(), pa.float32()], ids=str)
@given(texts=st.lists(st.one_of(st.none(), _TEXTS), max_size=9))
def test_numbers_of_texts(target: pa.DataType, texts: list[str | None]) -> None:
    is_single = pa.types.is_float32(target)
    array = pa.array(texts, pa.string())
    found, fits = parsed_numbers(array, target, lambda text: java_double(text, is_single))
    numbers = found.to_pylist() if fits is None else found.tolist()
    expected = [None if text is None else java_double(text, is_single) for text in texts]
    for place, (text, number) in enumerate(zip(texts, expected, strict=True)):
        if text is None:
            continue
        assert number is not None or (fits is not None and not fits[place])
        if number is not None:
            assert np.float64(numbers[place]).view(np.int64) == np.float64(number).view(np.int64), text


@given(digits=st.integers(0, 10**7 - 1), places=st.integers(0, 10))
def test_floats_are_the_nearest(digits: int, places: int) -> None:
    text = f"{digits:0{places + 1}d}"
    text = f"{text[: len(text) - places]}.{text[len(text) - places :]}"
    found, fits = parsed_numbers(pa.array([text]), pa.float32(), lambda other: java_double(other, True))
    assert fits is None
    value = np.float32(found[0].as_py())
    exact = Fraction(digits, 10**places)
    errors = [abs(Fraction(float(near)) - exact) for near in (np.nextafter(value, -1), value, np.nextafter(value, 2e9))]
    assert errors[1] == min(errors)
