"""Search strings for several words in order: LIKE '%a%b%' in one pass over the bytes."""

from __future__ import annotations

from typing import Any

from pyspark_pipeline.kernels.jit import kernel


@kernel
def contains_in_order(offsets: Any, data: Any, parts: Any, ends: Any, anchored: bool, tail: bool, out: Any) -> None:
    """Write whether each string has all parts one after the other without overlap.

    ``parts`` holds the bytes of the parts back to back, ``ends`` their ends; ``anchored``: the first part must
    stand at the start, ``tail``: the last one at the end. Taking the leftmost place for each part is enough.
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
            place = -1
            head = parts[first]
            while at <= last:
                if data[at] == head:
                    k = 1
                    while k < size and data[at + k] == parts[first + k]:
                        k += 1
                    if k == size:
                        place = at
                        break
                if anchored and index == 0:
                    break
                at += 1
            if place < 0:
                found = False
                break
            at = place + size
        out[row] = found
