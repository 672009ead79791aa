"""The Levenshtein distance of two strings, in characters (Spark: UTF8String.levenshteinDistance)."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array, UInt32Array
from pyspark_pipeline.kernels.jit import kernel


@kernel
def levenshtein(
    left_offsets: Int32Array, left: UInt8Array, right_offsets: Int32Array, right: UInt8Array, out: Int32Array
) -> None:
    """Write the distance of every pair of strings, int32."""
    longest = np.int64(0)
    for row in range(out.shape[0]):
        longest = max(longest, np.int64(left_offsets[row + 1] - left_offsets[row]))
        longest = max(longest, np.int64(right_offsets[row + 1] - right_offsets[row]))
    first = np.empty(longest, dtype=np.uint32)
    second = np.empty(longest, dtype=np.uint32)
    costs = np.empty(longest + 1, dtype=np.int32)
    for row in range(out.shape[0]):
        rows = split_characters(left, left_offsets[row], left_offsets[row + 1], first)
        columns = split_characters(right, right_offsets[row], right_offsets[row + 1], second)
        for j in range(columns + 1):
            costs[j] = j
        for i in range(rows):
            diagonal = costs[0]
            costs[0] = i + 1
            for j in range(columns):
                replaced = diagonal + (first[i] != second[j])
                diagonal = costs[j + 1]
                costs[j + 1] = min(replaced, min(diagonal, costs[j]) + 1)
        out[row] = costs[columns]


@kernel
def split_characters(data: UInt8Array, start: int, end: int, out: UInt32Array) -> int:
    """Write the bytes of every character of a string as one number; return their count."""
    count = 0
    position = np.int64(start)
    while position < end:
        byte = np.uint32(data[position])
        size = 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        code = byte
        for place in range(position + 1, min(position + size, end)):
            code = np.uint32(code << np.uint32(8)) | np.uint32(data[place])
        out[count] = code
        count += 1
        position += size
    return count
