"""The values of the pages of a Parquet column, read in one call for the rows of a chunk.

A *table of pages* is that of :func:`~.parquet_pages.read_page_headers` without the page of the dictionary. The pages
lie decompressed in an array of bytes, each at its *place*, the levels first; a page without a place is not there, and
none of its rows is read. The *state* of a column says where the next row is.
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
    LEVEL_BYTES,
    NUM_VALUES,
    SIZE,
    START,
    STATE_SIZE,
    STORED_SIZE,
    read_chosen_runs,
    read_runs,
    spread_values,
)
from pyspark_pipeline.kernels.snappy import decompress_words
from pyspark_pipeline.kernels.words import load_word

#: Items of the state of a column: the row of the table of pages, the rows of that page that were read, the bits of a
#: code, the states of the readers of levels and values, and the ends of both.
PAGE, ROWS_READ, WIDTH, LEVELS, VALUES = 0, 1, 2, 3, 3 + STATE_SIZE
LEVELS_END, VALUES_END = VALUES + STATE_SIZE, VALUES + STATE_SIZE + 1
COLUMN_STATE_SIZE = VALUES_END + 1

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
        levels = table[page, LEVEL_BYTES] if table[page, KIND] == DATA_PAGE_V2 else 0
        is_stored = table[page, KIND] == DATA_PAGE_V2 and table[page, IS_STORED]
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
def _open_page(pages: UInt8Array, page: Int64Array, place: int, is_nullable: bool, state: Int64Array) -> int:
    """Go to the first row of a page."""
    at, end = place, place + page[SIZE]
    state[LEVELS : LEVELS + 2 * STATE_SIZE] = 0
    if page[KIND] == DATA_PAGE_V2:
        state[LEVELS + AT] = at
        at += page[LEVEL_BYTES]
        state[LEVELS_END] = at
    elif is_nullable:
        if at + _LENGTH_BYTES > end:
            return TOO_FEW_LEVELS
        length = np.int64(pages[at]) | np.int64(pages[at + 1]) << 8 | np.int64(pages[at + 2]) << 16
        length |= np.int64(pages[at + 3]) << 24
        state[LEVELS + AT] = at + _LENGTH_BYTES
        at += _LENGTH_BYTES + length
        state[LEVELS_END] = at
        if at > end:
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
def _read_levels(pages: UInt8Array, state: Int64Array, levels: UInt8Array) -> int:
    """Read whether the next rows are not NULL; return the count of those, −1 if there are too few levels."""
    found = read_runs(pages, state[LEVELS_END], 1, state[LEVELS : LEVELS + STATE_SIZE], levels)
    if found != 0 and found != 1:
        return -1
    count = 0
    for row in range(levels.shape[0]):
        count += levels[row]
    return count


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
    levels: UInt8Array, chosen: Int32Array, base: int, valid: UInt8Array, places: Int32Array
) -> int:
    """Find the chosen rows among the values that are not NULL: write ``valid``, shape (chosen,), and their places.

    Return the number of places.
    """
    row = before = found = 0
    for number in range(chosen.shape[0]):
        stop = chosen[number] - base
        while row < stop:
            before += levels[row]
            row += 1
        valid[number] = levels[row]
        if levels[row]:
            places[found] = before
            found += 1
    return found


@kernel
def _read_part(
    pages: UInt8Array,
    is_coded: bool,
    state: Int64Array,
    rows: int,
    is_nullable: bool,
    dictionary: Any,
    is_code: bool,
    chosen: Int32Array,
    base: int,
    takes_all: bool,
    codes: UInt32Array,
    levels: UInt8Array,
    out: Any,
    valid: UInt8Array,
) -> int:
    """Read rows of the current page."""
    count = rows
    if is_nullable:
        kept = valid if takes_all else levels[:rows]
        count = _read_levels(pages, state, kept)
        if count < 0:
            return TOO_FEW_LEVELS
    if takes_all:
        result = _read_all(pages, is_coded, state, dictionary, is_code, codes, out[:count])
        if result == READ and count < rows:
            spread_values(out, valid, count, 0)
        return result
    if count == rows:
        if is_nullable:
            valid[:] = 1
        return _read_chosen(pages, is_coded, state, dictionary, is_code, count, chosen, base, codes, out)
    places = np.empty(chosen.shape[0], dtype=np.int32)
    found = _value_places(levels, chosen, base, valid, places)
    result = _read_chosen(
        pages, is_coded, state, dictionary, is_code, count, places[:found], 0, codes, out[:found]
    )
    if result == READ:
        spread_values(out, valid, found, 0)
    return result


@kernel
def read_values(
    pages: UInt8Array,
    table: Any,
    places: Int64Array,
    state: Int64Array,
    rows: int,
    is_nullable: bool,
    dictionary: Any,
    is_code: bool,
    chosen: Int32Array,
    takes_all: bool,
    out: Any,
    valid: UInt8Array,
) -> int:
    """Read the next ``rows`` rows, all of them or those ``chosen``, ascending places; return :data:`READ` or an error.

    ``pages``: uint8, eight bytes follow the last page. ``state``: int64, shape (:data:`COLUMN_STATE_SIZE`,), zeros at
    the first row. ``dictionary`` and ``out``: uint32 or uint64, shape (values,) and (rows or chosen,); if ``is_code``,
    the codes are the values. ``valid``: as long if ``is_nullable``, else unused; the value of a NULL is 0.
    """
    codes = np.empty(_BLOCK if takes_all else chosen.shape[0], dtype=np.uint32)
    levels = np.empty(rows if is_nullable and not takes_all else 0, dtype=np.uint8)
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
            result = _open_page(pages, page, place, is_nullable, state) if state[ROWS_READ] == 0 else READ
            if result == READ:
                result = _read_part(
                    pages,
                    page[ENCODING] != _PLAIN,
                    state,
                    part,
                    is_nullable,
                    dictionary,
                    is_code,
                    chosen[filled:stop] if not takes_all else chosen,
                    done,
                    takes_all,
                    codes,
                    levels,
                    out[filled:stop],
                    valid[filled:stop] if is_nullable else valid,
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
    is_nullable: bool,
    accepted: UInt8Array,
    mask: UInt8Array,
) -> int:
    """Clear the mask of those of the next ``rows`` rows whose value of the dictionary is not accepted.

    Like :func:`read_values`, for pages that are all encoded by a dictionary and have places. ``accepted``: 1 or 0 for
    each value of the dictionary, then for NULL.
    """
    size = accepted.shape[0] - 1
    codes = np.empty(_BLOCK, dtype=np.uint32)
    levels = np.empty(_BLOCK if is_nullable else 0, dtype=np.uint8)
    done = 0
    while done < rows:
        if state[PAGE] == table.shape[0]:
            return TOO_FEW_PAGES
        page = table[state[PAGE]]
        part = min(page[NUM_VALUES] - state[ROWS_READ], rows - done, _BLOCK)
        if part > 0:
            if state[ROWS_READ] == 0:
                result = _open_page(pages, page, places[state[PAGE]], is_nullable, state)
                if result != READ:
                    return result
            count = _read_levels(pages, state, levels[:part]) if is_nullable else part
            if count < 0:
                return TOO_FEW_LEVELS
            if not _read_codes(pages, state, codes[:count]):
                return TOO_FEW_VALUES
            if not _are_below(codes[:count], size):
                return UNKNOWN_CODES
            if count < part:
                spread_values(codes, levels[:part], count, size)
            _keep_codes(codes, accepted, mask[done : done + part])
        done += part
        _pass(state, part, page[NUM_VALUES])
    return READ
