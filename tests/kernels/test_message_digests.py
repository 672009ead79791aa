"""Digests by compiled kernels are those of hashlib, around the lengths at which a message takes another block."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.kernels.message_digests import DIGESTS
from pyspark_pipeline.kernels.text_parse import text_of


def _digests(name: str, values: list[bytes | None]) -> list[str]:
    digest = DIGESTS[name]
    out = np.empty(digest.digits * len(values), dtype=np.uint8)
    digest.write(*text_of(pa.array(values, pa.binary())), out)
    text = out.tobytes().decode()
    return [text[at : at + digest.digits] for at in range(0, len(text), digest.digits)]


@pytest.mark.parametrize("name", sorted(DIGESTS))
@given(st.lists(st.binary(max_size=200), max_size=20))
def test_digests_are_those_of_hashlib(name: str, values: list[bytes]) -> None:
    assert _digests(name, list(values)) == [hashlib.new(name, value).hexdigest() for value in values]


@pytest.mark.parametrize("name", sorted(DIGESTS))
def test_every_length_of_a_last_block(name: str) -> None:
    values = [bytes(range(length)) for length in range(200)]
    assert _digests(name, [b"\xff", None, *values])[2:] == [hashlib.new(name, value).hexdigest() for value in values]
