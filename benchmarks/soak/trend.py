"""Growth detection in a series of readings, by a linear fit of the readings after the warm-up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

#: The share of a run that is warm-up: caches fill, classes load, workers start.
WARM_UP = 1 / 3
#: A slope counts if it is at least so many times its standard error.
CERTAINTY = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The line of one measure after the warm-up; ``growth`` is from the warm-up's end to the end, in its unit."""

    first: float
    last: float
    per_100_queries: float
    growth: float
    grew: bool


def fitted(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Return slope and its standard error (infinite for two points) of a least-squares line."""
    count = len(xs)
    middle_x, middle_y = sum(xs) / count, sum(ys) / count
    spread = sum((x - middle_x) ** 2 for x in xs)
    if not spread:
        return 0.0, math.inf
    slope = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread
    left = sum((y - middle_y - slope * (x - middle_x)) ** 2 for x, y in zip(xs, ys, strict=True))
    return slope, math.sqrt(left / (count - 2) / spread) if count > 2 else math.inf


def trend(queries: Sequence[int], readings: Sequence[float], tolerance: float) -> Trend:
    """Return the trend of readings of one measure, each taken after so many ``queries``.

    It grew if the line rises by more than ``tolerance`` after the warm-up and its slope is significant.
    """
    begin = next(place for place, number in enumerate(queries) if number >= queries[-1] * WARM_UP)
    xs, ys = [float(number) for number in queries[begin:]], [float(value) for value in readings[begin:]]
    slope, error = fitted(xs, ys)
    growth = slope * (xs[-1] - xs[0])
    return Trend(
        first=ys[0],
        last=ys[-1],
        per_100_queries=round(slope * 100, 4),
        growth=round(growth, 3),
        grew=growth > tolerance and slope > CERTAINTY * error,
    )


def trends(samples: Sequence[Mapping[str, float]], tolerances: Mapping[str, float]) -> dict[str, dict[str, object]]:
    """Return the trend of every measure of ``samples``; ``queries`` of a sample is the number of queries before it."""
    queries = [int(sample["queries"]) for sample in samples]
    judged = {name: trend(queries, [s[name] for s in samples], most) for name, most in tolerances.items()}
    return {name: asdict(found) for name, found in judged.items()}


def table(samples: Sequence[Mapping[str, float]], names: Sequence[str]) -> str:
    """Return a text table of the samples with a column per measure."""
    columns = ["queries", *names]
    cells = [[f"{sample[name]:g}" for name in columns] for sample in samples]
    widths = [max(len(name), *(len(row[i]) for row in cells)) for i, name in enumerate(columns)]
    lines = [columns, *cells]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in lines)


def verdict(found: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return a line per measure that grew; one line if none did."""
    grown = [
        f"{name} grew: {line['first']:g} to {line['last']:g}, {line['per_100_queries']:g} a hundred queries"
        for name, line in found.items()
        if line["grew"]
    ]
    return grown or ["nothing grew"]
