"""Decodes the pages of leaves with kernels; pyarrow reads whatever this module does not know.

Known are leaves of numbers of four or eight bytes, decimals among them, and texts whose pages are all encoded by a
dictionary, which stay so; NULLs; plain pages and those encoded by a dictionary, of both versions; leaves of nested
columns below at most one repeated field, with their levels. Half of pyarrow's time for flat columns is Snappy's, a
quarter are the codes; for a list it is mostly the levels.

A page that is known by its header, but damaged, raises ``ArrowInvalid``.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_pipeline.expressions.unscaled import widened
from pyspark_pipeline.kernels import compile_cache, kernel_cache, row_ranges
from pyspark_pipeline.kernels import parquet_pages as page_kernels
from pyspark_pipeline.kernels import parquet_values as value_kernels
from pyspark_pipeline.kernels.arrays import Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate, pack_validity
from pyspark_pipeline.kernels.snappy import decompress_words

_WIDTHS = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
_WORDS: dict[int, type[np.generic]] = {4: np.uint32, 8: np.uint64}
_INTEGERS = {4: pa.int32(), 8: pa.int64()}
_CODECS = {"UNCOMPRESSED": None, "SNAPPY": "snappy", "GZIP": "gzip", "ZSTD": "zstd"}
_CODE_BYTES = 4
_MOST_PAGES = 1 << 16
_MOST_BYTES = 1 << 30  # of a column in a row group; pyarrow reads larger ones
_LENGTH_BYTES = 4
_MOST_LEVELS = 127
_NO_PLACES = np.empty(0, dtype=np.int64)
_NO_ROWS, _NO_LEVELS = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)

_KERNELS = (
    page_kernels.read_page_headers,
    page_kernels.form_of,
    page_kernels.text_ends,
    page_kernels.copy_texts,
    value_kernels.place_pages,
    value_kernels.decompress_pages,
    value_kernels.read_values,
    value_kernels.keep_accepted,
    value_kernels.divide_slots,
    decompress_words,
    row_ranges.widen_ints,
    row_ranges.widen_longs,
)

_DAMAGES = {
    value_kernels.TOO_FEW_LEVELS: "it has too few levels",
    value_kernels.TOO_FEW_VALUES: "it has too few values",
    value_kernels.WIDE_CODES: "its codes have too many bits",
    value_kernels.UNKNOWN_CODES: "its codes are not those of the dictionary",
}


def is_compiled() -> bool:
    """Return whether no scan has to wait for a kernel to be compiled; until then pyarrow reads all pages."""
    return kernel_cache.are_loaded(_KERNELS) or compile_cache.is_complete()


def is_known(column: pq.ColumnSchema, shown: pa.DataType) -> bool:
    """Return whether the values of a leaf may be read here; ``shown`` is pyarrow's type for it."""
    if column.max_repetition_level > 1 or column.max_definition_level > _MOST_LEVELS:
        return False
    if column.physical_type == "BYTE_ARRAY":
        return bool(shown in (pa.string(), pa.string_view()))
    width = _WIDTHS.get(column.physical_type)
    if pa.types.is_decimal128(shown):
        return column.physical_type in ("INT32", "INT64")
    return width is not None and pa.types.is_primitive(shown) and bool(shown.bit_width == 8 * width)


def open_pages(
    file: int, column: pq.ColumnChunkMetaData, shown: pa.DataType, depth: int, is_repeated: bool = False
) -> ColumnPages | None:
    """Read the bytes of a column chunk from an open file; None if pyarrow must read it, for the form of its pages.

    The leaf is known (:func:`is_known`), texts become dictionaries of int32. ``depth``: its maximal definition level.
    Raise ``ArrowInvalid`` if the file is too short.
    """
    start, size = column.data_page_offset, column.total_compressed_size
    if column.compression not in _CODECS or column.file_path or not 0 <= size <= _MOST_BYTES:
        return None
    if column.dictionary_page_offset is not None and column.dictionary_page_offset > 0:
        start = min(start, column.dictionary_page_offset)
    data = allocate(size + page_kernels.PADDING, np.uint8)
    data[size:] = 0
    done = 0
    while done < size:
        count = os.preadv(file, [data[done:size].data], start + done)
        if not count:
            raise pa.ArrowInvalid(f"the file ends in column {column.path_in_schema}")
        done += count
    table = _page_table(data, size, column.num_values)
    width = _WIDTHS.get(column.physical_type)
    if table is None:
        return None
    form = page_kernels.form_of(table, depth > 0, is_repeated, width is None)
    if form == page_kernels.UNKNOWN:
        return None
    is_coded = form == page_kernels.CODED
    return ColumnPages(data, table, is_coded, column.compression, depth, is_repeated, width, shown)


def _page_table(data: UInt8Array, size: int, values: int) -> Int64Array | None:
    rows = 64
    while rows <= _MOST_PAGES:
        table = np.zeros((rows, page_kernels.TABLE_COLUMNS), dtype=np.int64)
        pages = page_kernels.read_page_headers(data, size, values, table)
        if pages >= 0:
            return table[:pages]
        rows *= 32
    return None


def _damaged(why: str) -> pa.ArrowInvalid:
    return pa.ArrowInvalid(f"a page is damaged: {why}")


class ColumnPages:
    """The values of a column chunk, in the order of the file. Not for several threads.

    ``table`` is a table of pages of the bytes ``data``, which ``codec`` compressed; ``is_coded``: whether the values of
    all are in the dictionary. ``depth`` is the definition level of a value; a leaf that ``is_repeated`` has slots
    instead of rows
    (:mod:`~pyspark_pipeline.kernels.parquet_values`). ``width`` is the number of bytes of a value, None for texts,
    ``shown`` the type of the arrays.
    """

    def __init__(
        self,
        data: UInt8Array,
        table: Int64Array,
        is_coded: bool,
        codec: str,
        depth: int,
        is_repeated: bool,
        width: int | None,
        shown: pa.DataType,
    ) -> None:
        self._data = data
        self._codec = codec
        name = _CODECS[codec]
        self._library = pa.Codec(name) if name is not None and name != "snappy" else None  # has a state of its own
        self.depth = depth
        self._is_repeated = is_repeated
        self._is_text = width is None
        self._shown = shown
        self._unscaled = _INTEGERS[width] if width and pa.types.is_decimal128(shown) else None
        self._dtype = np.dtype(_WORDS[width or _CODE_BYTES])
        has_dictionary = bool(len(table)) and table[0, page_kernels.KIND] == page_kernels.DICTIONARY_PAGE
        self._dictionary_page: list[int] | None = table[0].tolist() if has_dictionary else None
        self._table = table[1:] if has_dictionary else table
        self._row = 0  # the next one
        self._state = np.zeros(value_kernels.COLUMN_STATE_SIZE, dtype=np.int64)
        self._bytes, self._places = data, _NO_PLACES
        self._loaded = 0  # the pages before this one have places, unless they were read
        if codec == "UNCOMPRESSED":
            if np.any(self._table[:, page_kernels.SIZE] != self._table[:, page_kernels.STORED_SIZE]):
                raise _damaged("its size is wrong")
            self._places, self._loaded = self._table[:, page_kernels.START].copy(), len(self._table)
        #: Whether all values are in the dictionary.
        self.is_coded = is_coded
        #: The number of rows, or of slots.
        self.num_rows = int(self._table[-1, page_kernels.VALUES_BEFORE_END]) if len(self._table) else 0
        #: Tests and the values of the dictionary that they accept, see :meth:`keep_accepted`.
        self.accepted: dict[object, UInt8Array | None] = {}

    @property
    def dictionary_size(self) -> int:
        """The number of values in the dictionary."""
        return 0 if self._dictionary_page is None else self._dictionary_page[page_kernels.NUM_VALUES]

    @cached_property
    def longest_text(self) -> int:
        """The bytes of the longest text of the dictionary; 0 for numbers."""
        if not self._is_text or not len(self._dictionary):
            return 0
        return int(np.diff(np.frombuffer(self._dictionary.buffers()[1], dtype=np.int32)).max())

    @property
    def item_bytes(self) -> int:
        """The bytes of a value, or of the code of a text, as :meth:`read_slots` writes them: 4 or 8."""
        return self._dtype.itemsize

    def read(self, rows: int, chosen: Int32Array | None = None) -> pa.Array:
        """Return the next ``rows`` rows, or those of them that are ``chosen``, ascending places, shape (chosen,)."""
        return self.read_with_levels(rows, chosen)[0]

    def read_with_levels(self, rows: int, chosen: Int32Array | None = None) -> tuple[pa.Array, UInt8Array]:
        """Like :meth:`read`, and return the definition levels of the rows, empty if all have values."""
        count = rows if chosen is None else chosen.size
        buffer = pa.allocate_buffer(count * self._dtype.itemsize)
        levels = np.empty(count, dtype=np.uint8) if self.depth else _NO_LEVELS
        self._read(rows, chosen, np.frombuffer(buffer, dtype=self._dtype), levels, _NO_LEVELS)
        if not self._state[value_kernels.NULLS]:
            levels = _NO_LEVELS
        return self.array(buffer, count, levels), levels

    def read_slots(self, slots: int, out: UInt8Array, levels: UInt8Array, repetitions: UInt8Array) -> None:
        """Write the next slots of a repeated leaf: values, shape (slots * item_bytes,), and levels, shape (slots,)."""
        self._read(slots, None, out.view(self._dtype), levels, repetitions)

    def divide(
        self, slots: tuple[UInt8Array, UInt8Array, UInt8Array], depth: int, rows: int
    ) -> tuple[int, UInt8Array, UInt8Array, Int32Array]:
        """Divide slots, as :meth:`read_slots` writes them, into rows; the values of the elements come first then.

        ``depth``: the definition level of an element. Return the number of slots of the rows, the definition levels of
        the elements and of the rows, and the ends of the rows among the elements, shape (rows,).
        """
        out, levels, repetitions = slots
        element_levels, row_levels = np.empty_like(levels), np.empty(rows, dtype=np.uint8)
        ends = np.empty(rows, dtype=np.int32)
        read = value_kernels.divide_slots(
            repetitions, levels, depth, rows, out.view(self._dtype), element_levels, row_levels, ends
        )
        if read < 0:
            raise _damaged("its levels are not those of as many rows")
        return read, element_levels[: ends[-1] if rows else 0], row_levels, ends

    def _read(
        self,
        rows: int,
        chosen: Int32Array | None,
        out: Array,
        levels: UInt8Array,
        repetitions: UInt8Array,
    ) -> None:
        self._load(rows, chosen)
        result = value_kernels.read_values(
            self._bytes,
            self._table,
            self._places,
            self._state,
            rows,
            self.depth,
            self._values_of_codes() if out.size else np.empty(0, dtype=self._dtype),
            self._is_text,
            _NO_ROWS if chosen is None else chosen,
            chosen is None,
            out,
            levels,
            repetitions,
        )
        self._check(result)
        self._row += rows

    def keep_accepted(self, rows: int, accepted: UInt8Array, mask: UInt8Array) -> None:
        """Clear the mask of those of the next ``rows`` rows whose value is not accepted; the rows stay the next ones.

        All values are in the dictionary. ``accepted``: 1 or 0 for each value of :meth:`values`.
        """
        passed = np.count_nonzero(accepted)
        if passed == accepted.size:
            return
        if not passed:
            mask.fill(0)
            return
        self._load(rows, None)
        state = self._state.copy()
        self._check(
            value_kernels.keep_accepted(
                self._bytes, self._table, self._places, state, rows, self.depth, accepted, mask
            )
        )

    def values(self) -> pa.Array:
        """Return the values of the dictionary and NULL, as an array of the type that :meth:`read` returns."""
        known = self._values_of_codes()
        values = np.zeros(known.size + 1, dtype=self._dtype)
        values[:-1] = np.arange(known.size) if self._is_text else known
        bits = np.full((known.size >> 3) + 1, 255, dtype=np.uint8)
        bits[-1] = (1 << (known.size & 7)) - 1
        return self._array(pa.py_buffer(values), values.size, pa.py_buffer(bits), 1)

    def array(self, buffer: pa.Buffer, count: int, levels: UInt8Array) -> pa.Array:
        """Return an array of the first ``count`` values in ``buffer``, NULL where ``levels``, if any, are not depth."""
        mask, nulls = pack_validity(levels == self.depth) if levels.size else (None, 0)
        return self._array(buffer, count, mask, nulls)

    def _array(self, buffer: pa.Buffer, count: int, mask: pa.Buffer | None, nulls: int) -> pa.Array:
        buffers = [mask, buffer]
        if self._unscaled is not None:
            return widened(pa.Array.from_buffers(self._unscaled, count, buffers, nulls), self._shown)
        if not self._is_text:
            return pa.Array.from_buffers(self._shown, count, buffers, nulls)
        codes = pa.Array.from_buffers(pa.int32(), count, buffers, nulls)
        return pa.DictionaryArray.from_arrays(codes, self._dictionary, safe=False)

    @staticmethod
    def _check(result: int) -> None:
        if result == value_kernels.TOO_FEW_PAGES:
            raise pa.ArrowInvalid("a column has too few pages")
        if result != value_kernels.READ:
            raise _damaged(_DAMAGES[result])

    def _load(self, rows: int, chosen: Int32Array | None) -> None:
        """Decompress the pages of the next rows that have chosen ones, or that are needed beyond them."""
        if self._loaded == len(self._table):
            return
        first, is_begun = int(self._state[value_kernels.PAGE]), bool(self._state[value_kernels.ROWS_READ])
        places, is_all = np.empty(len(self._table), dtype=np.int64), chosen is None
        stop, size = value_kernels.place_pages(
            self._table, first, is_begun, self._row, rows, _NO_ROWS if chosen is None else chosen, is_all, places
        )
        if stop <= self._loaded:
            return
        words = allocate(size // 8 + 1, np.uint64)
        made = words.view(np.uint8)
        if is_begun:  # the first page is there
            old, new = int(self._places[first]), int(places[first])
            count = int(self._table[first, page_kernels.SIZE])
            made[new : new + count] = self._bytes[old : old + count]
            self._move(new - old)
            first += 1
        self._decompress(first, stop, places, words)
        self._bytes, self._places = made, places
        self._loaded = stop if is_all else 0

    def _move(self, by: int) -> None:
        """Change the state for the current page, which is at another place now."""
        for reader in (value_kernels.LEVELS, value_kernels.VALUES, value_kernels.REPETITIONS):
            self._state[reader + page_kernels.AT] += by
            if self._state[reader + page_kernels.BIT] >= 0:
                self._state[reader + page_kernels.BIT] += 8 * by
        self._state[[value_kernels.LEVELS_END, value_kernels.VALUES_END, value_kernels.REPETITIONS_END]] += by

    def _decompress(self, first: int, stop: int, places: Int64Array, words: Array) -> None:
        """Decompress the pages that have places."""
        if self._codec == "SNAPPY":
            if not value_kernels.decompress_pages(self._data, self._table[:stop], first, places, words):
                raise _damaged("it is not compressed by Snappy")
            return
        made = words.view(np.uint8)
        pages: list[list[int]] = self._table[first:stop].tolist()
        for page, place in zip(pages, places[first:stop].tolist(), strict=True):
            if place < 0:
                continue
            is_second = page[page_kernels.KIND] == page_kernels.DATA_PAGE_V2
            levels = page[page_kernels.REPETITION_BYTES] + page[page_kernels.LEVEL_BYTES] if is_second else 0
            start, size = page[page_kernels.START], page[page_kernels.SIZE]
            end = start + page[page_kernels.STORED_SIZE]
            made[place : place + levels] = self._data[start : start + levels]
            if is_second and page[page_kernels.IS_STORED]:
                if end - start != size:
                    raise _damaged("its size is wrong")
                made[place + levels : place + size] = self._data[start + levels : end]
            elif size > levels:
                made[place + levels : place + size] = self._decompressed(start + levels, end, size - levels)

    def _decompressed(self, start: int, stop: int, size: int) -> UInt8Array:
        """Return ``size`` bytes that lie compressed in the column chunk."""
        if self._library is not None:
            return np.frombuffer(self._library.decompress(self._data[start:stop], size), dtype=np.uint8)
        if self._codec == "UNCOMPRESSED":
            if stop - start != size:
                raise _damaged("its size is wrong")
            return self._data[start:stop]
        out = allocate(size // 8 + 3, np.uint64)
        if not decompress_words(self._data, start, stop, out, size):
            raise _damaged("it is not compressed by Snappy")
        return out.view(np.uint8)[:size]

    def _values_of_codes(self) -> Array:
        """Return the values of the dictionary, of texts no values; none if there is no dictionary."""
        return np.empty(len(self._dictionary), dtype=np.uint32) if self._is_text else self._dictionary

    @cached_property
    def _dictionary(self) -> Any:
        page = self._dictionary_page
        if page is None:
            return np.empty(0, dtype=self._dtype)
        start, count = page[page_kernels.START], page[page_kernels.NUM_VALUES]
        data = self._decompressed(start, start + page[page_kernels.STORED_SIZE], page[page_kernels.SIZE])
        if self._is_text:
            return _texts(data, count)
        if data.size < count * self._dtype.itemsize:
            raise _damaged("it has too few values")
        values = np.frombuffer(data, dtype=self._dtype, count=count)
        return values if values.flags.aligned and values.flags.writeable else values.copy()


def _texts(page: UInt8Array, count: int) -> pa.Array:
    """Return the texts of a dictionary page."""
    if page.size < count * _LENGTH_BYTES:
        raise _damaged("it has too few texts")
    ends = np.empty(count, dtype=np.int64)
    end = page_kernels.text_ends(page, 0, ends)
    if end < 0:
        raise _damaged("it has too few texts")
    offsets, data = np.empty(count + 1, dtype=np.int32), np.empty(end - 4 * count, dtype=np.uint8)
    page_kernels.copy_texts(page, 0, ends, offsets, data)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data))
