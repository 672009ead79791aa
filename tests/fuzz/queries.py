"""Random typed queries: every expression is built for a given type, so that every query passes analysis.

The grammar covers mostly expressions that the engine converts. Divisors and casts
are guarded in ``safe`` queries, so that ANSI raises nothing; ``wild`` queries may raise, in which case both
engines must.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

COLUMNS = {
    "tame": {
        "int": ["id", "i", "z"],
        "long": ["l"],
        "small": ["t", "s"],
        "double": ["d"],
        "float": ["f"],
        "decimal": ["n9", "n15", "n18"],
        "bool": ["b"],
        "text": ["k"],
    },
    "numbers": {
        "int": ["id", "i"],
        "long": ["l"],
        "small": ["t", "s"],
        "double": ["d", "d2"],
        "float": ["f"],
        "decimal": ["n9", "n18", "n38"],
        "bool": ["b", "b2"],
    },
    "texts": {"int": ["id", "len"], "text": ["s", "s2", "flag", "good"]},
    "times": {"int": ["id", "days"], "date": ["d", "d2"], "stamp": ["ts", "ts2"], "small": ["sdays"]},
}
LITERALS = {
    "int": ["0", "1", "-3", "7", "100"],
    "long": ["0L", "5L", "-900L"],
    "small": ["CAST(2 AS SMALLINT)", "CAST(-1 AS SMALLINT)"],
    "double": ["0.0D", "-0.0D", "1.5D", "double('NaN')", "-2.5D"],
    "float": ["CAST(0.5 AS FLOAT)", "CAST('NaN' AS FLOAT)"],
    "decimal": ["0.00", "1.25", "-3.1", "100"],
    "bool": ["true", "false"],
    "text": ["'a'", "''", "'x'", "'日本'", "'R'"],
    "date": ["DATE'2000-02-29'", "DATE'1582-10-10'", "DATE'1970-01-01'"],
    "stamp": ["TIMESTAMP'2011-11-06 00:30:00'", "TIMESTAMP'1970-01-01 00:00:00'"],
    "span": ["INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL '-90' MINUTE"],
    "months": ["INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '-5' MONTH"],
}
_NUMERIC = ("int", "long", "small", "double", "float", "decimal")
SQL_TYPE = {"int": "INT", "long": "BIGINT", "small": "SMALLINT", "double": "DOUBLE", "float": "FLOAT",
             "decimal": "DECIMAL(18,4)", "text": "STRING", "date": "DATE"}  # fmt: skip
_PATTERNS = ["'a%'", "'%c'", "'%b%'", "'x'", "'%'", "'R%'"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query and its settings; ``approximate``: its floats depend on addition order; ``ordered``: its rows are."""

    sql: str
    approximate: bool
    ordered: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


class QueryMaker:
    """Generator of the queries of one seed."""

    def __init__(self, seed: int, *, wild: bool = False) -> None:
        self._random = random.Random(seed)
        self._wild = wild
        self._table = self._random.choice(list(COLUMNS))
        self._columns = COLUMNS[self._table]
        self._kinds = list(self._columns)

    def query(self) -> Query:
        """Build one query: a projection, an aggregation, or an aggregation of an aggregation."""
        shape = self._random.choice([self._projection, self._aggregation, self._aggregation, self._nested])
        return shape()

    def _projection(self) -> Query:
        items = ", ".join(f"{self._value()} AS c{index}" for index in range(self._random.randint(1, 4)))
        return Query(sql=f"SELECT id, {items} FROM {self._table}{self._where()}", approximate=False)

    def _aggregation(self) -> Query:
        keys = [self._value(depth=1) for _ in range(self._random.randint(0, 2))]
        named = [f"{key} AS k{index}" for index, key in enumerate(keys)]
        calls = [f"{self._call()} AS a{index}" for index in range(self._random.randint(1, 3))]
        group = f" GROUP BY {', '.join(str(index + 1) for index in range(len(keys)))}" if keys else ""
        having = f" HAVING count(*) > {self._random.randint(0, 4)}" if keys and self._chance(0.2) else ""
        sql = f"SELECT {', '.join(named + calls)} FROM {self._table}{self._where()}{group}{having}"
        return Query(sql=sql, approximate=True)

    def _nested(self) -> Query:
        inner = f"SELECT {self._value(depth=1)} AS k, {self._call()} AS v FROM {self._table}{self._where()} GROUP BY 1"
        return Query(sql=f"SELECT count(*), count(k), count(v), count(DISTINCT k) FROM ({inner})", approximate=True)

    def _where(self) -> str:
        return f" WHERE {self._condition(2)}" if self._chance(0.6) else ""

    def _call(self) -> str:
        filtered = f" FILTER (WHERE {self._condition(1)})" if self._chance(0.25) else ""
        name = self._random.choice(["count", "sum", "avg", "min", "max", "count_all", "distinct"])
        if name == "count_all":
            return f"count(*){filtered}"
        if name == "distinct":
            return f"count(DISTINCT {self._value(depth=1)})"
        numeric = [kind for kind in self._kinds if kind in _NUMERIC]
        # Sums of floats near the largest depend on the order of addition beyond any tolerance.
        addable = [kind for kind in numeric if self._table != "numbers" or kind in ("int", "small")]
        if name in ("sum", "avg"):
            return f"{name}({self._column(self._random.choice(addable))}){filtered}"
        ordered = [kind for kind in self._kinds if kind != "text" or name == "count"]
        return f"{name}({self._of(self._random.choice(ordered), 1)}){filtered}"

    def _value(self, depth: int = 2) -> str:
        return self._of(self._random.choice(self._kinds), depth)

    def _of(self, kind: str, depth: int) -> str:
        if depth == 0 or self._chance(0.25):
            return self._random.choice(LITERALS[kind]) if self._chance(0.25) else self._column(kind)
        makers: list[Callable[[str, int], str]] = [self._case, self._coalesce, self._if]
        if kind == "bool":
            makers = [lambda _kind, size: self._condition(size)]
        elif kind in _NUMERIC:
            makers += [self._arithmetic] * (4 if self._wild or self._table == "tame" else 1) + [self._cast]
        elif kind == "text":
            makers.append(self._substring)
        elif kind == "date":
            makers.append(self._shift)
        return self._random.choice(makers)(kind, depth - 1)

    def _condition(self, depth: int) -> str:
        if depth == 0:
            return self._comparison(0)
        pick = self._random.randint(0, 7)
        if pick <= 1:
            return f"({self._condition(depth - 1)} {('AND', 'OR')[pick]} {self._condition(depth - 1)})"
        if pick == 2:
            return f"(NOT {self._condition(depth - 1)})"
        if pick == 3:
            return f"({self._value(depth - 1)} IS {self._random.choice(['', 'NOT '])}NULL)"
        if pick == 4 and "text" in self._kinds:
            return f"({self._of('text', depth - 1)} LIKE {self._random.choice(_PATTERNS)})"
        if pick == 5:
            return self._listed(depth - 1)
        return self._comparison(depth - 1)

    def _comparison(self, depth: int) -> str:
        kind = self._random.choice(self._kinds)
        operator = self._random.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        return f"({self._of(kind, depth)} {operator} {self._of(kind, depth)})"

    def _listed(self, depth: int) -> str:
        kind = self._random.choice(self._kinds)
        items = [self._random.choice(LITERALS[kind]) for _ in range(self._random.randint(1, 3))]
        if self._chance(0.2):
            items.append("NULL")
        return f"({self._of(kind, depth)} {self._random.choice(['', 'NOT '])}IN ({', '.join(items)}))"

    def _arithmetic(self, kind: str, depth: int) -> str:
        operator = self._random.choice("+-*" if kind != "small" else "+-")
        if self._wild:
            operator = self._random.choice("+-*/%")
        safe = self._wild or kind in ("double", "float")
        left = self._of(kind, depth if safe else 0)
        right = self._of(kind, depth) if safe else self._random.choice(LITERALS[kind])
        if self._table in ("numbers", "texts") and not safe:
            operator, right = "%", "7"
        result = f"({left} {operator} {right})"
        return result if kind in ("double", "decimal") or operator != "/" else f"CAST({result} AS {SQL_TYPE[kind]})"

    def _cast(self, kind: str, depth: int) -> str:
        narrow = {"int": "small", "long": "int", "double": "long", "float": "small", "decimal": "int", "small": "small"}
        source = self._random.choice([item for item in self._kinds if item in _NUMERIC]) if self._wild else narrow[kind]
        if source not in self._columns:
            source = "int"
        return f"CAST({self._of(source, depth)} AS {SQL_TYPE[kind]})"

    def _case(self, kind: str, depth: int) -> str:
        other = f" ELSE {self._of(kind, depth)}" if self._chance(0.7) else ""
        return f"CASE WHEN {self._condition(depth)} THEN {self._of(kind, depth)}{other} END"

    def _coalesce(self, kind: str, depth: int) -> str:
        return f"coalesce({self._of(kind, depth)}, {self._of(kind, depth)})"

    def _if(self, kind: str, depth: int) -> str:
        return f"IF({self._condition(depth)}, {self._of(kind, depth)}, {self._of(kind, depth)})"

    def _substring(self, _kind: str, depth: int) -> str:
        start, length = self._random.choice([(1, 1), (2, 3), (-2, 2), (0, 2), (1, 0)])
        return f"substring({self._of('text', depth)}, {start}, {length})"

    def _shift(self, _kind: str, _depth: int) -> str:
        # Only around ordinary dates: Python's own dates end in the years 1 and 9999.
        name = self._random.choice(["date_add", "date_sub"])
        return f"{name}(DATE'2000-02-29', {self._column(self._random.choice(['int', 'small']))})"

    def _column(self, kind: str) -> str:
        return self._random.choice(self._columns[kind])

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability
