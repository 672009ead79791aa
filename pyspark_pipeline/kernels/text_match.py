"""Search of strings for several substrings in order: LIKE '%a%b%' in one pass over the bytes."""

from __future__ import annotations

from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel


@kernel
def find_part(data: UInt8Array, at: int, stop: int, parts: UInt8Array, first: int, size: int) -> int:
    """Return the offset of the first occurrence of ``parts[first:first + size]`` (not empty) in a range; -1 if none."""
    last = stop - size
    head = parts[first]
    while at <= last:
        if data[at] == head:
            k = 1
            while k < size and data[at + k] == parts[first + k]:
                k += 1
            if k == size:
                return at
        at += 1
    return -1


@kernel
def contains_in_order(
    offsets: Int32Array, data: UInt8Array, parts: UInt8Array, ends: Int64Array, anchored: bool, tail: bool,
    out: BoolArray,
) -> None:  # fmt: skip
    """Write whether each string contains all parts in order without overlap.

    ``parts`` holds the bytes of the parts contiguously, ``ends`` their ends; ``anchored``: the string must start
    with the first part, ``tail``: it must end with the last. The leftmost match of each part is sufficient.
    """
    count = ends.shape[0]
    for row in range(out.shape[0]):
        at = offsets[row]
        stop = offsets[row + 1]
        found = True
        for index in range(count):
            first = 0 if index == 0 else ends[index - 1]
            size = ends[index] - first
            last = stop - size
            if tail and index == count - 1:
                if last < at:
                    found = False
                    break
                at = last
            end = min(at + size, stop) if anchored and index == 0 else stop
            matched_at = find_part(data, at, end, parts, first, size)
            if matched_at < 0:
                found = False
                break
            at = matched_at + size
        out[row] = found
