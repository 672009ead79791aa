"""64-bit arithmetic that may overflow: results wrap around, as in Java.

Numba promises LLVM that signed ``+ - *`` never overflow, and LLVM then removes tests of the result that only an
overflow could fail. A kernel whose operands are not bounded uses these functions instead.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.jit import kernel


@kernel(inline="always")
def wrapping_add(left: int, right: int) -> int:
    """Add two int64, modulo 2**64."""
    return np.int64(np.uint64(left) + np.uint64(right))


@kernel(inline="always")
def wrapping_subtract(left: int, right: int) -> int:
    """Subtract two int64, modulo 2**64."""
    return np.int64(np.uint64(left) - np.uint64(right))


@kernel(inline="always")
def wrapping_multiply(left: int, right: int) -> int:
    """Multiply two int64, modulo 2**64."""
    return np.int64(np.uint64(left) * np.uint64(right))
