"""Measures scalar functions over the rows of a table: ``select count(f), max(f) from lineitem`` on both engines.

A function that converts must not be slower than Spark's. ``times_faster`` is Spark's median time over the engine's.
``python -m benchmarks.functions --scale 1 --runs 2 --json FILE``; ``--only like,substring`` selects by text;
``--table nests`` measures functions of arrays of five elements, maps, structs and JSON, a million rows at scale 1.
"""

from __future__ import annotations

import pickle
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import nested
from benchmarks.command_line import add_table_options, configuration, emit_document, make_parser
from benchmarks.engine import Engine
from benchmarks.report import versions
from benchmarks.session import PIPELINE, SPARK
from benchmarks.tpch import data

_EXPRESSIONS = r"""
    l_comment; substring(l_comment, 3, 5); substring(l_comment, 3, l_linenumber); upper(l_comment);
    initcap(l_comment); length(l_comment); ascii(l_comment); reverse(l_comment); trim(l_comment);
    concat(l_comment, l_shipmode); concat_ws('-', l_comment, l_shipmode); instr(l_comment, 'the');
    locate('the', l_comment, 3); replace(l_comment, 'the', 'a'); translate(l_comment, 'aeiou', '12345');
    translate(l_comment, 'aeiou', 'áéíóú');
    substring_index(l_comment, ' ', 2); lpad(l_comment, 40, '*'); rpad(l_comment, 10, '*'); repeat(l_shipmode, 3);
    left(l_comment, 4); right(l_comment, 4); l_comment like '%the%a%'; contains(l_comment, 'the');
    startswith(l_comment, 'the'); l_comment rlike '[a-c]+ing'; regexp_replace(l_comment, '[aeiou]+', '-');
    l_comment rlike '(?i)\\\\bFOX'; regexp_replace(l_comment, '(?<=e)[a-z]', '-');
    format_number(cast(l_extendedprice as double), 2);
    regexp_extract(l_comment, '([a-z]+) ([a-z]+)', 2); md5(l_comment); sha2(l_comment, 256); crc32(l_comment);
    base64(encode(l_comment, 'utf-8')); unbase64(base64(encode(l_comment, 'utf-8'))); hex(l_orderkey);
    hex(l_orderkey * l_partkey); bin(l_orderkey * l_partkey);
    conv(cast(l_orderkey as string), 10, 16); luhn_check(cast(l_orderkey as string)); regexp_instr(l_comment, '[x-z]');
    elt(l_linenumber % 3 + 1, l_comment, l_shipmode, l_returnflag); contains(encode(l_comment, 'utf-8'), X'74');
    bit_get(l_orderkey, l_linenumber); bitmap_bucket_number(l_orderkey); bitmap_bit_position(l_orderkey);
    bitmap_count(encode(l_comment, 'utf-8')); quote(l_comment); xxhash64(l_comment); hash(l_comment);
    cast(l_orderkey as string); cast(l_extendedprice as string);
    cast(substring(cast(l_orderkey as string), 1, 4) as int); chr(l_linenumber + 64); bin(l_orderkey);
    l_extendedprice; l_extendedprice * (1 - l_discount); l_extendedprice / l_quantity; l_orderkey % 7;
    l_orderkey div 7; pmod(l_orderkey, 7); abs(l_linenumber - 4); round(l_extendedprice, 1); bround(l_extendedprice);
    floor(l_extendedprice); ceil(l_extendedprice); cast(l_extendedprice as double);
    cast(cast(l_extendedprice as double) as string); cast(l_extendedprice / 7.0D as string);
    round(cast(l_extendedprice as double) * 1.07D, 2);
    ln(cast(l_extendedprice as double)); exp(cast(l_quantity as double)); pow(cast(l_quantity as double), 1.5D);
    asin(l_discount * 1.0D); acos(l_discount * 1.0D); atan(l_quantity * 1.0D); atan2(l_quantity * 1.0D, l_tax * 1.0D);
    sin(l_quantity * 1.0D); cos(l_quantity * 1.0D); tan(l_quantity * 1.0D);
    sinh(l_discount * 1.0D); cosh(l_discount * 1.0D); tanh(l_discount * 1.0D); asinh(l_quantity * 1.0D);
    acosh(l_quantity * 1.0D); atanh(l_discount * 1.0D); cbrt(cast(l_extendedprice as double));
    hypot(l_quantity * 1.0D, l_tax * 1.0D); expm1(l_discount * 1.0D); log1p(cast(l_extendedprice as double));
    sqrt(cast(l_extendedprice as double)); sign(l_linenumber - 4); greatest(l_linenumber, l_suppkey);
    case when l_linenumber > 3 then l_orderkey else l_partkey end; coalesce(nullif(l_linenumber, 3), 0);
    shiftleft(l_orderkey, 3); bit_count(l_orderkey); l_orderkey & 255; cast(l_extendedprice as int);
    cast(l_orderkey as decimal(20, 2)); width_bucket(cast(l_quantity as double), 0D, 50D, 10);
    l_shipdate; year(l_shipdate); month(l_shipdate); dayofweek(l_shipdate); weekofyear(l_shipdate);
    last_day(l_shipdate); date_add(l_shipdate, l_linenumber); datediff(l_receiptdate, l_shipdate);
    add_months(l_shipdate, 3); trunc(l_shipdate, 'MM'); next_day(l_shipdate, 'MON');
    months_between(l_receiptdate, l_shipdate); cast(l_shipdate as string);
    to_date(cast(l_shipdate as string), 'yyyy-MM-dd'); to_timestamp(cast(l_shipdate as string), 'yyyy-MM-dd');
    cast(concat(cast(l_shipdate as string), ' 12:34:5', l_linenumber, '.25') as timestamp);
    date_format(l_shipdate, 'yyyy/MM');
    cast(l_shipdate as timestamp); hour(timestamp_seconds(l_linenumber * 1000003));
    cast(timestamp_seconds(l_linenumber * 1000003) as string);
    date_trunc('HOUR', timestamp_seconds(l_linenumber * 1000003));
    date_format(timestamp_seconds(l_linenumber * 1000003), 'HH:mm');
    from_utc_timestamp(timestamp_seconds(l_linenumber * 1000003), 'Asia/Kathmandu');
    timestamp_seconds(l_orderkey); timestamp_millis(l_orderkey); timestamp_seconds(l_quantity * 1.5D);
    timestamp_seconds(l_extendedprice); timestamp_seconds(l_linenumber * 1000003) + interval '1' day;
    timestamp_seconds(l_orderkey) + interval '1' month; timestampdiff(HOUR, l_shipdate, l_receiptdate);
    unix_timestamp(timestamp_seconds(l_linenumber * 1000003)); from_unixtime(l_orderkey);
    get_json_object(concat('{"key": ', l_orderkey, ', "note": "', l_comment, '", "n": [1, 2.50]}'), '$.note');
    from_json(concat('{"key":', l_orderkey, ',"note":"', l_comment, '","n":[1,2.50]}'), 'key INT, note STRING').note;
    to_json(struct(l_orderkey, l_comment, l_extendedprice, l_shipdate));
    from_csv(concat(l_orderkey, ',"', l_comment, '",', l_extendedprice), 'k BIGINT, c STRING, p DECIMAL(12,2)').p;
    to_csv(struct(l_orderkey, l_comment, l_extendedprice, l_shipdate));
    regexp_replace(l_comment, '[^a-z]', ''); regexp_replace(l_comment, 'the', 'a'); sha1(l_comment);
    format_number(l_extendedprice, 2); format_number(l_orderkey, 0); soundex(l_comment); url_encode(l_comment);
    overlay(l_comment placing 'xyz' from 3); mask(l_comment); encode(l_comment, 'utf-16'); unhex(hex(l_comment));
    find_in_set(l_shipmode, concat(l_comment, ',', l_shipmode)); printf('%05d %s', l_orderkey, l_shipmode);
    parse_url(concat('http://a.b/', l_orderkey, '?x=', l_linenumber), 'QUERY'); to_char(l_extendedprice, '999,999.99');
    make_dt_interval(l_linenumber, 2, 3, 4.5); (l_receiptdate - l_shipdate) * l_tax;
    l_comment like concat('%', l_shipmode, '%'); replace(l_comment, l_returnflag, 'x')
"""

_NESTED = r"""
    array(id, k, x); array_append(a, k); array_prepend(a, k); array_compact(a); array_contains(a, 3L);
    array_contains(a, k); array_distinct(a); array_except(a, b); array_insert(a, 2, k); array_intersect(a, b);
    array_join(words, ','); array_max(a); array_min(a); array_position(a, 3L); array_remove(a, 3L); array_repeat(k, 5);
    array_size(a); array_sort(a); array_sort(a, (p, q) -> cast(coalesce(q, 0L) - coalesce(p, 0L) as int));
    array_union(a, b); arrays_overlap(a, b); arrays_zip(a, b); size(a); concat(a, b); element_at(a, 2);
    try_element_at(a, 9); a[0]; a[cast(id % 5 as int)]; get(a, 7); exists(a, e -> e > 95); forall(a, e -> e < 95);
    filter(a, e -> e % 2 = 0); filter(a, (e, i) -> i > 1); transform(a, e -> e + k); transform(a, (e, i) -> e * i);
    transform(words, e -> upper(e)); aggregate(a, 0L, (p, e) -> p + coalesce(e, 0L));
    reduce(a, 0L, (p, e) -> p + coalesce(e, 0L), p -> p * 2); zip_with(a, b, (p, q) -> p + q); flatten(array(a, b));
    reverse(a); sequence(0, cast(id % 5 as int)); shuffle(a) is null; slice(a, 2, 3); sort_array(a);
    sort_array(a, false); sort_array(words); array_distinct(words); array_max(words); array_contains(words, 'w7');
    array_position(words, 'w7'); a = b; a < b; hash(a); xxhash64(a); cast(a as array<string>); cast(a as string);
    cast(s as string); cast(m as string); m['k']; element_at(m, 'j'); map_contains_key(m, 'k'); map_keys(m);
    map_values(m); map_entries(m); size(map_concat(m, map('x', k))); size(map_filter(m, (p, v) -> v > 3));
    size(map_from_arrays(array('k', 'j'), array(id, k)));
    size(map_from_entries(array(struct('k' as p, id as q), struct('j' as p, k as q)))); size(map('k', id, 'j', k));
    map_values(map_zip_with(m, m, (p, u, v) -> u + v)); map_keys(transform_keys(m, (p, v) -> concat(p, '1')));
    map_values(transform_values(m, (p, v) -> v + 1)); size(str_to_map(concat('a:', id, ',b:', k))); s.y;
    named_struct('p', id, 'q', s.y); struct(k, s.y) = struct(id, s.y); hash(s); split(line, ' '); split(line, ' ')[2];
    split(line, '[ ]+', 3); regexp_extract_all(line, 'w([0-9])', 1); sentences(line); get_json_object(doc, '$.name');
    get_json_object(doc, '$.f3'); json_array_length('[1,2,3]'); json_array_length(to_json(a)); json_object_keys(doc);
    from_json(doc, 'id BIGINT, name STRING').name; from_json(to_json(a), 'array<bigint>'); to_json(a); to_json(s);
    to_json(m); to_json(struct(id, line)); from_csv(concat(id, ',', k), 'p BIGINT, q BIGINT').q;
    to_csv(struct(id, s.y, v)); from_xml(concat('<r><p>', id, '</p></r>'), 'p BIGINT').p; to_xml(struct(id, k));
    xpath_string(concat('<r><p>', id, '</p></r>'), 'r/p'); array(s, s)[1].y; s.x + k; posexplode(a); explode(a);
    explode_outer(filter(a, e -> e > 90)); inline(array(s, s)); stack(2, id, k); json_tuple(doc, 'name', 'f5')
"""
_NESTED_AGGREGATES = r"""
    collect_list(id); collect_set(x); array_agg(x); listagg(s.y, ','); percentile(v, array(0.5D, 0.9D)); max_by(s, v);
    min_by(a, v); percentile_approx(v, array(0.5D, 0.9D)); histogram_numeric(v, 5); approx_top_k(x, 5); max(a); min(s);
    first(a); count(distinct s); mode(x); median(v)
"""
_GENERATORS = ("explode", "inline", "stack", "json_tuple", "posexplode")


def _texts(expressions: str) -> tuple[str, ...]:
    return tuple(text.strip() for text in expressions.split(";"))


def _lineitem_query(expression: str) -> str:
    return f"select count(x), max(x) from (select {expression} as x from lineitem)"


def _nested_query(expression: str) -> str:
    """Return the query of a scalar function, of a generator, or of an aggregate by one of 25 000 keys."""
    source = "(select *, reverse(a) as b, k % 100 as x, split(line, ' ') as words from nests)"
    if expression in _texts(_NESTED_AGGREGATES):
        return f"select count(x), max(hash(x)) from (select {expression} as x from {source} group by k)"
    if expression.startswith(_GENERATORS):
        return f"select count(*), max(hash(*)) from (select {expression} from {source})"
    return f"select count(y), max(y) from (select {expression} as y from {source})"


def _tpch_tables(scale: float, folder: Path | None) -> Mapping[str, str]:
    return data.tables(data.make(scale, folder))


#: The expressions of each table, the query that computes one, and the function that makes the files.
TABLES = {
    "lineitem": (_texts(_EXPRESSIONS), _lineitem_query, _tpch_tables),
    "nests": (_texts(_NESTED) + _texts(_NESTED_AGGREGATES), _nested_query, nested.tables),
}


def measure(
    conf: dict[str, str], files: Mapping[str, str], queries: Mapping[str, str], runs: int, log: Path | None
) -> dict[str, Any]:
    """Run the query of each expression on both engines in turn, ``runs`` times after a warm-up; return the medians."""
    measured: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine(SPARK, conf, log=log) as spark,
        Engine(PIPELINE, conf, log=log) as pipeline,
    ):
        engines = {SPARK: spark, PIPELINE: pipeline}
        for engine in engines.values():
            engine.call("views", tables=files)
        for expression, sql in queries.items():
            times: dict[str, list[float]] = {name: [] for name in engines}
            rows, reasons = [], []
            for name, engine in engines.items():
                answer = str(Path(folder) / name)
                reasons = engine.call("run", sql=sql, sink="collect", answer=answer)["summary"].get("reasons", [])
                rows.append(pickle.loads(Path(answer).read_bytes())[2])
            for _ in range(runs):
                for name, engine in engines.items():
                    times[name].append(engine.call("run", sql=sql, sink="collect")["seconds"])
            measured[expression] = _entry(times) | {"equal": rows[0] == rows[1], "reasons": reasons}
    return measured


def _entry(times: dict[str, list[float]]) -> dict[str, Any]:
    spark, pipeline = (statistics.median(times[name]) for name in (SPARK, PIPELINE))
    return {"spark_s": round(spark, 3), "pipeline_s": round(pipeline, 3), "times_faster": round(spark / pipeline, 2)}


def summary(measured: dict[str, Any]) -> dict[str, Any]:
    """Return the geometric mean of the ratios of the functions that converted, the least, and those below 1."""
    ratios = {text: entry["times_faster"] for text, entry in measured.items() if not entry["reasons"]}
    slower = sorted((ratio, text) for text, ratio in ratios.items() if ratio < 1)
    return {
        "converted": len(ratios),
        "in_spark": sorted(text for text, entry in measured.items() if entry["reasons"]),
        "geomean": round(statistics.geometric_mean(ratios.values()), 2) if ratios else None,
        "slower_than_spark": {text: ratio for ratio, text in slower},
        "all_equal": all(entry["equal"] for entry in measured.values()),
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the JSON document; the exit status is 1 if an answer differs."""
    parser = make_parser("functions", __doc__)
    add_table_options(parser, runs=2)
    parser.add_argument("--table", choices=sorted(TABLES), default="lineitem", help="whose functions")
    parser.add_argument("--only", default="", help="expressions that contain one of these texts, separated by commas")
    arguments = parser.parse_args(words)
    conf = configuration(arguments, {"spark.driver.memory": "4g"})
    expressions, query, tables = TABLES[arguments.table]
    chosen = {text: query(text) for text in expressions if any(part in text for part in arguments.only.split(","))}
    table = {arguments.table: tables(arguments.scale, arguments.data)[arguments.table]}
    measured = measure(conf, table, chosen, arguments.runs, arguments.log)
    meta = {"versions": versions(), "table": arguments.table, "scale": arguments.scale, "runs": arguments.runs}
    document = {"meta": meta, "functions": measured, "summary": summary(measured)}
    emit_document(document, arguments.json)
    return 0 if document["summary"]["all_equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
