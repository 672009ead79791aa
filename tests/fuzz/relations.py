"""Random queries over several tables: joins, unions, limits, sorts, windows, several DISTINCT, grouping sets.

They raise nothing (see :mod:`~tests.fuzz.queries`), because the row pairs that a join condition is evaluated for are
unspecified. Tables are limited to a few dozen rows, so that joins over few distinct keys stay small.
"""

from __future__ import annotations

from tests.fuzz.queries import COLUMNS, LITERALS, Query, QueryMaker

_INNER = ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
_LEFT_ONLY = ["LEFT SEMI JOIN", "LEFT ANTI JOIN"]
_HINTS = ["BROADCAST", "BROADCAST", "SHUFFLE_HASH", "MERGE", "SHUFFLE_REPLICATE_NL"]
_PEER_RANKS = ["rank()", "dense_rank()", "percent_rank()", "cume_dist()"]
_RANKS = ["row_number()", "ntile(3)", *_PEER_RANKS]
_FRAMES = ["", "UNBOUNDED PRECEDING AND CURRENT ROW", "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
           "CURRENT ROW AND UNBOUNDED FOLLOWING", "CURRENT ROW AND CURRENT ROW"]  # fmt: skip
_ROWS = ["2 PRECEDING AND 1 FOLLOWING", "UNBOUNDED PRECEDING AND 2 PRECEDING", "1 FOLLOWING AND UNBOUNDED FOLLOWING"]
_ORDERS = ["", " DESC", " ASC NULLS LAST", " DESC NULLS FIRST"]


class RelationMaker(QueryMaker):
    """Generator of the queries of one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._kinds = []
        self._sides = 0
        self._named: list[str] = []
        self._table = "numbers"

    def query(self) -> Query:
        """Build one query with its settings."""
        shapes = [self._joined, self._joined, self._joined, self._joined_groups, self._united, self._distinct]
        shapes += [self._subqueried, self._windowed, self._windowed, self._totals]
        sql, rows = self._random.choice(shapes)()
        settings = {
            "spark.sql.autoBroadcastJoinThreshold": self._random.choice(["-1", "10485760"]),
            "spark.sql.shuffle.partitions": self._random.choice(["1", "4", "7"]),
            "spark.pysparkPipeline.batchRows": self._random.choice(["5", "64", "32768"]),
        }
        return Query(sql=sql, approximate=rows == "approximate", ordered=rows == "ordered", settings=settings)

    def _joined(self) -> tuple[str, str]:
        """Build a projection of joins, sometimes with ORDER BY and LIMIT."""
        relation = self._joins()
        items = ", ".join(f"{self._value()} AS c{index}" for index in range(self._random.randint(1, 3)))
        ids = self._columns["id"]
        named = _named(ids)
        sql = f"SELECT {self._hint()}{named}, {items} FROM {relation}{self._where()}"
        return self._first_rows(sql, [column.replace(".", "_") for column in ids])

    def _joined_groups(self) -> tuple[str, str]:
        relation = self._joins()
        keys = [f"{self._value(depth=1)} AS k{index}" for index in range(self._random.randint(0, 2))]
        calls = [f"{self._call()} AS a{index}" for index in range(self._random.randint(1, 3))]
        sql = f"SELECT {self._hint()}{', '.join(keys + calls)} FROM {relation}{self._where()}{self._group(len(keys))}"
        return sql, "approximate"

    def _subqueried(self) -> tuple[str, str]:
        """Build EXISTS, IN and NOT IN, alone or combined with another condition."""
        outer = self._side()
        columns = {kind: list(names) for kind, names in self._columns.items()}
        inner = self._side()
        kind = self._random.choice([kind for kind in columns if kind in self._own and kind != "id"])
        left, right = self._random.choice(columns[kind]), self._random.choice(self._own[kind])
        correlated = self._condition(1)
        self._show(columns)
        if self._chance(0.5):
            also = f" AND {correlated}" if self._chance(0.5) else ""
            test = f"EXISTS (SELECT 1 FROM {inner} WHERE {left} = {right}{also})"
        else:
            test = f"{left} IN (SELECT {right} FROM {inner})"
        test = f"NOT ({test})" if self._chance(0.4) else test
        test = f"({test} OR {self._condition(1)})" if self._chance(0.3) else test
        return f"SELECT s0.id, {self._value()} AS c FROM {outer} WHERE {test}", "exact"

    def _windowed(self) -> tuple[str, str]:
        """Build functions over one or two windows; sometimes with a filter on a rank."""
        relation = self._joins() if self._chance(0.3) else self._side()
        ids = self._columns["id"]
        windows = [self._window(ids) for _ in range(self._random.choice([1, 1, 2]))]
        calls = [f"{self._over(*self._random.choice(windows))} AS w{i}" for i in range(self._random.randint(1, 3))]
        named = _named(ids)
        if self._chance(0.7):
            return f"SELECT {self._hint()}{named}, {', '.join(calls)} FROM {relation}{self._where()}", "exact"
        window, is_full = windows[0]
        rank = self._random.choice(_RANKS if is_full else _PEER_RANKS)
        given = ", ".join([named, f"{rank} OVER ({window}) AS r", *(calls if self._chance(0.5) else [])])
        kept = self._random.choice(["= 1", "<= 3", "< 2", "> 2"])
        return f"SELECT * FROM (SELECT {given} FROM {relation}) WHERE r {kept}", "exact"

    def _window(self, ids: list[str]) -> tuple[str, bool]:
        """Return a random window specification, and whether its order is total because it ends with the ids."""
        is_full = self._chance(0.7)
        keys = [self._value(depth=1) for _ in range(self._random.choice([0, 1, 1, 2]))]
        order = [self._value(depth=1) for _ in range(self._random.choice([0, 1]) if is_full else 1)]
        order = [f"{value}{self._random.choice(_ORDERS)}" for value in order + (ids if is_full else [])]
        partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
        return f"{partition}ORDER BY {', '.join(order)}", is_full

    def _over(self, window: str, is_full: bool) -> str:
        """Build a function whose values are determined by the order of the window."""
        pick = self._random.randint(0, 2)
        if pick == 0:
            return f"{self._random.choice(_RANKS if is_full else _PEER_RANKS)} OVER ({window})"
        if pick == 1 and is_full:
            kind = self._random.choice(self._kinds)
            # A default is cast to the value's type, for which a decimal or a small integer may be too large.
            has_default = self._chance(0.4) and kind not in ("decimal", "small")
            default = f", {self._of(kind, 0)}" if has_default else ""
            name, distance = self._random.choice(["lag", "lead"]), self._random.choice([0, 1, 3])
            nulls = self._random.choice(["", " IGNORE NULLS"])
            return f"{name}({self._of(kind, 1)}, {distance}{default}){nulls} OVER ({window})"
        edges = ["first_value", "last_value", "nth_value"]
        names = ["count", "sum", "avg", "min", "max", *(edges if is_full else [])]
        name = self._random.choice(names)
        number = self._column(self._random.choice([kind for kind in ("int", "small") if kind in self._columns]))
        given = number if name in ("sum", "avg") else self._value(depth=1)
        call = f"{name}({given}{', 2' if name == 'nth_value' else ''})"
        call += self._random.choice(["", " IGNORE NULLS"]) if name in edges else ""
        frame = self._random.choice([*_FRAMES, *_ROWS] if is_full else _FRAMES)
        unit = "RANGE" if not is_full else "ROWS" if frame in _ROWS else self._random.choice(["ROWS", "RANGE"])
        return f"{call} OVER ({window}{f' {unit} BETWEEN {frame}' if frame else ''})"

    def _united(self) -> tuple[str, str]:
        """Build a union of projections and joins; distinct, grouped, or sorted."""
        kinds = [self._random.choice(["int", "int", "text", "double", "date", "decimal"]) for _ in range(2)]
        branches = []
        for _ in range(self._random.randint(2, 3)):
            self._show({})
            self._sides = 0
            relation = self._joins() if self._chance(0.3) else self._side()
            values = [self._of(kind, 1) if kind in self._columns else "NULL" for kind in kinds]
            branches.append(f"SELECT {values[0]} AS x, {values[1]} AS y FROM {relation}{self._where()}")
        word = "UNION" if self._chance(0.3) else "UNION ALL"
        sql = f" {word} ".join(branches)
        if self._chance(0.4):
            return f"SELECT x, count(*) AS c, min(y) AS m FROM ({sql}) GROUP BY x", "exact"
        if self._chance(0.4):
            return f"SELECT count(*), count(x), count(DISTINCT y) FROM ({sql})", "exact"
        return self._first_rows(f"SELECT * FROM ({sql})", ["x", "y"])

    def _distinct(self) -> tuple[str, str]:
        """Build several DISTINCT aggregates, grouping sets, or both."""
        relation = self._joins() if self._chance(0.3) else self._side()
        keys = [f"{self._value(depth=1)} AS k{index}" for index in range(self._random.randint(0, 2))]
        calls = [f"count(DISTINCT {self._value(depth=1)}) AS d{index}" for index in range(self._random.randint(1, 3))]
        calls += [f"{self._call()} AS a{index}" for index in range(self._random.randint(0, 2))]
        names = ", ".join(f"k{index}" for index in range(len(keys)))
        if keys and self._chance(0.6):
            sets = self._random.choice([f"ROLLUP ({names})", f"CUBE ({names})", f"GROUPING SETS (({names}), (k0), ())"])
            inner = ", ".join([*keys, *(f"{self._value(depth=1)} AS v{index}" for index in range(2))])
            values = "count(*), count(v0), min(k0)" + (", count(DISTINCT v1)" if self._chance(0.5) else "")
            return f"SELECT {names}, {values} FROM (SELECT {inner} FROM {relation}) GROUP BY {sets}", "exact"
        return f"SELECT {', '.join(keys + calls)} FROM {relation}{self._where()}{self._group(len(keys))}", "approximate"

    def _totals(self) -> tuple[str, str]:
        """Build global aggregations of the same rows with different filters: joined, united, or scalar subqueries."""
        relation = self._side(40)
        if self._chance(0.4):
            left, side = self._column("int"), self._side(40)
            relation += f" JOIN {side} ON {left} = {self._random.choice(self._own['int'])}"
        kind = self._random.choice([kind for kind in ("int", "small", "text", "date") if kind in self._columns])
        column, also = self._column(kind), f" AND {self._condition(1)}" if self._chance(0.4) else ""
        called = [self._call() for _ in range(self._random.randint(1, 2))]
        totals = []
        for number in range(self._random.randint(2, 4)):
            test = f"{self._random.choice(['=', '<>', '<', '>='])} {self._random.choice(LITERALS[kind])}"
            calls = called if self._chance(0.7) else [self._call() for _ in called]
            named = ", ".join(f"{call} AS a{number}_{index}" for index, call in enumerate(calls))
            totals.append((named, f"FROM {relation} WHERE {column} {test}{also}"))
        form = self._random.choice(["joined", "joined", "united", "scalar", "scalar"])
        if form == "joined":
            tables = ", ".join(f"(SELECT {named} {rows}) t{number}" for number, (named, rows) in enumerate(totals))
            return f"SELECT * FROM {tables}", "approximate"
        if form == "united":
            return " UNION ALL ".join(f"SELECT {', '.join(called)} {rows}" for _, rows in totals), "approximate"
        values = (f"(SELECT {call} {rows}) AS v{number}" for number, (_, rows) in enumerate(totals) for call in called)
        return f"SELECT {', '.join(values)}", "approximate"

    def _first_rows(self, sql: str, unique: list[str]) -> tuple[str, str]:
        """Return ``sql``, or sort it by columns that order its rows totally, sometimes with a LIMIT."""
        if self._chance(0.5):
            return sql, "exact"
        order = [f"{name}{self._random.choice(_ORDERS)}" for name in unique]
        cut = f" LIMIT {self._random.choice([1, 7, 50, 100000])}" if self._chance(0.7) else ""
        cut += f" OFFSET {self._random.choice([1, 5, 40])}" if cut and self._chance(0.3) else ""
        return f"{sql} ORDER BY {', '.join(order)}{cut}", "ordered"

    def _joins(self) -> str:
        """Build a join of two or three sides; expressions can then name the columns of the visible sides."""
        joins = self._random.choice([1, 1, 2])
        most = 70 if joins == 1 else 25
        relation = self._side(most)
        for _ in range(joins):
            before = {kind: list(names) for kind, names in self._columns.items()}
            side = self._side(most)
            kind = self._random.choice(_INNER + _LEFT_ONLY)
            relation += f" {kind} {side} ON {self._on(before)}"
            if kind in _LEFT_ONLY:
                self._show(before)
        return relation

    def _on(self, before: dict[str, list[str]]) -> str:
        """Build a join condition: mostly equal keys, sometimes a condition on both sides."""
        kinds = [kind for kind in before if kind in self._own and kind != "id"]
        parts = []
        for _ in range(self._random.choice([0, 1, 1, 1, 2])):
            kind = self._random.choice(kinds)
            left, right = self._random.choice(before[kind]), self._random.choice(self._own[kind])
            parts.append(f"{left} {self._random.choice(['=', '=', '=', '<=>'])} {right}")
        if not parts or self._chance(0.4):
            parts.append(self._condition(1))
        return " AND ".join(parts)

    def _side(self, most: int = 70) -> str:
        """Build a subquery of up to ``most`` rows of a table; expressions can then also name its columns."""
        table = self._random.choice(list(COLUMNS))
        alias = f"s{self._sides}"
        self._sides += 1
        self._named.append(alias)
        self._own = {kind: [f"{alias}.{name}" for name in names] for kind, names in COLUMNS[table].items()}
        self._own["id"] = [f"{alias}.id"]
        seen = self._columns if self._sides > 1 else {}
        self._show({kind: seen.get(kind, []) + self._own.get(kind, []) for kind in {**seen, **self._own}})
        first = self._random.choice([0, 0, 17, 150])
        last = first + min(self._random.choice([0, 1, 12, 25, 40, 40, 70, 70]), most)
        return f"(SELECT * FROM {table} WHERE id >= {first} AND id < {last}) {alias}"

    def _show(self, columns: dict[str, list[str]]) -> None:
        """Set the columns that expressions can name."""
        self._columns = columns
        self._kinds = sorted(kind for kind in columns if kind != "id")

    def _shift(self, _kind: str, _depth: int) -> str:
        """Build a date shift by at most a smallint: other tables have integers that overflow every date."""
        days = self._column("small") if "small" in self._columns else "31"
        return f"{self._random.choice(['date_add', 'date_sub'])}(DATE'2000-02-29', {days})"

    def _hint(self) -> str:
        if self._chance(0.4):
            return ""
        hints = [f"{self._random.choice(_HINTS)}({alias})" for alias in self._named if self._chance(0.6)]
        return f"/*+ {', '.join(hints)} */ " if hints else ""

    def _group(self, keys: int) -> str:
        return f" GROUP BY {', '.join(str(index + 1) for index in range(keys))}" if keys else ""


def _named(columns: list[str]) -> str:
    """Return select items with aliases without a dot."""
    return ", ".join(f"{column} AS {column.replace('.', '_')}" for column in columns)
