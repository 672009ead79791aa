"""The states of PERCENTILE_APPROX: a quantile summary for each group.

Spark inserts 50 000 values of a group at a time, so these states hold the last values of each group as they came, with
the summaries of groups that had more. Summaries of few values are exact: of all values, in order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Array, BoolArray, Float64Array, Int64Array
from pyspark_pipeline.kernels.buffers import string_parts
from pyspark_pipeline.kernels.partition import grouped_order
from pyspark_pipeline.kernels.quantile_summaries import (
    COMPRESSED_FROM,
    HEAD_SIZE,
    Samples,
    compress_samples,
    insert_values,
    merge_samples,
)
from pyspark_pipeline.operators.aggregation.functions.state import State
from pyspark_pipeline.operators.aggregation.functions.value_codes import ValueCoder

_MIN_PENDING = 1 << 20
_NONE: Samples = (np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
#: Spark's serialized form, big-endian: a header, then a record of the same size for each sample.
_HEADER = np.dtype([("compressed_from", ">i4"), ("error", ">f8"), ("count", ">i8"), ("samples", ">i4")])
_SAMPLE = np.dtype([("value", ">f8"), ("g", ">i8"), ("delta", ">i8")])


@dataclass(slots=True, kw_only=True)
class Summary:
    """The summary of one group of many values."""

    samples: Samples = _NONE
    count: int = 0
    is_compressed: bool = True

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.samples)

    def insert(self, values: Float64Array, error: float) -> None:
        """Insert a head of values (float64, in the order of their bits)."""
        self.samples = insert_values(*self.samples, self.count, values, error)
        self.count += values.size
        self.is_compressed = False

    def compress(self, error: float) -> None:
        """Compress the samples unless they are."""
        if not self.is_compressed:
            self.samples = compress_samples(*self.samples, 2 * error * self.count)
            self.is_compressed = True

    def merge(self, samples: Samples, count: int, error: float) -> None:
        """Merge a compressed summary into this compressed one."""
        if not self.count:
            self.samples, self.count = samples, count
        elif count:
            added, other_added = int(2 * error * count), int(2 * error * self.count)
            merged = merge_samples(*self.samples, added, *samples, other_added)
            self.count += count
            self.samples = compress_samples(*merged, 2 * error * self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summaries:
    """The compressed summaries of consecutive groups: the samples of group i are those from ``bounds[i]`` on."""

    counts: Int64Array
    bounds: Int64Array
    samples: Samples

    def of(self, group: int) -> Samples:
        """Return the samples of a group."""
        which = slice(self.bounds[group], self.bounds[group + 1])
        values, gs, deltas = self.samples
        return values[which], gs[which], deltas[which]

    def column(self, error: float) -> pa.Array:
        """Return Spark's serialized summaries."""
        sizes = np.diff(self.bounds)
        places = self.bounds[:-1] + np.arange(sizes.size)
        records = np.zeros(int(self.bounds[-1]) + sizes.size, dtype=_SAMPLE)
        headers = np.zeros(sizes.size, dtype=_HEADER)
        headers["compressed_from"], headers["error"] = COMPRESSED_FROM, error
        headers["count"], headers["samples"] = self.counts, sizes
        is_sample = np.ones(records.size, dtype=np.bool_)
        is_sample[places] = False
        rows = np.zeros(int(self.bounds[-1]), dtype=_SAMPLE)
        rows["value"], rows["g"], rows["delta"] = self.samples
        records[is_sample] = rows
        records[places] = headers.view(_SAMPLE)
        ends = (np.append(places, records.size) * _SAMPLE.itemsize).astype(np.int32)
        return pa.Array.from_buffers(pa.binary(), sizes.size, [None, pa.py_buffer(ends), pa.py_buffer(records)])


class SummaryState(State):
    """The common part of the states: rows of groups as they came, and the groups of few values as a whole.

    ``_pieces`` are the groups of rows and columns of the rows.
    """

    def __init__(self, error: float) -> None:
        self.error = error
        self._pieces: list[tuple[Array, ...]] = []
        self._is_grouped = True
        self._rows = self._bytes = 0

    @property
    def nbytes(self) -> int:
        return self._bytes

    def reserve(self, groups: int) -> None:
        """Groups without values take no space."""

    def clear(self) -> None:
        self._keep(())

    def take(self, groups: Int64Array) -> None:
        owners, *columns = self._grouped()
        numbers = _renumbered(groups, owners)
        kept = np.flatnonzero(numbers[owners] >= 0)
        self._keep((numbers[owners[kept]], *(column[kept] for column in columns)))

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        raise NotImplementedError("quantile summaries are not a state of running frames")

    @abstractmethod
    def summaries(self, start: int, stop: int) -> Summaries:
        """Return the compressed summaries of groups ``start`` ≤ g < ``stop``."""

    def _append(self, *piece: Array) -> None:
        if piece[0].size:
            self._pieces.append(piece)
            self._is_grouped = False
            self._rows += piece[0].size
            self._bytes += sum(column.nbytes for column in piece)

    def _keep(self, piece: tuple[Array, ...]) -> None:
        """Replace all pieces by one."""
        self._pieces, self._is_grouped, self._rows, self._bytes = [], True, 0, 0
        if piece:
            self._append(*piece)

    def _grouped(self) -> tuple[Array, ...]:
        """Return the columns of all pieces, sorted by group, each group in the order in which its rows came."""
        if not self._is_grouped:
            whole = [np.concatenate(columns) for columns in zip(*self._pieces, strict=True)]
            order = grouped_order(whole[0])
            self._pieces = [tuple(column[order] for column in whole)]
            self._is_grouped = True
        return self._pieces[0] if self._pieces else self._no_rows()

    @abstractmethod
    def _no_rows(self) -> tuple[Array, ...]:
        """Return columns without rows."""

    def _is_exact(self, counts: Int64Array, special: Int64Array) -> BoolArray:
        """Return whether summaries of so many values keep all in order; not those of the groups ``special``.

        Spark compares values with IEEE's operators: NaN is not less than any, nor −0.0 less than 0.0.
        """
        exact: BoolArray = 2 * self.error * counts < 1
        exact[special] = False
        return exact


class InsertedSummaryState(SummaryState):
    """Summaries of values."""

    def __init__(self, coder: ValueCoder, error: float) -> None:
        super().__init__(error)
        self._coder = coder
        self._known: dict[int, Summary] = {}
        self._limit = _MIN_PENDING

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(summary.nbytes for summary in self._known.values())

    def clear(self) -> None:
        super().clear()
        self._known, self._limit = {}, _MIN_PENDING

    def take(self, groups: Int64Array) -> None:
        super().take(groups)
        places = {int(group): place for place, group in enumerate(groups)}
        self._known = {places[group]: s for group, s in self._known.items() if group in places}

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        if column.null_count:
            valid = np.flatnonzero(np.asarray(column.is_valid()))
            groups, column = groups[valid], column.take(pa.array(valid))
        self._append(groups.copy(), self._coder.doubles(self._coder.encode(column)))
        if self._rows > self._limit:
            self._insert_heads()

    def summaries(self, start: int, stop: int) -> Summaries:
        self._insert_heads()
        owners, values = self._grouped()
        rows = slice(*np.searchsorted(owners, [start, stop]))
        owners = owners[rows] - start
        values = sort_doubles(values[rows], owners)
        bounds = np.searchsorted(owners, np.arange(stop - start + 1))
        counts = np.diff(bounds)
        whole = self._is_exact(counts, owners[np.isnan(values)])
        whole[[group - start for group in self._known if start <= group < stop]] = False
        large: dict[int, Summary] = {}
        for group in np.flatnonzero(~whole):
            known = self._known.get(start + int(group), Summary())
            summary = Summary(samples=known.samples, count=known.count, is_compressed=known.is_compressed)
            if counts[group]:
                summary.insert(values[bounds[group] : bounds[group + 1]], self.error)
            summary.compress(self.error)
            large[int(group)] = summary
        return _joined(values, bounds, large, counts)

    def _no_rows(self) -> tuple[Array, ...]:
        return np.empty(0, dtype=np.int64), np.empty(0)

    def _insert_heads(self) -> None:
        """Insert all values of groups but the last ones, fewer than a head."""
        owners, values = self._grouped()
        kept = np.ones(owners.size, dtype=np.bool_)
        for group, first, end in _runs(owners):
            known = self._known.setdefault(group, Summary()) if end - first >= HEAD_SIZE else Summary()
            for at in range(first, end - HEAD_SIZE + 1, HEAD_SIZE):
                known.insert(sort_doubles(values[at : at + HEAD_SIZE]), self.error)
                if known.samples[0].size >= COMPRESSED_FROM:
                    known.compress(self.error)
                kept[at : at + HEAD_SIZE] = False
        if not kept.all():
            self._keep((owners[kept], values[kept]))
        self._limit = self._rows + _MIN_PENDING


class MergedSummaryState(SummaryState):
    """Summaries of serialized summaries."""

    def __init__(self, error: float) -> None:
        super().__init__(error)
        self._samples: list[Samples] = []
        self._size = 0

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._size * _SAMPLE.itemsize

    def clear(self) -> None:
        super().clear()
        self._samples, self._size = [], 0

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        offsets, data = string_parts(columns[0])
        starts = offsets[:-1].astype(np.int64) // _SAMPLE.itemsize
        records = data[: int(offsets[-1])].copy()
        headers, samples = records.view(_HEADER)[starts], records.view(_SAMPLE)
        sizes = headers["samples"].astype(np.int64)
        firsts = self._size + starts
        self._append(groups.copy(), headers["count"].astype(np.int64), firsts + 1, sizes)
        parts = (samples["value"].astype(np.float64), samples["g"].astype(np.int64), samples["delta"].astype(np.int64))
        self._samples.append(parts)
        self._size += samples.size

    def summaries(self, start: int, stop: int) -> Summaries:
        owners, counts, firsts, sizes = self._grouped()
        rows = slice(*np.searchsorted(owners, [start, stop]))
        owners, counts, firsts, sizes = owners[rows] - start, counts[rows], firsts[rows], sizes[rows]
        totals = np.zeros(stop - start, dtype=np.int64)
        np.add.at(totals, owners, counts)
        held = self._held()
        values, of_values = held[0][_places(firsts, sizes)], np.repeat(owners, sizes)
        whole = self._is_exact(totals, of_values[np.isnan(values) | (np.signbit(values) & (values == 0))])
        values = sort_doubles(values, of_values)
        bounds = np.append(0, np.cumsum(np.bincount(owners, weights=sizes, minlength=stop - start).astype(np.int64)))
        large: dict[int, Summary] = {}
        for row in np.flatnonzero(~whole[owners]):
            part = slice(firsts[row], firsts[row] + sizes[row])
            summary = large.setdefault(int(owners[row]), Summary())
            summary.merge((held[0][part], held[1][part], held[2][part]), int(counts[row]), self.error)
        return _joined(values, bounds, large, totals)

    def _no_rows(self) -> tuple[Array, ...]:
        none = np.empty(0, dtype=np.int64)
        return none, none, none, none

    def _held(self) -> Samples:
        if len(self._samples) != 1:
            parts = zip(_NONE, *self._samples, strict=True)
            values, gs, deltas = (np.concatenate(part) for part in parts)
            self._samples = [(values, gs, deltas)]
        return self._samples[0]


def sort_doubles(values: Float64Array, groups: Int64Array | None = None) -> Float64Array:
    """Return float64 values sorted as by Java's ``Double.compare``, within each group if ``groups`` are ascending."""
    bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
    ranks = np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    ordered: Float64Array = values[np.argsort(ranks) if groups is None else np.lexsort((ranks, groups))]
    return ordered


def _joined(values: Float64Array, bounds: Int64Array, large: dict[int, Summary], counts: Int64Array) -> Summaries:
    """Return the summaries of groups with all ``values`` between ``bounds`` as samples, but the ``large`` ones."""
    sizes, counts = np.diff(bounds), counts.copy()
    for group, summary in large.items():
        sizes[group], counts[group] = summary.samples[0].size, summary.count
    ends = np.append(0, np.cumsum(sizes))
    made = (np.empty(ends[-1]), np.ones(ends[-1], dtype=np.int64), np.zeros(ends[-1], dtype=np.int64))
    whole = np.ones(sizes.size, dtype=np.bool_)
    whole[list(large)] = False
    made[0][_places(ends[:-1][whole], sizes[whole])] = values[_places(bounds[:-1][whole], np.diff(bounds)[whole])]
    for group, summary in large.items():
        for column, part in zip(made, summary.samples, strict=True):
            column[ends[group] : ends[group + 1]] = part
    return Summaries(counts=counts, bounds=ends, samples=made)


def _places(firsts: Int64Array, sizes: Int64Array) -> Int64Array:
    """Return the positions of ranges of ``sizes`` from ``firsts`` on, one range after the other."""
    ends = np.cumsum(sizes)
    places: Int64Array = np.arange(ends[-1] if ends.size else 0) + np.repeat(firsts - (ends - sizes), sizes)
    return places


def _runs(owners: Int64Array) -> Iterator[tuple[int, int, int]]:
    """Yield the group, the first row and the end of each group of many rows."""
    starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])) if owners.size else np.empty(0, dtype=np.int64)
    ends = np.append(starts[1:], owners.size)
    for place in np.flatnonzero(ends - starts >= HEAD_SIZE):
        yield int(owners[starts[place]]), int(starts[place]), int(ends[place])


def _renumbered(groups: Int64Array, owners: Int64Array) -> Int64Array:
    """Return the new number of each group, −1 for those not in ``groups``."""
    numbers = np.full(int(max(owners.max(initial=0), groups.max(initial=0))) + 1, -1, dtype=np.int64)
    numbers[groups] = np.arange(groups.size)
    return numbers
