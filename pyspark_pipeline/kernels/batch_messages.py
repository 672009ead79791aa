"""Many small Arrow IPC record batch messages at once: the rows of each partition written, or all rows of many read.

pyarrow takes 5 µs to write or read a message, whatever its rows. A message is a marker (−1) and the size of the
metadata, four bytes each, the metadata (a FlatBuffer, ``Message.fbs`` of Arrow) and the body: for each column its
validity, offsets and values, each from a whole word on. The metadata of all messages of a schema differ in numbers
only, so they are written by overwriting those of one that pyarrow made. Kernels take the addresses of memory, as
``array.ctypes.data`` returns them, and do not check that it may be accessed; what is in a message is checked.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.words import load_byte, load_word, store_byte, store_word

#: Kinds of columns: values of whole bytes, bits, bytes between offsets.
BYTES, BITS, TEXT = range(3)

#: Items that :func:`find_metadata` finds: addresses of the number of rows, of the rows and NULLs of the columns, of the
#: places of the buffers, of the size of the body, and of the body; the numbers of columns and of buffers.
ROWS, NODES, BUFFERS, BODY_SIZE, BODY, NUM_NODES, NUM_BUFFERS = range(7)
METADATA_ITEMS = 7

#: Items of a column to write: kind, bytes of a value, address of its values (of the offsets of texts), of its validity
#: (0: none is NULL), of the bytes of texts, and its first row there.
KIND, WIDTH, VALUES, VALIDITY, DATA, FIRST = range(6)
COLUMN_ITEMS = 6

#: Items of what the messages have of a column: its NULLs, and the bytes of its texts.
NULLS, TEXT_BYTES = range(2)

_MESSAGE_HEADER_TYPE, _MESSAGE_HEADER, _MESSAGE_BODY_SIZE = 1, 2, 3
_BATCH_ROWS, _BATCH_NODES, _BATCH_BUFFERS, _BATCH_COMPRESSION = 0, 1, 2, 3
_RECORD_BATCH = 3
_WORD = 8
_ENTRY = 16  # bytes of a node, and of the place of a buffer


@kernel(forceinline=True)
def _long(at: int) -> int:
    return np.int64(load_word(np.uint64(at)))


@kernel(forceinline=True)
def _int(at: int) -> int:
    return np.int64(np.int32(load_word(np.uint64(at)) & np.uint64(0xFFFFFFFF)))


@kernel(forceinline=True)
def _unsigned(at: int, bits: int) -> int:
    return np.int64(load_word(np.uint64(at)) & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1)))


@kernel(forceinline=True)
def _put(at: int, value: int) -> None:
    store_word(np.uint64(at), np.uint64(value))


@kernel(forceinline=True)
def _put_int(at: int, value: int) -> None:
    for byte in range(4):
        store_byte(np.uint64(at + byte), np.uint8((value >> (8 * byte)) & 0xFF))


@kernel(forceinline=True)
def _padded(size: int) -> int:
    return (size + _WORD - 1) // _WORD * _WORD


@kernel
def _field(table: int, number: int, start: int, end: int) -> int:
    """Return the address of a field of a FlatBuffer's table; 0 if the table lacks it, −1 outside the metadata."""
    if not start <= table <= end - _WORD:
        return -1
    fields = table - _int(table)
    place = 4 + 2 * number
    if not start <= fields <= end - _WORD:
        return -1
    if place + 2 > _unsigned(fields, 16):
        return 0
    if fields + place + _WORD > end:
        return -1
    offset = _unsigned(fields + place, 16)
    if not offset:
        return 0
    return table + offset if table + offset + _WORD <= end else -1


@kernel
def _entries(field: int, end: int) -> tuple[int, int]:
    """Return the address and the number of the entries of a vector of nodes or buffers; −1 if it is not there."""
    if field <= 0:
        return -1, 0
    vector = field + _unsigned(field, 32)
    if vector + _WORD > end:
        return -1, 0
    count = _unsigned(vector, 32)
    return (vector + 4, count) if vector + 4 + count * _ENTRY <= end else (-1, 0)


@kernel
def find_metadata(message: int, size: int, found: Int64Array) -> bool:
    """Find the numbers in the metadata of a message of ``size`` bytes; False if it is not a plain record batch.

    ``found`` (int64, shape (:data:`METADATA_ITEMS`,)) receives them.
    """
    if size < 2 * _WORD or _int(message) != -1:
        return False
    start = message + _WORD
    end = start + _int(message + 4)
    if not start + _WORD <= end <= message + size:
        return False
    root = start + _unsigned(start, 32)
    kind = _field(root, _MESSAGE_HEADER_TYPE, start, end)
    header = _field(root, _MESSAGE_HEADER, start, end)
    body_size = _field(root, _MESSAGE_BODY_SIZE, start, end)
    if kind <= 0 or _unsigned(kind, 8) != _RECORD_BATCH or header <= 0 or body_size <= 0:
        return False
    batch = header + _unsigned(header, 32)
    rows = _field(batch, _BATCH_ROWS, start, end)
    if rows <= 0 or _field(batch, _BATCH_COMPRESSION, start, end) != 0:
        return False
    nodes, num_nodes = _entries(_field(batch, _BATCH_NODES, start, end), end)
    buffers, num_buffers = _entries(_field(batch, _BATCH_BUFFERS, start, end), end)
    if nodes < 0 or buffers < 0:
        return False
    found[ROWS], found[NODES], found[BUFFERS], found[BODY_SIZE], found[BODY] = rows, nodes, buffers, body_size, end
    found[NUM_NODES], found[NUM_BUFFERS] = num_nodes, num_buffers
    return True


@kernel(forceinline=True)
def _copy(source: int, target: int, size: int) -> None:
    whole = size - size % _WORD
    for at in range(0, whole, _WORD):
        store_word(np.uint64(target + at), load_word(np.uint64(source + at)))
    for at in range(whole, size):
        store_byte(np.uint64(target + at), load_byte(np.uint64(source + at)))


@kernel(forceinline=True)
def _bit(bits: int, row: int) -> int:
    return (np.int64(load_byte(np.uint64(bits + (row >> 3)))) >> (row & 7)) & 1


@kernel
def _count_zeros(bits: int, first: int, rows: int) -> int:
    zeros = rows
    for row in range(first, first + rows):
        zeros -= _bit(bits, row)
    return zeros


@kernel
def _copy_bits(bits: int, first: int, target: int, rows: int) -> None:
    """Copy ``rows`` bits from bit ``first`` on to whole bytes."""
    for start in range(0, rows, 8):
        byte = 0
        for row in range(start, min(start + 8, rows)):
            byte |= _bit(bits, first + row) << (row - start)
        store_byte(np.uint64(target + (start >> 3)), np.uint8(byte))


@kernel
def _append_bits(bits: int, target: int, at: int, rows: int) -> None:
    """Set those of the bits ``at``, … that are set in ``bits``, from its first on; all if that is 0."""
    for row in range(rows):
        if bits == 0 or _bit(bits, row):
            place = np.uint64(target + ((at + row) >> 3))
            store_byte(place, load_byte(place) | np.uint8(1 << ((at + row) & 7)))


@kernel(forceinline=True)
def _end_buffer(entry: int, body: int, at: int, size: int) -> int:
    """Write the place of a buffer of ``size`` bytes at ``at``, and the zeros after it; return their end."""
    _put(entry, at - body)
    _put(entry + _WORD, size)
    for zero in range(at + size, at + _padded(size)):
        store_byte(np.uint64(zero), np.uint8(0))
    return at + _padded(size)


@kernel
def write_messages(
    columns: Int64Array, starts: Int64Array, template: UInt8Array, places: Int64Array, out: UInt8Array, ends: Int64Array
) -> None:
    """Write a message of the rows of each partition that has rows, each behind the end of the one before.

    ``columns`` (int64, shape (columns, :data:`COLUMN_ITEMS`)) has rows grouped by partition, those of partition p from
    ``starts[p]`` to ``starts[p + 1]``; ``template`` is what precedes the body, ``places`` what :func:`find_metadata`
    finds in it, as places in it; ``ends`` (shape (partitions,)) receives the ends of the messages in ``out``.
    """
    begin = np.int64(out.ctypes.data)
    first_source = np.int64(template.ctypes.data)
    message = begin
    for partition in range(ends.shape[0]):
        rows = starts[partition + 1] - starts[partition]
        if rows:
            _copy(first_source, message, template.shape[0])
            body = message + template.shape[0]
            at, node, entry = body, message + places[NODES], message + places[BUFFERS]
            for number in range(columns.shape[0]):
                column = columns[number]
                first = column[FIRST] + starts[partition]
                nulls = _count_zeros(column[VALIDITY], first, rows) if column[VALIDITY] else 0
                _put(node, rows)
                _put(node + _WORD, nulls)
                if nulls:
                    _copy_bits(column[VALIDITY], first, at, rows)
                at = _end_buffer(entry, body, at, (rows + 7) >> 3 if nulls else 0)
                if column[KIND] == BITS:
                    _copy_bits(column[VALUES], first, at, rows)
                    at = _end_buffer(entry + _ENTRY, body, at, (rows + 7) >> 3)
                elif column[KIND] == BYTES:
                    size = rows * column[WIDTH]
                    _copy(column[VALUES] + first * column[WIDTH], at, size)
                    at = _end_buffer(entry + _ENTRY, body, at, size)
                else:
                    offsets = column[VALUES] + 4 * first
                    low = _int(offsets)
                    for row in range(rows + 1):
                        _put_int(at + 4 * row, _int(offsets + 4 * row) - low)
                    size = _int(offsets + 4 * rows) - low
                    at = _end_buffer(entry + _ENTRY, body, at, 4 * (rows + 1))
                    _copy(column[DATA] + low, at, size)
                    at = _end_buffer(entry + 2 * _ENTRY, body, at, size)
                    entry += _ENTRY
                entry += 2 * _ENTRY
                node += _ENTRY
            _put(message + places[ROWS], rows)
            _put(message + places[BODY_SIZE], at - body)
            message = at
        ends[partition] = message - begin


@kernel(forceinline=True)
def _buffer(found: Int64Array, number: int, end: int, least: int) -> int:
    """Return the address of a buffer of at least so many bytes; −1 if it is not within the message."""
    entry = found[BUFFERS] + number * _ENTRY
    offset, size = _long(entry), _long(entry + _WORD)
    body = found[BODY]
    return body + offset if 0 <= offset <= end - body and least <= size <= end - body - offset else -1


@kernel
def measure_messages(
    messages: Int64Array, sizes: Int64Array, header: int, kinds: Int64Array, totals: Int64Array
) -> int:
    """Return the number of rows of messages behind headers of ``header`` bytes; −1 if a message is of another form.

    ``messages`` and ``sizes`` (int64, shape (messages,)): addresses and sizes with the headers; ``kinds`` (shape
    (columns, 2)): kind and width of each column; ``totals`` (zeros, shape (columns, 2)) receives :data:`NULLS` and
    :data:`TEXT_BYTES`.
    """
    found = np.empty(METADATA_ITEMS, dtype=np.int64)
    all_rows = 0
    for number in range(messages.shape[0]):
        end = messages[number] + sizes[number]
        if not find_metadata(messages[number] + header, sizes[number] - header, found):
            return -1
        rows = _long(found[ROWS])
        if found[NUM_NODES] != kinds.shape[0] or not 0 < rows < 1 << 31:
            return -1
        buffer = 0
        for column in range(kinds.shape[0]):
            kind, width = kinds[column, KIND], kinds[column, WIDTH]
            count = 3 if kind == TEXT else 2
            if buffer + count > found[NUM_BUFFERS]:
                return -1
            nulls = _long(found[NODES] + column * _ENTRY + _WORD)
            if not 0 <= nulls <= rows or (nulls and _buffer(found, buffer, end, (rows + 7) >> 3) < 0):
                return -1
            least = (rows + 7) >> 3 if kind == BITS else rows * width if kind == BYTES else 4 * (rows + 1)
            values = _buffer(found, buffer + 1, end, least)
            if values < 0 or values + _padded(least) > end:
                return -1
            totals[column, NULLS] += nulls
            if kind == TEXT:
                low, high = _int(values), _int(values + 4 * rows)
                if not 0 <= low <= high or _buffer(found, buffer + 2, end, high) < 0:
                    return -1
                totals[column, TEXT_BYTES] += high - low
            buffer += count
        if buffer != found[NUM_BUFFERS]:
            return -1
        all_rows += rows
    return all_rows


@kernel
def gather_messages(
    messages: Int64Array, sizes: Int64Array, header: int, kinds: Int64Array, columns: Int64Array
) -> None:
    """Write the rows of messages that :func:`measure_messages` accepted one after the other.

    ``columns`` (int64, shape (columns, :data:`COLUMN_ITEMS`)): where to write the values (room for 8 bytes more), the
    offsets and bytes of texts, bits of values and the validity (zeros; 0: no value is NULL).
    """
    found = np.empty(METADATA_ITEMS, dtype=np.int64)
    done = 0
    texts = np.zeros(kinds.shape[0], dtype=np.int64)
    for number in range(messages.shape[0]):
        end = messages[number] + sizes[number]
        find_metadata(messages[number] + header, sizes[number] - header, found)
        rows = _long(found[ROWS])
        buffer = 0
        for place in range(kinds.shape[0]):
            column, kind, width = columns[place], kinds[place, KIND], kinds[place, WIDTH]
            if column[VALIDITY]:
                nulls = _long(found[NODES] + place * _ENTRY + _WORD)
                bits = _buffer(found, buffer, end, 0) if nulls else 0
                _append_bits(bits, column[VALIDITY], done, rows)
            values = _buffer(found, buffer + 1, end, 0)
            if kind == BITS:
                _append_bits(values, column[VALUES], done, rows)
            elif kind == BYTES:
                target = column[VALUES] + done * width
                for at in range(0, rows * width, _WORD):
                    store_word(np.uint64(target + at), load_word(np.uint64(values + at)))
            else:
                low, base = _int(values), texts[place]
                for row in range(rows):
                    _put_int(column[VALUES] + 4 * (done + row + 1), base + _int(values + 4 * (row + 1)) - low)
                size = _int(values + 4 * rows) - low
                _copy(_buffer(found, buffer + 2, end, 0) + low, column[DATA] + base, size)
                texts[place] += size
                buffer += 1
            buffer += 2
        done += rows
