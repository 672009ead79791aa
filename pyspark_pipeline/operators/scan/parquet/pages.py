"""Decodes the pages of flat columns with kernels; pyarrow reads whatever this module does not know.

Known are columns of numbers of four or eight bytes, decimals among them, and texts whose pages are all encoded by a
dictionary, which stay so; NULLs; plain pages and those encoded by a dictionary, of both versions. Half of pyarrow's
time for such columns is Snappy's, a quarter are the codes.

A page that is known by its header, but damaged, raises ``ArrowInvalid``.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_pipeline.expressions.unscaled import widened
from pyspark_pipeline.kernels import compile_cache, kernel_cache, row_ranges
from pyspark_pipeline.kernels import parquet_pages as page_kernels
from pyspark_pipeline.kernels.arrays import Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import pack_validity
from pyspark_pipeline.kernels.snappy import decompress_words

_WIDTHS = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
_WORDS: dict[int, type[np.generic]] = {4: np.uint32, 8: np.uint64}
_INTEGERS = {4: pa.int32(), 8: pa.int64()}
_PLAIN, _RUNS = 0, 3
_DICTIONARY = (2, 8)  # the encoding of Parquet 1 and that of Parquet 2
_CODECS = {"UNCOMPRESSED": None, "SNAPPY": "snappy", "GZIP": "gzip", "ZSTD": "zstd"}
_CODE_BYTES = 4
_MOST_PAGES = 1 << 16
_MOST_BYTES = 1 << 30  # of a column in a row group; pyarrow reads larger ones
_MOST_BITS = 32
_LENGTH_BYTES = 4

_KERNELS = (
    page_kernels.read_page_headers,
    page_kernels.read_runs,
    page_kernels.look_up,
    page_kernels.look_up_rows,
    page_kernels.spread_values,
    page_kernels.text_ends,
    page_kernels.copy_texts,
    decompress_words,
    row_ranges.widen_ints,
    row_ranges.widen_longs,
)

#: Returns the bytes of a page, uint8, of a size; some bytes may follow the stored ones.
_Decompress = Callable[[UInt8Array, int, int, int], UInt8Array]


def is_compiled() -> bool:
    """Return whether no scan has to wait for a kernel to be compiled; until then pyarrow reads all pages."""
    return kernel_cache.are_loaded(_KERNELS) or compile_cache.is_complete()


def is_known(column: pq.ColumnSchema, shown: pa.DataType) -> bool:
    """Return whether the values of a flat column may be read here; ``shown`` is pyarrow's type for it."""
    if column.max_repetition_level or column.max_definition_level > 1:
        return False
    if column.physical_type == "BYTE_ARRAY":
        return bool(shown in (pa.string(), pa.string_view()))
    width = _WIDTHS.get(column.physical_type)
    if pa.types.is_decimal128(shown):
        return column.physical_type in ("INT32", "INT64")
    return width is not None and pa.types.is_primitive(shown) and bool(shown.bit_width == 8 * width)


def open_pages(file: int, column: pq.ColumnChunkMetaData, is_nullable: bool, shown: pa.DataType) -> ColumnPages | None:
    """Read the bytes of a column chunk from an open file; None if pyarrow must read it, for the form of its pages.

    The column is known (:func:`is_known`), texts become dictionaries of int32. Raise ``ArrowInvalid`` if the file is
    too short.
    """
    start, size = column.data_page_offset, column.total_compressed_size
    if column.compression not in _CODECS or column.file_path or not 0 <= size <= _MOST_BYTES:
        return None
    if column.dictionary_page_offset is not None and column.dictionary_page_offset > 0:
        start = min(start, column.dictionary_page_offset)
    data = np.empty(size + page_kernels.PADDING, dtype=np.uint8)
    data[size:] = 0
    done = 0
    while done < size:
        count = os.preadv(file, [data[done:size].data], start + done)
        if not count:
            raise pa.ArrowInvalid(f"the file ends in column {column.path_in_schema}")
        done += count
    table = _page_table(data, size, column.num_values)
    width = _WIDTHS.get(column.physical_type)
    if table is None or not _are_known(table, is_nullable, width is None):
        return None
    words = column.physical_type in ("INT64", "DOUBLE")
    decompress = _decompression(column.compression)
    decompress_values = _decompress_words if words and column.compression == "SNAPPY" else decompress
    return ColumnPages(data, table, decompress, decompress_values, is_nullable, width, shown)


def _page_table(data: UInt8Array, size: int, values: int) -> list[list[int]] | None:
    rows = 64
    while rows <= _MOST_PAGES:
        table = np.zeros((rows, page_kernels.TABLE_COLUMNS), dtype=np.int64)
        pages = page_kernels.read_page_headers(data, size, values, table)
        if pages >= 0:
            found: list[list[int]] = table[:pages].tolist()
            return found
        rows *= 32
    return None


def _are_known(table: Sequence[Sequence[int]], is_nullable: bool, is_text: bool) -> bool:
    """Return whether all pages have a known form."""
    has_dictionary = bool(table) and table[0][page_kernels.KIND] == page_kernels.DICTIONARY_PAGE
    if has_dictionary and table[0][page_kernels.ENCODING] not in (_PLAIN, *_DICTIONARY):
        return False
    if is_text and not has_dictionary:
        return False
    for page in table[has_dictionary:]:
        encoding, kind = page[page_kernels.ENCODING], page[page_kernels.KIND]
        if encoding not in (_DICTIONARY if is_text else (_PLAIN, *_DICTIONARY)):
            return False
        if encoding in _DICTIONARY and not has_dictionary:
            return False
        if kind == page_kernels.DATA_PAGE:
            if is_nullable and page[page_kernels.LEVEL_ENCODING] != _RUNS:
                return False
        elif kind != page_kernels.DATA_PAGE_V2 or page[page_kernels.REPETITION_BYTES]:
            return False
    return True


def _decompression(name: str) -> _Decompress:
    codec = _CODECS[name]
    if codec is None:
        return _stored_bytes
    library = pa.Codec(codec)

    def decompress(data: UInt8Array, start: int, stop: int, size: int) -> UInt8Array:
        return np.frombuffer(library.decompress(data[start:stop], size), dtype=np.uint8)

    return decompress


def _stored_bytes(data: UInt8Array, start: int, stop: int, size: int) -> UInt8Array:
    if stop - start != size:
        raise _damaged("its size is wrong")
    return data[start:stop]


def _decompress_words(data: UInt8Array, start: int, stop: int, size: int) -> UInt8Array:
    out = np.empty(size // 8 + 3, dtype=np.uint64)
    if not decompress_words(data, start, stop, out, size):
        raise _damaged("it is not compressed by Snappy")
    return out.view(np.uint8)[:size]


def _damaged(why: str) -> pa.ArrowInvalid:
    return pa.ArrowInvalid(f"a page is damaged: {why}")


class ColumnPages:
    """The values of a column chunk, in the order of the file. Not for several threads.

    ``width`` is the number of bytes of a value, None for texts, ``shown`` the type of the arrays.
    """

    def __init__(
        self,
        data: UInt8Array,
        table: Sequence[Sequence[int]],
        decompress: _Decompress,
        decompress_values: _Decompress,
        is_nullable: bool,
        width: int | None,
        shown: pa.DataType,
    ) -> None:
        self._data = data
        self._pages = deque(table)
        self._decompress, self._decompress_values = decompress, decompress_values
        self._is_nullable = is_nullable
        self._is_text = width is None
        self._shown = shown
        self._unscaled = _INTEGERS[width] if width and pa.types.is_decimal128(shown) else None
        self._dtype = np.dtype(_WORDS[width or _CODE_BYTES])
        has_dictionary = bool(table) and table[0][page_kernels.KIND] == page_kernels.DICTIONARY_PAGE
        self._dictionary_page = self._pages.popleft() if has_dictionary else None
        self._dictionary: Any = None
        self._dictionary_size = 0
        self._left = 0  # rows of the current page that were not read
        self._is_coded = False
        self._bits = 0  # of a code
        self._levels = self._values = data[:0]
        self._level_state, self._value_state = _new_state(0), _new_state(0)

    def read(self, rows: int, chosen: Int32Array | None = None) -> pa.Array:
        """Return the next ``rows`` rows, or those of them that are ``chosen``, ascending places, shape (chosen,)."""
        count = rows if chosen is None else chosen.size
        out = np.frombuffer(pa.allocate_buffer(count * self._dtype.itemsize), dtype=self._dtype)
        valid = np.empty(count, dtype=np.uint8) if self._is_nullable else None
        done = filled = 0
        while done < rows:
            if self._left == 0:
                page = self._next_page()
                num_rows = page[page_kernels.NUM_VALUES]
                if chosen is not None and done + num_rows <= rows:
                    if filled == count or chosen[filled] >= done + num_rows:
                        done += num_rows
                        continue
                self._open_page(page)
                continue
            part = min(self._left, rows - done)
            if chosen is None:
                places, end = None, done + part
            else:
                end = int(np.searchsorted(chosen, done + part))
                places = chosen[filled:end] - np.int32(done)
            self._read_part(part, places, out[filled:end], None if valid is None else valid[filled:end])
            self._left -= part
            done += part
            filled = end
        mask, nulls = (None, 0) if valid is None else pack_validity(valid.view(np.bool_))
        buffers = [mask, pa.py_buffer(out)]
        if self._unscaled is not None:
            return widened(pa.Array.from_buffers(self._unscaled, count, buffers, nulls), self._shown)
        if not self._is_text:
            return pa.Array.from_buffers(self._shown, count, buffers, nulls)
        self._read_dictionary()  # there may have been no row
        codes = pa.Array.from_buffers(pa.int32(), count, buffers, nulls)
        return pa.DictionaryArray.from_arrays(codes, self._dictionary, safe=False)

    def _next_page(self) -> Sequence[int]:
        if not self._pages:
            raise pa.ArrowInvalid("a column has too few pages")
        return self._pages.popleft()

    def _open_page(self, page: Sequence[int]) -> None:
        """Go to the first row of a data page."""
        start, size = page[page_kernels.START], page[page_kernels.SIZE]
        stop = start + page[page_kernels.STORED_SIZE]
        self._is_coded = page[page_kernels.ENCODING] in _DICTIONARY
        decompress = self._decompress if self._is_coded else self._decompress_values
        at = 0
        if page[page_kernels.KIND] == page_kernels.DATA_PAGE_V2:
            levels = page[page_kernels.LEVEL_BYTES]
            if not 0 <= levels <= min(size, stop - start):
                raise _damaged("its levels are too long")
            self._levels, self._level_state = self._data[start : start + levels], _new_state(0)
            if page[page_kernels.IS_STORED]:
                decompress = _stored_bytes
            has_values = size > levels
            self._values = decompress(self._data, start + levels, stop, size - levels) if has_values else self._data[:0]
        else:
            self._values = decompress(self._data, start, stop, size)
            if self._is_nullable:
                at = _end_of_levels(self._values)
                self._levels, self._level_state = self._values[:at], _new_state(_LENGTH_BYTES)
        if self._is_coded:
            self._read_dictionary()
            self._bits = int(self._values[at]) if at < self._values.size else 0  # there may be none without values
            at += 1
            if self._bits > _MOST_BITS:
                raise _damaged(f"its codes have {self._bits} bits")
        self._value_state = _new_state(at)
        self._left = page[page_kernels.NUM_VALUES]

    def _read_dictionary(self) -> None:
        """Read the dictionary, unless it was read before."""
        if self._dictionary_page is None:
            return
        page, self._dictionary_page = self._dictionary_page, None
        start, count = page[page_kernels.START], page[page_kernels.NUM_VALUES]
        stop = start + page[page_kernels.STORED_SIZE]
        data = self._decompress_values(self._data, start, stop, page[page_kernels.SIZE])
        self._dictionary_size = count
        if self._is_text:
            self._dictionary = _texts(data, count)
        elif data.size < count * self._dtype.itemsize:
            raise _damaged("it has too few values")
        else:
            values = np.frombuffer(data, dtype=self._dtype, count=count)
            self._dictionary = values if values.flags.aligned else values.copy()

    def _read_part(self, rows: int, places: Int32Array | None, out: Array, valid: UInt8Array | None) -> None:
        """Read rows of the current page, or those at ``places``, into ``out``, and whether they are not NULL."""
        count = rows
        levels: UInt8Array | None = None
        if valid is not None:
            levels = valid if places is None else np.empty(rows, dtype=np.uint8)
            if self._read_runs(self._levels, 1, self._level_state, levels) not in (0, 1):
                raise _damaged("it has too few levels")
            count = int(np.count_nonzero(levels))
            if places is not None:
                valid[:] = levels[places]
        if self._is_coded:
            codes = out if self._is_text and places is None else np.empty(rows, dtype=np.uint32)
            if count and self._read_runs(self._values, self._bits, self._value_state, codes[:count]) < 0:
                raise _damaged("it has too few codes")
            if levels is not None and count < rows:
                page_kernels.spread_values(codes, levels, count)
            self._look_up(codes, places, out)
            return
        values = self._take_plain(count)
        if places is None:
            out[:count] = values
            if levels is not None and count < rows:
                page_kernels.spread_values(out, levels, count)
        elif levels is None or count == rows:
            np.take(values, places, out=out)
        else:
            spread = np.empty(rows, dtype=self._dtype)
            spread[:count] = values
            page_kernels.spread_values(spread, levels, count)
            np.take(spread, places, out=out)

    def _look_up(self, codes: Array, places: Int32Array | None, out: Array) -> None:
        """Write the values of codes, or of those at ``places``, to ``out``; the codes themselves of texts."""
        if self._is_text:
            if places is not None:
                np.take(codes, places, out=out)
            is_known = not out.size or int(out.max()) < max(self._dictionary_size, 1)
        elif not self._dictionary_size:  # there are only NULLs
            out[:] = 0
            is_known = not codes.any()
        elif places is None:
            is_known = page_kernels.look_up(self._dictionary, codes, out)
        else:
            is_known = page_kernels.look_up_rows(self._dictionary, codes, places, out)
        if not is_known:
            raise _damaged("its codes are not those of the dictionary")

    def _take_plain(self, count: int) -> Array:
        at = int(self._value_state[page_kernels.AT])
        end = at + count * self._dtype.itemsize
        if end > self._values.size:
            raise _damaged("it has too few values")
        self._value_state[page_kernels.AT] = end
        return np.frombuffer(self._values, dtype=self._dtype, count=count, offset=at)

    @staticmethod
    def _read_runs(page: UInt8Array, bits: int, state: Int64Array, out: Array) -> int:
        return page_kernels.read_runs(page, page.size, bits, state, out)


def _new_state(at: int) -> Int64Array:
    state = np.zeros(page_kernels.STATE_SIZE, dtype=np.int64)
    state[page_kernels.AT] = at
    return state


def _end_of_levels(page: UInt8Array) -> int:
    if page.size < _LENGTH_BYTES:
        raise _damaged("it has no levels")
    end = _LENGTH_BYTES + int.from_bytes(page[:_LENGTH_BYTES].tobytes(), "little")
    if end > page.size:
        raise _damaged("its levels are too long")
    return end


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
