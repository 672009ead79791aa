"""The values of the pages of a Parquet column, read in one call for the rows of a chunk.

A *table of pages* is that of :func:`~.parquet_pages.read_page_headers` without the page of the dictionary. The pages
lie decompressed in an array of bytes, each at its *place*, the levels first; a page without a place is not there, and
none of its rows is read. The *state* of a column says where the next row is.

The *definition level* of a row says how many of the optional and repeated fields from the column down to the leaf are
there; the row has a value if it is the leaf's *depth*. A leaf below a repeated field has a *slot* for each element, and
one for each row without elements; these functions take slots for rows. The *repetition level* of a slot is 0 if a row
begins with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array, UInt32Array, UInt64Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.parquet_pages import (
    AT,
    DATA_PAGE_V2,
    ENCODING,
    IS_STORED,
    KIND,
    LEFT,
    LEVEL_BYTES,
    NUM_VALUES,
    REPETITION_BYTES,
    SIZE,
    START,
    STATE_SIZE,
    STORED_SIZE,
    pass_equal,
    read_chosen_runs,
    read_runs,
    read_short_runs,
    spread_values,
)
from pyspark_pipeline.kernels.snappy import decompress_words
from pyspark_pipeline.kernels.words import load_word

#: Items of the state of a column: the row of the table of pages, the rows of that page that were read, the bits of a
#: code, the states of the readers of definition levels, values and repetition levels, and the ends of these.
PAGE, ROWS_READ, WIDTH, LEVELS, VALUES, REPETITIONS = 0, 1, 2, 3, 3 + STATE_SIZE, 3 + 2 * STATE_SIZE
LEVELS_END, VALUES_END, REPETITIONS_END = range(REPETITIONS + STATE_SIZE, REPETITIONS + STATE_SIZE + 3)
#: The rows that the last call of :func:`read_values` passed, those of chosen rows included, that have no value.
NULLS = REPETITIONS_END + 1
COLUMN_STATE_SIZE = NULLS + 1

#: Results: everything was read, or what is wrong with a page.
READ, TOO_FEW_PAGES, TOO_FEW_LEVELS, TOO_FEW_VALUES, WIDE_CODES, UNKNOWN_CODES = range(6)

_PLAIN = 0
_LENGTH_BYTES = 4
_MOST_BITS = 32
_BLOCK = 2048  # codes that are read at once, so that they stay in a core's nearest cache


@kernel
def decompress_pages(data: UInt8Array, table: Any, first: int, places: Int64Array, out: UInt64Array) -> bool:
    """Decompress pages by Snappy: those from row ``first`` of the table on whose place, in bytes of ``out``, is not −1.

    ``data``: the column chunk, as for :func:`~.parquet_pages.read_page_headers`. The values of a page begin at a
    multiple of eight, and two words follow each. Return whether the pages are compressed by Snappy.
    """
    bytes_out = out.view(np.uint8)
    for page in range(first, table.shape[0]):
        place, size, start = places[page], table[page, SIZE], table[page, START]
        stop = start + table[page, STORED_SIZE]
        if place < 0:
            continue
        is_second = table[page, KIND] == DATA_PAGE_V2
        levels = table[page, REPETITION_BYTES] + table[page, LEVEL_BYTES] if is_second else 0
        is_stored = is_second and table[page, IS_STORED]
        if is_stored and stop - start != size:
            return False
        for byte in range(size if is_stored else levels):
            bytes_out[place + byte] = data[start + byte]
        if is_stored or size == levels:
            continue
        if not decompress_words(data, start + levels, stop, out[(place + levels) >> 3 :], size - levels):
            return False
    return True


@kernel
def _open_levels(pages: UInt8Array, at: int, end: int, reader: int, reader_end: int, state: Int64Array) -> int:
    """Go to the first of levels that follow their length; return their end, −1 if it is not in the page."""
    if at + _LENGTH_BYTES > end:
        return -1
    length = np.int64(pages[at]) | np.int64(pages[at + 1]) << 8 | np.int64(pages[at + 2]) << 16
    length |= np.int64(pages[at + 3]) << 24
    state[reader + AT] = at + _LENGTH_BYTES
    state[reader_end] = at + _LENGTH_BYTES + length
    return state[reader_end] if state[reader_end] <= end else -1


@kernel
def _open_page(
    pages: UInt8Array, page: Int64Array, place: int, depth: int, is_repeated: bool, state: Int64Array
) -> int:
    """Go to the first row of a page."""
    at, end = place, place + page[SIZE]
    state[LEVELS : LEVELS + 3 * STATE_SIZE] = 0
    if page[KIND] == DATA_PAGE_V2:
        state[REPETITIONS + AT] = at
        at += page[REPETITION_BYTES]
        state[REPETITIONS_END] = at
        state[LEVELS + AT] = at
        at += page[LEVEL_BYTES]
        state[LEVELS_END] = at
    else:
        if is_repeated:
            at = _open_levels(pages, at, end, REPETITIONS, REPETITIONS_END, state)
        if depth > 0 and at >= 0:
            at = _open_levels(pages, at, end, LEVELS, LEVELS_END, state)
        if at < 0:
            return TOO_FEW_LEVELS
    if page[ENCODING] != _PLAIN:
        state[WIDTH] = pages[at] if at < end else 0  # a page without values may lack the bits of a code
        at += 1
        if state[WIDTH] > _MOST_BITS:
            return WIDE_CODES
    state[VALUES + AT] = at
    state[VALUES_END] = end
    return READ


@kernel
def _read_levels(pages: UInt8Array, state: Int64Array, depth: int, levels: UInt8Array) -> int:
    """Read the definition levels of the next rows; return how many rows have a value, −1 if levels are missing."""
    width = 1
    while depth >> width:
        width += 1
    reader, rows = state[LEVELS : LEVELS + STATE_SIZE], levels.shape[0]
    if pass_equal(pages, state[LEVELS_END], width, reader, depth, rows):
        levels[:] = depth
        return rows
    done = min(reader[LEFT], rows)
    if read_runs(pages, state[LEVELS_END], width, reader, levels[:done]) < 0:
        return -1
    done += read_short_runs(pages, state[LEVELS_END], width, reader, levels[done:])
    if read_runs(pages, state[LEVELS_END], width, reader, levels[done:]) < 0:
        return -1
    count, largest = 0, np.uint8(0)
    for row in range(levels.shape[0]):
        count += levels[row] == depth
        largest = max(largest, levels[row])
    return count if largest <= depth else -1


@kernel
def _read_repetitions(pages: UInt8Array, state: Int64Array, repetitions: UInt8Array) -> bool:
    """Read the repetition levels, 0 or 1, of the next slots; return whether there are as many."""
    reader = state[REPETITIONS : REPETITIONS + STATE_SIZE]
    found = read_runs(pages, state[REPETITIONS_END], 1, reader, repetitions)
    return found == 0 or found == 1


@kernel
def _read_codes(pages: UInt8Array, state: Int64Array, codes: UInt32Array) -> bool:
    """Read the next codes; return whether there are as many."""
    values = state[VALUES : VALUES + STATE_SIZE]
    return read_runs(pages, state[VALUES_END], state[WIDTH], values, codes) >= 0


@kernel
def _word_at(pages: UInt8Array, at: int, size: int) -> int:
    """Return the number of ``size`` bytes, 4 or 8, at ``at``."""
    word = load_word(np.uint64(pages.ctypes.data) + np.uint64(at))
    return word if size == 8 else word & np.uint64(0xFFFFFFFF)


@kernel
def _are_below(codes: UInt32Array, size: int) -> bool:
    """Return whether all codes are less than ``size``."""
    largest = np.uint32(0)
    for row in range(codes.shape[0]):
        largest = max(largest, codes[row])
    return largest < size or codes.shape[0] == 0


@kernel
def _look_up(dictionary: Any, is_code: bool, codes: UInt32Array, out: Any) -> bool:
    """Write the values of codes, or the codes themselves; return whether the dictionary has all."""
    if not _are_below(codes, dictionary.shape[0]):
        return False
    if is_code:
        for row in range(codes.shape[0]):
            out[row] = codes[row]
    else:
        for row in range(codes.shape[0]):
            out[row] = dictionary[codes[row]]
    return True


@kernel
def _read_all(
    pages: UInt8Array,
    is_coded: bool,
    state: Int64Array,
    dictionary: Any,
    is_code: bool,
    codes: UInt32Array,
    out: Any,
) -> int:
    """Read the next values that are not NULL, shape (values,)."""
    count = out.shape[0]
    if not is_coded:
        at, size = state[VALUES + AT], out.itemsize
        if at + count * size > state[VALUES_END]:
            return TOO_FEW_VALUES
        for row in range(count):
            out[row] = _word_at(pages, at + row * size, size)
        state[VALUES + AT] = at + count * size
        return READ
    done = 0
    while done < count:
        stop = min(count, done + _BLOCK)
        block = codes[: stop - done]
        if not _read_codes(pages, state, block):
            return TOO_FEW_VALUES
        if not _look_up(dictionary, is_code, block, out[done:stop]):
            return UNKNOWN_CODES
        done = stop
    return READ


@kernel
def _read_chosen(
    pages: UInt8Array,
    is_coded: bool,
    state: Int64Array,
    dictionary: Any,
    is_code: bool,
    count: int,
    chosen: Int32Array,
    base: int,
    codes: UInt32Array,
    out: Any,
) -> int:
    """Pass the next ``count`` values that are not NULL and read those that are ``chosen``, places from ``base`` on."""
    if not is_coded:
        at, size = state[VALUES + AT], out.itemsize
        if at + count * size > state[VALUES_END]:
            return TOO_FEW_VALUES
        for row in range(chosen.shape[0]):
            out[row] = _word_at(pages, at + (chosen[row] - base) * size, size)
        state[VALUES + AT] = at + count * size
        return READ
    values = state[VALUES : VALUES + STATE_SIZE]
    found = codes[: chosen.shape[0]]
    if not read_chosen_runs(pages, state[VALUES_END], state[WIDTH], values, count, chosen, base, found):
        return TOO_FEW_VALUES
    return READ if _look_up(dictionary, is_code, found, out) else UNKNOWN_CODES


@kernel
def _value_places(
    levels: UInt8Array, depth: int, chosen: Int32Array, base: int, kept: UInt8Array, places: Int32Array
) -> int:
    """Find the chosen rows among the values: write their levels, shape (chosen,), and the places of their values.

    Return the number of places.
    """
    row = before = found = 0
    for number in range(chosen.shape[0]):
        stop = chosen[number] - base
        while row < stop:
            before += levels[row] == depth
            row += 1
        kept[number] = levels[row]
        if levels[row] == depth:
            places[found] = before
            found += 1
    return found


@kernel
def _read_part(
    pages: UInt8Array,
    is_coded: bool,
    state: Int64Array,
    rows: int,
    depth: int,
    dictionary: Any,
    is_code: bool,
    chosen: Int32Array,
    base: int,
    takes_all: bool,
    codes: UInt32Array,
    scratch: UInt8Array,
    out: Any,
    levels: UInt8Array,
) -> int:
    """Read rows of the current page."""
    count = rows
    found_levels = levels if takes_all else scratch[:rows]
    if depth > 0:
        count = _read_levels(pages, state, depth, found_levels)
        if count < 0:
            return TOO_FEW_LEVELS
        state[NULLS] += rows - count
    if takes_all:
        result = _read_all(pages, is_coded, state, dictionary, is_code, codes, out[:count])
        if result == READ and count < rows:
            spread_values(out, levels, depth, count, 0)
        return result
    if count == rows:
        if depth > 0:
            levels[:] = depth
        return _read_chosen(pages, is_coded, state, dictionary, is_code, count, chosen, base, codes, out)
    places = np.empty(chosen.shape[0], dtype=np.int32)
    found = _value_places(found_levels, depth, chosen, base, levels, places)
    result = _read_chosen(
        pages, is_coded, state, dictionary, is_code, count, places[:found], 0, codes, out[:found]
    )
    if result == READ:
        spread_values(out, levels, depth, found, 0)
    return result


@kernel
def read_values(
    pages: UInt8Array,
    table: Any,
    places: Int64Array,
    state: Int64Array,
    rows: int,
    depth: int,
    dictionary: Any,
    is_code: bool,
    chosen: Int32Array,
    takes_all: bool,
    out: Any,
    levels: UInt8Array,
    repetitions: UInt8Array,
) -> int:
    """Read the next ``rows`` rows, all of them or those ``chosen``, ascending places; return :data:`READ` or an error.

    ``pages``: uint8, eight bytes follow the last page. ``state``: int64, shape (:data:`COLUMN_STATE_SIZE`,), zeros at
    the first row. ``dictionary`` and ``out``: uint32 or uint64, shape (values,) and (rows or chosen,); if ``is_code``,
    the codes are the values. ``levels``: as long if ``depth`` is more than 0, else unused; without a value, 0 is
    written. ``repetitions``: shape (rows,) if the leaf is repeated, of which all rows are read, else empty.
    """
    codes = np.empty(_BLOCK if takes_all else chosen.shape[0], dtype=np.uint32)
    scratch = np.empty(rows if depth > 0 and not takes_all else 0, dtype=np.uint8)
    is_repeated = repetitions.shape[0] > 0
    state[NULLS] = 0
    done = filled = 0
    while done < rows:
        if state[PAGE] == table.shape[0]:
            return TOO_FEW_PAGES
        page, place = table[state[PAGE]], places[state[PAGE]]
        part = min(page[NUM_VALUES] - state[ROWS_READ], rows - done)
        stop = done + part if takes_all else filled + np.searchsorted(chosen[filled:], done + part)
        if place < 0 and stop > filled:
            return TOO_FEW_PAGES
        if place >= 0 and part > 0:
            result = _open_page(pages, page, place, depth, is_repeated, state) if state[ROWS_READ] == 0 else READ
            if result == READ and is_repeated:
                if not _read_repetitions(pages, state, repetitions[done : done + part]):
                    result = TOO_FEW_LEVELS
            if result == READ:
                result = _read_part(
                    pages,
                    page[ENCODING] != _PLAIN,
                    state,
                    part,
                    depth,
                    dictionary,
                    is_code,
                    chosen[filled:stop] if not takes_all else chosen,
                    done,
                    takes_all,
                    codes,
                    scratch,
                    out[filled:stop],
                    levels[filled:stop] if depth > 0 else levels,
                )
            if result != READ:
                return result
        done += part
        filled = stop
        _pass(state, part, page[NUM_VALUES])
    return READ


@kernel
def _pass(state: Int64Array, rows: int, rows_of_page: int) -> None:
    """Count rows of the current page that were read."""
    state[ROWS_READ] += rows
    if state[ROWS_READ] == rows_of_page:
        state[PAGE] += 1
        state[ROWS_READ] = 0


@kernel
def _keep_codes(codes: UInt32Array, accepted: UInt8Array, mask: UInt8Array) -> None:
    """Clear the mask, shape (rows,), of the rows whose code is not accepted."""
    for row in range(mask.shape[0]):
        mask[row] &= accepted[codes[row]]


@kernel
def keep_accepted(
    pages: UInt8Array,
    table: Any,
    places: Int64Array,
    state: Int64Array,
    rows: int,
    depth: int,
    accepted: UInt8Array,
    mask: UInt8Array,
) -> int:
    """Clear the mask of those of the next ``rows`` rows whose value of the dictionary is not accepted.

    Like :func:`read_values`, for pages that are all encoded by a dictionary and have places. ``accepted``: 1 or 0 for
    each value of the dictionary, then for NULL.
    """
    size = accepted.shape[0] - 1
    codes = np.empty(_BLOCK, dtype=np.uint32)
    levels = np.empty(_BLOCK if depth > 0 else 0, dtype=np.uint8)
    done = 0
    while done < rows:
        if state[PAGE] == table.shape[0]:
            return TOO_FEW_PAGES
        page = table[state[PAGE]]
        part = min(page[NUM_VALUES] - state[ROWS_READ], rows - done, _BLOCK)
        if part > 0:
            if state[ROWS_READ] == 0:
                result = _open_page(pages, page, places[state[PAGE]], depth, False, state)
                if result != READ:
                    return result
            count = _read_levels(pages, state, depth, levels[:part]) if depth > 0 else part
            if count < 0:
                return TOO_FEW_LEVELS
            if not _read_codes(pages, state, codes[:count]):
                return TOO_FEW_VALUES
            if not _are_below(codes[:count], size):
                return UNKNOWN_CODES
            if count < part:
                spread_values(codes, levels[:part], depth, count, size)
            _keep_codes(codes, accepted, mask[done : done + part])
        done += part
        _pass(state, part, page[NUM_VALUES])
    return READ


@kernel
def divide_slots(
    repetitions: UInt8Array,
    levels: UInt8Array,
    depth: int,
    rows: int,
    values: Any,
    element_levels: UInt8Array,
    row_levels: UInt8Array,
    ends: Int32Array,
) -> int:
    """Divide the first slots, shape (slots,) of them, into ``rows`` rows; return the number of slots, −1 if too few.

    A slot with a definition level of at least ``depth`` has an element, and the slots of a row without elements are
    one. The elements' ``values`` and ``element_levels``, shape (slots,), come first in these arrays. ``row_levels``,
    shape (rows,): that of one slot of each row, which says what is there above the elements. ``ends``, shape (rows,):
    the number of elements up to the end of each row.
    """
    row, found = -1, 0
    slots = repetitions.shape[0]
    for slot in range(slots):
        row += repetitions[slot] == 0
        if row == rows:
            return slot
        if row < 0:
            return -1
        level = levels[slot]
        values[found] = values[slot]
        element_levels[found] = level
        found += level >= depth
        row_levels[row] = level
        ends[row] = found
    return slots if row + 1 == rows else -1
