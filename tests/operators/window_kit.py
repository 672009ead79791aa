"""Test kit for windows: nodes, and an oracle that computes every function row by row from its definition."""

from __future__ import annotations

import decimal
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.windows import Bound, Window, WindowCall, WindowSpec
from tests.operators.kit import column, literal
from tests.operators.sort_kit import Direction, compare, keys

Rows = Sequence[dict[str, Any]]

#: Frames between two bounds: of rows, the partition (empty) or the peer group (``p``).
BETWEEN = (
    "-1:0", "0:0", "-2:1", "0:3", "1:2", "2:1", "-3:-2", "-40:40", "30:40", "-40:-30",
    ":1", ":-1", ":-2", ":-30", "0:", "-2:", "2:", "30:", "p:", "p:p",
)  # fmt: skip
_FIELDS = {
    **dict.fromkeys(("Sum", "Average"), {"evalMode": "ANSI"}),
    **dict.fromkeys(("First", "Last", "Lag", "Lead", "NthValue"), {"ignoreNulls": False}),
}
FRAMES = ("rows", "range", "whole", *BETWEEN)


def _bound(text: str) -> Bound:
    """Return the bound of one part of a frame such as "-1:"."""
    if text in ("", "p"):
        return Bound(kind="peers" if text else "unbounded")
    return Bound(kind="rows", offset=int(text))


def window_call(function: str, kind: str, *args: Expr, frame: str = "rows", **fields: Any) -> WindowCall:
    """Return a call of type ``kind``; a ``frame`` such as "-1:0" is a sliding frame."""
    bounds = (Bound(), Bound())
    if ":" in frame:
        first, last = frame.split(":")
        frame, bounds = "sliding", (_bound(first), _bound(last))
    made, fields = parse_type(kind), {**_FIELDS.get(function, {}), **fields}
    return WindowCall(function=function, frame=frame, bounds=bounds, args=args, type=made, fields=fields)


def window(
    child: Node, partition: Sequence[str], order: Sequence[str], directions: Sequence[Direction], *calls: WindowCall
) -> Window:
    """Return a window over columns; its results are the columns w0, w1, …"""
    spec = WindowSpec(
        partition=tuple(column(child, name) for name in partition), order=keys(child, order, directions)
    )
    made = tuple(Field(id=1000 + i, name=f"w{i}", type=call.type) for i, call in enumerate(calls))
    return Window(output=(*child.output, *made), spec=spec, calls=calls, child=child)


def all_calls(child: Node) -> dict[str, WindowCall]:
    """Return a call of every function over columns ``x`` (bigint), ``d`` (double), ``n`` (decimal), ``s`` (string)."""
    x, d, n, s = (column(child, name) for name in "xdns")
    calls = {
        "row_number": window_call("RowNumber", "int"),
        "rank": window_call("Rank", "int", x),
        "dense_rank": window_call("DenseRank", "int", x),
        "percent_rank": window_call("PercentRank", "double", x),
        "cume_dist": window_call("CumeDist", "double", frame="range"),
        "ntile 3": window_call("NTile", "int", literal(3, "int")),
    }
    for offset in (-2, -1, 0, 1, 5):
        for name in ("Lag", "Lead"):
            args = (s, literal(offset, "int"), literal("none", "string"))
            calls[f"{name} {offset}"] = window_call(name, "string", *args, frame="offset")
            calls[f"valid {name} {offset}"] = window_call(name, "string", *args, frame="offset", ignoreNulls=True)
        for name in ("Lag", "Lead"):
            args = (s, literal(offset, "int"), s)
            calls[f"own {name} {offset}"] = window_call(name, "string", *args, frame="offset")
    for frame in FRAMES:
        calls |= {
            f"count {frame}": window_call("Count", "bigint", x, frame=frame),
            f"sum x {frame}": window_call("Sum", "bigint", x, frame=frame, evalMode="LEGACY"),
            f"sum d {frame}": window_call("Sum", "double", d, frame=frame),
            f"avg x {frame}": window_call("Average", "double", x, frame=frame),
            f"sum n {frame}": window_call("Sum", "decimal(38,2)", n, frame=frame),
            f"min s {frame}": window_call("Min", "string", s, frame=frame),
            f"max d {frame}": window_call("Max", "double", d, frame=frame),
            f"min n {frame}": window_call("Min", "decimal(38,2)", n, frame=frame),
            f"first s {frame}": window_call("First", "string", s, frame=frame),
            f"last s {frame}": window_call("Last", "string", s, frame=frame),
            f"first valid s {frame}": window_call("First", "string", s, frame=frame, ignoreNulls=True),
            f"last valid s {frame}": window_call("Last", "string", s, frame=frame, ignoreNulls=True),
            f"third s {frame}": window_call("NthValue", "string", s, literal(3, "int"), frame=frame),
            f"third valid s {frame}": window_call(
                "NthValue", "string", s, literal(3, "int"), frame=frame, ignoreNulls=True
            ),
            f"variance d {frame}": window_call("VariancePop", "double", d, frame=frame),
            f"covariance d {frame}": window_call("CovPopulation", "double", d, d, frame=frame),
        }
    return calls


def _sum(found: list[Any]) -> Any:
    with decimal.localcontext(decimal.Context(prec=80)):
        return sum(found) if found else None


def _wrapped(found: list[int]) -> int | None:
    return (sum(found) + 2**63) % 2**64 - 2**63 if found else None


def _max_float(found: list[float]) -> float | None:
    return max(found, key=lambda v: (math.isnan(v), v if not math.isnan(v) else 0.0)) if found else None


def _average(found: list[int]) -> float | None:
    return functools.reduce(lambda a, b: a + float(b), found, 0.0) / len(found) if found else None


def _variance(found: list[float]) -> float | None:
    n = mean = moment = 0.0
    for value in found:
        n += 1.0
        delta = value - mean
        moment += delta * (delta - delta / n)
        mean += delta / n
    return moment / n if found else None


def _covariance(found: list[float]) -> float | None:
    n = mean = moment = 0.0
    for value in found:
        n += 1.0
        delta = value - mean
        mean += delta / n
        moment += delta * (value - mean)
    return moment / n if found else None


#: Aggregates by name: the column they read and their function of its values that are not NULL.
_TOTALS: dict[str, tuple[str, Callable[[list[Any]], Any]]] = {
    "count": ("x", len),
    "sum x": ("x", _wrapped),
    "sum d": ("d", lambda found: functools.reduce(lambda a, b: a + b, found, 0.0) if found else None),
    "avg x": ("x", _average),
    "sum n": ("n", _sum),
    "min s": ("s", lambda found: min(found, key=str.encode) if found else None),
    "max d": ("d", _max_float),
    "third valid s": ("s", lambda found: found[2] if len(found) > 2 else None),
    "first valid s": ("s", lambda found: found[0] if found else None),
    "last valid s": ("s", lambda found: found[-1] if found else None),
    "variance d": ("d", _variance),
    "covariance d": ("d", _covariance),
    "min n": ("n", lambda found: min(found) if found else None),
}


def expected(name: str, rows: Rows, at: int, peers: Callable[[int, int], bool]) -> Any:
    """Return the value of one function for row ``at`` of the sorted partition ``rows``."""
    number, size = at + 1, len(rows)
    first_peer = next(i for i in range(size) if peers(i, at))
    end = max(i for i in range(size) if peers(i, at)) + 1
    function, _, rest = name.rpartition(" ")
    which, _, offset_function = function.rpartition(" ")
    if offset_function in ("Lag", "Lead"):
        ahead = int(rest) if offset_function == "Lead" else -int(rest)
        if which == "valid" and ahead:
            found = [row["s"] for row in (rows[at + 1 :] if ahead > 0 else rows[:at][::-1]) if row["s"] is not None]
            return found[abs(ahead) - 1] if abs(ahead) <= len(found) else "none"
        return rows[at + ahead]["s"] if 0 <= at + ahead < size else rows[at]["s"] if which == "own" else "none"
    if function == "ntile":
        return next(b + 1 for b in range(int(rest)) if at < sum(_bucket(size, int(rest), i) for i in range(b + 1)))
    if not function:
        return {
            "row_number": number,
            "rank": first_peer + 1,
            "dense_rank": sum(1 for i in range(at + 1) if i == 0 or not peers(i, i - 1)),
            "percent_rank": first_peer / (size - 1) if size > 1 else 0.0,
            "cume_dist": end / size,
        }[rest]
    if ":" in rest:
        lower, upper = rest.split(":")
        begin = {"": 0, "p": first_peer}.get(lower)
        past = {"": size, "p": end}.get(upper)
        begin = max(0, at + int(lower)) if begin is None else begin
        frame = rows[begin : max(0, at + int(upper) + 1) if past is None else past]
    else:
        frame = rows[: {"rows": number, "range": end, "whole": size}[rest]]
    if function == "third s":
        return frame[2]["s"] if len(frame) > 2 else None
    if function in ("first s", "last s"):
        return None if not frame else frame[0 if function == "first s" else -1]["s"]
    column_name, total = _TOTALS[function]
    return total([row[column_name] for row in frame if row[column_name] is not None])


def _bucket(size: int, buckets: int, number: int) -> int:
    return size // buckets + (number < size % buckets)


def are_peers(rows: Rows, order: Sequence[str], directions: Sequence[Direction]) -> Callable[[int, int], bool]:
    """Return a predicate: whether two rows of a partition have equal order keys."""
    return lambda a, b: all(
        compare(rows[a][name], rows[b][name], d) == 0 for name, d in zip(order, directions, strict=True)
    )
