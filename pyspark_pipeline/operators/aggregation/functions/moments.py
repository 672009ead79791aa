"""Variance, standard deviation, skewness, kurtosis, covariance and correlation, after Spark's aggregates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.cases import case
from pyspark_pipeline.expressions.conditions import divide_by_zero
from pyspark_pipeline.kernels.buffers import Array, fixed_array, validity, values
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.moments import (
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
    """Sums of powers of deviations from the mean: n, mean, M2 … per group."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._moments = PerGroup(np.float64, width)
        self.arrays = (self._moments,)

    def column(self, moment: int, start: int, stop: int) -> Array:
        """Return one moment of groups ``start`` ≤ g < ``stop``; float64."""
        part: Array = self._moments.part(start, stop)[moment :: self._width]
        return part


class ColumnMoments(_Moments):
    """Moments of one column: n, and those up to the order ``width`` − 1."""

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        update_moments(groups, values(columns[0]), *validity(columns[0]), self._width, self._moments.array)

    def scan(self, starts: Array, columns: Sequence[pa.Array]) -> None:
        run_moments(starts, values(columns[0]), *validity(columns[0]), self._width, self._moments.array)

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        """Merge partial moments."""
        merge_moments(groups, _flat(buffers), self._width, self._moments.array)


class PairMoments(_Moments):
    """Moments of the pairs of two columns: n, both means, the co-moment, M2 of each."""

    def __init__(self) -> None:
        super().__init__(_PAIR_WIDTH)

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        x, y = columns
        update_pairs(groups, values(x), *validity(x), values(y), *validity(y), self._moments.array)

    def scan(self, starts: Array, columns: Sequence[pa.Array]) -> None:
        x, y = columns
        run_pairs(starts, values(x), *validity(x), values(y), *validity(y), self._moments.array)

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        """Merge partial moments; a covariance has the first four."""
        merge_pairs(groups, _flat(buffers), len(buffers), self._moments.array)


def _flat(buffers: Sequence[pa.Array]) -> Array:
    """Return buffer columns row by row; float64, shape (rows · columns,)."""
    flat: Array = frozen(np.stack([values(buffer) for buffer in buffers], axis=1).reshape(-1))
    return flat


class _Statistic(AggregateFunction):
    """A function of the moments of a group; NULL if the group has no row."""

    _state: ColumnMoments | PairMoments
    #: The number of moments in the buffer.
    width: int

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        moments = range(self.width)
        return [fixed_array(pa.float64(), self._state.column(moment, start, stop).copy()) for moment in moments]

    def result(self, start: int, stop: int) -> pa.Array:
        moments = [self._state.column(moment, start, stop) for moment in range(self.width)]
        with np.errstate(all="ignore"):
            made, valid = self.statistic(*moments)
        return fixed_array(pa.float64(), np.ascontiguousarray(made), valid & (moments[0] != 0.0))

    def statistic(self, *moments: Array) -> tuple[Array, Array]:
        """Return the values (float64) and which are not NULL (bool) of groups that have rows."""
        raise NotImplementedError

    def undefined(self, made: Array, is_undefined: Array) -> tuple[Array, Array]:
        """Set undefined values (too few rows or no deviation) to NULL, or to NaN in the mode of Spark before 3.1."""
        if self.call.fields.get("nullOnDivideByZero", True):
            return made, ~is_undefined
        return np.where(is_undefined, np.nan, made), np.ones(made.size, dtype=np.bool_)

    def divided(self, numerator: Array, denominator: Array, wanted: Array) -> tuple[Array, Array]:
        """Divide as Spark's ``Divide``: division by zero is NULL, and raises in ANSI mode if the value is wanted."""
        by_zero = denominator == 0.0
        if self.ansi and (by_zero & wanted).any():
            raise divide_by_zero(self.call.context)
        return numerator / denominator, ~by_zero


class _OfColumn(_Statistic):
    width = 3

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: ColumnMoments(self.width), "moments", self.width)


class _OfPairs(_Statistic):
    width = 4

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(PairMoments, "pair moments")


def _second_moment(name: str, finish: Callable[[Array], Array], *, sample: bool) -> None:
    """Register a function of M2 over n, or over n − 1 of a ``sample``."""

    class SecondMoment(_OfColumn):
        def statistic(self, *moments: Array) -> tuple[Array, Array]:
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

    def statistic(self, *moments: Array) -> tuple[Array, Array]:
        n, _, second, third = moments
        made, valid = self.divided(np.sqrt(n) * third, np.sqrt(second * second * second), second != 0.0)
        made, defined = self.undefined(made, second == 0.0)
        return made, defined & (valid | (second == 0.0))


@aggregate("Kurtosis", _ONE_COLUMN)
class Kurtosis(_OfColumn):
    """n · M4 / M2² − 3."""

    width = 5

    def statistic(self, *moments: Array) -> tuple[Array, Array]:
        n, _, second, _, fourth = moments
        made, valid = self.divided(n * fourth, second * second, second != 0.0)
        made, defined = self.undefined(made - 3.0, second == 0.0)
        return made, defined & (valid | (second == 0.0))


@aggregate("RegrReplacement", _ONE_COLUMN)
class RegrReplacement(_OfColumn):
    """M2, which is ``regr_sxx`` and ``regr_syy``."""

    def statistic(self, *moments: Array) -> tuple[Array, Array]:
        return moments[2].copy(), np.ones(moments[0].size, dtype=np.bool_)


@aggregate("CovPopulation", _TWO_COLUMNS)
class CovPopulation(_OfPairs):
    """The co-moment over n."""

    def statistic(self, *moments: Array) -> tuple[Array, Array]:
        n, _, _, co = moments
        return co / n, np.ones(n.size, dtype=np.bool_)


@aggregate("CovSample", _TWO_COLUMNS)
class CovSample(_OfPairs):
    """The co-moment over n − 1."""

    def statistic(self, *moments: Array) -> tuple[Array, Array]:
        n, _, _, co = moments
        return self.undefined(co / (n - 1.0), n == 1.0)


@aggregate("Corr", _TWO_COLUMNS)
class Corr(_OfPairs):
    """The co-moment over √(M2 of x · M2 of y). If one of them is 0, Spark 4.3 returns NULL, also in ANSI mode."""

    width = _PAIR_WIDTH

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._is_null_without_deviation = settings.is_spark(4, 3)

    def statistic(self, *moments: Array) -> tuple[Array, Array]:
        n, _, _, co, second_x, second_y = moments
        is_null = self._is_null_without_deviation & ((second_x == 0.0) | (second_y == 0.0))
        made, valid = self.divided(co, np.sqrt(second_x * second_y), (n > 1.0) & ~is_null)
        made, defined = self.undefined(made, n == 1.0)
        return made, defined & (valid & ~is_null | (n == 1.0))


@warm_up
def _load_kernels() -> None:
    column, groups = pa.array([1.0, None]), np.zeros(1, dtype=np.int64)
    updated(ColumnMoments(3), column).merge(groups, [pa.array([1.0])] * 3)
    updated(PairMoments(), column, column).merge(groups, [pa.array([1.0])] * 6)
