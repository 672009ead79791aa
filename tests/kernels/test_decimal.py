"""The decimal kernels compared with Python's integers."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from pyspark_pipeline.kernels import decimal_fast as fast
from pyspark_pipeline.kernels import decimal_wide as wide
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.decimal_words import EACH_ROW, ONE_ROW, join_words, split_words
from pyspark_pipeline.kernels.jit import frozen

EDGES = [0, 1, 9, 10**9, 2**32, 10**18, 10**19, 2**63 - 1, 2**63, 2**64, 2**96, 10**37, 10**38 - 1]
INT64 = range(-(2**63), 2**63)


def numbers(seed: int, count: int = 1500) -> list[int]:
    """Build integers of up to 38 digits, of all sizes and both signs, including the edge values."""
    chooser = random.Random(seed)
    sizes = [1, 3, 9, 18, 19, 20, 25, 30, 37, 38]
    values = [chooser.choice(EDGES) if chooser.random() < 0.2 else chooser.randrange(10 ** chooser.choice(sizes))
              for _ in range(count)]  # fmt: skip
    return [value * chooser.choice((1, -1)) for value in values]


def words(values: list[int]) -> Int64Array:
    """Build the words of integers."""
    made: Int64Array = frozen(np.array([split_words(value) for value in values], dtype=np.int64).reshape(-1, 2))
    return made


def half_up(numerator: int, denominator: int) -> int:
    """Divide, rounding halves away from zero."""
    quotient, rest = divmod(abs(numerator), abs(denominator))
    quotient += 2 * rest >= abs(denominator)
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def truncated(numerator: int, denominator: int) -> int:
    """Divide towards zero."""
    quotient = abs(numerator) // abs(denominator)
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


LEFT, RIGHT = numbers(1), numbers(2)
OPERATIONS: dict[int, Callable[[int, int], int]] = {
    wide.OP_ADD: lambda a, b: a + b,
    wide.OP_MULTIPLY: lambda a, b: a * b,
    wide.OP_DIVIDE: half_up,
    wide.OP_REMAINDER: lambda a, b: a - b * truncated(a, b),
    wide.OP_QUOTIENT: truncated,
}


SCALES = [(0, 0), (5, 0), (0, 38), (38, 1)]
ROUNDINGS = [0, 1, 9, 20, 38]
FORMS = [(op, powers, drop) for op in (wide.OP_ADD, wide.OP_REMAINDER) for powers in SCALES for drop in ROUNDINGS]
FORMS += [(wide.OP_MULTIPLY, (0, 0), drop) for drop in ROUNDINGS]
FORMS += [(op, powers, 0) for op in (wide.OP_DIVIDE, wide.OP_QUOTIENT) for powers in SCALES]
FORMS += [(wide.OP_DIVIDE, (77, 0), 0)]


@pytest.mark.parametrize(("op", "powers", "drop"), FORMS)
def test_wide_arithmetic_is_exact(op: int, powers: tuple[int, int], drop: int) -> None:
    """Check values and rows that do not fit for every operation, scale and rounding."""
    valid = np.array([index % 7 != 3 for index in range(len(LEFT))])
    out, status = np.empty((len(LEFT), 2), dtype=np.int64), np.empty(len(LEFT), dtype=np.uint8)
    wide.evaluate(
        op, words(LEFT), EACH_ROW, powers[0], words(RIGHT), EACH_ROW, powers[1], op == wide.OP_ADD,
        drop, 38, valid, wide.POWERS, out, status,
    )  # fmt: skip
    for row, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        if not valid[row] or (op >= wide.OP_DIVIDE and right == 0):
            continue
        scaled = left * 10 ** powers[0], right * 10 ** powers[1] * (-1 if op == wide.OP_ADD else 1)
        exact = OPERATIONS[op](*scaled)
        exact = half_up(exact, 10**drop)
        if status[row] == 2:
            assert len(str(abs(truncated(*scaled))).rstrip("0")) > 39
        else:
            assert (status[row] == 0) == (abs(exact) < 10**38), (left, right)
        if status[row] == 0:
            assert join_words(*out[row]) == exact, (left, right)


SMALL = [(a, b) for a, b in zip(LEFT * 3, (RIGHT * 3)[5:], strict=False) if a in INT64 and b in INT64]
SMALL += [(a, b) for a in (-(2**63), -1, 0, 1, 2**63 - 1) for b in (-(2**63), -1, 0, 1, 2**63 - 1)]


@pytest.mark.parametrize("flip", [0, -1])
def test_fast_addition_detects_overflow(flip: int) -> None:
    """Check each row alone: the result is exact, or rejected because it does not fit 64 bits."""
    out = np.empty((1, 2), dtype=np.int64)
    for a, b in SMALL:
        done = fast.add_plain(words([a]), EACH_ROW, words([b]), ONE_ROW, flip, out)
        exact = a - b if flip else a + b
        assert done == (exact in INT64)
        assert not done or join_words(*out[0]) == exact


@pytest.mark.parametrize("digits", range(0, 19))
def test_fast_multiplication_and_division_round_half_up(digits: int) -> None:
    """128-bit intermediate values are exact."""
    left, right = words([a for a, _ in SMALL]), words([b for _, b in SMALL])
    out = np.empty_like(left)
    assert fast.multiply_rounded(left, EACH_ROW, right, EACH_ROW, np.uint64(10**digits), out)
    assert [join_words(*row) for row in out] == [half_up(a * b, 10**digits) for a, b in SMALL]
    assert fast.divide_rounded(left, EACH_ROW, right, EACH_ROW, 10**digits, out)
    assert [join_words(*row) for row in out] == [half_up(a * 10**digits, b) if b else 0 for a, b in SMALL]
    if digits:
        assert fast.rescale_down(left, 10**digits, 2**63 - 1, out) or digits == 0
        assert [join_words(*row) for row in out] == [half_up(a, 10**digits) for a, _ in SMALL]


def test_fast_kernels_reject_values_over_64_bits() -> None:
    """A value of more than 64 bits makes a fast kernel return False."""
    out = np.empty((2, 2), dtype=np.int64)
    large, one = words([1, 2**64]), words([1])
    assert not fast.add_plain(large, EACH_ROW, one, ONE_ROW, 0, out)
    assert not fast.multiply_exact(large, EACH_ROW, one, ONE_ROW, out)
    assert not fast.multiply_narrow(large, EACH_ROW, one, ONE_ROW, out)
    assert not fast.divide_rounded(large, EACH_ROW, one, ONE_ROW, 1, out)
    assert not fast.rescale_down(large, 10, 2**63 - 1, out)
    assert not fast.add_scaled(words([1, 100]), EACH_ROW, one, ONE_ROW, 10, 1, 99, 99, 10**9, out)
    assert not fast.add_scaled(words([1, 100]), EACH_ROW, one, ONE_ROW, 1, 1, 200, 200, 101, out)
