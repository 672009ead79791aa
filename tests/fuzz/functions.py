"""Random queries over many functions: texts, dates, intervals, ordered aggregates, pivots, RANGE frames with offsets.

Any of their rows may raise, in which case both engines must. A template names the kinds of its arguments in braces.
"""

from __future__ import annotations

import re

from tests.fuzz.queries import COLUMNS, SQL_TYPE, Query, QueryMaker

_COLUMNS = {
    **COLUMNS,
    "intervals": {"int": ["CAST(id AS INT)"], "long": ["id"], "span": ["dt", "hm"], "months": ["ym", "m"]},
}
_TEXTS = """
upper({text}); lower({text}); initcap({text}); reverse({text}); trim({text}); ltrim('aR', {text});
lpad({text}, 5, 'x'); rpad({text}, {small} % 9, {text}); replace({text}, 'a', {text}); translate({text}, 'abR', 'x日');
concat_ws('-', {text}, {text}); substring_index({text}, 'a', -1); substring({text}, {small} % 7, {small} % 5);
repeat({text}, 2); split_part({text}, 'a', 1); overlay({text} PLACING 'zz' FROM 2); soundex({text}); mask({text});
regexp_replace({text}, '[a-c]+', '<$0>'); md5({text}); regexp_extract({text}, '([a-z])(.*)', 2);
regexp_substr({text}, 'a.'); hex({text}); hex({long}); left({text}, 2); right({text}, 3);
base64(encode({text}, 'utf-8')); concat({text}, {text}); format_number({decimal}, 2);
date_format({stamp}, 'yyyy-MM-dd HH:mm:ss'); dayname({date}); monthname({date}); CAST({int} AS STRING);
CAST({double} AS STRING); CAST({decimal} AS STRING); quote({text}); CAST({date} AS STRING); CAST({stamp} AS STRING);
CAST({span} AS STRING); CAST({months} AS STRING); CAST({float} AS STRING); CAST({bool} AS STRING); url_encode({text});
sha2({text}, 256); chr({int} % 300); bin({long}); elt(1 + abs({small} % 2), {text}, {text}); conv({text}, 16, 10);
space({small} % 4); btrim({text}); nullif({text}, {text}); greatest({text}, {text});
to_csv(struct({text}, {double}, {stamp}, {text})); from_csv({text}, 'a STRING, b STRING').a;
from_csv(to_csv(struct({text}, {text})), 'a STRING, b STRING, _corrupt_record STRING')._corrupt_record
"""
_INTS = """
length({text}); octet_length({text}); bit_length({text}); ascii({text}); instr({text}, 'a'); locate('b', {text}, 2);
levenshtein({text}, {text}); find_in_set({text}, 'a,b,R'); regexp_count({text}, 'a'); regexp_instr({text}, 'b');
year({date}); month({date}); day({date}); dayofweek({date}); weekday({date}); weekofyear({date}); quarter({date});
dayofyear({date}); hour({stamp}); minute({stamp}); second({stamp}); datediff({date}, {date}); unix_date({date});
hash({text}, {int}); extract(DAY FROM {span}); extract(MONTH FROM {months}); extract(YEAR FROM {months});
bit_count({long}); factorial({small} % 30); extract(HOUR FROM {span}); CAST(sign({double}) AS INT);
extract(YEAROFWEEK FROM {date}); {int} & {int}; shiftleft({int}, {small} % 20); ~{int}; {int} ^ {int};
CAST({text} AS INT); try_cast({text} AS INT); pmod({int}, 7); CAST({double} AS INT); ceil({double} % 1000);
hash({span}, {months})
"""
_LONGS = """
xxhash64({text}, {int}); crc32({text}); unix_micros({stamp}); unix_seconds({stamp}); {long} | {long}; {long} div 7;
timestampdiff(HOUR, {stamp}, {stamp}); CAST({decimal} AS BIGINT); ceil({double}); CAST(floor({decimal}) AS BIGINT);
xxhash64({double}, {stamp}); width_bucket({double}, -10.0, 10.0, 5); try_add({long}, {long});
try_multiply({long}, {long})
"""
_DOUBLES = """
sqrt({double}); exp({double} % 50); ln({double}); log10({double}); pow({double}, 2); cbrt({double});
atan2({double}, {double}); round({double}, 2); bround({double}, 1); nanvl({double}, 1.0D); rint({double});
months_between({stamp}, {stamp}); degrees({double}); log2({double}); CAST({text} AS DOUBLE);
try_cast({text} AS DOUBLE); CAST({decimal} AS DOUBLE); signum({double}); hypot({double}, {double});
try_divide({double}, {double}); {double} % {double}; greatest({double}, {double})
"""
_DECIMALS = """
round({decimal}, 1); ceil({decimal}, 1); floor({decimal}, 0); abs({decimal}); CAST({text} AS DECIMAL(18,4));
try_cast({text} AS DECIMAL(12,3)); CAST({double} AS DECIMAL(18,4)); CAST({int} AS DECIMAL(18,4)); {decimal} % 7;
bround({decimal}, 0)
"""
_DATES = """
add_months({date}, {small} % 40); last_day({date}); next_day({date}, 'TU'); trunc({date}, 'MM');
trunc({date}, 'WEEK'); CAST({stamp} AS DATE); make_date(2000, {small} % 13, {small} % 32); try_cast({text} AS DATE);
CAST({text} AS DATE); ({date} + {months})
"""
_STAMPS = """
date_trunc('HOUR', {stamp}); date_trunc('WEEK', {stamp}); ({stamp} + {span}); ({stamp} - {months});
CAST({date} AS TIMESTAMP); timestampadd(DAY, {small} % 90, {stamp}); from_utc_timestamp({stamp}, 'Europe/Paris');
try_cast({text} AS TIMESTAMP); to_utc_timestamp({stamp}, 'UTC'); timestamp_millis({int})
"""
_SPANS = """
{span} + {span}; {span} - {span}; -{span}; abs({span}); {span} * ({small} % 5); {stamp} - {stamp}; {date} - {date};
greatest({span}, {span}); coalesce({span}, {span}); {span} / 3; least({span}, {span}); {span} * 1.5
"""
_MONTHS = """
{months} + {months}; {months} - {months}; -{months}; abs({months}); {months} * ({small} % 7); {months} / 5;
least({months}, {months})
"""
_BOOLS = """
rlike({text}, 'a.*b'); startswith({text}, 'a'); endswith({text}, {text}); contains({text}, {text}); isnan({double});
{span} > {span}; {months} <= {months}; {date} BETWEEN {date} AND {date}; {text} ILIKE 'A%';
equal_null({text}, {text}); CAST({int} AS BOOLEAN); luhn_check({text}); is_valid_utf8({text})
"""
_TEMPLATES = {
    kind: re.split(r";\s+", texts.strip())
    for kind, texts in {
        "text": _TEXTS, "int": _INTS, "long": _LONGS, "double": _DOUBLES, "decimal": _DECIMALS, "date": _DATES,
        "stamp": _STAMPS, "span": _SPANS, "months": _MONTHS, "bool": _BOOLS,
    }.items()
}  # fmt: skip
_NUMBERS = ["int", "long", "small", "decimal"]
_AGGREGATES = """
count({text}); count(DISTINCT {int}); sum({int}); sum({decimal}); avg({int}); avg({decimal}); min({text});
max({text}); unix_date(min({date})); unix_micros(max({stamp})); sum({span}); avg({span}); sum({months});
avg({months}); min({span}); max({months}); percentile({int}, 0.3); median({decimal}); median({double});
percentile({double}, 0.9D, 1 + abs({small} % 3)); approx_count_distinct({text});
percentile_disc(0.4) WITHIN GROUP (ORDER BY {int}); percentile_cont(0.7) WITHIN GROUP (ORDER BY {decimal} DESC);
mode() WITHIN GROUP (ORDER BY {int}); mode() WITHIN GROUP (ORDER BY {text} DESC); max_by({text}, id);
min_by({double}, id); max_by({int}, id); listagg({text}, ',') WITHIN GROUP (ORDER BY id);
listagg({text}) WITHIN GROUP (ORDER BY id DESC); bit_and({int}); bit_or({long}); bit_xor({small}); bool_and({bool});
bool_or({bool}); count_if({bool}); var_pop({small}); stddev({small}); covar_samp({small}, id);
regr_slope({small}, id); try_sum({long}); try_avg({int}); sum(DISTINCT {small}); median({span}); max_by({span}, id);
approx_count_distinct({double}); max({bool}); min({double}); max({float})
"""
_WINDOWED = ["count(*)", "count({text})", "sum({small})", "min({int})", "max({decimal})", "avg({small})",
             "min({text})", "max(unix_date({date}))", "sum({decimal})", "bit_or({int})", "max({span})", "sum({span})",
             "min({months})"]  # fmt: skip
_OFFSETS = {
    "int": ["0", "3", "100"], "long": ["1L", "9000L"], "small": ["CAST(2 AS SMALLINT)"], "double": ["0.5D", "3D"],
    "decimal": ["1", "0.5"], "date": ["1", "40"],
    "stamp": ["INTERVAL '2' DAY", "INTERVAL '3' MONTH", "INTERVAL '1:30' HOUR TO MINUTE"],
    "span": ["INTERVAL '2' DAY"], "months": ["INTERVAL '3' MONTH"],
}  # fmt: skip


class FunctionMaker(QueryMaker):
    """Generator of the queries of one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, wild=True)
        self._table = self._random.choice(list(_COLUMNS))
        self._columns = _COLUMNS[self._table]
        self._kinds = list(self._columns)

    def query(self) -> Query:
        """Build a projection, an aggregation, a window or a pivot."""
        return self._random.choice(
            [self._projection, self._aggregation, self._aggregation, self._window, self._pivot]
        )()

    def _projection(self) -> Query:
        items = ", ".join(f"{self._shown()} AS c{index}" for index in range(self._random.randint(2, 5)))
        return Query(sql=f"SELECT id, {items} FROM {self._table}{self._where()}", approximate=True)

    def _aggregation(self) -> Query:
        keys = [f"{self._shown(1)} AS k{index}" for index in range(self._random.randint(0, 2))]
        calls = [f"{self._total()} AS a{index}" for index in range(self._random.randint(1, 4))]
        group = f" GROUP BY {', '.join(str(index + 1) for index in range(len(keys)))}" if keys else ""
        return Query(sql=f"SELECT {', '.join(keys + calls)} FROM {self._table}{self._where()}{group}", approximate=True)

    def _window(self) -> Query:
        kinds = [kind for kind in self._kinds if kind in _OFFSETS]
        calls = []
        for index in range(self._random.randint(1, 3)):
            kind = self._random.choice(kinds)
            offset = self._random.choice(_OFFSETS[kind])
            start = self._random.choice([f"{offset} PRECEDING", "CURRENT ROW", "UNBOUNDED PRECEDING"])
            end = self._random.choice([f"{offset} FOLLOWING", "CURRENT ROW", "UNBOUNDED FOLLOWING"])
            order = f"{self._column(kind)}{self._random.choice(['', ' DESC', ' NULLS LAST'])}"
            keys = f"PARTITION BY {self._value(1)} " if self._chance(0.7) else ""
            frame = f"({keys}ORDER BY {order} RANGE BETWEEN {start} AND {end})"
            calls.append(f"{self._filled(self._random.choice(_WINDOWED), 0)} OVER {frame} AS w{index}")
        return Query(sql=f"SELECT id, {', '.join(calls)} FROM {self._table}{self._where()}", approximate=True)

    def _pivot(self) -> Query:
        kind = self._random.choice(["int", "text", "bool"])
        values = {"int": "0, 1, -3, NULL", "text": "'a', '', 'R'", "bool": "true, false"}[kind]
        numbers = [self._of(self._random.choice(_NUMBERS), 1) for _ in range(2)]
        inner = f"SELECT {self._shown(1)} AS k, {self._of(kind, 1)} AS p, {numbers[0]} AS v, {numbers[1]} AS w"
        calls = self._random.sample(["sum(v) AS s", "count(w) AS c", "min(w) AS m", "max(v) AS x", "avg(w) AS a"], 2)
        pivot = f"PIVOT ({', '.join(calls)} FOR p IN ({values}))"
        return Query(sql=f"SELECT * FROM ({inner} FROM {self._table}{self._where()}) {pivot}", approximate=True)

    def _total(self) -> str:
        filtered = f" FILTER (WHERE {self._condition(1)})" if self._chance(0.2) else ""
        template = self._random.choice(re.split(r";\s+", _AGGREGATES.strip()))
        call = self._filled(template, 1)
        if template.startswith("unix_"):
            return f"{call[:-1]}{filtered})"
        return f"CAST({call}{filtered} AS STRING)" if "{months" in template else f"{call}{filtered}"

    def _shown(self, depth: int = 2) -> str:
        """Build a value of a kind that Python can show."""
        kind = self._random.choice(
            ["text", "int", "long", "double", "decimal", "bool", "date", "stamp", "span", "months"]
        )
        shown = {"date": "unix_date({})", "stamp": "unix_micros({})", "months": "CAST({} AS STRING)"}
        return shown.get(kind, "{}").format(self._of(kind, depth))

    def _of(self, kind: str, depth: int) -> str:
        if depth > 0 and kind in _TEMPLATES and self._chance(0.75):
            return f"({self._filled(self._random.choice(_TEMPLATES[kind]), depth - 1)})"
        if depth > 0 and kind in self._columns:
            return super()._of(kind, depth)
        return self._column(kind)

    def _filled(self, template: str, depth: int) -> str:
        return re.sub(r"{(\w+)}", lambda found: self._of(found[1], depth), template)

    def _column(self, kind: str) -> str:
        """Return a column of the kind, else one of another kind that is cast to it."""
        if kind in self._columns:
            return self._random.choice(self._columns[kind])
        number = self._random.choice(self._columns["int"])
        return {
            **{kind: f"CAST({number} AS {SQL_TYPE[kind]})" for kind in ("text", "long", "double", "float", "decimal")},
            "small": f"CAST({number} % 100 AS SMALLINT)", "bool": f"({number} > 3)",
            "date": f"date_add(DATE'2000-02-29', {number} % 9000)",
            "stamp": f"timestamp_seconds({number})", "span": f"({number} % 9000) * INTERVAL '1:02:03' HOUR TO SECOND",
            "months": f"({number} % 900) * INTERVAL '1' MONTH",
        }[kind]  # fmt: skip
