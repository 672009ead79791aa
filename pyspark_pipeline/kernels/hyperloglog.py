"""Kernels of APPROX_COUNT_DISTINCT: HyperLogLog++ with 2**9 registers, as Spark's ``HyperLogLogPlusPlusHelper``.

A register has 6 bits, and a word has ten registers, from its lowest bits on. ``words``: int64, ``WORDS`` a group. The
constants were measured by Heule, Nunkesser and Hall ("HyperLogLog in Practice", 2013, appendix).
"""

from __future__ import annotations

import math

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import frozen, kernel
from pyspark_pipeline.kernels.murmur3 import is_valid

_PRECISION = 9
_REGISTERS = 1 << _PRECISION
_WIDTH = 6
_PER_WORD = 10
_MASK = (1 << _WIDTH) - 1
#: Words per group.
WORDS = _REGISTERS // _PER_WORD + 1

_ALPHA = 0.7213 / (1.0 + 1.079 / _REGISTERS) * _REGISTERS * _REGISTERS
_NEIGHBOURS = 6
#: Linear counting is used if its estimate is at most this, or if the raw estimate is at most 2.5 times the registers.
_THRESHOLD = 400.0
_LARGEST = np.int64(2**63 - 1)
_POWERS = frozen(0.5 ** np.arange(_MASK + 1))

#: Numbers of distinct values, and the means of the raw estimates that were measured for them.
_MEASURED = (
    1, 13, 26, 39, 52, 64, 77, 90, 103, 116, 128, 141, 154, 167, 180, 192, 205, 218, 231, 244, 256, 269, 282, 295, 308,
    320, 333, 346, 359, 372, 384, 397, 410, 423, 436, 448, 461, 474, 487, 500, 512, 525, 538, 551, 563, 576, 589, 602,
    615, 627, 640, 653, 666, 679, 691, 704, 717, 730, 743, 755, 768, 781, 794, 807, 819, 832, 845, 858, 871, 883, 896,
    909, 922, 935, 947, 960, 973, 986, 999, 1011, 1024, 1037, 1050, 1062, 1075, 1088, 1101, 1114, 1126, 1139, 1152,
    1165, 1178, 1190, 1203, 1216, 1229, 1242, 1254, 1267, 1280, 1293, 1306, 1318, 1331, 1344, 1357, 1370, 1382, 1395,
    1408, 1421, 1434, 1446, 1459, 1472, 1485, 1498, 1510, 1523, 1536, 1549, 1561, 1574, 1587, 1600, 1613, 1625, 1638,
    1651, 1664, 1677, 1689, 1702, 1715, 1728, 1741, 1753, 1766, 1779, 1792, 1805, 1817, 1830, 1843, 1856, 1869, 1881,
    1894, 1907, 1920, 1933, 1945, 1958, 1971, 1984, 1997, 2009, 2022, 2035, 2048, 2060, 2073, 2086, 2099, 2112, 2124,
    2137, 2150, 2163, 2176, 2188, 2201, 2214, 2227, 2240, 2252, 2265, 2278, 2291, 2304, 2316, 2329, 2342, 2355, 2368,
    2380, 2393, 2406, 2419, 2432, 2444, 2457, 2470, 2483, 2496, 2508, 2521, 2534, 2547, 2560,
)  # fmt: skip
_ESTIMATES = (
    369.0, 374.8294, 381.2452, 387.6698, 394.1464, 400.2024, 406.8782, 413.6598, 420.462, 427.2826, 433.7102, 440.7416,
    447.9366, 455.1046, 462.285, 469.0668, 476.306, 483.8448, 491.301, 498.9886, 506.2422, 513.8138, 521.7074, 529.7428,
    537.8402, 545.1664, 553.3534, 561.594, 569.6886, 577.7876, 585.65, 594.228, 602.8036, 611.1666, 620.0818, 628.0824,
    637.2574, 646.302, 655.1644, 664.0056, 672.3802, 681.7192, 690.5234, 700.2084, 708.831, 718.485, 728.1112, 737.4764,
    746.76, 756.3368, 766.5538, 775.5058, 785.2646, 795.5902, 804.3818, 814.8998, 824.9532, 835.2062, 845.2798,
    854.4728, 864.9582, 875.3292, 886.171, 896.781, 906.5716, 916.7048, 927.5322, 937.875, 949.3972, 958.3464, 969.7274,
    980.2834, 992.1444, 1003.4264, 1013.0166, 1024.018, 1035.0438, 1046.34, 1057.6856, 1068.9836, 1079.0312, 1091.677,
    1102.3188, 1113.4846, 1124.4424, 1135.739, 1147.1488, 1158.9202, 1169.406, 1181.5342, 1193.2834, 1203.8954,
    1216.3286, 1226.2146, 1239.6684, 1251.9946, 1262.123, 1275.4338, 1285.7378, 1296.076, 1308.9692, 1320.4964,
    1333.0998, 1343.9864, 1357.7754, 1368.3208, 1380.4838, 1392.7388, 1406.0758, 1416.9098, 1428.9728, 1440.9228,
    1453.9292, 1462.617, 1476.05, 1490.2996, 1500.6128, 1513.7392, 1524.5174, 1536.6322, 1548.2584, 1562.3766, 1572.423,
    1587.1232, 1596.5164, 1610.5938, 1622.5972, 1633.1222, 1647.7674, 1658.5044, 1671.57, 1683.7044, 1695.4142,
    1708.7102, 1720.6094, 1732.6522, 1747.841, 1756.4072, 1769.9786, 1782.3276, 1797.5216, 1808.3186, 1819.0694,
    1834.354, 1844.575, 1856.2808, 1871.1288, 1880.7852, 1893.9622, 1906.3418, 1920.6548, 1932.9302, 1945.8584,
    1955.473, 1968.8248, 1980.6446, 1995.9598, 2008.349, 2019.8556, 2033.0334, 2044.0206, 2059.3956, 2069.9174,
    2082.6084, 2093.7036, 2106.6108, 2118.9124, 2132.301, 2144.7628, 2159.8422, 2171.0212, 2183.101, 2193.5112,
    2208.052, 2221.3194, 2233.3282, 2247.295, 2257.7222, 2273.342, 2286.5638, 2299.6786, 2310.8114, 2322.3312, 2335.516,
    2349.874, 2363.5968, 2373.865, 2387.1918, 2401.8328, 2414.8496, 2424.544, 2436.7592, 2447.1682, 2464.1958,
    2474.3438, 2489.0006, 2497.4526, 2513.6586, 2527.19, 2540.7028, 2553.768,
)  # fmt: skip


# Estimates by linear counting, by the number of empty registers; none if there is no empty register.
_LINEAR = [_REGISTERS * math.log(_REGISTERS / empty) for empty in range(1, _REGISTERS + 1)]
_ROUNDED = frozen(np.array([-1, *(math.floor(estimate + 0.5) for estimate in _LINEAR)], np.int64))
#: With this many empty registers or more, linear counting is always used.
_ALWAYS_LINEAR = next(empty for empty, estimate in enumerate(_LINEAR, start=1) if estimate <= _THRESHOLD)
_RAW = frozen(np.array(_ESTIMATES))
# The published biases have 15 digits.
_BIAS = frozen(np.array([float(f"{raw - count:.15g}") for raw, count in zip(_ESTIMATES, _MEASURED, strict=True)]))


@kernel(forceinline=True)
def _add_hash(words: Int64Array, at: int, hashed: int) -> None:
    """Add a hash to the registers from word ``at`` on."""
    index = np.int64(np.uint64(hashed) >> np.uint64(64 - _PRECISION))
    rest = (np.uint64(hashed) << np.uint64(_PRECISION)) | np.uint64(1 << (_PRECISION - 1))
    rank = 1
    while rest >> np.uint64(63) == 0:
        rest <<= np.uint64(1)
        rank += 1
    at += index // _PER_WORD
    shift = _WIDTH * (index % _PER_WORD)
    held = (words[at] >> shift) & _MASK
    if rank > held:
        words[at] ^= (held ^ rank) << shift


@kernel
def add_hashes(groups: Int64Array, hashes: Int64Array, bitmap: UInt8Array, skip: int, words: Int64Array) -> None:
    """Add the hashes of the rows that are not NULL."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            _add_hash(words, groups[row] * WORDS, hashes[row])


@kernel
def run_hashes(starts: BoolArray, hashes: Int64Array, bitmap: UInt8Array, skip: int, words: Int64Array) -> None:
    """Set group row + 1 to the registers after each row, from group ``row``, or from zero if the row starts anew."""
    for row in range(starts.size):
        at = (row + 1) * WORDS
        for word in range(at, at + WORDS):
            words[word] = 0 if starts[row] else words[word - WORDS]
        if is_valid(bitmap, skip, row):
            _add_hash(words, at, hashes[row])


@kernel
def merge_registers(groups: Int64Array, parts: Int64Array, words: Int64Array) -> None:
    """Set each register to the maximum of its own and that of ``parts``, shape (rows · ``WORDS``,)."""
    for row in range(groups.size):
        for word in range(WORDS):
            at = groups[row] * WORDS + word
            left, right = words[at], parts[row * WORDS + word]
            if left == 0 or right == 0:
                words[at] = left | right
                continue
            merged = np.int64(0)
            for place in range(_PER_WORD):
                shift = _WIDTH * place
                merged |= max((left >> shift) & _MASK, (right >> shift) & _MASK) << shift
            words[at] = merged


@kernel(forceinline=True)
def _square(value: float) -> float:
    return value * value


@kernel(forceinline=True)
def _bias(estimate: float, raw: Float64Array, biases: Float64Array) -> float:
    """Return the mean bias of the raw estimates next to an estimate."""
    nearest, end = 0, raw.size
    while nearest < end:
        middle = (nearest + end) >> 1
        if raw[middle] < estimate:
            nearest = middle + 1
        else:
            end = middle
    low = max(nearest - _NEIGHBOURS + 1, 0)
    high = min(low + _NEIGHBOURS, raw.size)
    while high < raw.size and _square(estimate - raw[high]) < _square(estimate - raw[low]):
        low += 1
        high += 1
    total = 0.0
    for i in range(low, high):
        total += biases[i]
    return total / (high - low)


@kernel(forceinline=True)
def _count_empty(words: Int64Array, at: int) -> int:
    """Count the registers without a rank from word ``at`` on."""
    empty = 0
    for number in range(WORDS):
        places = min(_PER_WORD, _REGISTERS - number * _PER_WORD)
        word = words[at + number]
        if word == 0:
            empty += places
            continue
        for place in range(places):
            empty += (word >> (_WIDTH * place)) & _MASK == 0
    return empty


@kernel(forceinline=True)
def _harmonic_sum(words: Int64Array, at: int) -> float:
    """Add two to the power of minus each rank, in the order of the registers."""
    total = 0.0
    for number in range(WORDS):
        word = words[at + number]
        for place in range(min(_PER_WORD, _REGISTERS - number * _PER_WORD)):
            total += _POWERS[(word >> (_WIDTH * place)) & _MASK]
    return total


@kernel
def _estimate(
    words: Int64Array, rounded: Int64Array, raw: Float64Array, biases: Float64Array, counts: Int64Array
) -> None:
    for group in range(counts.size):
        at = group * WORDS
        empty = _count_empty(words, at)
        counts[group] = rounded[empty]
        if empty < _ALWAYS_LINEAR:
            estimate = _ALPHA / _harmonic_sum(words, at)
            if empty == 0 or estimate > 2.5 * _REGISTERS:
                if estimate < 5.0 * _REGISTERS:
                    estimate -= _bias(estimate, raw, biases)
                counts[group] = np.int64(np.floor(estimate + 0.5)) if estimate < 2.0**63 else _LARGEST


def estimate_counts(words: Int64Array, groups: int) -> Int64Array:
    """Return the estimated number of distinct values of each group; int64, shape (groups,)."""
    counts: Int64Array = np.empty(groups, dtype=np.int64)
    _estimate(words, _ROUNDED, _RAW, _BIAS, counts)
    return counts
