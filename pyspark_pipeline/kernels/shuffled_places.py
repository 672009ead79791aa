"""Random orders of the elements of arrays, by the numbers of a Mersenne Twister (Spark: RandomIndicesGenerator)."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int64Array, UInt32Array
from pyspark_pipeline.kernels.jit import kernel


@kernel
def shuffle_places(firsts: Int64Array, counts: Int64Array, draws: UInt32Array, places: Int64Array) -> int:
    """Write the places of the elements in their new order; return the number of used ``draws``, -1 if they are too few.

    The arrays, shape (rows,), have ``counts`` elements from the places ``firsts`` on. A number below a bound is that of
    commons-math: of 31 bits, drawn again if it would favour some results.
    """
    used = 0
    start = 0
    for row in range(firsts.size):
        first = firsts[row]
        for at in range(counts[row]):
            bound = at + 1
            while True:
                if used == draws.size:
                    return -1
                bits = np.int64(draws[used]) >> 1
                used += 1
                if bound & -bound == bound:
                    other = (bound * bits) >> 31
                    break
                other = bits % bound
                if bits - other + at < 2147483648:
                    break
            places[start + at] = places[start + other]
            places[start + other] = first + at
        start += counts[row]
    return used
