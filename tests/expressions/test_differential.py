"""Every function compared with a running Spark, over the nasty table, with ANSI on and off."""

# ruff: noqa: E501 — the tables of expressions
from __future__ import annotations

import pytest

from tests.expressions.oracle import Oracle

PLAIN = ("b", "h", "i", "l", "f", "d")
DECIMALS = ("p5_2", "p15_2", "p18_0", "p18_6", "p20_5", "p38_0", "p38_10", "p38_18", "p38_38")
PAIRS = [
    ("p5_2", "p15_2"), ("p15_2", "p5_2"), ("p15_2", "p18_6"), ("p18_0", "p38_10"), ("p38_10", "p20_5"),
    ("p38_18", "p38_0"), ("p38_38", "p38_0"), ("p38_0", "p38_38"), ("p38_10", "p38_18"), ("p20_5", "p5_2"),
]  # fmt: skip

ARITHMETIC = [f"{c} {op} {c}2" for c in (*PLAIN, *DECIMALS) for op in "+-*/%"]
ARITHMETIC += [f"{a} {op} {b}" for a, b in PAIRS for op in "+-*/%"]
ARITHMETIC += [f"{a} div {b}" for a, b in [*PAIRS, ("l", "l2"), ("p38_38", "p38_382"), ("p38_0", "p38_02")]]
ARITHMETIC += [f"pmod({c}, {c}2)" for c in PLAIN] + [f"-{c}" for c in PLAIN] + [f"abs({c})" for c in PLAIN]
ARITHMETIC += [f"try_{f}({c}, {c}2)" for f in ("add", "subtract", "multiply", "divide") for c in ("i", "l", "p38_0", "p38_10")]
ARITHMETIC += ["try_mod(i, i2)", "+i", "l + 1", "2 * i", "1 - p15_2", "(1 - p5_2) * p15_2 * (1 + p5_22)", "p15_2 * 2"]
ARITHMETIC += ["i + (l / 0)", "null + (i / 0)", "cast(null as int) + i", "(i + 1) + (i2 + 1)"]

BITS = [f"{c} {op} {c}2" for c in ("b", "h", "i", "l") for op in "&|^"] + ["~b", "~h", "~i", "~l", "i & 7", "l | nn", "b & null"]
BITS += [f"{f}({c}, {by})" for f in ("shiftleft", "shiftright", "shiftrightunsigned") for c in ("i", "l", "h") for by in ("i2", "1", "33", "-1", "nn")]
BITS += ["1 << i", "5L >> h", "-7 >>> b", "cast((shiftright(l, 1) & 1) as tinyint)"]

COMPARED = (*PLAIN, *DECIMALS, "bo", "dt", "ts")
COMPARISON = [f"{c} {op} {c}2" for c in COMPARED for op in ("=", "<", "<=", ">", ">=", "<=>", "<>")]
COMPARISON += [f"s {op} t" for op in ("=", "<", "<=", ">", ">=", "<=>")]
COMPARISON += [f"s {op} 'abc'" for op in ("=", "<", "<=", ">", ">=", "<=>", "<>")]
COMPARISON += [f"'b' {op} s" for op in ("=", "<", "<=", ">", ">=")]
COMPARISON += [f"{c} {op} 1" for c in (*PLAIN, "p15_2", "p38_10") for op in ("=", "<", "<=", ">", ">=")]
COMPARISON += [f"d {op} double('NaN')" for op in ("=", "<", "<=", ">", ">=", "<=>")]
COMPARISON += [f"{f}({c}, {c}2)" for f in ("greatest", "least") for c in COMPARED] + ["greatest(s, t)", "least(s, t, 'b')"]
COMPARISON += ["greatest(i, 5, i2)", "dt < date'1998-09-02'", "dt between date'1994-01-01' and date'2020-12-31'"]
COMPARISON += ["p15_2 between 0.05 and 0.07", "nullif(i, i2)", "nullif(s, 'a')", "equal_null(i, null)"]

LOGIC = [
    "bo and bo2", "bo or bo2", "not bo", "bo is null", "i is not null", "isnan(d)", "isnan(f)", "bo and null", "bo or null",
    "i <> 0 and 10 / i > 1", "i = 0 or 10 / i > 1", "10 / i > 1 and i <> 0", "bo and (bo2 or i / 0 > 1)",
    "i in (1, 2, 7)", "i in (1, null)", "i not in (1, null)", "s in ('a', 'MAIL')", "s in ('a', 'MAIL', null)", "d in (0.0, double('NaN'), 1.5)",
    "d in (-0.0D, 3.0D)", "f in (float('NaN'), float(0))", "p15_2 in (1.00, 0.07)", "dt in (date'2020-01-31', date'1970-01-01')",
    "i in (i2, 7, nn)", "s in (t, 'a')", "i in (1, 10 / i2)", "d in (d2, 1.0D)",
    "l in (1,2,3,4,5,6,7,8,9,10,11,12)", "s in ('a','b','c','d','e','f','g','h','i','j','k','MAIL')",
    "p5_2 in (1.00,2.50,3,4,5,6,7,8,9,10,11,12)", "i in (1,2,3,4,5,6,7,8,9,10,11,12,null)",
    "dt in (date'2020-01-31',date'1970-01-01',date'1970-01-02',date'1970-01-03',date'1970-01-04',date'1970-01-05',date'1970-01-06',date'1970-01-07',date'1970-01-08',date'1970-01-09',date'1970-01-10')",
]  # fmt: skip

CONDITIONAL = [
    "case when i > 0 then 'p' when i < 0 then 'n' else 'z' end", "case when i > 0 then l when bo then l2 end",
    "case when i <> 0 then 10 / i else 0 end", "case when i <> 0 then 10 div i when l <> 0 then l2 div l end",
    "case i when 1 then s when 2 then t else 'x' end", "if(bo, s, t)", "if(bo, p15_2, 0)", "if(i = 0, null, 5 / i)",
    "coalesce(i, i2, 7)", "coalesce(s, t, 'x')", "coalesce(i, 10 div i2)", "coalesce(p15_2, p5_2)", "nvl(d, 0)", "nvl2(i, s, t)",
    "nanvl(d, d2)", "ifnull(bo, false)", "case when bo then null when bo2 then i end", "coalesce(null, i)",
"case when s like 'PROMO%' then p15_2 * (1 - p5_2) else 0 end", "if(bo is null, dt, dt2)", "zeroifnull(i)", "nullifzero(i)",
]  # fmt: skip
CASTS = [f"cast({a} as {b})" for a in (*PLAIN, "bo", *DECIMALS) for b in ("tinyint", "smallint", "int", "bigint", "boolean")]
CASTS += [f"cast({a} as {b})" for a in (*PLAIN, "bo", *DECIMALS) for b in ("float", "double")]
CASTS += [
    f"cast({a} as decimal({p}))" for a in ("b", "h", "i", "l", "bo", *DECIMALS)
    for p in ("5,2", "10,0", "15,2", "18,18", "20,0", "38,0", "38,10", "38,38")
]  # fmt: skip
CASTS += [f"try_cast({a} as {b})" for a in ("l", "d", "p38_10") for b in ("tinyint", "int", "bigint", "decimal(10,2)") if (a, b) != ("d", "decimal(10,2)")]
CASTS += ["cast(p15_2 * p5_2 as int)", "cast(p18_6 + p18_62 as bigint)", "cast(-p5_2 as int)"]

TEXT = [
    f"cast({c} as {t})" for c in ("snum", "sdate", "s")
    for t in ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date", "decimal(10,2)", "decimal(38,10)")
]  # fmt: skip
TEXT += [f"try_cast(snum as {t})" for t in ("int", "double", "decimal(5,0)", "decimal(38,0)", "boolean", "date")]
TEXT += [f"cast({c} as string)" for c in ("b", "h", "i", "l", "bo", "dt", "s", *DECIMALS)]
TEXT += ["cast(sdate as date) < date'2000-01-01'", "year(cast(sdate as date))", "case when sdate like '2020-01-31' then cast(sdate as date) end"]
TEXT += ["coalesce(try_cast(snum as int), 0)", "to_date(sdate)", "date(sdate)"]

NEGATION = [f"-{c}" for c in DECIMALS] + [f"abs({c})" for c in DECIMALS]

TIMES = ["cast(ts as date)", "cast(dt as timestamp)", "year(ts)", "month(ts)", "day(ts)", "cast(cast(dt as timestamp) as date)"]
ZONES = ("UTC", "+05:30", "-03:00", "America/New_York", "Asia/Kathmandu", "America/St_Johns", "Pacific/Auckland", "Africa/Cairo", "America/Sao_Paulo")

STRINGS = [
    *(f"s like '{p}'" for p in ("abc", "a%", "%c", "%b%", "a_c", "%forest%green%", "f%t%n", "%a%a%", "a%a", "%abc%abc%", "%abcabc%abc", "é%", "%語%ト", "_", "__", "%", "", "%\\n%", "a\\\\%b", "a\\\\_b", "PROMO%", "%l_o", "日%", "_本%")),
    "s not like '%BRUSHED'", "startswith(s, 'a')", "endswith(s, 'c')", "contains(s, 'b')", "startswith(s, '')", "startswith(s, null)",
    *(f"substring(s, {p}, {n})" for p in (0, 1, 2, 3, -1, -2, -5, -100, 100) for n in (0, 1, 2, 5, 100, -1, 2147483647)),
    "substring(s, 2)", "substring(s, -3)", "length(s)", "concat(s, t)", "concat(s, '-', t)", "concat('x', s)", "s || 'y'",
    "upper(s)", "lower(s)", "trim(s)", "ltrim(s)", "rtrim(s)", "trim('a' from s)", "concat(substring(s, 1, 2), 'z')", "char_length(s)",
]  # fmt: skip

DATES = [
    *(f"{f}(dt)" for f in ("year", "month", "day", "quarter", "dayofyear", "dayofweek", "weekday", "last_day")),
    "date_add(dt, i)", "date_sub(dt, i)", "date_add(dt, 90)", "date_sub(dt, h)", "date_add(dt, b)", "datediff(dt, dt2)",
    "add_months(dt, 3)", "add_months(dt, h)", "add_months(dt, -13)", "add_months(dt, i)", *(f"trunc(dt, '{f}')" for f in ("week", "MM", "month", "QUARTER", "year", "yy")),
    "dt + interval '90' day", "dt - 30", 
]  # fmt: skip

HASHES = [f"xxhash64({c})" for c in (*PLAIN, *DECIMALS, "bo", "dt", "ts", "s", "snum", "nn")]
HASHES += ["xxhash64(i, s, p38_10, d)", "xxhash64(s, t)", "xxhash64(null)", "xxhash64(i, null, 'x')", "xxhash64(10 / i2)", "xxhash64(i2, l)"]
HASHES += ["xxhash64(l, l) % 7", "if(bo, xxhash64(s), 0L)", "xxhash64(cast(null as string), bo)", "xxhash64(1, 'a', 2.5)"]

ALL = {
    "arithmetic": ARITHMETIC, "bits": BITS, "comparison": COMPARISON, "logic": LOGIC, "conditional": CONDITIONAL,
    "casts": CASTS, "text": TEXT, "negation": NEGATION, "strings": STRINGS, "dates": DATES, "hashes": HASHES,
}  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "legacy"])
@pytest.mark.parametrize("family", ALL)
def test_equals_spark(oracle: Oracle, family: str, ansi: bool) -> None:
    """Values, failing rows and error conditions equal Spark's."""
    oracle.check(ALL[family], ansi)


def test_equals_spark_by_dictionary(oracle: Oracle) -> None:
    """Results equal Spark's with dictionary-encoded strings."""
    expressions = [text for text in STRINGS + LOGIC + CONDITIONAL + COMPARISON + HASHES if "s" in text or " t" in text]
    oracle.check(expressions, ansi=False, encode=True)
    oracle.check(TEXT, ansi=True, encode=True)


@pytest.mark.parametrize("zone", ZONES)
def test_equals_spark_in_time_zone(oracle: Oracle, zone: str) -> None:
    """Casts between dates and timestamps use the session time zone."""
    oracle.check(TIMES, ansi=True, time_zone=zone)
