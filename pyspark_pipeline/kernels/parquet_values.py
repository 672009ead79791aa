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
    VALUES_BEFORE_END,
    pass_equal,
    read_chosen_runs,
    read_runs,
    read_short_runs,
)
from pyspark_pipeline.kernels.row_ranges import keep_codes
from pyspark_pipeline.kernels.snappy import decompress_words
from pyspark_pipeline.kernels.words import count_ones, load_word, store_word

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
_LENGTH_BYTES, _WORD_BYTES = 4, 8
_MOST_BITS = 32
_UNITS, _LOW_BITS, _SIGN_BITS = 0x0101010101010101, 0x7F7F7F7F7F7F7F7F, 0x8080808080808080
_GATHER = 0x0102040810204080  # brings the lowest bits of a word's bytes to the highest byte
_SPARSE = 8  # of so many rows one is chosen at most where packed codes are unpacked one at a time
_SPACE = 24  # bytes after a page that kernels may write or read
_BLOCK = 2048  # codes that are read at once, so that they stay in a core's nearest cache


@kernel
def _bytes_of_levels(page: Int64Array) -> int:
    """Return the number of bytes of a page that are levels which are not compressed."""
    return page[REPETITION_BYTES] + page[LEVEL_BYTES] if page[KIND] == DATA_PAGE_V2 else 0


@kernel
def place_pages(
    table: Any, first: int, is_begun: bool, row: int, rows: int, chosen: Int32Array, is_all: bool, places: Int64Array
) -> tuple[int, int]:
    """Write the places of the pages of the next ``rows`` rows, from row ``first`` of the table on, and −1 for others.

    ``row``: the first of the next rows, ``chosen`` those of them that are read, ascending, unless ``is_all``. A page
    without chosen rows gets a place only if it has rows after the next ones, or if ``is_begun`` and it is the first.
    The values of a page begin at a multiple of eight. Return the row of the table after the last page of the next rows,
    and the bytes of all places.
    """
    end, size, before = row + rows, 0, 0
    places[:] = -1
    for number in range(first, table.shape[0]):
        page_end = table[number, VALUES_BEFORE_END]
        count = 0 if is_all else np.searchsorted(chosen, page_end - row)
        if is_all or count > before or page_end > end or (is_begun and number == first):
            levels = _bytes_of_levels(table[number])
            places[number] = ((size + levels + 7) & ~7) - levels
            size = places[number] + table[number, SIZE] + _SPACE
        before = count
        if page_end >= end:
            return number + 1, size
    return table.shape[0], size


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
        levels = _bytes_of_levels(table[page])
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
def _level_bits(depth: int) -> int:
    """Return the number of bits of a level up to ``depth``."""
    bits = 1
    while depth >> bits:
        bits += 1
    return bits


@kernel
def _read_levels(pages: UInt8Array, state: Int64Array, depth: int, levels: UInt8Array) -> int:
    """Read the definition levels of the next rows; return how many rows have a value, −1 if levels are missing."""
    reader, rows, width = state[LEVELS : LEVELS + STATE_SIZE], levels.shape[0], _level_bits(depth)
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
def _count_equal(levels: UInt8Array, depth: int) -> int:
    """Return how many levels are ``depth``."""
    count = np.int64(0)
    for row in range(levels.shape[0]):
        count += levels[row] == depth
    return count


@kernel
def _are_below(codes: UInt32Array, size: int) -> bool:
    """Return whether all codes are less than ``size``."""
    largest = np.uint32(0)
    for row in range(codes.shape[0]):
        largest = max(largest, codes[row])
    return largest < size or codes.shape[0] == 0


@kernel
def _read_known_codes(pages: UInt8Array, state: Int64Array, size: int, codes: UInt32Array) -> int:
    """Read the next codes, of a dictionary of ``size`` values."""
    if not _read_codes(pages, state, codes):
        return TOO_FEW_VALUES
    return READ if _are_below(codes, size) else UNKNOWN_CODES


@kernel
def _pass_plain(state: Int64Array, count: int, size: int) -> int:
    """Pass the next values of a plain page, of ``size`` bytes each; return where they begin, −1 if there are fewer."""
    at = state[VALUES + AT]
    if at + count * size > state[VALUES_END]:
        return -1
    state[VALUES + AT] = at + count * size
    return at


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
def _copy_values(pages: UInt8Array, at: int, out: Any) -> None:
    """Copy the values of a plain page from ``at`` on, shape (rows,)."""
    source, target = np.uint64(pages.ctypes.data) + np.uint64(at), np.uint64(out.ctypes.data)
    step, size = np.uint64(_WORD_BYTES), np.uint64(out.shape[0] * out.itemsize)
    whole = size & ~(step - np.uint64(1))
    for byte in range(np.uint64(0), whole, step):
        store_word(target + byte, load_word(source + byte))
    if whole < size:
        out[out.shape[0] - 1] = load_word(source + whole)


@kernel
def _spread_plain(pages: UInt8Array, at: int, levels: UInt8Array, depth: int, out: Any) -> None:
    """Write the values of a plain page from ``at`` on to the rows of level ``depth``, shape (rows,), to others 0."""
    start, size = np.uint64(pages.ctypes.data) + np.uint64(at), np.uint64(out.itemsize)
    place, zero = np.uint64(0), np.uint64(0)
    for row in range(levels.shape[0]):
        has_value = np.uint64(levels[row] == depth)
        out[row] = load_word(start + place * size) & (zero - has_value)
        place += has_value


@kernel
def _spread_codes(
    codes: UInt32Array, dictionary: Any, is_code: bool, levels: UInt8Array, depth: int, out: Any
) -> None:
    """Write the values of codes, or these, to the rows of level ``depth``, shape (rows,), to others 0."""
    place, zero = np.uint64(0), np.uint64(0)
    for row in range(levels.shape[0]):
        has_value = np.uint64(levels[row] == depth)
        code = np.uint64(codes[place])
        out[row] = (code if is_code else np.uint64(dictionary[code])) & (zero - has_value)
        place += has_value


@kernel
def _read_nullable(
    pages: UInt8Array,
    is_coded: bool,
    state: Int64Array,
    dictionary: Any,
    is_code: bool,
    count: int,
    levels: UInt8Array,
    depth: int,
    codes: UInt32Array,
    out: Any,
) -> int:
    """Read the next rows, ``count`` of which, those of level ``depth``, have a value; write 0 for the others."""
    if count == 0:
        out[:] = 0
        return READ
    if not is_coded:
        at = _pass_plain(state, count, out.itemsize)
        if at < 0:
            return TOO_FEW_VALUES
        _spread_plain(pages, at, levels, depth, out)
        return READ
    if dictionary.shape[0] == 0:
        return UNKNOWN_CODES
    for begin in range(0, out.shape[0], _BLOCK):
        block = levels[begin : begin + _BLOCK]
        result = _read_known_codes(pages, state, dictionary.shape[0], codes[: _count_equal(block, depth)])
        if result != READ:
            return result
        _spread_codes(codes, dictionary, is_code, block, depth, out[begin : begin + _BLOCK])
    return READ


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
    """Read the next values, of rows without NULLs, shape (values,)."""
    count = out.shape[0]
    if not is_coded:
        at = _pass_plain(state, count, out.itemsize)
        if at < 0:
            return TOO_FEW_VALUES
        _copy_values(pages, at, out)
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
def _rank_rows(levels: UInt8Array, depth: int, words: UInt64Array, ranks: Int64Array) -> None:
    """Find the rows of level ``depth``: write a bit for each row, and how many there are before each word's rows.

    ``levels``: shape (64 * words,); none if all rows are.
    """
    if levels.shape[0] == 0:
        for number in range(words.shape[0]):
            words[number], ranks[number] = ~np.uint64(0), 64 * number
        return
    start, low, high = np.uint64(levels.ctypes.data), np.uint64(_LOW_BITS), np.uint64(_SIGN_BITS)
    wanted, before = np.uint64(depth) * np.uint64(_UNITS), np.uint64(0)
    for number in range(words.shape[0]):
        word = np.uint64(0)
        for byte in range(_WORD_BYTES):
            eight = load_word(start + np.uint64(64 * number + 8 * byte)) ^ wanted
            are_equal = ~(((eight & low) + low) | eight | low) & high
            word |= ((are_equal >> np.uint64(7)) * np.uint64(_GATHER) >> np.uint64(56)) << np.uint64(8 * byte)
        words[number] = word
        ranks[number] = before
        before += count_ones(word)


@kernel
def _read_chosen_of(
    pages: UInt8Array,
    is_coded: bool,
    at: int,
    dictionary: Any,
    is_code: bool,
    codes: UInt32Array,
    chosen: Int32Array,
    base: int,
    levels: UInt8Array,
    words: UInt64Array,
    ranks: Int64Array,
    out: Any,
    out_levels: UInt8Array,
) -> None:
    """Write the values of the chosen rows of a block, which begins at the place ``base``; 0 for NULL."""
    start, size = np.uint64(pages.ctypes.data) + np.uint64(at), np.uint64(out.itemsize)
    zero, one = np.uint64(0), np.uint64(1)
    for number in range(chosen.shape[0]):
        row = np.uint64(chosen[number] - base)
        word, bit = words[row >> np.uint64(6)], row & np.uint64(63)
        place = np.uint64(ranks[row >> np.uint64(6)]) + count_ones(word & ((one << bit) - one))
        has_value = (word >> bit) & one
        if is_coded:
            code = np.uint64(codes[place])
            value = code if is_code else np.uint64(dictionary[code])
        else:
            value = load_word(start + place * size)
        out[number] = value & (zero - has_value)
        if out_levels.shape[0]:
            out_levels[number] = levels[row]


@kernel
def _read_chosen_values(
    pages: UInt8Array,
    is_coded: bool,
    state: Int64Array,
    count: int,
    dictionary: Any,
    is_code: bool,
    chosen: Int32Array,
    base: int,
    codes: UInt32Array,
    out: Any,
) -> int:
    """Pass the next ``count`` values, of rows without NULLs, and read those that are ``chosen``, at most 2048 codes."""
    if not is_coded:
        at, size = _pass_plain(state, count, out.itemsize), out.itemsize
        if at < 0:
            return TOO_FEW_VALUES
        start = np.uint64(pages.ctypes.data) + np.uint64(at)
        for number in range(chosen.shape[0]):
            out[number] = load_word(start + np.uint64((chosen[number] - base) * size))
        return READ
    reader, found = state[VALUES : VALUES + STATE_SIZE], codes[: chosen.shape[0]]
    if not read_chosen_runs(pages, state[VALUES_END], state[WIDTH], reader, count, chosen, base, found):
        return TOO_FEW_VALUES
    return READ if _look_up(dictionary, is_code, found, out) else UNKNOWN_CODES


@kernel
def _read_chosen(
    pages: UInt8Array,
    is_coded: bool,
    state: Int64Array,
    rows: int,
    depth: int,
    dictionary: Any,
    is_code: bool,
    chosen: Int32Array,
    base: int,
    codes: UInt32Array,
    levels: UInt8Array,
    out: Any,
    out_levels: UInt8Array,
) -> int:
    """Pass the next rows of the current page and read those that are ``chosen``, places from ``base`` on.

    ``levels``: shape (:data:`_BLOCK`,), to be overwritten.
    """
    has_levels = depth > 0 and not pass_equal(
        pages, state[LEVELS_END], _level_bits(depth), state[LEVELS : LEVELS + STATE_SIZE], depth, rows
    )
    if not has_levels:
        out_levels[:] = depth
        if not is_coded or (chosen.shape[0] <= _BLOCK and chosen.shape[0] * _SPARSE < rows):
            return _read_chosen_values(
                pages, is_coded, state, rows, dictionary, is_code, chosen, base, codes, out
            )
    words, ranks = np.empty(_BLOCK >> 6, dtype=np.uint64), np.empty(_BLOCK >> 6, dtype=np.int64)
    filled, are_ranked = 0, False
    levels[:] = depth
    for begin in range(0, rows, _BLOCK):
        part = min(rows - begin, _BLOCK)
        stop = filled + np.searchsorted(chosen[filled:], base + begin + part)
        count = _read_levels(pages, state, depth, levels[:part]) if has_levels else part
        if count < 0:
            return TOO_FEW_LEVELS
        state[NULLS] += part - count
        if stop == filled:
            result = _read_chosen_values(
                pages, is_coded, state, count, dictionary, is_code, chosen[:0], 0, codes, out[:0]
            )
            if result != READ:
                return result
            continue
        at = 0
        if is_coded:
            result = _read_known_codes(pages, state, dictionary.shape[0], codes[:count])
            if result != READ:
                return result
        else:
            at = _pass_plain(state, count, out.itemsize)
            if at < 0:
                return TOO_FEW_VALUES
        if count == 0:
            out[filled:stop] = 0
            out_levels[filled:stop] = levels[chosen[filled:stop] - (base + begin)]
        else:
            if count < part or not are_ranked:
                _rank_rows(levels if count < part else levels[:0], depth, words, ranks)
                are_ranked = count == part
            _read_chosen_of(
                pages,
                is_coded,
                at,
                dictionary,
                is_code,
                codes,
                chosen[filled:stop],
                base + begin,
                levels,
                words,
                ranks,
                out[filled:stop],
                out_levels[filled:stop],
            )
        filled = stop
    return READ


@kernel
def _read_rows(
    pages: UInt8Array,
    is_coded: bool,
    state: Int64Array,
    rows: int,
    depth: int,
    dictionary: Any,
    is_code: bool,
    codes: UInt32Array,
    out: Any,
    levels: UInt8Array,
) -> int:
    """Read the next rows of the current page."""
    count = rows
    if depth > 0:
        count = _read_levels(pages, state, depth, levels)
        if count < 0:
            return TOO_FEW_LEVELS
        state[NULLS] += rows - count
    if count == rows:
        return _read_all(pages, is_coded, state, dictionary, is_code, codes, out)
    return _read_nullable(pages, is_coded, state, dictionary, is_code, count, levels, depth, codes, out)


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
    codes = np.zeros(_BLOCK + 1, dtype=np.uint32)
    scratch = np.empty(0 if takes_all else _BLOCK, dtype=np.uint8)
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
                is_coded, found = page[ENCODING] != _PLAIN, out[filled:stop]
                found_levels = levels[filled:stop] if depth > 0 else levels
                if takes_all:
                    result = _read_rows(
                        pages, is_coded, state, part, depth, dictionary, is_code, codes, found, found_levels
                    )
                else:
                    result = _read_chosen(
                        pages,
                        is_coded,
                        state,
                        part,
                        depth,
                        dictionary,
                        is_code,
                        chosen[filled:stop],
                        done,
                        codes,
                        scratch,
                        found,
                        found_levels,
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
def _codes_of_rows(codes: UInt32Array, levels: UInt8Array, depth: int, null: int, out: UInt32Array) -> None:
    """Write the codes to the rows of level ``depth``, shape (rows,), and ``null`` to others."""
    place = np.uint64(0)
    for row in range(levels.shape[0]):
        has_value = levels[row] == depth
        out[row] = codes[place] if has_value else np.uint32(null)
        place += np.uint64(has_value)


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
    codes = np.zeros(_BLOCK + 1, dtype=np.uint32)
    codes_of_rows = np.empty(_BLOCK if depth > 0 else 0, dtype=np.uint32)
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
            result = _read_known_codes(pages, state, size, codes[:count])
            if result != READ:
                return result
            if count < part:
                _codes_of_rows(codes, levels[:part], depth, size, codes_of_rows)
                keep_codes(codes_of_rows, accepted, mask[done : done + part])
            else:
                keep_codes(codes, accepted, mask[done : done + part])
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
