"""The pages of a Parquet column: their headers, and the runs of codes and definition levels in them.

The format is ``parquet.thrift`` in Thrift's compact protocol, and the hybrid of run-length and bit-packed encoding: a
run is a varint, whose lowest bit says whether the run is packed, and either a value in whole bytes or groups of eight
packed values, the lowest bits first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array, UInt32Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.unpack import GROUP_BYTES, MOST_BITS, unpack_groups
from pyspark_pipeline.kernels.words import load_word, read_varint, store_word

#: Columns of a table of pages.
KIND, SIZE, STORED_SIZE, NUM_VALUES, ENCODING, START = range(6)
LEVEL_ENCODING, LEVEL_BYTES, REPETITION_BYTES, IS_STORED, REPETITION_ENCODING = range(6, 11)
#: The number of values of the data pages up to the end of this one.
VALUES_BEFORE_END = 11
TABLE_COLUMNS = 12

#: Kinds of pages.
DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3

#: Zeros that follow the bytes of a column chunk.
PADDING = 64

#: Items of the state of a reader of runs.
AT, LEFT, VALUE, BIT = range(4)
STATE_SIZE = 4

#: Forms of a column's pages: one is not known, all are known, all data pages are encoded by a dictionary.
UNKNOWN, KNOWN, CODED = range(3)

_PLAIN, _RUNS = 0, 3
_DICTIONARY, _DICTIONARY_V1 = 8, 2
_STOP, _TRUE, _FALSE, _BYTE, _SHORT, _INT, _LONG, _DOUBLE, _BINARY, _STRUCT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 12
_DATA_HEADER, _DICTIONARY_HEADER, _DATA_HEADER_V2 = 5, 7, 8
_WORD_BYTES = 8
_CODE_BYTES = 4
_REPEATED = 16  # values that are written at once for a run of equal ones
_LARGEST = 2**31 - 1


@kernel
def _signed(data: UInt8Array, at: int) -> tuple[int, int]:
    """Return the signed number at ``at`` and its end."""
    value, at = read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at


@kernel
def _skip(data: UInt8Array, at: int, kind: int) -> int:
    """Return the end of a value that is no struct; −1 if its type is in no header of a page."""
    if kind == _TRUE or kind == _FALSE:
        return at
    if kind == _BYTE:
        return at + 1
    if kind == _SHORT or kind == _INT or kind == _LONG:
        return read_varint(data, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        length, at = read_varint(data, at)
        return at + length if 0 <= length <= data.shape[0] else -1
    return -1


@kernel
def _put_field(page: Int64Array, header: int, number: int, value: int) -> None:
    """Write a field of the header of a data page or a dictionary page to the row of a table of pages."""
    if number == 1:
        page[NUM_VALUES] = value
    elif header == _DATA_HEADER_V2:
        if number == 4:
            page[ENCODING] = value
        elif number == 5:
            page[LEVEL_BYTES] = value
        elif number == 6:
            page[REPETITION_BYTES] = value
    elif number == 2:
        page[ENCODING] = value
    elif number == 3:
        page[LEVEL_ENCODING] = value
    elif number == 4:
        page[REPETITION_ENCODING] = value


@kernel
def _read_header(data: UInt8Array, size: int, at: int, page: Int64Array) -> int:
    """Read the header of a page at ``at`` into the row of a table of pages; return its end, −1 if it is not known."""
    depth, header = 0, 0
    numbers = np.zeros(3, dtype=np.int64)
    while at < size:
        head = np.int64(data[at])
        at += 1
        if head == _STOP:
            if depth == 0:
                return at
            depth -= 1
            continue
        if head >> 4:
            numbers[depth] += head >> 4
        else:
            numbers[depth], at = _signed(data, at)
        number, kind = numbers[depth], head & 15
        if kind == _STRUCT:
            if depth == 2:
                return -1
            if depth == 0:
                header = number
            depth += 1
            numbers[depth] = 0
        elif kind == _INT and depth < 2:
            value, at = _signed(data, at)
            if depth == 0 and 1 <= number <= STORED_SIZE + 1:
                page[number - 1] = value
            elif depth == 1:
                _put_field(page, header, number, value)
        else:
            if depth == 1 and header == _DATA_HEADER_V2 and number == 7:
                page[IS_STORED] = kind == _FALSE
            at = _skip(data, at, kind)
            if at < 0:
                return -1
    return -1


@kernel
def read_page_headers(data: UInt8Array, size: int, values: int, table: Any) -> int:
    """Read the headers of the pages of a column chunk, until its data pages hold ``values`` values.

    ``data``: the chunk's ``size`` bytes and :data:`PADDING` zeros. ``table``: int64, shape (pages,
    :data:`TABLE_COLUMNS`), zeros. Return the number of pages; −1 if a header is not known, a page does not lie in the
    chunk, or the table has too few rows.
    """
    at = pages = found = 0
    while found < values:
        if pages == table.shape[0]:
            return -1
        page = table[pages]
        at = _read_header(data, size, at, page)
        if at < 0 or page[:ENCODING].min() < 0 or page[:ENCODING].max() > _LARGEST:
            return -1
        page[START] = at
        at += page[STORED_SIZE]
        if at > size:
            return -1
        if page[KIND] != DICTIONARY_PAGE:
            found += page[NUM_VALUES]
        page[VALUES_BEFORE_END] = found
        pages += 1
    return pages if found == values else -1


@kernel
def _is_coded(page: Int64Array) -> bool:
    return page[ENCODING] == _DICTIONARY or page[ENCODING] == _DICTIONARY_V1


@kernel
def form_of(table: Any, is_nullable: bool, is_repeated: bool, is_text: bool) -> int:
    """Return the form of a column's pages, the page of the dictionary included: :data:`UNKNOWN` and so on."""
    has_dictionary = table.shape[0] > 0 and table[0, KIND] == DICTIONARY_PAGE
    if has_dictionary and table[0, ENCODING] != _PLAIN and not _is_coded(table[0]):
        return UNKNOWN
    form = CODED if has_dictionary else KNOWN
    if is_text and not has_dictionary:
        return UNKNOWN
    for number in range(1 if has_dictionary else 0, table.shape[0]):
        page = table[number]
        if not _is_coded(page):
            if is_text or page[ENCODING] != _PLAIN:
                return UNKNOWN
            form = KNOWN
        elif not has_dictionary:
            return UNKNOWN
        if page[KIND] == DATA_PAGE:
            if is_nullable and page[LEVEL_ENCODING] != _RUNS:
                return UNKNOWN
            if is_repeated and page[REPETITION_ENCODING] != _RUNS:
                return UNKNOWN
        elif page[KIND] == DATA_PAGE_V2:
            repetitions, levels = page[REPETITION_BYTES], page[LEVEL_BYTES]
            if min(repetitions, levels) < 0 or (repetitions and not is_repeated):
                return UNKNOWN
            if repetitions + levels > min(page[SIZE], page[STORED_SIZE]):
                return UNKNOWN
        else:
            return UNKNOWN
    return form


@kernel
def _cut_word(page: UInt8Array, at: int) -> int:
    """Return the 8 bytes of the page at ``at``, zeros after its end."""
    word = np.uint64(0)
    for number in range(min(page.shape[0] - at, _WORD_BYTES)):
        word |= np.uint64(page[at + number]) << np.uint64(8 * number)
    return word


@kernel
def _next_run(page: UInt8Array, end: int, width: int, at: int) -> tuple[int, int, int, int]:
    """Read the beginning of a run: return its end, the number of its values, and its value or else its first bit.

    The first bit is −1 if there is a value, the end −1 if the run is damaged.
    """
    head = shift = 0
    while True:
        if at >= end or shift > 28:
            return -1, 0, 0, 0
        byte = np.int64(page[at])
        at += 1
        head |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    if head & 1:
        return at + (head >> 1) * width, (head >> 1) * 8, 0, at * 8
    num_bytes = (width + 7) >> 3
    if at + num_bytes > end:
        return -1, 0, 0, 0
    in_bytes = (np.uint64(1) << np.uint64(8 * num_bytes)) - np.uint64(1)
    is_whole = at + _WORD_BYTES <= page.shape[0]
    word = load_word(np.uint64(page.ctypes.data) + np.uint64(at)) if is_whole else _cut_word(page, at)
    return at + num_bytes, head >> 1, np.int64(word & in_bytes), -1


@kernel
def _repeat_values(
    page: UInt8Array, end: int, width: int, at: int, out: Any, done: int, found: int
) -> tuple[int, int, int]:
    """Read runs of few equal values to ``out``, from the item ``done`` on; return where they end, in both, and bits.

    ``out``: uint32. A dozen lines of an order in succession have its date. The bits are those of the values and of
    ``found`` together. No run is read whose end is near those of the page and of ``out``.
    """
    start, target, num_bytes = np.uint64(page.ctypes.data), np.uint64(out.ctypes.data), (width + 7) >> 3
    in_bytes = (np.uint64(1) << np.uint64(8 * num_bytes)) - np.uint64(1)
    last = min(end - num_bytes, page.shape[0] - _WORD_BYTES)  # where a value may begin
    rows = out.shape[0]
    while at < last:
        head = np.int64(page[at])
        count = head >> 1
        if head & 1 or head >= 128 or done + max(count + 1, _REPEATED) > rows:
            break
        value = load_word(start + np.uint64(at + 1)) & in_bytes
        pair, first = value | value << np.uint64(32), target + np.uint64(_CODE_BYTES * done)
        for place in range(0, _REPEATED * _CODE_BYTES, _WORD_BYTES):
            store_word(first + np.uint64(place), pair)
        for place in range(_REPEATED * _CODE_BYTES, count * _CODE_BYTES, _WORD_BYTES):
            store_word(first + np.uint64(place), pair)
        found |= value
        at += 1 + num_bytes
        done += count
    return at, done, found


@kernel
def read_runs(page: UInt8Array, end: int, width: int, state: Int64Array, out: Any) -> int:
    """Read the next values of runs, of ``width`` bits, at most 32, that end at byte ``end`` of the page.

    ``state``: :data:`STATE_SIZE` int64, of which :data:`AT` is the first byte at the beginning and the others are zero.
    ``out``: uint32 or uint8, shape (rows,). Return all bits of the values together; −1 if the page has too few.
    """
    at, left, value, bit = state[AT], state[LEFT], state[VALUE], state[BIT]
    start, step = np.uint64(page.ctypes.data), np.uint64(width)
    mask, found = (np.uint64(1) << step) - np.uint64(1), np.uint64(0)
    done, rows = 0, out.shape[0]
    while done < rows:
        if left == 0:
            if out.itemsize == _CODE_BYTES and at < end and page[at] & 129 == 0:
                at, done, found = _repeat_values(page, end, width, at, out, done, found)
            at, left, value, bit = _next_run(page, end, width, at)
            if at < 0:
                return -1
            continue
        count = min(rows - done, left)
        left -= count
        if bit < 0:
            found |= np.uint64(value)
            for row in range(done, done + count):
                out[row] = value
            done += count
            continue
        if bit + count * width > end * 8:  # the last group may be cut
            return -1
        last = (page.shape[0] - _WORD_BYTES) * 8  # where the first bit of a whole word may be
        stop = done + count
        while done < stop:
            groups = 0
            if 0 < width <= MOST_BITS and bit & 7 == 0:
                groups = min((stop - done) >> 3, (page.shape[0] - GROUP_BYTES - (bit >> 3)) // width + 1)
            if groups > 0:
                found |= unpack_groups(start + np.uint64(bit >> 3), groups, width, out, done)
                bit += 8 * groups * width
                done += 8 * groups
                continue
            if bit <= last:
                word = load_word(start + np.uint64(bit >> 3))
            else:
                word = _cut_word(page, bit >> 3)
            word = (word >> np.uint64(bit & 7)) & mask
            out[done] = word
            found |= word
            bit += width
            done += 1
    state[AT], state[LEFT], state[VALUE], state[BIT] = at, left, value, bit
    return np.int64(found)


@kernel
def read_short_runs(page: UInt8Array, end: int, width: int, state: Int64Array, out: UInt8Array) -> int:
    """Like :func:`read_runs`, read only those next runs that lie in ``out`` wholly; return the number of their values.

    ``width``: at most 7. Levels of a column with a few NULLs have runs of a dozen values. A head of more than two bytes
    ends them.
    """
    at, done, rows = state[AT], 0, out.shape[0]
    start, target, step = np.uint64(page.ctypes.data), np.uint64(out.ctypes.data), np.uint64(width)
    mask = (np.uint64(1) << step) - np.uint64(1)
    last = min(end, page.shape[0] - _WORD_BYTES)  # where a whole word may begin
    while state[LEFT] == 0 and at + 2 < last:
        head, begin = np.int64(page[at]), at + 1
        if head >= 128:
            if page[begin] >= 128:
                break
            head, begin = (head & 127) | np.int64(page[begin]) << 7, begin + 1
        count = (head >> 1) * 8 if head & 1 else head >> 1
        after = begin + (head >> 1) * width if head & 1 else begin + 1
        if done + count + 7 >= rows or after > last:
            break
        if head & 1:
            for group in range(head >> 1):
                word = load_word(start + np.uint64(begin + group * width))
                for number in range(8):
                    out[np.uint64(done + 8 * group + number)] = word & mask
                    word >>= step
        else:
            word = np.uint64(page[begin]) * np.uint64(0x0101010101010101)
            for place in range(0, count, 8):
                store_word(target + np.uint64(done + place), word)
        at = after
        done += count
    state[AT] = at
    return done


@kernel
def pass_equal(page: UInt8Array, end: int, width: int, state: Int64Array, value: int, count: int) -> bool:
    """Like :func:`read_runs`, pass the next ``count`` values if they are a run of ``value``; return whether."""
    at, left, first, bit = state[AT], state[LEFT], state[VALUE], state[BIT]
    if left == 0:
        at, left, first, bit = _next_run(page, end, width, at)
    if at < 0 or left < count or bit >= 0 or first != value:
        return False
    state[AT], state[LEFT], state[VALUE], state[BIT] = at, left - count, first, bit
    return True


@kernel
def _pass_repeated(page: UInt8Array, end: int, width: int, at: int, done: int, stop: int) -> tuple[int, int]:
    """Pass runs of few equal values whose values lie before the place ``stop``; return where they end, in both."""
    step = 1 + ((width + 7) >> 3)
    while at + step <= end:
        head = np.int64(page[at])
        count = head >> 1
        if head & 1 or head >= 128 or done + count > stop:
            break
        at += step
        done += count
    return at, done


@kernel
def read_chosen_runs(
    page: UInt8Array,
    end: int,
    width: int,
    state: Int64Array,
    count: int,
    chosen: Int32Array,
    base: int,
    out: UInt32Array,
) -> bool:
    """Like :func:`read_runs`, pass the next ``count`` values and read those that are chosen, shape (chosen,).

    ``chosen``: ascending places of values, the next one of which has the place ``base``. Return whether there are as
    many values.
    """
    at, left, value, bit = state[AT], state[LEFT], state[VALUE], state[BIT]
    start, mask = np.uint64(page.ctypes.data), (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    last = (page.shape[0] - _WORD_BYTES) * 8
    done = filled = 0
    while done < count:
        if left == 0:
            wanted = chosen[filled] - base if filled < chosen.shape[0] else count
            at, done = _pass_repeated(page, end, width, at, done, wanted)
            if done == count:
                break
            at, left, value, bit = _next_run(page, end, width, at)
            if at < 0:
                return False
            continue
        part = min(count - done, left)
        stop = base + done + part
        if bit < 0:
            while filled < chosen.shape[0] and chosen[filled] < stop:
                out[filled] = value
                filled += 1
        else:
            if bit + part * width > end * 8:
                return False
            while filled < chosen.shape[0] and chosen[filled] < stop:
                place = bit + (chosen[filled] - base - done) * width
                word = load_word(start + np.uint64(place >> 3)) if place <= last else _cut_word(page, place >> 3)
                out[filled] = (word >> np.uint64(place & 7)) & mask
                filled += 1
            bit += part * width
        left -= part
        done += part
    state[AT], state[LEFT], state[VALUE], state[BIT] = at, left, value, bit
    return True


@kernel
def text_ends(page: UInt8Array, at: int, ends: Int64Array) -> int:
    """Find the texts of a page, each after its length of four bytes: write the ends, shape (texts,).

    Return the end of the last; −1 if the page has too few.
    """
    for row in range(ends.shape[0]):
        if at + 4 > page.shape[0]:
            return -1
        length = np.int64(page[at]) | np.int64(page[at + 1]) << 8 | np.int64(page[at + 2]) << 16
        length |= np.int64(page[at + 3]) << 24
        at += 4 + length
        if at > page.shape[0]:
            return -1
        ends[row] = at
    return at


@kernel
def copy_texts(page: UInt8Array, at: int, ends: Int64Array, offsets: Int32Array, out: UInt8Array) -> None:
    """Copy the texts that :func:`text_ends` found from ``at`` on; write their offsets, shape (texts + 1,)."""
    to = 0
    for row in range(ends.shape[0]):
        offsets[row] = to
        for place in range(at + 4, ends[row]):
            out[to] = page[place]
            to += 1
        at = ends[row]
    offsets[ends.shape[0]] = to
