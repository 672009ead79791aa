"""Variance, standard deviation, skewness, kurtosis, covariance, correlation, regression, after Spark's aggregates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.cases import case
from pyspark_pipeline.expressions.conditions import divide_by_zero
from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int64Array
from pyspark_pipeline.kernels.buffers import copied, fixed_array, validity, values
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.moments import (
    frame_moments,
    frame_pairs,
    merge_moments,
    merge_pairs,
    run_moments,
    run_pairs,
    update_moments,
    update_pairs,
)
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, State, StatePool, updated, warm_up
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_ONE_COLUMN = [case(["double"], frames=FRAMES)]
_TWO_COLUMNS = [case(["double"], ["double"], frames=FRAMES)]
_PAIR_WIDTH = 6


class _Moments(State):
    """Sums of powers of deviations from the mean: n, mean, M2 … per group.

    ``takes_other``: merging with an empty side is exact (:func:`~pyspark_pipeline.kernels.moments.merge_moments`).
    """

    def __init__(self, width: int, takes_other: bool) -> None:
        self._width = width
        self._takes_other = takes_other
        self._moments = PerGroup(np.float64, width)
        self.arrays = (self._moments,)

    def column(self, moment: int, start: int, stop: int) -> Float64Array:
        """Return one moment of groups ``start`` ≤ g < ``stop``; float64."""
        part: Float64Array = self._moments.part(start, stop)[moment :: self._width]
        return part


class ColumnMoments(_Moments):
    """Moments of one column: n, and those up to the order ``width`` − 1."""

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        update_moments(groups, values(columns[0]), *validity(columns[0]), self._width, self._moments.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        run_moments(starts, values(columns[0]), *validity(columns[0]), self._width, self._moments.array)

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        frame_moments(begin, end, values(columns[0]), *validity(columns[0]), self._width, self._moments.array)

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        """Merge partial moments."""
        merge_moments(groups, _flat(buffers), self._width, self._takes_other, self._moments.array)


class PairedMoments(ColumnMoments):
    """Moments of the first of two columns over the pairs without a NULL."""

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        super().update(groups, [_paired(*columns)])

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        super().scan(starts, [_paired(*columns)])

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        super().over(begin, end, [_paired(*columns)])


def _paired(x: pa.Array, y: pa.Array) -> pa.Array:
    """Return ``x`` with NULL where ``y`` is NULL."""
    return pc.if_else(y.is_valid(), x, pa.scalar(None, x.type)) if y.null_count else x


class PairMoments(_Moments):
    """Moments of the pairs of two columns: n, both means, the co-moment, M2 of each."""

    def __init__(self, takes_other: bool) -> None:
        super().__init__(_PAIR_WIDTH, takes_other)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        x, y = columns
        update_pairs(groups, values(x), *validity(x), values(y), *validity(y), self._moments.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        x, y = columns
        run_pairs(starts, values(x), *validity(x), values(y), *validity(y), self._moments.array)

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        x, y = columns
        frame_pairs(begin, end, values(x), *validity(x), values(y), *validity(y), self._moments.array)

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        """Merge partial moments; a covariance has the first four."""
        merge_pairs(groups, _flat(buffers), len(buffers), self._takes_other, self._moments.array)


def _flat(buffers: Sequence[pa.Array]) -> Float64Array:
    """Return buffer columns row by row; float64, shape (rows · columns,)."""
    flat: Float64Array = frozen(np.stack([values(buffer) for buffer in buffers], axis=1).reshape(-1))
    return flat


class _Statistic(AggregateFunction):
    """A function of the moments of a group; NULL if the group has no row."""

    _state: ColumnMoments | PairMoments
    #: The number of moments in the buffer.
    width: int

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self.takes_other = self.is_kept_by_merge = settings.is_spark(4, 3)

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        moments = range(self.width)
        return [fixed_array(pa.float64(), copied(self._state.column(moment, start, stop))) for moment in moments]

    def result(self, start: int, stop: int) -> pa.Array:
        moments = [self._state.column(moment, start, stop) for moment in range(self.width)]
        with np.errstate(all="ignore"):
            made, valid = self.statistic(*moments)
        return fixed_array(pa.float64(), np.ascontiguousarray(made), valid & (moments[0] != 0.0))

    def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
        """Return the values (float64) and which are not NULL (bool) of groups that have rows."""
        raise NotImplementedError

    def undefined(self, made: Float64Array, is_undefined: BoolArray) -> tuple[Float64Array, BoolArray]:
        """Set undefined values (too few rows or no deviation) to NULL, or to NaN in the mode of Spark before 3.1."""
        if self.call.fields.get("nullOnDivideByZero", True):
            return made, ~is_undefined
        return np.where(is_undefined, np.nan, made), np.ones(made.size, dtype=np.bool_)

    def divided(
        self, numerator: Float64Array, denominator: Float64Array, wanted: BoolArray
    ) -> tuple[Float64Array, BoolArray]:
        """Divide as Spark's ``Divide``: division by zero is NULL, and raises in ANSI mode if the value is wanted."""
        by_zero = denominator == 0.0
        if self.ansi and (by_zero & wanted).any():
            raise divide_by_zero(self.call.context)
        return numerator / denominator, ~by_zero


class _OfColumn(_Statistic):
    width = 3

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: ColumnMoments(self.width, self.takes_other), "moments", self.width)


class _OfPairs(_Statistic):
    width = 4

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: PairMoments(self.takes_other), "pair moments")


def _second_moment(name: str, finish: Callable[[Float64Array], Float64Array], *, sample: bool) -> None:
    """Register a function of M2 over n, or over n − 1 of a ``sample``."""

    class SecondMoment(_OfColumn):
        def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
            n, _, second = moments
            if sample:
                return self.undefined(finish(second / (n - 1.0)), n == 1.0)
            return finish(second / n), np.ones(n.size, dtype=np.bool_)

    aggregate(name, _ONE_COLUMN)(SecondMoment)


_second_moment("StddevPop", np.sqrt, sample=False)
_second_moment("StddevSamp", np.sqrt, sample=True)
_second_moment("VariancePop", np.asarray, sample=False)
_second_moment("VarianceSamp", np.asarray, sample=True)


@aggregate("Skewness", _ONE_COLUMN)
class Skewness(_OfColumn):
    """√n · M3 / √(M2³)."""

    width = 4

    def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
        n, _, second, third = moments
        made, valid = self.divided(np.sqrt(n) * third, np.sqrt(second * second * second), second != 0.0)
        made, defined = self.undefined(made, second == 0.0)
        return made, defined & (valid | (second == 0.0))


@aggregate("Kurtosis", _ONE_COLUMN)
class Kurtosis(_OfColumn):
    """n · M4 / M2² − 3."""

    width = 5

    def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
        n, _, second, _, fourth = moments
        made, valid = self.divided(n * fourth, second * second, second != 0.0)
        made, defined = self.undefined(made - 3.0, second == 0.0)
        return made, defined & (valid | (second == 0.0))


@aggregate("RegrReplacement", _ONE_COLUMN)
class RegrReplacement(_OfColumn):
    """M2, which is ``regr_sxx`` and ``regr_syy``."""

    def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
        return moments[2].copy(), np.ones(moments[0].size, dtype=np.bool_)


@aggregate("CovPopulation", _TWO_COLUMNS)
class CovPopulation(_OfPairs):
    """The co-moment over n."""

    def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
        n, _, _, co = moments
        return co / n, np.ones(n.size, dtype=np.bool_)


@aggregate("CovSample", _TWO_COLUMNS)
class CovSample(_OfPairs):
    """The co-moment over n − 1."""

    def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
        n, _, _, co = moments
        return self.undefined(co / (n - 1.0), n == 1.0)


@aggregate("RegrSXY", _TWO_COLUMNS)
class RegrSxy(_OfPairs):
    """The co-moment."""

    def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
        return moments[3].copy(), np.ones(moments[0].size, dtype=np.bool_)


@aggregate("RegrR2", _TWO_COLUMNS)
class RegrR2(_OfPairs):
    """The square of the correlation of y and x; NULL if x has no deviation, else 1 if y has none."""

    width = _PAIR_WIDTH

    def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
        _, _, _, co, second_y, second_x = moments
        is_one = (second_y == 0.0) & (second_x != 0.0)
        wanted = (second_y != 0.0) & (second_x != 0.0)
        correlation, defined = self.divided(co, np.sqrt(second_y * second_x), wanted)
        return np.where(is_one, 1.0, correlation * correlation), is_one | (wanted & defined)


@aggregate("Corr", _TWO_COLUMNS)
class Corr(_OfPairs):
    """The co-moment over √(M2 of x · M2 of y). If one of them is 0, Spark 4.3 returns NULL, also in ANSI mode."""

    width = _PAIR_WIDTH

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._is_null_without_deviation = settings.is_spark(4, 3)

    def statistic(self, *moments: Float64Array) -> tuple[Float64Array, BoolArray]:
        n, _, _, co, second_x, second_y = moments
        is_null = self._is_null_without_deviation & ((second_x == 0.0) | (second_y == 0.0))
        made, valid = self.divided(co, np.sqrt(second_x * second_y), (n > 1.0) & ~is_null)
        made, defined = self.undefined(made, n == 1.0)
        return made, defined & (valid & ~is_null | (n == 1.0))


class _Regression(AggregateFunction):
    """A coefficient of the line through the pairs (y, x); NULL if x has no deviation.

    The buffer is that of the population's covariance of x and y, and that of the variance of x over the pairs.
    """

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        arguments, takes_other = call.args[::-1], settings.is_spark(4, 3)
        self.is_kept_by_merge = takes_other
        self._pairs = self.state(lambda: PairMoments(takes_other), "pair moments", arguments=arguments)
        self._xs = self.state(lambda: PairedMoments(3, takes_other), "paired moments", 3, arguments=arguments)

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._pairs.merge(groups, buffers[:4])
        self._xs.merge(groups, buffers[4:])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        moments = [self._pairs.column(moment, start, stop) for moment in range(4)]
        moments += [self._xs.column(moment, start, stop) for moment in range(3)]
        return [fixed_array(pa.float64(), copied(moment)) for moment in moments]

    def result(self, start: int, stop: int) -> pa.Array:
        _, mean_x, mean_y, co = (self._pairs.column(moment, start, stop) for moment in range(4))
        second = self._xs.column(2, start, stop)
        with np.errstate(all="ignore"):
            made = self.coefficient(co / second, mean_x, mean_y)
        return fixed_array(pa.float64(), np.ascontiguousarray(made), second != 0.0)

    @abstractmethod
    def coefficient(self, slope: Float64Array, mean_x: Float64Array, mean_y: Float64Array) -> Float64Array:
        """Return the coefficient."""


@aggregate("RegrSlope", _TWO_COLUMNS)
class RegrSlope(_Regression):
    """The co-moment over M2 of x."""

    def coefficient(self, slope: Float64Array, mean_x: Float64Array, mean_y: Float64Array) -> Float64Array:
        return slope


@aggregate("RegrIntercept", _TWO_COLUMNS)
class RegrIntercept(_Regression):
    """The mean of y − slope · the mean of x."""

    def coefficient(self, slope: Float64Array, mean_x: Float64Array, mean_y: Float64Array) -> Float64Array:
        intercept: Float64Array = mean_y - slope * mean_x
        return intercept


@warm_up
def _load_kernels() -> None:
    column, groups = pa.array([1.0, None]), np.zeros(1, dtype=np.int64)
    updated(ColumnMoments(3, False), column).merge(groups, [pa.array([1.0])] * 3)
    updated(PairMoments(False), column, column).merge(groups, [pa.array([1.0])] * 6)
